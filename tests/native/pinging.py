"""A ping and its peer, the echo or the test itself, and checks of every ending."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from tests.native.engine import MS, TOKEN, Ending, Engine, Flag, start
from tests.patience import PATIENCE_S
from tests.require import require

LOOPBACKS = ["127.0.0.1", "::1"]


def require_raw_sockets() -> None:
    try:
        socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()
    except PermissionError:
        require(False, "root or CAP_NET_RAW, for raw ICMP sockets")


def require_address(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError as error:
        require(False, f"the address {address} ({error.strerror})")


def udp_flags(port: int, **flags: Flag) -> dict[str, Flag]:
    return {
        "address": "127.0.0.1",
        "method": "udp",
        "port": port,
        "token": TOKEN,
        "interval_ns": 2 * MS,
        "timeout_ns": 60_000 * MS,
        **flags,
    }


@contextmanager
def echoing(bind: str = "127.0.0.1", **flags: Flag) -> Iterator[tuple[Engine, int]]:
    settings: dict[str, Flag] = {"port": 0, "token": TOKEN, "control": "stdin", **flags}
    with start("echo", bind=bind, **settings) as echo:
        echo.expect("hello")
        yield echo, echo.expect("listening")["port"]


@contextmanager
def probed(**flags: Flag) -> Iterator[tuple[Engine, socket.socket]]:
    """A ping whose peer is the test; the peer connects to it after the first probe."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.bind(("127.0.0.1", 0))
        peer.settimeout(PATIENCE_S)
        with start("ping", **udp_flags(peer.getsockname()[1], control="stdin", **flags)) as ping:
            _, sender = peer.recvfrom(65536, socket.MSG_PEEK)
            peer.connect(sender)
            yield ping, peer


def stop(engine: Engine) -> Ending:
    engine.send_line("stop")
    ending = engine.finish()
    assert (ending.status, ending.last["complete"], ending.stderr) == (0, True, "")
    return ending


def end_echo(echo: Engine) -> tuple[int, int]:
    """How many probes it answered, and how many it refused."""
    result = stop(echo).last
    return result["echoed"], result["refused"]


def check_probe_counts(ending: Ending, sent: int) -> None:
    """Every probe occurs once, in order; the result's sums are those of the probes."""
    probes = ending.of("probe")
    assert sorted(probe["sequence"] for probe in probes) == list(range(sent))
    assert ending.last["sent"] == sent
    assert ending.last["received"] == sum(probe["rtt_ns"] is not None for probe in probes)
    late = [answer["sequence"] for answer in ending.of("late")]
    assert len(late) == len({*late}) <= ending.last["late"]
    assert {*late} <= {probe["sequence"] for probe in probes if probe["rtt_ns"] is None}
    assert all((probe["stamps"] is None) == (probe["rtt_ns"] is None) for probe in probes)
    assert all(probe["sent_ns"] >= probe["intended_ns"] for probe in probes)


def check_all_answered(ending: Ending, sent: int) -> None:
    assert (ending.status, ending.last["complete"], ending.stderr) == (0, True, "")
    check_probe_counts(ending, sent)
    sums = [ending.last[name] for name in ("received", "late", "duplicates", "send_errors")]
    assert sums == [sent, 0, 0, 0]
