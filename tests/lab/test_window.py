"""Traffic has the requested window: goodput times round trip, on a link of known delay."""

import contextlib
import json

import pytest

from pathlab.lab.topology import Link, Topology
from tests.lab.labs import compute_rate, make_lab
from tests.lab.programs import run_in
from tests.require import require_engine

pytestmark = [pytest.mark.netns, pytest.mark.engine]

RTT_S = 0.160
PATH = Topology(
    hosts=("a", "b"),
    links=(
        Link(
            between=("a", "b"), rate_bits_per_s=10**9, delay_ns=int(RTT_S / 2 * 1e9), queue_bytes=20_000_000
        ),
    ),
)
WINDOWS_BYTES = (8192, 16384, 65536, 262144, 1048576)
# Five segments of 1,448 bytes. One flow in six settles at four in each round trip: 0.74 (README, limits).
SMALL_BYTES = 8192
# A slow start to 1 MiB takes eight round trips. Then ten intervals of three: a stall spoils a few of them.
TIMES = ("--warmup-ns", str(2_500_000_000), "--duration-ns", str(4_800_000_000))
INTERVAL = ("--interval-ns", str(480_000_000))


def test_goodput_times_rtt_is_the_requested_window() -> None:
    """All at once: together they are a twelfth of the line, so none meets a queue."""
    engine = require_engine()
    with make_lab(PATH) as lab, contextlib.ExitStack() as stack:
        address = lab.topology.address("b", "a")
        pairs = []
        for number, window_bytes in enumerate(WINDOWS_BYTES):
            common = ["--port", str(5210 + number), "--window-bytes", str(window_bytes), "--output", "json"]
            receiver = stack.enter_context(
                run_in(lab, "b", engine, "receive", "--bind", address, *INTERVAL, *common)
            )
            receiver.wait_for('"listening"')
            sender = stack.enter_context(
                run_in(lab, "a", engine, "send", address, "--congestion", "reno", *TIMES, *common)
            )
            pairs.append((window_bytes, sender, receiver))
        for window_bytes, sender, receiver in pairs:
            sent = json.loads(sender.finish().splitlines()[-1])
            received = [json.loads(line) for line in receiver.finish().splitlines()]
            least = 0.7 if window_bytes == SMALL_BYTES else 0.9
            assert least <= compute_rate(received) / 8 * RTT_S / window_bytes <= 1.2, window_bytes
            steady = received[-1]["phases"]["steady"]
            goodput = sum(steady["bytes"]) * 1e9 / (steady["end_ns"] - steady["start_ns"])
            # What the engine itself calls the effective window, by the kernel's own round trip.
            assert sent["effective_window_bytes"][0] == pytest.approx(goodput * RTT_S, rel=0.1), window_bytes
