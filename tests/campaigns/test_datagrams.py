"""UDP flows through the emulator: loss, duplicates and reordering equal its trace, packet by packet."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.lab.emulation import check_balance, emulate
from tests.lab.fates import Fate, read_fates
from tests.lab.wires import ADDRESS_B, Wires
from tests.native import reordering_reference as reference
from tests.native.datagrams import assert_sent_agrees, datagrams_of
from tests.native.engine import MS, TOKEN, Ending, Flag, build_command, start_command
from tests.native.reordering_reference import Arrival

pytestmark = [pytest.mark.netns, pytest.mark.engine]

PAYLOAD_BYTES = 700
IP_BYTES = PAYLOAD_BYTES + 28
"""No other packet of the trial has this size, so that the trace shows the datagrams."""


class Flow(NamedTuple):
    """What both ends stated, and the trace of the datagrams in the order in which they were sent."""

    sender: Ending
    receiver: Ending
    fates: list[Fate]
    counters: dict[str, Any]


def carry_flow(wires: Wires, backend: str, link: str, trace: Path, **flags: Flag) -> Flow:
    """One stream of datagrams from a to b over a link with these settings."""
    common: dict[str, Flag] = {"token": TOKEN, "warmup_ns": 150 * MS, "duration_ns": 700 * MS}
    common |= {"interval_ns": 100 * MS, "control": "stdin", "transport": "udp"}
    settings = f"delay_ns={DELAY_NS},{link}"
    with emulate(wires, backend, forward=settings, trace=str(trace)) as emulator:
        receive = build_command("receive", bind=ADDRESS_B, port=0, window_bytes=4_000_000, **common)
        with start_command(wires.b.command(*receive)) as receiver:
            receiver.expect("hello")
            port = receiver.expect("listening")["port"]
            send = build_command(
                "send", address=ADDRESS_B, port=port, datagram_bytes=PAYLOAD_BYTES, **common, **flags
            )
            with start_command(wires.a.command(*send)) as sender:
                sender.expect("hello")
                sender.expect("ready")
                receiver.expect("ready")
                sender.send_line("go")
                sent, received = sender.finish(), receiver.finish()
        counters = emulator.stop()
    assert (sent.status, received.status) == (0, 0), (sent.stderr, received.stderr)
    fates = [fate for fate in read_fates(trace, "forward") if fate.ip_bytes == IP_BYTES]
    return Flow(sender=sent, receiver=received, fates=fates, counters=counters)


def list_arrivals(flow: Flow, measured: range) -> list[Arrival]:
    """The datagrams in the order in which they were due, copies included; sent at 0 in the steady window."""
    delivered = [
        Arrival(number, 0 if number in measured else 1, fate.due_ns)
        for number, fate in enumerate(flow.fates)
        if fate.due_ns is not None
        for _ in range(1 + fate.duplicated)
    ]
    return sorted(delivered, key=lambda arrival: arrival.arrived_ns)


def list_numbers(flow: Flow) -> range:
    """The numbers that were sent in the steady window."""
    phases = ("warmup", "steady")
    warmup, steady = (datagrams_of(flow.sender, phase)["sent"][0] for phase in phases)
    return range(warmup, warmup + steady)


LINKS = {
    "loss": "loss_ratio=0.05",
    "bursts": "ge_enter_ratio=0.01,ge_leave_ratio=0.2,ge_loss_ratio=0.8",
    "reordering": "reorder_ratio=0.1,reorder_ns=5000000",
    "late": "reorder_ratio=0.01,reorder_ns=60000000",
    "most late": "reorder_ratio=0.6,reorder_ns=3000000",
    "duplicates": "duplicate_ratio=0.1",
    "queue": "rate_bits_per_s=16000000,queue_bytes=30000,reorder_ratio=0.05,reorder_ns=4000000",
    "all": "loss_ratio=0.03,reorder_ratio=0.1,reorder_ns=4000000,duplicate_ratio=0.05",
}
DELAY_NS = 300 * MS
"""What the emulator reads later than this after its arrival is delivered later than the trace says."""


@pytest.mark.parametrize("link", LINKS)
def test_loss_and_reordering_equal_the_trace(wires: Wires, link: str, tmp_path: Path) -> None:
    """By one back end: what is lost, late or twice is decided before a packet reaches it."""
    flow = carry_flow(wires, "packet", LINKS[link], tmp_path / "trace", packets_per_s=4000)
    check_equal(flow)


@pytest.mark.parametrize("switches", [("gso",), ("gso", "gro")])
def test_segmented_datagrams_equal_the_trace(
    wires: Wires, backend: str, switches: tuple[str, ...], tmp_path: Path
) -> None:
    """Super-packets are handed over whole; the emulator decides about each of their datagrams."""
    flags: dict[str, Flag] = dict.fromkeys(switches, "yes")
    flow = carry_flow(wires, backend, LINKS["all"], tmp_path / "trace", packets_per_s=8000, **flags)
    assert any(fate.segment for fate in flow.fates)
    check_equal(flow)


def check_equal(flow: Flow) -> None:
    """Every count and histogram of the steady window is that of the trace."""
    assert_sent_agrees(flow.sender, flow.receiver)
    check_balance(flow.counters)
    numbers = list_numbers(flow)
    assert len(flow.fates) == numbers.stop
    arrivals = list_arrivals(flow, numbers)
    want = reference.compute_reordering(arrivals, 0, range(1), numbers)
    steady, found = datagrams_of(flow.receiver, "steady"), datagrams_of(flow.receiver)
    for name, count in (
        ("received", want.received),
        ("duplicate", want.duplicates),
        ("reordered", want.reordered),
        ("lost", len(numbers) - want.received),
    ):
        assert steady[name] == [count], name
    assert (found["unclassified"], found["foreign"], found["host_lost"]["socket"] or 0) == (0, 0, 0)
    histograms = found["histograms"]
    for name in ("loss_runs", "reorder_extents", "n_reordering"):
        assert histograms[name] == reference.count_places(getattr(want, name), histograms[name]), name
    assert sum(count for _, _, count in histograms["late_times_ns"]) == want.reordered
    unique = reference.list_first_arrivals(arrivals, 0)
    for name, compute in (
        ("reorder_density", reference.compute_displacements),
        ("buffer_density", reference.compute_occupancies),
    ):
        assert histograms[name] == reference.count_density(compute(unique, 0)[0], numbers), name
