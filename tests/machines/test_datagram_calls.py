"""System calls of flows of datagrams that fail: what the kernel refuses is counted, or stated in one line."""

import itertools
from pathlib import Path

import pytest

from tests.machines.faulty import assert_orderly, carry_faulty
from tests.native.datagrams import assert_sent_agrees, datagrams_of, total
from tests.native.engine import MS, SHORTER_NS, Ending, Flag, assert_complete, assert_cut

pytestmark = pytest.mark.engine

RATE = 2000
BYTES = 200
ACCEPTING: dict[str, Flag] = {"bind": "127.0.0.1", "port": 0, "transport": "udp"}
CONNECTING: dict[str, Flag] = {"address": "127.0.0.1", "transport": "udp", "datagram_bytes": BYTES}


def _carry_faulty(tmp_path: Path, faults: str, **flags: Flag) -> tuple[Ending, Ending]:
    """A flow whose connecting end's calls fail: the accepting end, and that one."""
    accepting = {**ACCEPTING, "warmup_ns": 60 * MS, "duration_ns": SHORTER_NS}
    settings: dict[str, Flag] = {"packets_per_s": RATE, "warmup_ns": 60 * MS, "duration_ns": 250 * MS}
    trial = carry_faulty("send", faults, tmp_path, accepting, {**CONNECTING, **settings, **flags})
    assert trial.sent is not None
    return trial.received, trial.sent


@pytest.mark.parametrize("cause", ["ENOBUFS", "ENOMEM", "EPERM"])
def test_datagrams_that_the_kernel_refuses_are_counted(tmp_path: Path, cause: str) -> None:
    # So few that they all have room in the receiver's socket.
    accepting, connecting = _carry_faulty(tmp_path, f"sendmmsg:{cause}@5x20", packets_per_s=500)
    assert_complete(connecting)
    assert 1 <= sum(datagrams_of(connecting)["refused"]) <= 20  # fewer where the process waited for a core
    assert total(accepting, "lost") == 0  # a number is used again
    assert_sent_agrees(connecting, accepting)


def test_unreachable_peers_are_counted(tmp_path: Path) -> None:
    accepting, connecting = _carry_faulty(tmp_path, "sendmmsg:ECONNREFUSED@5x3")
    assert_complete(connecting)
    assert datagrams_of(connecting)["icmp_unreachable"] == sum(datagrams_of(connecting)["refused"])
    assert 1 <= datagrams_of(connecting)["icmp_unreachable"] <= 3
    assert_sent_agrees(connecting, accepting)


@pytest.mark.parametrize(
    "flags", [{}, {"packets_per_s": 0}, {"streams": 3}], ids=["paced", "fast", "streams"]
)
@pytest.mark.parametrize(
    "faults", ["sendmmsg:short@1+", "sendmmsg:EAGAIN@1/2", "sendmmsg:EINTR@1/3", "recvmmsg:EINTR@1/2"]
)
def test_calls_that_do_less(tmp_path: Path, faults: str, flags: dict[str, Flag]) -> None:
    direction = "both" if faults.startswith("recv") else "forward"
    accepting, connecting = _carry_faulty(tmp_path, faults, direction=direction, **flags)
    assert_complete(connecting)
    assert (tmp_path / "applied").exists()
    assert sum(datagrams_of(connecting)["refused"]) == 0
    assert_sent_agrees(connecting, accepting)


@pytest.mark.parametrize("streams", [1, 3])
def test_what_was_due_and_not_sent_is_given_up(tmp_path: Path, streams: int) -> None:
    """A socket without room from early in the warm-up on: all that was due is in one of three counts."""
    _, connecting = _carry_faulty(tmp_path, "sendmmsg:EAGAIN@5+", streams=streams, duration_ns=240 * MS)
    counts = [
        total(connecting, name, phase)
        for name in ("sent", "refused", "given_up")
        for phase in ("warmup", "steady")
    ]
    assert sum(counts) == RATE * (60 + 240) // 1000
    assert min(datagrams_of(connecting, "steady")["given_up"]) > 0


def test_a_path_whose_mtu_shrinks_ends_the_trial(tmp_path: Path) -> None:
    _, connecting = _carry_faulty(tmp_path, "sendmmsg:EMSGSIZE@5+")
    assert_cut(connecting, f"stream 0: the path's MTU does not carry --datagram-bytes {BYTES}")


@pytest.mark.parametrize("direction", ["forward", "both"])
@pytest.mark.parametrize("gso", ["no", "yes"])
def test_a_device_that_does_not_send_is_not_the_peers_fault(tmp_path: Path, gso: str, direction: str) -> None:
    """As one without checksum offload refuses super-packets."""
    _, connecting = _carry_faulty(tmp_path, "sendmmsg:EIO@5+", gso=gso, direction=direction)
    assert_cut(connecting, "stream 0: this end")
    assert ("--gso" in connecting.last["reason"]) == (gso == "yes")


#: Of calls, and of memory: those that the flow can do without are done without.
REFUSED = [
    *("setsockopt:EINVAL", "socket:EMFILE", "bind:EINVAL", "connect:EPERM"),
    *("calloc:ENOMEM", "malloc:ENOMEM", "aligned_alloc:ENOMEM"),
]
MOST_USES = 200


@pytest.mark.parametrize("failing", REFUSED)
def test_a_set_up_that_fails_is_stated_in_one_line(tmp_path: Path, failing: str) -> None:
    """Each use of the call in turn, until there is none that could fail."""
    flags: dict[str, Flag] = {"packets_per_s": 1000, "direction": "both", "duration_ns": 50 * MS}
    for use in itertools.count(1):
        assert use < MOST_USES
        trial = carry_faulty("send", f"{failing}@{use}", tmp_path, ACCEPTING, {**CONNECTING, **flags})
        assert trial.sent is not None
        assert_orderly(trial.sent, failing)
        if not trial.applied:
            break
    assert use > 1
