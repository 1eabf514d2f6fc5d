"""From series to a reading by hand: differences within the steady window, own threads, spread of rates."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts.flow_reading import FlowReading, StreamReading
from pathlab.analysis.verdicts.host_limits import HostLoad
from pathlab.analysis.verdicts.limits import Limit
from pathlab.study.analyses import StudiedResults, Study
from pathlab.study.base.links import BottleneckLink, Traffic, find_bottleneck, find_narrowest_link
from pathlab.study.base.selection import select
from pathlab.study.base.trials import read_study_trials
from pathlab.study.flows.readings import LIMIT_SERIES, TrialSeries, find_ceiling, read_flow
from tests.builders.results import make_quickstart, with_series
from tests.builders.stored import COMPLETE, make_results
from tests.builders.sweeps import make_sweep

STREAMS, STEP_NS = 2, 100_000_000
#: Ten records of warm-up, thirty of the steady window, one of the drain.
ZSTD_MAGIC = bytes.fromhex("28b52ffd")  # a series is one zstd frame (RFC 8878)
PHASES = ["warmup"] * 10 + ["steady"] * 30 + ["drain"]
FIGURES = FlowReading(
    streams=(StreamReading(),) * STREAMS,
    throughput_bits_per_s=16e6,
    window_requested_bytes=65536,
    rtt_loaded_ns=40.1e6,
    rtt_unloaded_ns=40e6,
    rtt_standing_ns=0.0,
    hosts=(HostLoad(busiest_core_ratio=0.3), HostLoad(busiest_core_ratio=0.4)),
)


def make_intervals(**changes: Any) -> pd.DataFrame:
    """Both streams alike: 100,000 bytes in 100 ms; counters grow from where the warm-up left them."""
    grown = np.repeat(np.arange(1, len(PHASES) + 1), STREAMS)
    return pd.DataFrame(
        {
            "index": grown - 1,
            "phase": np.repeat(PHASES, STREAMS),
            "start_ns": (grown - 1) * STEP_NS,
            "end_ns": grown * STEP_NS,
            "stream": np.tile(np.arange(STREAMS), len(PHASES)),
            "bytes": 100_000,
            "rtt_us": 40_300,
            "min_rtt_us": 40_000,
            "snd_mss_bytes": 1448,
            "delivery_rate_app_limited": 0,
            "busy_time_us": 100_000 * grown,
            "rwnd_limited_us": 80_000 * grown,
            "sndbuf_limited_us": 0,
            "bytes_sent": 100_000 * grown,
            "bytes_retrans": 0,
            "delivered_segments": 69 * grown,
            **changes,
        }
    )


def make_workers(busy_ns: int, **changes: float | None) -> pd.DataFrame:
    """Two workers, of which the second takes ``busy_ns`` of every 100 ms and the first waits for 30 ms."""
    rows = [
        {
            "index": index,
            "start_ns": index * STEP_NS,
            "end_ns": (index + 1) * STEP_NS,
            "worker": worker,
            "user_ns": 1_000_000,
            "system_ns": worker * busy_ns,
            "waiting_ns": (1 - worker) * 30_000_000,
            **changes,
        }
        for index in range(len(PHASES))
        for worker in range(2)
    ]
    return pd.DataFrame(rows)


def read(frames: dict[str, pd.DataFrame], *, reverse: bool = False) -> FlowReading:
    source = with_series(make_sweep(1, levels=[(STREAMS, 65536)]), frames)
    return read_flow(TrialSeries(source, 1, LIMIT_SERIES), FIGURES, None, reverse=reverse)


def test_figures_are_differences_within_the_steady_window() -> None:
    frames = {"sender_intervals": make_intervals(), "receiver_intervals": make_intervals()}
    found = read(frames)
    assert len(found.streams) == STREAMS
    stream = found.streams[0]
    times_s = (stream.steady_s, stream.busy_s, stream.receiver_limited_s, stream.buffer_limited_s)
    assert times_s == pytest.approx((3.0, 3.0, 2.4, 0))
    assert (stream.rate_bits_per_s, stream.sent_bytes) == pytest.approx((8e6, 3e6))
    assert (stream.rtt_ns, stream.rtt_min_ns) == pytest.approx((40.3e6, 40e6))
    assert found.rate_spread_ratio == pytest.approx(0.0, abs=1e-9)
    assert found.hosts == (HostLoad(busiest_core_ratio=0.3), HostLoad(busiest_core_ratio=0.4))


def test_a_lump_after_a_filled_hole_is_no_uneven_rate() -> None:
    """The receiver's records come in lumps, what the sender knows delivered does not."""
    lumpy = make_intervals()
    lumpy["bytes"] = np.where(lumpy["index"] % 3 == 0, 300_000, 0)
    assert read({"sender_intervals": make_intervals(), "receiver_intervals": lumpy}).rate_spread_ratio == 0
    uneven = make_intervals()
    uneven["delivered_segments"] = (69 * (uneven["index"] + 1) ** 1.8).astype(int)
    spread = read({"sender_intervals": uneven, "receiver_intervals": lumpy}).rate_spread_ratio
    assert spread > 0.1


def delay_arrivals(delays_ns: NDArray[np.float64]) -> pd.DataFrame:
    """What the receiver counts of ``make_intervals`` where each interval's data arrives so much later."""
    late = make_intervals()
    times = late["end_ns"].to_numpy().reshape(-1, STREAMS)[:, 0]
    total = np.interp(times - delays_ns, np.concatenate([[0], times]), np.arange(times.size + 1) * 100_000.0)
    late["bytes"] = np.repeat(np.diff(total, prepend=0.0), STREAMS)
    return late


@pytest.mark.parametrize("ahead_ns", [0.0, 150e6])
@pytest.mark.parametrize("queue_ns", [0.0, 80e6])
def test_a_queue_is_found_on_the_way_that_has_it(queue_ns: float, ahead_ns: float) -> None:
    """By the ends' counts of the same bytes, whatever the receiver's clock is ahead or behind."""
    grown = queue_ns * np.minimum(1.0, np.maximum(0, np.arange(len(PHASES)) - 4) / 4)
    received = delay_arrivals(grown - ahead_ns)
    frames = {"sender_intervals": make_intervals(), "receiver_intervals": received}
    assert read(frames).forward_rise_ns == pytest.approx(queue_ns, abs=1e6)
    # The receiver of a reverse transfer counts from its "go", a round trip of 40 ms before its first byte.
    frames["receiver_intervals"] = delay_arrivals(grown + 40e6)
    assert read(frames, reverse=True).forward_rise_ns == pytest.approx(queue_ns, abs=1e6)
    without = {"sender_intervals": make_intervals().drop(columns="bytes_sent")}
    assert read({**frames, **without}).forward_rise_ns is None


def test_the_rate_over_a_deep_queue_is_steady_or_not() -> None:
    """Two seconds of queue on a path of 40 ms: spans follow the empty path, not the queue."""
    deep = read({"sender_intervals": make_intervals(rtt_us=2_040_000)})
    assert deep.rate_spread_ratio == pytest.approx(0.0, abs=1e-9)
    assert deep.rate_spans == 14
    assert read({"sender_intervals": make_intervals(min_rtt_us=2_000_000)}).rate_spread_ratio is None


def test_losses_of_the_same_spans_are_read() -> None:
    """Both streams lose in every fourth interval, or each in its own."""
    numbers, stream = np.repeat(np.arange(len(PHASES)), STREAMS), np.tile([0, 1], len(PHASES))
    found = []
    for shift in (0, 2):
        lost = 1448 * ((numbers + shift * stream) // 4)
        found.append(read({"sender_intervals": make_intervals(bytes_retrans=lost)}).loss_synchrony_ratio)
    assert found[0] == pytest.approx(STREAMS)
    assert found[1] < 1
    bare = make_intervals().drop(columns="bytes_retrans")
    assert read({"sender_intervals": bare}).loss_synchrony_ratio is None


def test_windows_and_spurious_segments_are_read() -> None:
    grown = np.repeat(np.arange(1, len(PHASES) + 1), STREAMS)
    offered = np.where(grown <= 5, 4_000_000, 20_000)
    sent = make_intervals(dsack_dups_segments=2 * grown, snd_wnd_bytes=offered, bytes_retrans=2896 * grown)
    stream = read({"sender_intervals": sent}).streams[0]
    assert (stream.offered_bytes, stream.offered_most_bytes) == (20_000, 4_000_000)
    assert (stream.spurious_segments, stream.lost_segments, stream.loss_ratio) == (60, 0, 0)


def test_the_engines_own_threads_are_told_from_others() -> None:
    frames = {"sender_intervals": make_intervals(), "receiver_intervals": make_intervals()}
    found = read({**frames, "sender_workers": make_workers(89_000_000), "receiver_workers": make_workers(0)})
    assert [load.engine_core_ratio for load in found.hosts] == pytest.approx([0.90, 0.01])
    assert [load.waiting_ratio for load in found.hosts] == pytest.approx([0.3, 0.3])
    assert [load.busiest_core_ratio for load in found.hosts] == [0.3, 0.4]


@pytest.mark.parametrize(
    "workers", [make_workers(0, waiting_ns=None), make_workers(0).drop(columns="waiting_ns")]
)
def test_waits_for_a_core_that_no_kernel_told_are_not_measured(workers: pd.DataFrame) -> None:
    found = read({"sender_intervals": make_intervals(), "sender_workers": workers}).hosts[0]
    assert found.engine_core_ratio == pytest.approx(0.01)
    assert found.waiting_ratio is None


@pytest.mark.parametrize("change", [{"worker": -1}, {"user_ns": -1}, {"user_ns": np.nan}, {"end_ns": 9e9}])
def test_records_of_workers_that_cannot_be_say_nothing(change: dict[str, float]) -> None:
    frames = {"sender_intervals": make_intervals(), "sender_workers": make_workers(0, **change)}
    assert read(frames).hosts[0].engine_core_ratio is None


def test_sockets_that_keep_a_rate_tell_what_was_asked() -> None:
    """Each of the two is bound to 1 MB/s; where one is not, or no kernel tells, nothing was asked."""
    bound = make_intervals(max_pacing_bytes_per_s=1e6)
    assert read({"sender_intervals": bound}).requested_bits_per_s == 16e6
    lower = {"sender_intervals": bound, **make_settings(("pacing_bits_per_s", "8000000", "8000000"))}
    assert read(lower).requested_bits_per_s == 8e6
    one = bound.assign(max_pacing_bytes_per_s=bound["stream"].map({0: 1e6, 1: None}))
    assert read({"sender_intervals": one}).requested_bits_per_s is None
    assert read({"sender_intervals": make_intervals()}).requested_bits_per_s is None


def make_settings(*rows: tuple[str, str | None, str | None]) -> dict[str, pd.DataFrame]:
    """Settings by name, as asked and as the sender states them."""
    lines = [{"name": name, "requested": requested, "sender": sender} for name, requested, sender in rows]
    return {"settings": pd.DataFrame(lines, dtype="string")}


@pytest.mark.parametrize(
    ("rows", "rate"),
    [
        ([("pacing_bits_per_s", "8000000", "8000000"), ("rate_cap_bits_per_s", None, None)], 8e6),
        # the host's own limit is lower than what was asked for
        ([("pacing_bits_per_s", "8000000", "5000000"), ("rate_cap_bits_per_s", None, None)], 5e6),
        ([("pacing_bits_per_s", "8000000", "6000000"), ("rate_cap_bits_per_s", "6000000", None)], 6e6),
        # another program, which does not say what it was told
        ([("pacing_bits_per_s", None, None), ("rate_cap_bits_per_s", "6000000", None)], 6e6),
        ([("pacing_bits_per_s", None, None), ("streams", "2", "2")], None),
        ([("pacing_bits_per_s", "fast", "-1"), ("rate_cap_bits_per_s", "nan", "inf")], None),
        ([], None),
    ],
)
def test_the_rate_that_the_sender_was_told_is_read(
    rows: list[tuple[str, str | None, str | None]], rate: float | None
) -> None:
    assert read(make_settings(*rows)).requested_bits_per_s == rate


def test_what_was_not_kept_is_not_measured() -> None:
    found = read({})
    assert len(found.streams) == STREAMS
    assert all(getattr(found.streams[0], name) is None for name in found.streams[0].__slots__)
    assert found.rate_spread_ratio is None
    bare = make_intervals().drop(columns=["busy_time_us", "delivered_segments", "rtt_us"])
    partly = read({"sender_intervals": bare})
    assert (partly.streams[0].busy_s, partly.rate_spread_ratio) == (None, None)
    assert partly.streams[0].receiver_limited_s == pytest.approx(2.4)
    backwards = make_intervals()
    backwards["bytes_sent"] = -backwards["bytes_sent"]
    assert read({"sender_intervals": backwards}).streams[0].sent_bytes is None


def test_cells_are_classified_from_their_series_evenly_over_the_cycles() -> None:
    frames = {"sender_intervals": make_intervals(), "receiver_intervals": make_intervals()}
    source = with_series(make_sweep(9, levels=[(STREAMS, 65536)]), frames)
    (answer,) = Study(source).limits(trials_per_cell=3)
    assert [trial.trial_id for trial in answer.result.trials] == [1, 5, 9]
    assert answer.result.limit is Limit.RECEIVER_WINDOW
    assert answer.selection.used == 9
    (every,) = Study(source).limits(None)
    assert every.result.classified == 9
    figures = {one.name: (one.median, one.met, one.known) for one in every.result.evidence}
    assert figures["rate_spread_ratio"] == (0.0, 9, 9)
    assert figures["busiest_core_ratio"] == (0.36, 0, 9)
    (warm_up,) = Study(source).warm_up(2)
    assert warm_up.result.undecided is Undecided.TOO_FEW_SAMPLES


def test_a_damaged_series_is_said_and_the_trial_undecided(tmp_path: Path) -> None:
    frame = make_intervals()
    kept = replace(COMPLETE, streams=STREAMS)
    with make_results(tmp_path / "r") as results:
        results.add_trial(kept, {"sender_intervals": pa.Table.from_pandas(frame, preserve_index=False)})
        path = results.path
    whole = StudiedResults.open(tmp_path / "r").limits()[0].result.trials[0]
    assert whole.damaged is None
    assert whole.verdict.streams[0].find("receiver_limited_ratio").value == pytest.approx(0.8)
    data = path.read_bytes()
    at = data.index(ZSTD_MAGIC)
    path.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
    hurt = StudiedResults.open(tmp_path / "r").limits()[0].result.trials[0]
    assert "damaged" in hurt.damaged
    assert hurt.verdict.flow.undecided is Undecided.NOT_MEASURED


def test_the_narrowest_link_of_a_chain_in_its_direction() -> None:
    links = [
        {"between": ["a", "r"], "rate_bits_per_s": 10**9, "mtu_bytes": 1500},
        {
            "between": ["b", "r"],
            "rate_bits_per_s": 10**8,
            "reverse": {"rate_bits_per_s": 10**7},
            "mtu_bytes": 1500,
        },
    ]
    environment = {"lab": {"links": links}}
    assert find_narrowest_link(environment, "a", "b") == BottleneckLink(rate_bits_per_s=10**7, mtu_bytes=1500)
    assert find_narrowest_link(environment, "b", "a") == BottleneckLink(rate_bits_per_s=10**8, mtu_bytes=1500)
    assert find_narrowest_link(environment, "a", "c") is None
    assert find_narrowest_link({**environment, "fallback": "no lab here"}, "a", "b") is None
    assert find_narrowest_link({}, "a", "b") is None
    assert find_narrowest_link({"lab": {"links": [{"between": ["a", "b"]}]}}, "a", "b") is None


def test_the_line_of_mptcp_is_all_links_between_two_neighbours() -> None:
    links = [
        {"between": ["a", "b"], "rate_bits_per_s": 10**7, "mtu_bytes": 1500},
        {"between": ["b", "a"], "rate_bits_per_s": 10**7, "reverse": {"rate_bits_per_s": 3 * 10**7}},
        {"between": ["b", "c"], "rate_bits_per_s": 10**6},
    ]
    environment = {"lab": {"links": links}}
    tcp, mptcp = Traffic(transport="tcp"), Traffic(transport="mptcp")
    rates = [(("a", "b"), tcp, 10**7), (("a", "b"), mptcp, 4 * 10**7), (("b", "a"), mptcp, 2 * 10**7)]
    for ends, traffic, rate in [*rates, (("a", "c"), mptcp, 10**6)]:
        found = find_narrowest_link(environment, *ends, traffic)
        assert found == BottleneckLink(rate_bits_per_s=rate, mtu_bytes=1500, traffic=traffic)


@pytest.mark.parametrize(
    ("changes", "settings", "expected"),
    [
        ({"mss_bytes": None}, {}, 14.48e6),
        ({"mss_bytes": None}, {"family": "ipv6"}, 14.28e6),
        ({"mss_bytes": None, "destination_address": "fd00::2"}, {}, 14.28e6),
        ({"mss_bytes": 1428, "destination_address": "fd00::2"}, {}, 14.28e6),
        ({"mss_bytes": 1460}, {}, 14.6e6),  # without time stamps
        ({"mss_bytes": 948}, {}, 14.22e6),
        ({}, {"transport": "mptcp"}, 14.2e6),
        ({"flags": ("lab", "transport-not-granted")}, {"transport": "mptcp"}, 14.48e6),
        ({"flags": ("imported",)}, {}, None),
    ],
)
def test_a_line_leaves_for_data_what_the_trials_segments_let_it(
    changes: dict[str, Any], settings: dict[str, Any], expected: float | None
) -> None:
    results = make_quickstart(cycles=1, levels=[(1, 65_536)])
    results.change_trials(**changes)
    rows = [replace(row, settings={**row.settings, **settings}) for row in results.plan()]
    table = read_study_trials(results.copy(plan=rows, series={}))
    (sample,) = select(table)
    environment = {"lab": {"links": [{"between": ["west", "east"], "rate_bits_per_s": 15 * 10**6}]}}
    line = find_bottleneck(environment, sample)
    assert (None if line is None else line.data_bits_per_s) == expected


def test_the_lower_ceiling_at_about_this_many_streams() -> None:
    first = {"1 stream, copy": 40e9, "8 streams, copy": 30e9, "8 streams, zero-copy": 90e9}
    calibrations = [{"loopback_bits_per_s": rates} for rates in (first, {"1 stream, copy": 20e9})]
    assert find_ceiling(calibrations[:1], 6) == 30e9
    assert find_ceiling(calibrations, 1) == 20e9
    assert find_ceiling([None, {}], 1) is None
