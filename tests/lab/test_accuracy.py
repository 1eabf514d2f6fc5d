"""What the engine says it carried is what a packet capture and another tool say, on a link of known rate."""

import itertools
import json
import re
import shutil
import statistics
import sys
from pathlib import Path

import pytest

from pathlab.lab.lab import Lab
from pathlab.lab.topology import Link, Topology
from tests.lab.capture import Flow
from tests.lab.fixtures import SharedLabs
from tests.lab.labs import Record, exchange, list_rates
from tests.lab.programs import run_in
from tests.require import require

PATH = Topology(
    hosts=("a", "b"),
    links=(Link(between=("a", "b"), rate_bits_per_s=10**8, delay_ns=10_000_000, queue_bytes=250_000),),
)
#: Its sender would lose rate if the little unsent data that it keeps waiting did not suffice.
FAST = Topology(
    hosts=("a", "b"),
    links=(Link(between=("a", "b"), rate_bits_per_s=3 * 10**8, delay_ns=20_000_000, queue_bytes=1_500_000),),
)
INTERFACE = "wan0"
PORT = 5210
CONGESTION = "reno"  # as the engine's; its slow start does not end early where a stall delays packets
HELLO_BYTES = 84  # the engine's hello on each stream, which is no payload of its own (native/PROTOCOL.md)
WARMUP_S = 1
STEADY_S = 1
INTERVAL_S = 0.1
ROUNDS = 3  # a stall of the machine spoils the intervals of one
#: A line of iperf3's server on an interval that counts, in kbit/s; [SUM] where there are several streams.
INTERVAL_LINE = re.compile(r"^\[ *(SUM|\d+)\] .* ([\d.]+) Kbits/sec *$", re.MULTILINE)


def carry_with_engine(lab: Lab, streams: int) -> list[Record]:
    """One flow from a to b by reno, in intervals of 100 ms; the receiver's records."""
    times = ("--warmup", f"{WARMUP_S}s", "--duration", f"{STEADY_S}s")
    shape = ("--port", str(PORT), "--streams", str(streams), "--tcp-info", "none")
    return exchange(lab, *shape, extent=times)[1]


def carry_with_iperf3(lab: Lab, streams: int) -> list[float]:
    """The same with iperf3; its receiver's intervals, bits/s."""
    address = lab.topology.address("b", "a")
    listen = ["iperf3", "-s", "-1", "--forceflush", "-B", address, "-i", str(INTERVAL_S), "-f", "k"]
    with run_in(lab, "b", *listen) as server:
        server.wait_for("Server listening")
        # It counts whole blocks, which must be small beside what comes in an interval.
        times = ["-O", str(WARMUP_S), "-t", str(STEADY_S), "-C", CONGESTION, "-l", "16K"]
        with run_in(lab, "a", "iperf3", "-c", address, "-P", str(streams), *times) as client:
            client.finish()
        found = INTERVAL_LINE.findall(server.finish())
    rates = [1e3 * float(rate) for name, rate in found if (name == "SUM") == (streams > 1)]
    assert len(rates) >= 0.8 * STEADY_S / INTERVAL_S, found
    return rates


@pytest.mark.netns
@pytest.mark.engine
@pytest.mark.parametrize("streams", [1, 8])
def test_the_receiver_counts_what_a_capture_sees(shared_labs: SharedLabs, streams: int) -> None:
    lab = shared_labs.lend(PATH)
    program = str(Path(__file__).with_name("capture.py"))
    with run_in(lab, "b", sys.executable, "-I", program, INTERFACE, str(PORT)) as capture:
        capture.wait_for("ready")
        records = carry_with_engine(lab, streams)
        (start,) = [record for record in records if record["type"] == "start"]
        intervals = [record for record in records if record["type"] == "interval"]
        capture.say(" ".join(str(start["realtime_ns"] + one["end_ns"]) for one in intervals))
        seen = json.loads(capture.finish())
    assert (seen["dropped_packets"], seen["unfinished_flows"], seen["flows"]) == (0, 0, streams)
    total_bytes = sum(records[-1]["total_bytes"])
    assert seen["bytes"] == total_bytes + HELLO_BYTES * streams
    # At the ends of its intervals the receiver has read what has arrived, unless it waits for a core there.
    read_bytes = itertools.accumulate(sum(one["bytes"]) for one in intervals)
    unread_bytes = [
        arrived - HELLO_BYTES * streams - read
        for arrived, read in zip(seen["bytes_before"], read_bytes, strict=True)
    ]
    assert abs(statistics.median(unread_bytes)) < 0.005 * total_bytes
    assert total_bytes > 5_000_000


@pytest.mark.netns
@pytest.mark.engine
@pytest.mark.parametrize(
    ("topology", "streams"),
    [(PATH, 4), (FAST, 1), *(pytest.param(PATH, n, marks=pytest.mark.long) for n in (1, 16))],
    ids=["100M-4", "300M-1", "100M-1", "100M-16"],
)
def test_iperf3_finds_the_same_rate(shared_labs: SharedLabs, topology: Topology, streams: int) -> None:
    """They take turns, so that the machine is the same for both."""
    require(shutil.which("iperf3"), "the program iperf3")
    lab = shared_labs.lend(topology)
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(ROUNDS):
        ours += list_rates(carry_with_engine(lab, streams))
        theirs += carry_with_iperf3(lab, streams)
    assert statistics.median(ours) == pytest.approx(statistics.median(theirs), rel=0.02)


def test_a_captured_byte_counts_once_and_in_sequence() -> None:
    flow = Flow()
    flow.take(0, 10)
    flow.take(20, 30)  # after a gap: nothing of it has reached the reader
    assert flow.next_position == 10
    flow.take(20, 30)  # repeated while it waits
    flow.take(25, 40)  # half of it new
    flow.take(10, 20)  # fills the gap
    flow.take(5, 15)  # repeated after it was taken
    assert flow.next_position == 40
    assert flow.ahead == []
    assert flow.repeated_bytes == 10 + 5 + 10
