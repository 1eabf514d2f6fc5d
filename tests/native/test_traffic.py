"""Complete trials over loopback: sent and received bytes, and exact sums."""

import resource
import time
from pathlib import Path

import pytest

from tests.native.engine import (
    LONGER_NS,
    MS,
    SHORTER_NS,
    Flag,
    assert_complete,
    assert_counters_agree,
    both_ready,
    carry,
    receiving,
    sending,
)
from tests.native.peers import HELLO, answering, build_answer, listening
from tests.require import require

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("streams", [1, 8, 64])
def test_every_byte_is_accounted_for(streams: int) -> None:
    received, sent = carry(streams=streams)
    assert_complete(received, sent)
    for end, warmup_ns, steady_ns in ((received, 60 * MS, SHORTER_NS), (sent, 60 * MS, LONGER_NS)):
        assert_counters_agree(end, streams)
        phases = end.last["phases"]
        # A boundary is the time of the sample: never early, and as late as the machine.
        assert phases["warmup"]["end_ns"] >= warmup_ns
        assert phases["steady"]["end_ns"] >= warmup_ns + steady_ns
        assert phases["drain"]["end_ns"] > phases["drain"]["start_ns"]
        start = end.of("start")[0]
        assert start["monotonic_ns"] > 0
        assert start["realtime_ns"] > 1_500_000_000 * 1000 * MS
        kinds = [record["type"] for record in end.records if record["type"] != "interval"]
        assert kinds[-2:] == ["start", "result"]
        # TCP_INFO has one value for each stream; its names: tests/contract/test_engine_protocol.py.
        for record in [*end.of("interval"), end.last]:
            assert {len(values) for values in record["tcp_info"].values()} == {streams}
    assert received.last["rejected"] == 0
    totals = sent.last["total_bytes"]
    assert received.last["total_bytes"] == sent.last["confirmed_bytes"] == totals
    assert sum(totals) > 0
    # The kernel's own count agrees: the hello precedes the data, the FIN may count as one.
    kernels = zip(received.last["tcp_info"]["bytes_received"], totals, strict=True)
    assert {seen - total for seen, total in kernels} <= {HELLO.size, HELLO.size + 1}
    tcp_info = sent.last["tcp_info"]
    assert all(rtt > 0 for rtt in tcp_info["rtt_us"])
    assert all(mss > 500 for mss in tcp_info["snd_mss_bytes"])
    assert all(on_wire >= total for on_wire, total in zip(tcp_info["bytes_sent"], totals, strict=True))


def test_requested_window_and_congestion_control_are_granted_and_stated() -> None:
    window_bytes = 65536
    received, sent = carry(streams=2, window_bytes=window_bytes, congestion="reno")  # every kernel has reno
    granted = {"sndbuf_bytes": 2 * window_bytes, "rcvbuf_bytes": 2 * window_bytes}  # doubled (socket(7))
    for window in (received.of("listening")[0]["window"], sent.of("ready")[0]["window"]):
        assert window == {"requested_bytes": window_bytes, **granted}
    assert_complete(received, sent)
    for end in (received, sent):
        (ready,) = end.of("ready")
        assert ready["congestion"] == "reno"
        for stated in ready["sockets"]:
            assert {"congestion": "reno", **granted}.items() <= stated.items()
    mss_bytes = sent.of("ready")[0]["sockets"][0]["mss_bytes"]
    quarter = window_bytes // 4
    fitted = quarter - quarter % mss_bytes if mss_bytes <= quarter else quarter
    assert sent.of("ready")[0]["write_bytes"] == fitted


def test_window_beyond_the_limit_is_stated_as_granted() -> None:
    limit_bytes = int(Path("/proc/sys/net/core/rmem_max").read_text(encoding="ascii"))
    requested_bytes = 3 * limit_bytes
    require(requested_bytes < 2**30, "a limit of windows (net.core.rmem_max) below 341 MiB")
    with receiving(streams=1, window_bytes=requested_bytes) as (receiver, _):
        window = receiver.latest["window"]
    assert window["requested_bytes"] == requested_bytes
    assert window["rcvbuf_bytes"] == 2 * limit_bytes  # the limit, doubled


def test_sockets_of_both_ends_belong_together_and_autotuned_windows_are_null() -> None:
    nothing = {"requested_bytes": None, "sndbuf_bytes": None, "rcvbuf_bytes": None}
    with receiving(streams=4) as (receiver, port):
        assert receiver.latest["window"] == nothing
        with sending(port, streams=4) as sender:
            ready = sender.expect("ready")
            at_receiver = receiver.expect("ready")["sockets"]
    assert ready["window"] == nothing
    for stream, (ours, theirs) in enumerate(zip(ready["sockets"], at_receiver, strict=True)):
        assert ours["stream"] == theirs["stream"] == stream
        assert ours["remote_port"] == theirs["local_port"] == port
        assert ours["local_port"] == theirs["remote_port"]


@pytest.mark.parametrize(("workers", "streams", "used"), [(1, 4, 1), (3, 4, 3), (8, 2, 2)])
def test_workers_are_as_requested_and_never_more_than_streams(workers: int, streams: int, used: int) -> None:
    before_s = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    received, sent = carry(streams=streams, workers=workers)
    charged_s = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before_s
    for end in (received, sent):
        assert_counters_agree(end, streams)
        assert end.of("ready")[0]["workers"] == used
        assert {len(record["workers"]) for record in [*end.of("interval"), end.last]} == {used}
        for worker, stated in enumerate(end.last["workers"]):
            for key in ("user_ns", "system_ns", "wake_ups", "system_calls"):
                steps = [interval["workers"][worker][key] for interval in end.of("interval")]
                assert all(step >= 0 for step in steps), key
                assert sum(steps) <= stated[key], key  # usage before the start is in the result alone
                assert sum(steps) > 0 or key.endswith("_ns"), key
            # A wake-up is the end of a wait, which is a system call itself.
            assert stated["system_calls"] >= stated["wake_ups"]
    both = [*sent.last["workers"], *received.last["workers"]]
    assert 0 < sum(stated["user_ns"] + stated["system_ns"] for stated in both) / 1e9 <= charged_s


def test_sends_from_the_requested_address() -> None:
    with (
        listening() as (listener, port),
        sending(port, bind="127.0.0.2") as sender,
        answering(listener, build_answer()) as (connection, _),
    ):
        ready = sender.expect("ready")
        address, local_port = connection.getpeername()
        assert address == "127.0.0.2"
        assert ready["sockets"][0]["local_port"] == local_port


def test_sender_goes_at_once_without_a_controller() -> None:
    short: dict[str, Flag] = {"bytes": 1000, "warmup_ns": 0}
    with both_ready({}, {"control": ""}, streams=1, **short) as (receiver, sender):
        assert_complete(sender.finish(), receiver.finish())


def test_nothing_flows_before_go() -> None:
    with both_ready(streams=2, bytes=1000, warmup_ns=0) as (receiver, sender):
        sender.send_line("no such command")
        before_ns = time.monotonic_ns()  # one host, one clock
        sender.send_line("go")
        assert sender.expect("start")["monotonic_ns"] >= before_ns
        assert receiver.expect("start")["monotonic_ns"] >= before_ns
        sent, received = sender.finish(), receiver.finish()
    assert sent.stderr.count("\n") == 1
    assert "no such command" in sent.stderr
    assert sent.status == received.status == 0
