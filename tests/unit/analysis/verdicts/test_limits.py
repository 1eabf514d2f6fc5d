"""The limit of a stream and of a flow, from figures that real paths and emulated ones have shown."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts.flow_evidence import APP_LIMITED_RATIO, FLAT_RATE_RATIO, LIMITED_TIME_RATIO
from pathlab.analysis.verdicts.flow_reading import FlowReading, StreamReading, measure_rate_spread
from pathlab.analysis.verdicts.host_limits import BUSY_CORE_RATIO, WAITING_RATIO
from pathlab.analysis.verdicts.limits import Limit, classify_limits
from tests.builders.limits import PLAIN, QUIET, flow_limit, give_loads, read


def test_a_small_receive_window_is_the_receivers() -> None:
    # 64 KiB over 160 ms, both ends asked: 3.1 Mbit/s, held by the receiver for 0.78 to 1.0 of the busy time
    reading = replace(read(4, 12.4e6, receiver_limited_s=15.6), window_requested_bytes=65536)
    found = classify_limits(reading)
    assert found.flow.limit is Limit.RECEIVER_WINDOW
    assert {one.limit for one in found.streams} == {Limit.RECEIVER_WINDOW}
    assert found.streams[0].find("receiver_limited_ratio").value == pytest.approx(0.78)
    assert found.flow.find("windows_share_ratio").met is True
    assert found.flow.find("rate_under_limit_ratio").value == 1.0


def test_a_send_buffer_is_seen_by_the_kernels_clock_or_by_a_filled_window() -> None:
    assert flow_limit(read(buffer_limited_s=12.0, app_limited_ratio=0.9)) is Limit.SEND_BUFFER
    # Small writes: the kernel's clock stays at 0 and its samples say "application", but the window is filled.
    filled = replace(read(1, 3.1e6, app_limited_ratio=0.9), window_requested_bytes=65536)
    assert flow_limit(filled) is Limit.SEND_BUFFER
    # Whether the receiver held it was not measured: it may be either end's window.
    unknown = classify_limits(replace(filled, streams=(replace(filled.streams[0], receiver_limited_s=None),)))
    assert (unknown.flow.limit, unknown.flow.undecided) == (Limit.WINDOW, None)


def test_windows_explain_a_rate_without_the_kernels_clock() -> None:
    bare = StreamReading(rate_bits_per_s=3.1e6)  # another program's trial: 64 KiB over 160 ms
    reading = replace(
        QUIET,
        streams=(bare,),
        throughput_bits_per_s=3.1e6,
        window_requested_bytes=65536,
        rate_spread_ratio=None,
        hosts=(),
    )
    assert flow_limit(reading) is Limit.WINDOW
    most = 1.34 * 3.2768e6  # receive buffers hold more than was asked for, but no more than this
    assert flow_limit(replace(reading, throughput_bits_per_s=most)) is Limit.WINDOW
    beyond = replace(reading, streams=(replace(bare, rate_bits_per_s=4.6e6),), throughput_bits_per_s=4.6e6)
    assert flow_limit(beyond) is None
    below = replace(reading, streams=(replace(bare, rate_bits_per_s=2e6),), throughput_bits_per_s=2e6)
    assert flow_limit(below) is None
    assert flow_limit(replace(reading, rtt_loaded_ns=230e6)) is None  # a queue builds
    assert flow_limit(replace(reading, rtt_loaded_ns=None)) is None  # whether one does is not known


def test_a_busy_core_leaves_a_queue_in_doubt_unless_the_line_is_known() -> None:
    # The traffic's own threads hardly run, yet wait for their core: delays that are no queue's.
    full = replace(
        read(1, 96e6, rtt_ns=240e6), rtt_loaded_ns=230e6, hosts=give_loads(0.3, 0.3, own=(0.05, 0.05))
    )
    busy = replace(full, hosts=give_loads(BUSY_CORE_RATIO, 0.3, own=(0.05, 0.05)))
    assert flow_limit(full) is Limit.PATH_CAPACITY
    assert flow_limit(busy) is None
    assert flow_limit(replace(busy, line_bits_per_s=97e6)) is Limit.PATH_CAPACITY
    # Not every probe waits, and threads that are known not to wait see what a queue does.
    assert flow_limit(replace(busy, rtt_standing_ns=60e6)) is Limit.PATH_CAPACITY
    waits = replace(busy, hosts=give_loads(1.0, 0.3, own=(0.05, 0.05), waiting=(0.04, 0.02)))
    assert flow_limit(waits) is Limit.PATH_CAPACITY
    # Windows that a full path may hold are in doubt with it, unless the rate is all that they carry.
    held = replace(busy, streams=read(1, 96e6, rtt_ns=240e6, receiver_limited_s=19.0).streams)
    assert flow_limit(held) is None
    assert flow_limit(replace(held, window_requested_bytes=2_000_000)) is Limit.RECEIVER_WINDOW
    # nor does a queue in doubt make losses those of an empty path
    lossy = read(1, 50e6, rtt_ns=240e6, retransmitted_bytes=1e6).streams
    assert flow_limit(replace(busy, streams=lossy)) is None


def test_figures_of_a_data_frame_count_like_pythons() -> None:
    known = {name: value for name in StreamReading.__slots__ if (value := getattr(PLAIN, name)) is not None}
    stream = replace(PLAIN, **{name: np.float64(value) for name, value in known.items()})
    filled = replace(stream, rate_bits_per_s=np.float64(3.1e6), app_limited_ratio=np.float64(0.9))
    reading = replace(QUIET, throughput_bits_per_s=np.float64(3.1e6), window_requested_bytes=65536)
    found = classify_limits(replace(reading, streams=(filled,)))
    assert found.flow.limit is Limit.SEND_BUFFER
    assert {type(one.met) for one in found.streams[0].evidence} == {bool, type(None)}
    lost = replace(stream, retransmitted_bytes=np.float64(1e6))
    assert flow_limit(replace(QUIET, streams=(lost,), rate_spread_ratio=np.float64(0.3))) is Limit.CONGESTION


def test_many_windows_that_overfill_the_path_meet_its_capacity() -> None:
    # 12 streams of 64 KiB on 30 Mbit/s: 28.9 of the 37 Mbit/s that the windows allow, and 44 ms of queue
    streams = read(12, 28.9e6, receiver_limited_s=18.0, rtt_ns=204e6).streams
    reading = replace(
        QUIET,
        streams=streams,
        throughput_bits_per_s=28.9e6,
        rtt_loaded_ns=204e6,
        window_requested_bytes=65536,
    )
    assert flow_limit(reading) is Limit.PATH_CAPACITY
    # 8 streams of them leave the queue empty and are held by their windows
    few = replace(
        read(8, 24.5e6, receiver_limited_s=18.0), rtt_loaded_ns=160.6e6, window_requested_bytes=65536
    )
    assert flow_limit(few) is Limit.RECEIVER_WINDOW


def test_delays_that_come_and_go_are_no_full_path_where_a_window_holds() -> None:
    # Two windows of 64 KiB over 20 ms on a busy machine: the median rises by 2.4 ms, the least RTT does not
    held = read(2, 41.6e6, receiver_limited_s=20.0, rtt_ns=24.4e6, rtt_min_ns=20e6)
    late = replace(held, rtt_loaded_ns=22.4e6, rtt_unloaded_ns=20e6, window_requested_bytes=65536)
    assert flow_limit(replace(late, rtt_standing_ns=20e3)) is Limit.RECEIVER_WINDOW
    assert flow_limit(replace(late, rtt_standing_ns=2.3e6)) is Limit.PATH_CAPACITY
    assert flow_limit(late) is Limit.PATH_CAPACITY  # the least was not measured
    free = read(2, 41.6e6, rtt_ns=24.4e6, rtt_min_ns=20e6)
    assert (
        flow_limit(replace(late, streams=free.streams, rtt_standing_ns=0.0, window_requested_bytes=None))
        is None
    )
    lossy = read(2, 41.6e6, rtt_ns=24.4e6, rtt_min_ns=20e6, retransmitted_bytes=1e6)
    # loss lets the queue run empty
    assert flow_limit(replace(late, streams=lossy.streams, rtt_standing_ns=0.0)) is Limit.PATH_CAPACITY


def test_a_known_line_that_is_reached_is_the_path() -> None:
    assert flow_limit(replace(read(1, 95e6), line_bits_per_s=96.5e6)) is Limit.PATH_CAPACITY
    assert flow_limit(replace(read(1, 60e6), line_bits_per_s=96.5e6)) is None


@pytest.mark.parametrize(
    ("rate", "rtt", "lost"),
    [(28e6, 20e6, 1e-3), (7.2e6, 20e6, 1e-2), (2.5e6, 160e6, 1e-3), (1.0e6, 160e6, 1e-2)],
)
def test_random_loss_under_reno_is_congestion(rate: float, rtt: float, lost: float) -> None:
    # One reno stream on 100 Mbit/s with random loss; the rates are those that an emulated link gave
    reading = read(
        1, rate, retransmitted_bytes=lost * 1e8, sent_bytes=1e8, rtt_ns=rtt * 1.002, rtt_min_ns=rtt
    )
    reading = replace(reading, rtt_loaded_ns=rtt * 1.001, rtt_unloaded_ns=rtt, rate_spread_ratio=0.3)
    found = classify_limits(reading).streams[0]
    assert found.limit is Limit.CONGESTION
    assert found.find("loss_law_share_ratio").value == pytest.approx(1.2, abs=0.4)


def test_an_application_that_paces_itself_is_named() -> None:
    assert flow_limit(read(app_limited_ratio=APP_LIMITED_RATIO)) is Limit.APPLICATION
    assert flow_limit(read(busy_s=8.0, app_limited_ratio=None)) is Limit.APPLICATION
    # Others fill the queue meanwhile: a paced stream is flat by itself.
    beside = replace(read(app_limited_ratio=1.0), rtt_loaded_ns=230e6, window_requested_bytes=4 << 20)
    assert flow_limit(beside) is Limit.APPLICATION


def test_a_busy_core_is_named_unless_something_else_explains_the_rate() -> None:
    busy = replace(read(receiver_limited_s=19.0), hosts=give_loads(0.4, BUSY_CORE_RATIO))
    found = classify_limits(busy)
    assert found.flow.limit is Limit.HOST_CPU
    assert found.flow.find("busiest_core_ratio").met is True
    assert flow_limit(replace(busy, window_requested_bytes=1_000_000)) is Limit.RECEIVER_WINDOW
    assert flow_limit(replace(busy, line_bits_per_s=51e6)) is Limit.PATH_CAPACITY
    assert flow_limit(replace(busy, requested_bits_per_s=51e6)) is Limit.APPLICATION
    near = replace(read(1, 18e9), ceiling_bits_per_s=20e9)
    assert flow_limit(near) is Limit.HOST_CPU


def test_a_core_that_others_keep_busy_is_not_the_traffics_limit() -> None:
    others = read(receiver_limited_s=19.0)
    assert flow_limit(replace(others, hosts=give_loads(1.0, 1.0, own=(0.05, 0.24)))) is Limit.RECEIVER_WINDOW
    assert flow_limit(replace(others, hosts=give_loads(1.0, 1.0, own=(0.05, 0.25)))) is Limit.HOST_CPU
    # each end by itself: the sender works on an idle host, the busy receiver hardly runs
    assert flow_limit(replace(others, hosts=give_loads(0.5, 1.0, own=(0.4, 0.05)))) is Limit.RECEIVER_WINDOW
    assert flow_limit(replace(others, hosts=give_loads(0.5, 1.0, own=(0.4, None)))) is Limit.HOST_CPU
    # a thread that the scheduler moves about leaves every core some time, and has none left itself
    assert flow_limit(replace(read(), hosts=give_loads(0.6, 0.3, own=(0.98, 0.1)))) is Limit.HOST_CPU


def test_waits_for_a_shared_core_are_the_hosts_limit() -> None:
    # Four others on the pinned core: the traffic's threads get a tenth of it and wait for half of the time.
    shared = replace(read(), hosts=give_loads(1.0, 1.0, own=(0.09, 0.10), waiting=(0.47, 0.56)))
    found = classify_limits(shared)
    assert found.flow.limit is Limit.HOST_CPU
    assert (found.flow.find("waiting_ratio").value, found.flow.find("waiting_ratio").met) == (0.56, True)
    # what a line, the windows or the rate asked for explain stays theirs
    assert flow_limit(replace(shared, line_bits_per_s=51e6)) is Limit.PATH_CAPACITY
    assert flow_limit(replace(shared, requested_bits_per_s=51e6)) is Limit.APPLICATION
    # A paced sender on the same core hardly waits, and keeps its rate
    paced = replace(read(1, 8e6), hosts=give_loads(1.0, 1.0, own=(0.03, 0.01), waiting=(0.12, 0.0)))
    assert flow_limit(replace(paced, requested_bits_per_s=8.1e6)) is Limit.APPLICATION
    assert flow_limit(paced) is None
    # one end alone, on a core that is not seen to be busy all the time
    short = WAITING_RATIO - 0.001
    assert flow_limit(replace(read(), hosts=give_loads(0.5, 0.5, waiting=(0.0, WAITING_RATIO)))) is (
        Limit.HOST_CPU
    )
    assert flow_limit(replace(read(), hosts=give_loads(0.5, 0.5, waiting=(0.0, short)))) is None


def test_a_rate_that_the_sender_was_told_to_keep_is_the_applications() -> None:
    kept = replace(read(1, 9.9e6), requested_bits_per_s=10e6)
    assert flow_limit(kept) is Limit.APPLICATION
    assert flow_limit(replace(kept, requested_bits_per_s=20e6)) is None


def test_streams_that_differ_leave_the_flow_undecided_unless_most_of_the_rate_agrees() -> None:
    held = replace(PLAIN, receiver_limited_s=20.0, rate_bits_per_s=10e6)
    paced = replace(PLAIN, app_limited_ratio=1.0, rate_bits_per_s=10e6)
    even = classify_limits(replace(QUIET, streams=(held, paced)))
    assert [one.limit for one in even.streams] == [Limit.RECEIVER_WINDOW, Limit.APPLICATION]
    assert (even.flow.limit, even.flow.undecided) == (None, Undecided.CONFLICTING_EVIDENCE)
    larger = replace(held, rate_bits_per_s=30e6)
    most = classify_limits(replace(QUIET, streams=(larger, paced))).flow
    assert most.limit is Limit.RECEIVER_WINDOW
    assert most.find("rate_under_limit_ratio").value == pytest.approx(0.75)


def test_nothing_against_it_and_nothing_measured_are_two_things() -> None:
    nothing = classify_limits(QUIET)
    assert (nothing.flow.limit, nothing.flow.undecided) == (None, Undecided.NO_EVIDENCE)
    unmeasured = classify_limits(FlowReading(streams=(StreamReading(),)))
    assert (unmeasured.flow.limit, unmeasured.flow.undecided) == (None, Undecided.NOT_MEASURED)
    assert all(one.met is None for one in unmeasured.streams[0].evidence)
    empty = classify_limits(FlowReading(streams=()))
    assert (empty.flow.limit, empty.flow.undecided) == (None, Undecided.NO_SAMPLES)


@pytest.mark.parametrize("just_short", [False, True])
def test_the_thresholds_are_where_they_are_said_to_be(just_short: bool) -> None:
    share = LIMITED_TIME_RATIO - (0.001 if just_short else 0)
    assert flow_limit(read(receiver_limited_s=20 * share)) is (None if just_short else Limit.RECEIVER_WINDOW)
    spread = FLAT_RATE_RATIO + (0.001 if just_short else 0)
    full = replace(read(1, 96e6, rtt_ns=240e6), rtt_loaded_ns=230e6, rate_spread_ratio=spread)
    assert flow_limit(full) is (None if just_short else Limit.PATH_CAPACITY)


def test_rate_spread_by_hand() -> None:
    # 8 rates 1 to 8: quartiles of type 7 are 2.75, 4.5, 6.25
    assert measure_rate_spread(range(1, 9), [1] * 8) == pytest.approx(3.5 / 4.5)
    assert measure_rate_spread([10] * 8, [1] * 8) == 0.0
    assert measure_rate_spread([1] * 7, [1] * 7) is None
    assert measure_rate_spread([0] * 8, [1] * 8) is None


FIGURES = st.none() | st.floats(0, 1e10)


@settings(deadline=None)
@given(
    st.lists(st.tuples(*[FIGURES] * 14), max_size=4), st.tuples(*[FIGURES] * 13), st.tuples(*[FIGURES] * 6)
)
def test_any_figures_have_a_verdict_with_evidence(
    streams: list[tuple[float | None, ...]], flow: tuple[float | None, ...], cores: tuple[float | None, ...]
) -> None:
    names = [name for name in FlowReading.__slots__ if name not in ("streams", "hosts", "congestion")]
    reading = FlowReading(
        streams=tuple(
            StreamReading(**dict(zip(StreamReading.__slots__, one, strict=True))) for one in streams
        ),
        hosts=give_loads(*cores[:2], own=cores[2:4], waiting=cores[4:]),
        **dict(zip(names, flow, strict=True)),  # type: ignore[arg-type]
    )
    found = classify_limits(reading)
    assert len(found.streams) == len(streams)
    for verdict in (found.flow, *found.streams):
        assert (verdict.limit is None) is (verdict.undecided is not None)
        assert all((one.value is None) is (one.met is None) for one in verdict.evidence)
    mirrored = classify_limits(replace(reading, streams=reading.streams[::-1]))
    assert mirrored.streams == found.streams[::-1]
