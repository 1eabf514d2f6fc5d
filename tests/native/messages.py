"""Flows of messages: what carries them, one complete trial, and what both results must say."""

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path

from tests.native.engine import (
    LONG_NS,
    MS,
    Ending,
    Engine,
    Flag,
    Record,
    assert_complete,
    assert_counters_agree,
    both_ready,
    go,
)
from tests.require import require_mptcp

#: A receiver that takes the times of its sender.
OPEN: dict[str, Flag] = {"warmup_ns": -1, "duration_ns": -1}
#: What carries messages, by its name and by the transport on which its streams are admitted. Others carry
#: their own.
CARRIERS = {
    "tcp": "tcp",
    "unix": "unix",
    "udp": "tcp",
    "unix-datagram": "unix",
    "pipe": "unix",
    "shared-memory": "unix",
    "eventfd": "unix",
}
IN_ORDER = [name for name in CARRIERS if name != "udp"]


def name_end(transport: str) -> str:
    """An address for both ends: the loopback, or a name that no other test has."""
    return "127.0.0.1" if CARRIERS.get(transport) != "unix" else f"@pathlab-test-{uuid.uuid4()}"


@contextlib.contextmanager
def meeting(
    transport: str = "tcp",
    receiver_flags: dict[str, Flag] | None = None,
    binary: str | None = None,
    /,
    **flags: Flag,
) -> Iterator[tuple[Engine, Engine]]:
    """A receiver and a sender of messages of 64 bytes, which waits for "go"."""
    if transport == "mptcp":
        require_mptcp()
    address = str((receiver_flags or {}).get("bind", name_end(transport)))
    accepting: dict[str, Flag] = {"bind": address, "transport": CARRIERS.get(transport, transport)}
    accepting |= {"duration_ns": LONG_NS, **(receiver_flags or {})}
    connecting: dict[str, Flag] = {"address": address, "transport": transport, "message_bytes": 64, **flags}
    with both_ready(accepting, connecting, binary) as ends:
        yield ends


def exchange(
    transport: str = "tcp",
    receiver_flags: dict[str, Flag] | None = None,
    binary: str | None = None,
    /,
    **flags: Flag,
) -> tuple[Ending, Ending]:
    """One complete trial with messages; how the receiver and the sender ended."""
    short: dict[str, Flag] = {"warmup_ns": 20 * MS, "duration_ns": 60 * MS}
    with meeting(transport, {**OPEN, **(receiver_flags or {})}, binary, **{**short, **flags}) as ends:
        return go(*ends)


def assert_all_arrived(accepted: Ending, connected: Ending, streams: int = 1) -> tuple[Record, Record]:
    """What both results say about messages; both are complete, and all that was sent came, in order."""
    assert_complete(accepted, connected)
    for end in (accepted, connected):
        assert_counters_agree(end, streams)
    received, sent = accepted.last["messages"], connected.last["messages"]
    assert received["missing"] == received["out_of_order"] == [0] * streams
    assert received["received"] == sent["sent"]
    assert min(received["received"]) > 0
    by_phase = [phase["messages"] for phase in accepted.last["phases"].values()]
    assert [sum(counts) for counts in zip(*by_phase, strict=True)] == received["received"]
    return received, sent


def assert_sent_or_given_up(connected: Ending, *, due: int, least_left: int) -> None:
    """All messages of a stream at an offered rate were sent, unless the sender was late at its end.

    It gives up what is left when that was due for longer than a quarter of the trial, or 100 ms: at least
    ``least_left`` messages.
    """
    (sent,) = connected.last["messages"]["sent"]
    assert sent == due or sent < due - least_left


def find_leftovers(name: str) -> list[str]:
    """Unix sockets of this name, which no other test has."""
    sockets = Path("/proc/net/unix").read_text()
    return [line for line in sockets.splitlines() if name in line]


def list_shared_memory(engine: Engine) -> set[str]:
    """The files that the engine shares memory by."""
    lines = Path(f"/proc/{engine.process.pid}/maps").read_text().splitlines()
    return {line.split(maxsplit=5)[5] for line in lines if line.split()[1].endswith("s")}
