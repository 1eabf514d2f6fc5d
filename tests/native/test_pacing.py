"""Rate limits: who paces, the share of each stream, and that the rate is kept."""

import pytest

from tests.native.engine import MS, Ending, Flag, Record, assert_complete, both_ready, carry
from tests.native.messages import name_end

pytestmark = pytest.mark.engine

RATE = 200_000_000  # bit/s: 25 kB in a millisecond
NS_PER_S = 1_000_000_000
MSS_BYTES = 1400  # loopback's own would make the first burst large
BURST_BYTES = 10 * MSS_BYTES  # the kernel does not pace a connection's first segments
WAITING_BYTES = 65536  # may be in a paced socket when the window ends
STEP_NS = MS  # how far user-space pacing may run ahead


def _count_ns(ends: tuple[Ending, Ending], end: Ending, phase: str) -> int:
    """From the start of the earlier of two ends to the end of a phase.

    An end that waits for a core begins its own time late, and finds there what was sent meanwhile.
    """
    starts = [one.of("start")[0]["monotonic_ns"] for one in ends]
    elapsed_ns: int = end.of("start")[0]["monotonic_ns"] + end.last["phases"][phase]["end_ns"] - min(starts)
    return elapsed_ns


def _assert_within_rate(sent: Ending, received: Ending, rate: int, *, slack_bytes: int) -> None:
    """From the first byte to the last at most the rate was carried."""
    for end in (sent, received):
        assert_complete(end)
        elapsed_ns = _count_ns((sent, received), end, "drain")
        assert 0 < sum(end.last["total_bytes"]) <= rate * elapsed_ns / (8 * NS_PER_S) + slack_bytes
    # Without a warm-up this is all that came before the end of the window.
    steady_bytes = sum(received.last["phases"]["steady"]["bytes"])
    elapsed_ns = _count_ns((sent, received), received, "steady")
    assert 0 < steady_bytes <= rate * elapsed_ns / (8 * NS_PER_S) + slack_bytes
    assert sent.last["total_bytes"] == received.last["total_bytes"]


def _pacing(end: Ending) -> Record:
    stated: Record = end.of("ready")[0]["pacing"]
    return stated


@pytest.mark.parametrize("pacing", ["kernel", "user"])
@pytest.mark.parametrize("transfer", ["copy", "zero-copy"])
@pytest.mark.parametrize("streams", [1, 4])
def test_all_streams_together_keep_to_the_rate(streams: int, transfer: str, pacing: str) -> None:
    received, sent = carry(
        streams=streams,
        warmup_ns=0,
        transfer=transfer,
        mss_bytes=MSS_BYTES,
        receiver_flags={"duration_ns": 150 * MS},
        sender_flags={"rate_bits_per_s": RATE, "pacing": pacing, "duration_ns": 250 * MS},
    )
    write_bytes = sent.of("ready")[0]["write_bytes"]
    assert write_bytes == RATE // streams // 8 // 1000  # the rate's bytes of a millisecond
    ahead = {
        "kernel": streams * (BURST_BYTES + WAITING_BYTES),
        "user": streams * write_bytes + RATE * STEP_NS // (8 * NS_PER_S),
    }
    _assert_within_rate(sent, received, RATE, slack_bytes=ahead[pacing])
    assert _pacing(sent) == {"requested_bits_per_s": RATE, "stream_bits_per_s": RATE // streams, "by": pacing}
    # The kernel has the limit only where it paces.
    granted = RATE // streams // 8 if pacing == "kernel" else None
    stated = [socket["max_pacing_bytes_per_s"] for socket in sent.of("ready")[0]["sockets"]]
    assert stated == [granted] * streams
    bound = [record["tcp_info"]["max_pacing_bytes_per_s"] for record in sent.of("interval")]
    assert bound[:-1] == [[granted] * streams] * (len(bound) - 1)  # the last one may be of a closed socket
    assert _pacing(received) == {"requested_bits_per_s": None, "stream_bits_per_s": None, "by": None}


@pytest.mark.parametrize("pacing", ["kernel", "user"])
def test_reverse_the_receiver_keeps_to_its_own_rate(pacing: str) -> None:
    accepted, connected = carry(
        streams=2,
        warmup_ns=0,
        mss_bytes=MSS_BYTES,
        receiver_flags={"rate_bits_per_s": RATE, "pacing": pacing, "duration_ns": 300 * MS},
        sender_flags={"direction": "reverse", "duration_ns": 200 * MS},
    )
    slack = 2 * (BURST_BYTES + WAITING_BYTES)
    _assert_within_rate(accepted, connected, RATE, slack_bytes=slack)
    assert (_pacing(accepted)["by"], _pacing(connected)["by"]) == (pacing, None)


def test_both_at_once_each_end_keeps_to_its_own_rate() -> None:
    accepted, connected = carry(
        streams=2,
        warmup_ns=0,
        pacing="user",
        receiver_flags={"rate_bits_per_s": RATE // 4, "duration_ns": 300 * MS},
        sender_flags={"rate_bits_per_s": RATE, "direction": "both", "duration_ns": 300 * MS},
    )
    for end, rate in ((connected, RATE), (accepted, RATE // 4)):
        elapsed_ns = end.last["phases"]["drain"]["end_ns"]
        sent_bytes = sum(end.last["total_sent_bytes"])
        slack_bytes = 2 * end.of("ready")[0]["write_bytes"] + rate * STEP_NS // (8 * NS_PER_S)
        assert 0 < sent_bytes <= rate * elapsed_ns / (8 * NS_PER_S) + slack_bytes


@pytest.mark.parametrize(
    ("requested", "each"),
    [
        ({"stream_rate_bits_per_s": 8_000_000}, 8_000_000),
        ({"rate_bits_per_s": 30_000_000, "stream_rate_bits_per_s": 8_000_000}, 8_000_000),
        ({"rate_bits_per_s": 9_000_000, "stream_rate_bits_per_s": 8_000_000}, 3_000_000),
        ({"rate_bits_per_s": 10_000_000}, 3_333_333),
        ({"rate_bits_per_s": 1}, 1),
    ],
)
@pytest.mark.parametrize("pacing", ["kernel", "user"])
def test_rate_of_each_stream(requested: dict[str, Flag], each: int, pacing: str) -> None:
    received, sent = carry(
        streams=3,
        warmup_ns=0,
        mss_bytes=MSS_BYTES,
        drain_timeout_ns=500 * MS,  # what waits at a bit per second never leaves
        receiver_flags={"duration_ns": 60 * MS},
        sender_flags={**requested, "pacing": pacing, "duration_ns": 120 * MS},
    )
    assert _pacing(sent) == {
        "requested_bits_per_s": requested.get("rate_bits_per_s"),
        "stream_bits_per_s": each,
        "by": pacing,
    }
    elapsed_ns = sent.last["phases"]["drain"]["end_ns"]
    write_bytes = sent.of("ready")[0]["write_bytes"]
    slack_bytes = BURST_BYTES + WAITING_BYTES if pacing == "kernel" else 2 * write_bytes
    for total in received.last["total_bytes"]:
        assert 0 < total <= each * (elapsed_ns + STEP_NS) / (8 * NS_PER_S) + slack_bytes
    granted = max(each // 8, 1) if pacing == "kernel" else None
    assert {stated["max_pacing_bytes_per_s"] for stated in sent.of("ready")[0]["sockets"]} == {granted}


@pytest.mark.parametrize(("transport", "by"), [("tcp", "kernel"), ("unix", "user")])
def test_auto_paces_by_who_can(transport: str, by: str) -> None:
    """The kernel paces TCP; a Unix socket would accept the option without effect."""
    address = name_end(transport)
    to_tcp: dict[str, Flag] = {"mss_bytes": MSS_BYTES} if transport == "tcp" else {}
    received, sent = carry(
        streams=1,
        transport=transport,
        warmup_ns=0,
        receiver_flags={"duration_ns": 100 * MS, "bind": address},
        sender_flags={"duration_ns": 150 * MS, "rate_bits_per_s": RATE, "address": address, **to_tcp},
    )
    assert _pacing(sent)["by"] == by
    _assert_within_rate(sent, received, RATE, slack_bytes=BURST_BYTES + WAITING_BYTES)


def test_no_rate_no_pacing() -> None:
    with both_ready(streams=1, pacing="user") as (_, sender):
        ready = sender.latest
    assert ready["pacing"] == {"requested_bits_per_s": None, "stream_bits_per_s": None, "by": None}
    assert ready["sockets"][0]["max_pacing_bytes_per_s"] is None
