"""What the packets of a capture show agrees with the engine's counters and with the lab's link."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from pathlab.analysis.packets.handshake import CapturePosition
from pathlab.analysis.packets.retransmissions import Cause
from pathlab.lab.topology import Link, Topology
from pathlab.study.captures.captured_tcp import CapturedConnection
from pathlab.study.captures.inspection import inspect_file
from tests.lab.labs import make_lab
from tests.lab.programs import run_in
from tests.require import require_engine

pytestmark = [pytest.mark.netns, pytest.mark.engine]

RATE, DELAY_NS = 20 * 10**6, 10_000_000
ENDS = {"a": "sender", "b": "receiver"}


def run_captured(
    folder: Path, *, streams: int = 2, window_bytes: int | None = None, **link: Any
) -> tuple[dict[str, Any], dict[str, list[CapturedConnection]]]:
    """The sender's result, and the captured data connections of both ends, after one flow over a link."""
    engine = require_engine()
    path = Topology(
        hosts=("a", "b"),
        links=(
            Link(between=("a", "b"), rate_bits_per_s=RATE, delay_ns=DELAY_NS, queue_bytes=100_000, **link),
        ),
    )
    with make_lab(path) as lab, contextlib.ExitStack() as stack:
        address = lab.topology.address("b", "a")
        captures = {}
        for host, end in ENDS.items():
            argv = ("capture", "--file", str(folder / f"{end}.pcapng"), "--port", "5210", "--output", "json")
            captures[host] = stack.enter_context(run_in(lab, host, engine, *argv, "--control", "stdin"))
            captures[host].wait_for('"ready"')
        common = ["--port", "5210", "--output", "json"]
        if window_bytes is not None:
            common += ["--window-bytes", str(window_bytes)]
        receiver = stack.enter_context(run_in(lab, "b", engine, "receive", "--bind", address, *common))
        receiver.wait_for('"listening"')
        times = ("--warmup-ns", "0", "--duration-ns", str(3 * 10**9), "--streams", str(streams))
        sender = stack.enter_context(run_in(lab, "a", engine, "send", address, *times, *common))
        result: dict[str, Any] = json.loads(sender.finish().splitlines()[-1])
        receiver.finish()
        for capture in captures.values():
            capture.say("stop")
            capture.finish()
    found = {
        end: [
            one
            for one in inspect_file(folder / f"{end}.pcapng").captures[0].connections
            if one.main.trace.payload_bytes > 10_000
        ]
        for end in ENDS.values()
    }
    return result, found


def total(connections: list[CapturedConnection], name: str) -> int:
    return sum(getattr(one.main.trace, name) or 0 for one in connections)


def test_retransmissions_and_rtt_agree_with_the_engine(tmp_path: Path) -> None:
    said, found = run_captured(tmp_path, loss_ratio=0.01)
    counted, sent, received = said["tcp_info"], found["sender"], found["receiver"]
    assert len(sent) == len(received) == 2
    assert sum(counted["total_retrans_segments"]) > 20
    assert total(sent, "retransmitted_segments") == sum(counted["total_retrans_segments"])
    assert total(sent, "retransmitted_bytes") == sum(counted["bytes_retrans"])
    assert total(sent, "unseen_bytes") == total(sent, "unseen_acked_bytes") == 0
    for one in sent:
        causes = one.main.trace.retransmitted
        assert causes[Cause.UNEXPLAINED] == causes[Cause.UNKNOWN] == 0
        assert one.main.position == CapturePosition.NEAR_SENDER
        assert one.main.trace.super_packets > 0
    least_ns = min(one.main.trace.rtt.min_ns or 0 for one in sent)
    assert abs(least_ns - min(counted["min_rtt_us"]) * 1000) < 500_000
    assert least_ns >= 2 * DELAY_NS
    # What the link lost is sent again after the segments that showed the hole; nothing was reordered.
    assert total(received, "reordered") == total(received, "undecided_late") == 0
    assert 0 < total(received, "lost_before_capture") <= total(sent, "retransmitted_segments")
    assert all(one.main.position == CapturePosition.NEAR_RECEIVER for one in received)
    assert total(received, "new_bytes") == total(sent, "new_bytes")


def test_reordering_is_no_loss(tmp_path: Path) -> None:
    said, found = run_captured(
        tmp_path, streams=1, window_bytes=32_768, reorder_ratio=0.02, reorder_ns=3_000_000
    )
    (sent,), (received,) = found["sender"], found["receiver"]
    trace = received.main.trace
    assert trace.reordered > 20
    assert 1 <= trace.reorder_extent_max < 32_768 // 1000
    assert trace.late_time_max_ns > 2_000_000
    assert trace.lost_before_capture == trace.undecided_late == trace.unseen_bytes == 0
    assert sent.main.trace.reordered == 0
    assert sent.main.trace.retransmitted_bytes == said["tcp_info"]["bytes_retrans"][0]
