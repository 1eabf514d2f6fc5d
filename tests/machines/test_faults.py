"""System calls that fail: transient failures change nothing, refused calls end a run with one line.

The engine under test is linked with ``native/tests/faults/faults.c``.
"""

from pathlib import Path

import pytest

from tests.machines.faulty import ENDS, Trial, assert_orderly, carry_faulty
from tests.native.engine import MS, Flag, assert_complete, assert_counters_agree

pytestmark = pytest.mark.engine

STREAMS = 24
BYTES = 24 * 200_000

COMMON: dict[str, Flag] = {"streams": STREAMS, "workers": 2, "bytes": BYTES}
COMMON |= {"write_bytes": 16384, "read_bytes": 16384}

# Transient failures of a call by POSIX or the kernel's manual.
PASSING = {
    "send": ("EINTR", "EAGAIN", "short"),
    "recv": ("EINTR", "EAGAIN", "short"),
    "splice": ("EINTR", "EAGAIN", "short"),
    "tee": ("EINTR", "EAGAIN"),
    "epoll_wait": ("EINTR",),
    "accept4": ("EINTR", "EAGAIN"),
}


def _try(end: str, faults: str, folder: Path, flags: dict[str, Flag], timeout_ns: int = 1000 * MS) -> Trial:
    """One trial by bytes over loopback, with ``faults`` at one end."""
    common = {**COMMON, "drain_timeout_ns": timeout_ns, **flags}
    accepting: dict[str, Flag] = {"bind": "127.0.0.1", "port": 0, **common}
    connecting: dict[str, Flag] = {"address": "127.0.0.1", "connect_timeout_ns": timeout_ns, **common}
    return carry_faulty(end, faults, folder, accepting, connecting)


def _list_passing() -> list[tuple[str, str, str]]:
    return [
        (end, call, what)
        for call, whats in PASSING.items()
        for what in whats
        for end in ENDS
        if (call not in ("splice", "tee") or end == "send") and (call != "accept4" or end == "receive")
    ]


@pytest.mark.parametrize("when", ["1", "2", "5", "3/3"])
@pytest.mark.parametrize(("end", "call", "what"), _list_passing())
def test_passing_fault_changes_nothing(end: str, call: str, what: str, when: str, tmp_path: Path) -> None:
    flags: dict[str, Flag] = {}
    if call in ("splice", "tee"):
        # A tee fills a pipe, which serves many splices.
        flags = {"transfer": "zero-copy", "bytes": BYTES * 8}
    fault = f"{call}:{what}@{when}"
    trial = _try(end, fault, tmp_path, flags, 60_000 * MS)
    assert trial.applied == (fault,)
    assert_complete(trial.received, trial.sent)
    for ending in (trial.received, trial.sent):
        assert_counters_agree(ending, STREAMS)
    assert trial.received.last["total_bytes"] == trial.sent.last["total_bytes"]
    assert trial.sent.last["confirmed_bytes"] == trial.sent.last["total_bytes"]
    assert sum(trial.received.last["total_bytes"]) == flags.get("bytes", BYTES)


def _assert_agreement(trial: Trial) -> None:
    """A sender never states bytes as delivered that the receiver did not count."""
    if trial.sent is None or trial.sent.status != 0 or trial.received.status != 0:
        return
    for ending in (trial.received, trial.sent):
        assert_counters_agree(ending, STREAMS)
    assert trial.received.last["total_bytes"] == trial.sent.last["total_bytes"]


# Errors with which the kernel may refuse a call, and at which uses.
REFUSED = {
    "send": (("ENOBUFS", "ECONNRESET", "EPIPE", "EPERM"), (1, 20)),
    "recv": (("ECONNRESET", "ENOMEM"), (1, 20)),
    "splice": (("ENOMEM", "EPIPE"), (1, 20)),
    "tee": (("ENOMEM",), (1, 2)),
    "accept4": (("EMFILE", "ENFILE", "ENOBUFS"), (1, 20)),
    "connect": (("ENOBUFS", "ETIMEDOUT", "EPERM"), (1, 20)),
    "epoll_wait": (("EINVAL",), (1, 20)),
    "epoll_ctl": (("ENOMEM",), (1, 4, 20)),
    "setsockopt": (("ENOBUFS", "EPERM"), (1, 4, 20)),
    "getsockopt": (("ENOBUFS",), (1, 4, 20)),
    "socket": (("EMFILE", "ENOBUFS"), (1, 20)),
    "bind": (("ENOMEM", "EPERM"), (1,)),
    "listen": (("ENOBUFS",), (1,)),
    "shutdown": (("ENOBUFS",), (1, 20)),
    "write": (("ENOSPC", "EPIPE"), (1, 4)),
    "read": (("ENOMEM",), (1, 4)),
    "calloc": (("ENOMEM",), (1, 2, 3, 4)),
    "malloc": (("ENOMEM",), (1, 2)),
    "eventfd": (("EMFILE",), (1, 2)),
    "pipe2": (("EMFILE",), (1,)),
    "pthread_create": (("EAGAIN",), (1, 2)),
}
# Calls that one end, or neither with these flags, makes.
UNUSED = {
    *(("receive", call) for call in ("splice", "tee", "connect", "pipe2", "read")),
    *(("send", call) for call in ("accept4", "bind", "listen")),
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("call", REFUSED)
def test_refused_call_ends_in_order(call: str, end: str, tmp_path: Path) -> None:
    if (end, call) in UNUSED:
        return
    whats, uses = REFUSED[call]
    flags: dict[str, Flag] = {}
    if call in ("splice", "tee", "pipe2"):
        flags = {"transfer": "zero-copy"}
    if call == "setsockopt":
        flags = {"window_bytes": 65536}
    applied: list[str] = []
    for fault in (f"{call}:{what}@{use}" for what in whats for use in uses):
        trial = _try(end, fault, tmp_path, flags)
        for ending in filter(None, (trial.received, trial.sent)):
            assert_orderly(ending, fault)
        _assert_agreement(trial)
        applied += trial.applied
    assert applied
