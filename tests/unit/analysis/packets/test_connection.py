"""Retransmissions by cause, reordering, RTT, windows and notices of one direction of a connection."""

import time
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from pathlab.analysis.packets.connection import DirectionTrace
from pathlab.analysis.packets.copies import drop_copies
from pathlab.analysis.packets.handshake import CapturePosition, find_position, read_opening
from pathlab.analysis.packets.retransmissions import Cause
from pathlab.analysis.packets.segments import ACK, FIN, SYN
from tests.builders.traces import MS, Trace


def causes_of(found: DirectionTrace) -> dict[Cause, int]:
    return {cause: count for cause, count in found.retransmitted.items() if count}


def send(trace: Trace, time_ms: float, first: int, count: int, **values: int) -> None:
    for place in range(count):
        trace.data(time_ms + place * 0.01, (first + place) * 1000, **values)


@pytest.mark.parametrize("base", [0, (1 << 32) - 2500, (1 << 31) - 1])
def test_recovery_by_sack_across_every_wrap(base: int) -> None:
    trace = Trace(base)
    send(trace, 0, 0, 5)
    trace.ack(10, 1000).ack(10.1, 1000, (2000, 3000)).data(10.2, 1000)
    trace.ack(10.3, 1000, (2000, 5000)).ack(20.2, 5000)
    found = trace.analyze()
    assert causes_of(found) == {Cause.FAST: 1}
    assert (found.retransmitted_bytes, found.new_bytes) == (1000, 5000)
    assert found.curves.segments.y.tolist() == [0, 1000, 2000, 3000, 4000, 5000]
    assert found.curves.retransmissions[Cause.FAST].y.tolist() == [1000]


def test_fast_retransmit_by_three_duplicates_and_a_partial_acknowledgement() -> None:
    trace = Trace()
    send(trace, 0, 0, 6)
    trace.ack(10, 1000)
    for place in range(3):
        trace.ack(10.1 + place, 1000)
    trace.data(12.2, 1000).ack(22, 3000).data(22.1, 3000).ack(32, 6000)
    found = trace.analyze(sack_permitted=False)
    assert causes_of(found) == {Cause.FAST: 2}
    assert found.duplicate_acks == 3


def test_two_duplicates_call_for_nothing() -> None:
    trace = Trace()
    send(trace, 0, 0, 4)
    trace.ack(10, 1000).ack(10.1, 1000).ack(10.2, 1000).data(10.3, 1000).ack(20, 4000)
    assert causes_of(trace.analyze()) == {Cause.UNEXPLAINED: 1}


def test_a_tail_is_probed_once_and_then_times_out() -> None:
    trace = Trace()
    send(trace, 0, 0, 3)
    trace.ack(10, 2000).data(32, 2000).data(250, 2000).data(700, 2000).ack(710, 3000)
    assert causes_of(trace.analyze()) == {Cause.TAIL_PROBE: 1, Cause.TIMEOUT: 2}


def test_without_sack_there_is_no_tail_probe() -> None:
    trace = Trace()
    send(trace, 0, 0, 3)
    trace.ack(10, 2000).data(232, 2000).ack(242, 3000)
    assert causes_of(trace.analyze(sack_permitted=False)) == {Cause.TIMEOUT: 1}


def test_all_that_is_sent_again_after_a_timeout_is_of_the_timeout() -> None:
    trace = Trace()
    send(trace, 0, 0, 5)
    trace.data(300, 0).ack(310, 1000).data(310.1, 1000).data(310.2, 2000).ack(320, 3000).data(320.1, 3000)
    trace.ack(330, 5000).data(331, 5000).ack(341, 6000)
    found = trace.analyze()
    assert causes_of(found) == {Cause.TIMEOUT: 4}


def test_a_lost_retransmission_that_waits_for_a_timeout() -> None:
    trace = Trace()
    send(trace, 0, 0, 3)
    trace.ack(10, 0, (1000, 3000)).data(10.1, 0).data(260, 0).ack(270, 3000)
    assert causes_of(trace.analyze()) == {Cause.FAST: 1, Cause.TIMEOUT: 1}


def test_syn_segments_that_are_sent_again_time_out() -> None:
    trace = Trace()
    trace.add(0, 0, flags=SYN).add(0, 1000, flags=SYN).add(1, 1010, flags=SYN | 16, ack=1)
    trace.data(1010.1, 1)
    found = trace.analyze()
    assert causes_of(found) == {Cause.TIMEOUT: 1}
    assert found.payload_bytes == 1000
    assert found.curves.segments.y[-1] == 0  # the first byte of data


def test_spurious_ones_by_dsack_below_the_acknowledgement_and_within_the_second_block() -> None:
    trace = Trace()
    send(trace, 0, 0, 6)
    trace.ack(10, 1000, (2000, 3000)).data(10.1, 1000)
    trace.ack(11, 3000, (1000, 2000)).data(11.1, 4000)
    trace.ack(12, 3000, (4000, 5000), (4000, 6000)).ack(13, 6000)
    found = trace.analyze()
    assert (found.spurious, found.dsack_blocks, found.unmatched_dsack_blocks) == (2, 2, 0)
    assert sorted(found.curves.spurious.y.tolist()) == [1000, 4000]


def test_a_dsack_of_what_was_not_sent_again_is_unmatched() -> None:
    trace = Trace()
    send(trace, 0, 0, 2)
    trace.ack(10, 2000).ack(10.1, 2000, (0, 1000))
    found = trace.analyze()
    assert (found.dsack_blocks, found.unmatched_dsack_blocks, found.spurious) == (1, 1, 0)


def test_one_of_two_retransmissions_is_spurious() -> None:
    trace = Trace()
    send(trace, 0, 0, 3)
    trace.ack(10, 0, (1000, 3000)).data(10.1, 0).data(260, 0).ack(261, 3000).ack(270, 3000, (0, 1000))
    assert trace.analyze().spurious == 1


def add_filler(trace: Trace, time_ms: float, **values: Any) -> None:
    """0, 1000, 3000, 4000, 5000 and then 2000."""
    for place, number in enumerate((0, 1, 3, 4, 5)):
        trace.data(place * 0.1, number * 1000, ip_id=10 + number, ts=(number, 0))
    trace.data(time_ms, 2000, **values)


def test_an_overtaken_packet_by_its_identification() -> None:
    trace = Trace()
    add_filler(trace, 40, ip_id=12, ts=(2, 0))  # later than an RTT: the identification decides
    found = trace.analyze()
    assert (found.reordered, found.reorder_extent_max) == (1, 3)
    assert found.late_time_max_ns == 40 * MS - int(0.2 * MS)
    assert found.curves.extents == {3: 1}
    assert causes_of(found) == {}


def test_a_retransmission_of_what_was_lost_before_the_capture() -> None:
    trace = Trace()
    add_filler(trace, 5, ip_id=16, ts=(5, 0))
    found = trace.analyze()
    assert (found.reordered, found.lost_before_capture, found.retransmitted_packets) == (0, 1, 1)


@pytest.mark.parametrize(("stamp", "late"), [(2, False), (9, True)])
def test_timestamps_decide_without_identifications(stamp: int, late: bool) -> None:
    trace = Trace()
    for place, number in enumerate((0, 1, 3, 4)):
        trace.data(place * 0.1, number * 1000, ip_id=0, ts=(number + 1, 0))
    trace.data(30, 2000, ip_id=0, ts=(stamp + 1, 0))
    found = trace.analyze()
    assert (found.lost_before_capture, found.reordered) == (int(late), int(not late))


@pytest.mark.parametrize(("time_ms", "reordered", "undecided"), [(9, 1, 0), (11, 0, 1)])
def test_time_decides_only_below_a_round_trip(time_ms: float, reordered: int, undecided: int) -> None:
    trace = Trace()
    for number in (0, 1, 3, 4):
        trace.data(0, number * 1000)
    trace.data(time_ms, 2000)
    found = trace.analyze()
    assert (found.reordered, found.undecided_late) == (reordered, undecided)
    assert trace.analyze(base_rtt_ns=None).undecided_late == 1


def test_the_same_packet_twice_is_a_duplicate() -> None:
    trace = Trace()
    for number in range(5):
        trace.data(number * 0.1, number * 1000, ip_id=10 + number)
    trace.data(0.6, 2000, ip_id=12).data(0.7, 3000, ip_id=15)
    found = trace.analyze()
    assert (found.duplicates, found.retransmitted_packets) == (1, 1)


def test_keep_alives_are_no_retransmissions() -> None:
    trace = Trace()
    trace.data(0, 0).ack(10, 1000).data(1000, 999, 1).ack(1010, 1000)
    found = trace.analyze()
    assert (found.probes, found.retransmitted_packets) == (1, 0)


@pytest.mark.parametrize("facts", [{}, {"window_scale": None}], ids=["scaled", "scale not known"])
def test_probes_of_a_closed_window_are_no_retransmissions(facts: dict[str, Any]) -> None:
    """The byte of a probe is sent again and again, and once more with others when the window opens."""
    trace = Trace()
    trace.data(0, 0).ack(10, 1000, windows=0)
    for time_ms in (300, 900, 2100, 4500):
        trace.data(time_ms, 1000, 1).ack(time_ms + 10, 1000, windows=0)
    trace.ack(5000, 1000).data(5001, 1000).data(5002, 2000).ack(5011, 3000)
    found = trace.analyze(**facts)
    assert (found.probes, found.retransmitted_packets, found.duplicate_acks) == (4, 0, 0)
    assert found.new_bytes == 3000
    assert found.ack_rtt.max_ns == 10 * MS
    assert trace.data(5300, 2000).analyze(**facts).retransmitted_packets == 1


def test_data_lost_before_the_window_closed_is_a_retransmission() -> None:
    trace = Trace()
    trace.data(0, 0).data(1, 1000).ack(10, 1000).ack(12, 1000, windows=0).data(400, 1000)
    assert trace.analyze().retransmitted_packets == 1


def copy_every(trace: Trace, times: int, late_ms: float) -> Trace:
    """The same capture made at several places: every packet again, so much later."""
    copied = Trace(base=trace.base)
    packets = [(row, side, number) for side in (0, 1) for row in trace.rows[side] for number in range(times)]
    packets.sort(key=lambda one: (one[0]["times_ns"] + one[2] * late_ms * MS, one[0]["numbers"], one[2]))
    for row, side, number in packets:
        time_ms = row["times_ns"] / MS + number * late_ms
        copied.add(side, time_ms, **{key: row[key] for key in row.keys() - {"numbers", "times_ns"}})
    return copied


def make_transfer(*, ids: str, stamps: bool, sacks: bool) -> Trace:
    """A handshake, then data of which one segment is lost: three duplicate acknowledgements call for it."""
    trace = Trace()
    counts = iter(range(7, 1000))

    def add(side: int, time_ms: float, **values: Any) -> None:
        identity = {"counting": next(counts), "zero": 0, "none": None}[ids]
        ts = (int(time_ms) + 100, int(time_ms - 20) + 100) if stamps else None
        trace.add(side, time_ms, **{"ts": ts, "ip_id": identity, **values})

    add(0, 0, flags=SYN)
    add(1, 20, flags=SYN | ACK, ack=1, seq=1000)
    add(0, 20.1, ack=1001, seq=1)
    for number in range(8):
        add(0, 21 + number * 0.1, seq=1 + number * 1000, length=1000, ack=1001)
    add(1, 41, ack=1001, seq=1001)
    for number in range(6):
        edges = ((2001, 3001 + number * 1000),) if sacks else ()
        add(1, 41.2 + number * 0.1, ack=1001, seq=1001, sack=edges)
    add(0, 41.9, seq=1001, length=1000, ack=1001)
    add(1, 61.9, ack=8001, seq=1001)
    return trace


@pytest.mark.parametrize("late_ms", [0.007, 0.35, 12])
@pytest.mark.parametrize("times", [2, 3])
@pytest.mark.parametrize("sacks", [True, False], ids=["sack", "no sack"])
@pytest.mark.parametrize("stamps", [True, False], ids=["stamps", "no stamps"])
@pytest.mark.parametrize("ids", ["counting", "zero", "none"])
def test_copies_of_all_packets_change_nothing_but_their_count(
    ids: str, stamps: bool, sacks: bool, times: int, late_ms: float
) -> None:
    trace = make_transfer(ids=ids, stamps=stamps, sacks=sacks)
    known, copied = trace.analyze(), copy_every(trace, times, late_ms)
    found = copied.analyze()
    assert (known.retransmitted_packets, known.duplicate_acks, known.duplicates) == (1, 6, 0)
    assert found.duplicates == (times - 1) * len(trace.rows[0])
    names = ["packets", "payload_bytes", "retransmitted_packets", "reordered", "probes", "acks"]
    if sacks or ids == "counting" or late_ms < 1:  # else nobody knows which of equal packets are the copies
        names += ["retransmitted", "duplicate_acks"]
    for name in names:
        assert getattr(found, name) == getattr(known, name), name
    assert (found.rtt.min_ns, found.ack_rtt.min_ns) == (known.rtt.min_ns, known.ack_rtt.min_ns)
    sides, _ = drop_copies((copied.build(0), copied.build(1)), lambda _: None)
    opening = read_opening(*sides)
    assert opening.whole_rtt_ns == pytest.approx(20.1 * MS, abs=10)
    assert find_position(opening, 0) == CapturePosition.NEAR_SENDER


@pytest.mark.parametrize("ids", ["zero", "none"])
def test_a_few_copies_are_found_by_the_round_trip_and_retransmissions_stay(ids: str) -> None:
    identity = 0 if ids == "zero" else None
    trace = Trace()
    for number in range(20):
        trace.data(number * 0.1, number * 1000, ip_id=identity)
    trace.data(2.0, 3000, ip_id=identity)  # a copy, sooner than 10 ms
    trace.ack(12, 5000).ack(12.1, 5000).ack(12.2, 5000).ack(12.3, 5000)
    trace.data(12.4, 5000, ip_id=identity)  # again after a round trip
    found = trace.analyze()
    assert (found.duplicates, found.retransmitted_packets, found.duplicate_acks) == (1, 1, 3)
    assert trace.analyze(base_rtt_ns=None).retransmitted_packets == 2


def test_overlapping_late_super_packets_fill_holes_once() -> None:
    trace = Trace()
    trace.data(0, 0).data(1, 10_000).data(2, 30_000, ip_id=None)
    trace.data(20, 1000, 14_000).data(21, 5000, 8000).data(22, 9000, 20_000)
    found = trace.analyze()
    # 1000-10000 and 11000-15000 by the first, nothing by the second, 15000-29000 by the third
    assert found.new_bytes == 3000 + 13_000 + 14_000
    assert found.unseen_bytes == 1000


def test_rtt_by_timestamps_takes_the_first_echo_of_each_value() -> None:
    trace = Trace()
    trace.data(0, 0, ts=(100, 1)).data(0.5, 1000, ts=(100, 1)).ack(10, 1000, ts=(7, 100))
    trace.ack(10.5, 2000, ts=(7, 100)).data(20, 2000, ts=(120, 7)).ack(32, 3000, ts=(8, 120))
    found = trace.analyze()
    assert (found.rtt.samples, found.rtt.min_ns, found.rtt.max_ns) == (2, 10 * MS, 12 * MS)


def test_rtt_by_acks_leaves_out_what_was_sent_twice_and_what_waited() -> None:
    trace = Trace()
    trace.data(0, 0).ack(10, 1000)  # a sample
    trace.data(20, 1000).data(20.1, 2000).ack(30, 1000, (2000, 3000)).data(30.1, 1000).ack(41, 3000)
    trace.data(50, 3000).data(51, 4000).ack(63, 5000)  # a sample of the last byte: 12 ms
    found = trace.analyze()
    assert (found.ack_rtt.samples, found.ack_rtt.min_ns, found.ack_rtt.max_ns) == (2, 10 * MS, 12 * MS)


def test_no_rtt_spans_a_break_of_the_capture() -> None:
    trace = Trace()
    trace.data(0, 0, ts=(1, 0)).ack(10, 1000, ts=(5, 1)).data(20, 1000, ts=(2, 0)).ack(5, 2000, ts=(6, 2))
    trace.data(30, 2000, ts=(3, 0)).ack(900, 3000, ts=(7, 3))
    found = trace.analyze(breaks=np.array([5]))
    assert (found.rtt.samples, found.ack_rtt.samples) == (1, 1)


def test_a_step_of_the_clock_forwards_is_found_by_the_timestamps() -> None:
    trace = Trace()
    for place in range(100):
        shift = 5000 if place >= 50 else 0
        pause = 3000 if place >= 80 else 0  # a pause, in which the sender's clock goes on
        at = place * 10 + shift + pause
        trace.data(at, place * 1000, ts=(place * 10 + pause, 0))
        trace.ack(at + 4 + (5000 if place == 49 else 0), (place + 1) * 1000, ts=(1, place * 10 + pause))
    found = trace.analyze()
    assert found.clock_steps == 1
    assert found.rtt.max_ns == 4 * MS
    assert found.new_bits_per_s is None


def test_no_throughput_spans_a_step_of_the_clock() -> None:
    trace = Trace()
    trace.data(0, 0).ack(10, 1000).data(1000, 1000).ack(1010, 2000).data(500, 2000)
    assert trace.analyze(clock_steps=np.array([3, 4])).new_bits_per_s is None
    for number in (0, 5):  # before the first packet, after the last one
        rate = trace.analyze(clock_steps=np.array([number])).new_bits_per_s
        assert rate == pytest.approx(3000 * 8 / 0.5)


def test_bytes_that_are_never_acknowledged_are_no_throughput() -> None:
    """A path that drops large packets: 37 bytes pass, and ten of 1,000 are sent again and again."""
    trace = Trace()
    trace.data(0, 0, length=37).ack(20, 37)
    for at in (21, 250, 700, 1600, 3400):
        for place in range(10):
            trace.data(at + place * 0.01, 37 + place * 1000)
    found = trace.ack(3500, 37, (1037, 3037)).analyze()  # held behind the hole: not delivered
    assert (found.new_bytes, found.unacked_bytes) == (10_037, 10_000)
    assert found.new_bits_per_s == pytest.approx(37 * 8 / (found.duration_ns or 0) * 1e9)
    assert found.curves.new_bytes_per_s.y.sum() > 0
    trace.ack(3600, 10_037)
    assert trace.analyze().unacked_bytes == 0


def test_bytes_under_way_at_the_end_count_as_those_without_captured_acknowledgements() -> None:
    trace = Trace()
    trace.data(0, 0).ack(20, 1000).data(100, 1000).data(101, 2000)
    assert trace.analyze().unacked_bytes == 0
    alone = Trace()
    send(alone, 0, 0, 5)
    assert alone.analyze().unacked_bytes == 0


def test_flight_and_window() -> None:
    trace = Trace()
    trace.ack(0, 0, windows=1000)
    send(trace, 1, 0, 8)
    trace.ack(10, 4000, windows=500)
    trace.data(11, 8000)
    found = trace.analyze(window_scale=3)
    assert found.flight.in_flight_max_bytes == 8000
    assert (found.flight.window_min_bytes, found.flight.window_max_bytes) == (4000, 8000)
    assert found.flight.full_ratio == pytest.approx(2 / 9)  # 8000 of 8000, 5000 of 4000
    unknown = trace.analyze(window_scale=None)
    assert unknown.flight.window_max_bytes is None
    assert unknown.flight.in_flight_max_bytes == 8000


def test_windows_of_zero() -> None:
    trace = Trace()
    trace.ack(0, 0, windows=5).ack(10, 0, windows=0).ack(20, 0, windows=0).ack(35, 0, windows=3)
    trace.ack(50, 0, windows=0).ack(60, 0, windows=0)
    found = trace.analyze()
    assert (found.zero_windows.count, found.zero_windows.duration_ns) == (2, 35 * MS)


def test_one_direction_alone_gives_no_rtt_and_no_cause() -> None:
    trace = Trace()
    send(trace, 0, 0, 5)
    trace.data(50, 1000)
    found = trace.analyze()
    assert not found.acks_captured
    assert causes_of(found) == {Cause.UNKNOWN: 1}
    assert found.rtt.min_ns is None
    assert found.flight.in_flight_max_bytes is None


def test_acknowledgements_alone() -> None:
    trace = Trace()
    trace.ack(0, 100).ack(1, 200)
    found = trace.analyze()
    assert (found.data_packets, found.acks, found.unseen_acked_bytes) == (0, 2, 0)
    assert found.new_bits_per_s is None


def test_bytes_that_the_capture_missed() -> None:
    trace = Trace()
    trace.data(0, 0).data(1, 3000).ack(10, 6000).data(11, 6000).ack(20, 7000)
    found = trace.analyze()
    assert found.unseen_bytes == 4000  # 1000-3000 and 4000-6000
    assert found.unseen_acked_bytes == 2000


def test_super_packets_are_counted_as_segments_too() -> None:
    trace = Trace()
    trace.data(0, 0, 10_500).ack(5, 0, (1000, 10_500)).data(6, 0, 1000).data(7, 10_500, 0, flags=FIN | 16)
    found = trace.analyze()
    assert (found.super_packets, found.segments, found.retransmitted_segments) == (1, 12, 1)
    assert found.largest_payload_bytes == 10_500
    assert trace.analyze(mss_bytes=None).segments is None


def make_holes(count: int) -> Trace:
    """Every second segment is missing at first; all holes are then filled from the last to the first."""
    trace = Trace()
    for place in range(0, count, 2):
        trace.data(place * 0.01, place * 1000)
        trace.ack(place * 0.01, 0, (place * 1000, place * 1000 + 1000))
    for place in range(count - 1, 0, -2):
        trace.data((2 * count - place) * 0.01 + 30, place * 1000)
    return trace


def test_many_holes_take_linear_time() -> None:
    times = []
    for count in (5_000, 40_000):
        trace = make_holes(count)
        there, back = trace.build(0), trace.build(1)
        started = time.process_time()
        found = trace.analyze()
        times.append(time.process_time() - started)
        assert found.unseen_bytes == 0
        assert found.undecided_late == count // 2 - 1
        assert len(there) == count
        assert len(back) == count // 2
    for short, long in pairwise(times):
        assert long < 8 * 4 * short
