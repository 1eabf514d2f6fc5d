"""Complete trials over loopback: sent and received bytes, and exact sums."""

from __future__ import annotations

import re
import resource
import socket
import time
from pathlib import Path

import pytest

from tests.native.engine import (
    LONGER_NS,
    MS,
    SHORTER_NS,
    Ending,
    assert_counters_agree,
    carry,
    receiving,
    sending,
)
from tests.native.peers import HELLO, answering, build_answer, listening
from tests.require import require

pytestmark = pytest.mark.engine

PROTOCOL = Path(__file__).resolve().parents[2] / "native" / "PROTOCOL.md"


def _tcp_info_fields() -> list[str]:
    listed = re.search(r"with the unit added:\n`([^`]+)`", PROTOCOL.read_text(encoding="utf-8"))
    assert listed is not None
    return listed[1].split()


def _has_ipv6_loopback() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


def _assert_complete(end: Ending) -> None:
    assert end.stderr == ""
    assert end.status == 0
    assert end.last["complete"] is True
    assert end.last["reason"] is None


@pytest.mark.parametrize("streams", [1, 8, 64])
def test_every_byte_is_accounted_for(streams: int) -> None:
    received, sent = carry(streams=streams)
    for end in (received, sent):
        _assert_complete(end)
        assert_counters_agree(end, streams)
    assert received.last["rejected"] == 0
    assert received.last["total_bytes"] == sent.last["total_bytes"]
    assert sum(sent.last["total_bytes"]) > 0
    # The kernel's own count agrees: the hello precedes the data, the FIN may count as one.
    extra = {
        seen - total
        for seen, total in zip(
            received.last["tcp_info"]["bytes_received"], received.last["total_bytes"], strict=True
        )
    }
    assert extra <= {HELLO.size, HELLO.size + 1}


def test_phases_follow_the_plan() -> None:
    received, sent = carry(streams=2)
    for end, warmup_ns, steady_ns in ((received, 60 * MS, SHORTER_NS), (sent, 60 * MS, LONGER_NS)):
        phases = end.last["phases"]
        # A boundary is the time of the sample: never early, and as late as the machine.
        assert phases["warmup"]["end_ns"] >= warmup_ns
        assert phases["steady"]["end_ns"] >= warmup_ns + steady_ns
        assert phases["drain"]["end_ns"] > phases["drain"]["start_ns"]
        start = end.of("start")[0]
        assert start["monotonic_ns"] > 0
        assert start["realtime_ns"] > 1_500_000_000 * 1000 * MS
        assert [record["type"] for record in end.records if record["type"] != "interval"][-2:] == [
            "start",
            "result",
        ]


def test_no_warmup() -> None:
    received, sent = carry(streams=2, warmup_ns=0)
    for end in (received, sent):
        _assert_complete(end)
        assert_counters_agree(end, 2)
        assert end.of("interval")[0]["phase"] == "steady"
        assert end.last["phases"]["warmup"] == {"start_ns": 0, "end_ns": 0, "bytes": [0, 0]}


@pytest.mark.parametrize("streams", [1, 5])
def test_tcp_info_has_one_value_per_stream(streams: int) -> None:
    received, sent = carry(streams=streams)
    fields = _tcp_info_fields()
    assert len(fields) == 27
    for end in (received, sent):
        assert end.of("interval")
        for record in [*end.of("interval"), end.last]:
            assert list(record["tcp_info"]) == fields
            assert {len(values) for values in record["tcp_info"].values()} == {streams}
    assert all(rtt > 0 for rtt in sent.last["tcp_info"]["rtt_us"])
    assert all(mss > 500 for mss in sent.last["tcp_info"]["snd_mss_bytes"])
    sent_bytes = zip(sent.last["tcp_info"]["bytes_sent"], sent.last["total_bytes"], strict=True)
    assert all(on_wire >= total for on_wire, total in sent_bytes)


def test_requested_window_is_granted_and_stated() -> None:
    window_bytes = 65536
    received, sent = carry(streams=2, window_bytes=window_bytes)
    windows = [received.of("listening")[0]["window"], sent.of("ready")[0]["window"]]
    for window in windows:
        assert window["requested_bytes"] == window_bytes
        assert window["sndbuf_bytes"] == 2 * window_bytes  # Linux doubles the requested size (socket(7))
        assert window["rcvbuf_bytes"] == 2 * window_bytes
    for end in (received, sent):
        _assert_complete(end)
        for stated in end.of("ready")[0]["sockets"]:
            assert stated["sndbuf_bytes"] == 2 * window_bytes
            assert stated["rcvbuf_bytes"] == 2 * window_bytes
    mss_bytes = sent.of("ready")[0]["sockets"][0]["mss_bytes"]
    quarter = window_bytes // 4
    fitted = quarter - quarter % mss_bytes if mss_bytes <= quarter else quarter
    assert sent.of("ready")[0]["write_bytes"] == fitted


def test_window_beyond_the_limit_is_stated_as_granted() -> None:
    limit_bytes = int(Path("/proc/sys/net/core/rmem_max").read_text(encoding="ascii"))
    requested_bytes = 3 * limit_bytes
    require(requested_bytes < 2**30, "a limit of windows (net.core.rmem_max) below 341 MiB")
    received, sent = carry(streams=1, window_bytes=requested_bytes)
    _assert_complete(sent)
    window = received.of("listening")[0]["window"]
    assert window["requested_bytes"] == requested_bytes
    assert window["rcvbuf_bytes"] == 2 * limit_bytes  # the limit, doubled


def test_window_is_null_when_autotuning() -> None:
    received, sent = carry(streams=1)
    nothing = {"requested_bytes": None, "sndbuf_bytes": None, "rcvbuf_bytes": None}
    assert received.of("listening")[0]["window"] == nothing
    assert sent.of("ready")[0]["window"] == nothing
    assert sent.of("ready")[0]["write_bytes"] == 1048576


def test_sockets_of_both_ends_belong_together() -> None:
    received, sent = carry(streams=4)
    port = received.of("listening")[0]["port"]
    at_receiver = received.of("ready")[0]["sockets"]
    at_sender = sent.of("ready")[0]["sockets"]
    assert (
        [stated["stream"] for stated in at_receiver]
        == [stated["stream"] for stated in at_sender]
        == [0, 1, 2, 3]
    )
    for receiving_end, sending_end in zip(at_receiver, at_sender, strict=True):
        assert receiving_end["local_port"] == sending_end["remote_port"] == port
        assert receiving_end["remote_port"] == sending_end["local_port"]


def test_congestion_control_is_set_and_read_back() -> None:
    received, sent = carry(streams=2, congestion="reno")  # every kernel has reno
    for end in (received, sent):
        ready = end.of("ready")[0]
        assert ready["congestion"] == "reno"
        assert [stated["congestion"] for stated in ready["sockets"]] == ["reno", "reno"]


@pytest.mark.parametrize(("workers", "streams", "used"), [(1, 4, 1), (3, 4, 3), (8, 2, 2)])
def test_workers_are_as_requested_and_never_more_than_streams(workers: int, streams: int, used: int) -> None:
    before_s = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    received, sent = carry(streams=streams, workers=workers)
    charged_s = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before_s
    for end in (received, sent):
        assert_counters_agree(end, streams)
        assert end.of("ready")[0]["workers"] == used
        assert len(end.last["workers"]) == used
        for interval in end.of("interval"):
            assert len(interval["workers"]) == used
        for worker, stated in enumerate(end.last["workers"]):
            # Usage before the start is in the result alone.
            for key in ("user_ns", "system_ns"):
                assert stated[key] >= sum(interval["workers"][worker][key] for interval in end.of("interval"))
    both = [*sent.last["workers"], *received.last["workers"]]
    assert 0 < sum(stated["user_ns"] + stated["system_ns"] for stated in both) / 1e9 <= charged_s


def test_ipv6() -> None:
    require(_has_ipv6_loopback(), "IPv6 on loopback")
    received, sent = carry(
        streams=2, receiver_flags={"bind": "::1"}, sender_flags={"address": "::1", "bind": "::1"}
    )
    for end in (received, sent):
        _assert_complete(end)
        assert_counters_agree(end, 2)
    assert received.of("listening")[0]["address"] == "::1"
    assert received.last["total_bytes"] == sent.last["total_bytes"]


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
    with receiving(streams=1) as (receiver, port):
        with sending(port, streams=1, control="") as sender:
            sender.expect("ready")
            _assert_complete(sender.finish())
        _assert_complete(receiver.finish())


def test_nothing_flows_before_go() -> None:
    with receiving(streams=2) as (receiver, port), sending(port, streams=2) as sender:
        sender.expect("ready")
        receiver.expect("ready")
        sender.send_line("no such command")
        before_ns = time.monotonic_ns()  # one host, one clock
        sender.send_line("go")
        assert sender.expect("start")["monotonic_ns"] >= before_ns
        assert receiver.expect("start")["monotonic_ns"] >= before_ns
        sent, received = sender.finish(), receiver.finish()
    assert sent.stderr.count("\n") == 1
    assert "no such command" in sent.stderr
    assert sent.status == received.status == 0
