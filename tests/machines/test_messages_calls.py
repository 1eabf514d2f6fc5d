"""System calls of flows of messages that fail: what passes changes nothing, what is refused ends in order.

The engine under test is linked with ``native/tests/faults/faults.c``.
"""

from pathlib import Path

import pytest

from tests.machines.faulty import ENDS, Trial, assert_orderly, carry_faulty
from tests.native.engine import MS, Flag
from tests.native.messages import CARRIERS, assert_all_arrived, find_leftovers, name_end

pytestmark = pytest.mark.engine


def try_messages(transport: str, end: str, faults: str, folder: Path, drain_timeout_ns: int = MS) -> Trial:
    """One trial of 200 messages with replies, with ``faults`` at one end."""
    name = name_end(transport)
    common: dict[str, Flag] = {"drain_timeout_ns": drain_timeout_ns}
    accepting: dict[str, Flag] = {"bind": name, "transport": CARRIERS[transport], **common}
    if CARRIERS[transport] == "tcp":
        accepting["port"] = 0
    load: dict[str, Flag] = {"message_bytes": 64, "bytes": 200 * 64, "reply": "yes"}
    to: dict[str, Flag] = {"address": name, "transport": transport}
    trial = carry_faulty(end, faults, folder, accepting, {**to, **load, **common})
    if CARRIERS[transport] == "unix":
        assert find_leftovers(name) == []
    return trial


PASSING = [
    *(("tcp", call, what) for call in ("send", "recv") for what in ("EINTR", "EAGAIN", "short")),
    *(("pipe", call, what) for call in ("write", "read") for what in ("EINTR", "EAGAIN", "short")),
    *(("unix-datagram", call, what) for call in ("send", "recv") for what in ("EINTR", "EAGAIN")),
]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(("transport", "call", "what"), PASSING)
def test_passing_fault_leaves_messages_as_they_are(
    transport: str, call: str, what: str, end: str, tmp_path: Path
) -> None:
    fault = f"{call}:{what}@{'1' if call == 'read' else '3'}/7"
    trial = try_messages(transport, end, fault, tmp_path, 60_000 * MS)
    assert trial.applied == (fault,)
    assert trial.sent is not None
    _, sent = assert_all_arrived(trial.received, trial.sent)
    assert sent["received"] == [200]


#: By transport: calls, the errors with which the kernel may refuse them, and the ends that make them.
REFUSED = [
    ("shared-memory", "memfd_create", ("EMFILE", "ENOMEM"), ["receive"]),
    ("shared-memory", "fallocate", ("ENOSPC", "ENOMEM"), ["receive"]),
    ("shared-memory", "mmap", ("ENOMEM",), ENDS),
    ("shared-memory", "sendmsg", ("EPIPE", "ENOBUFS"), ["receive"]),
    ("shared-memory", "recvmsg", ("ECONNRESET", "ENOMEM"), ["send"]),
    ("eventfd", "eventfd", ("EMFILE",), ENDS),
    ("pipe", "pipe2", ("EMFILE",), ["receive"]),
    ("pipe", "write", ("EPIPE",), ENDS),
    ("pipe", "read", ("ENOMEM",), ENDS),
    ("unix-datagram", "socketpair", ("EMFILE",), ["receive"]),
    ("udp", "socket", ("EMFILE", "ENOBUFS"), ENDS),
    ("udp", "bind", ("EPERM",), ENDS),
    ("udp", "connect", ("EPERM",), ENDS),
    ("tcp", "aligned_alloc", ("ENOMEM",), ENDS),
    ("tcp", "malloc", ("ENOMEM",), ENDS),
    ("tcp", "calloc", ("ENOMEM",), ENDS),
]


@pytest.mark.parametrize(("transport", "call", "whats", "ends"), REFUSED)
def test_refused_call_ends_a_flow_of_messages_in_order(
    transport: str, call: str, whats: tuple[str, ...], ends: list[str], tmp_path: Path
) -> None:
    applied: list[str] = []
    for fault in (f"{call}:{what}@{use}" for what in whats for use in (1, 2, 3, 5)):
        for end in ends:
            trial = try_messages(transport, end, fault, tmp_path)
            for ending in filter(None, (trial.received, trial.sent)):
                assert_orderly(ending, fault)
            applied += trial.applied
    assert applied
