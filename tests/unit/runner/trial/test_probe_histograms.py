"""Very many probes are kept as histograms, and the columns of a trial come from these."""

from typing import Any

import pytest

from pathlab.campaign.factor import Level
from pathlab.engines.spec import TrialSpec
from pathlab.runner.trial.choreography import TrialData
from pathlab.runner.trial.probing import find_histogram_interval_ns
from pathlab.runner.trial.series import build_series
from pathlab.store.hdr_histogram import Histogram
from tests.builders import campaigns
from tests.builders.series import describe_round_trips
from tests.builders.trials import record_trial

MS = 1_000_000


def make_spec(probes: dict[str, Any], trial_interval: str = "100ms", /, **levels: Level) -> TrialSpec:
    times: dict[str, Level] = {"warmup_ns": 0, "duration_ns": 10_000 * MS}
    spec = campaigns.make_spec({"interval": trial_interval}, **{**times, **levels})
    settings = type(spec.probes).model_validate(probes)
    return TrialSpec(row=spec.row, cycle=0, path=spec.path, cell=spec.cell, trial=spec.trial, probes=settings)


@pytest.mark.parametrize(
    ("probes", "levels", "interval_ns"),
    [
        ({"interval": "100us", "unloaded": 0}, {}, 0),  # 100 000 are kept one by one
        ({"interval": "100us", "unloaded": 1}, {}, 100 * MS),
        ({"interval": "100us", "unloaded": 0}, {"warmup_ns": MS}, 100 * MS),
        ({"interval": "1ms", "unloaded": 90_001}, {}, 100 * MS),
        ({"interval": "100us", "unloaded": 50}, {"recording": "off"}, 0),  # no loaded probes
        ({"interval": "100us", "unloaded": 1, "timeout": "60s"}, {}, 600 * MS),
        ({"interval": "1s", "unloaded": 1_000_000}, {}, 1_000 * MS),
    ],
)
def test_histograms_take_over_above_100_000_probes_of_a_trial(
    probes: dict[str, Any], levels: dict[str, Level], interval_ns: int
) -> None:
    assert find_histogram_interval_ns(make_spec(probes, **levels)) == interval_ns


@pytest.mark.parametrize(
    ("trial_interval", "duration_ns", "interval_ns"),
    [("10s", 12_000 * MS, 240 * MS), ("1s", 10_000 * MS, 200 * MS), ("20ms", 12_000 * MS, 20 * MS)],
)
def test_a_steady_window_has_fifty_histograms(
    trial_interval: str, duration_ns: int, interval_ns: int
) -> None:
    """By intervals of 10 s none would be wholly inside a window of 12 s."""
    spec = make_spec({"interval": "100us", "unloaded": 1}, trial_interval, duration_ns=duration_ns)
    assert find_histogram_interval_ns(spec) == interval_ns


def make_probing(begin_ns: int, intervals: list[tuple[list[int], int]]) -> list[dict[str, Any]]:
    """The prober's records; each interval of 100 ms has answered RTTs and lost probes."""
    start = {"type": "start", "method": "udp", "stamps": "kernel", "monotonic_ns": begin_ns}
    records = [
        {"type": "round_trips", "start_ns": n * 100 * MS, "end_ns": (n + 1) * 100 * MS}
        | {"sent": len(rtts) + lost, "lost": lost, "reordered": 0}
        | {"round_trip_ns": describe_round_trips(rtts)}
        for n, (rtts, lost) in enumerate(intervals)
    ]
    return [start, *records, {"type": "result"}]


def measure(data: TrialData) -> Any:
    data.sender = [
        {"type": "start", "monotonic_ns": 50 * MS},
        {
            "type": "result",
            "phases": {"steady": {"start_ns": 100 * MS, "end_ns": 400 * MS, "bytes": [1]}},
            "total_bytes": [1],
            "workers": [],
            "tcp_info": {},
        },
    ]
    return record_trial(make_spec({"interval": "100us", "unloaded": 1}), data)


def test_columns_are_of_the_intervals_wholly_in_the_steady_window() -> None:
    """The prober began 20 ms after the sender: its intervals begin at 20, 120, 220, 320 and 420 ms."""
    inside = [[100, 300], [200, 400, 100_000]]
    parts = [([7], 9), (inside[0], 1), (inside[1], 0), ([8], 9), ([9], 9)]
    unloaded = [([10, 20], 0), ([], 2), ([30], 0)]
    record = measure(TrialData(loaded=make_probing(70 * MS, parts), unloaded=make_probing(0, unloaded)))
    assert (record.loaded_sent, record.loaded_received) == (6, 5)
    assert (record.loaded_rtt_min_ns, record.loaded_rtt_mean_ns) == (100, 20_200)
    # 300 and 400 are places of 2 ns, 200 has one of its own.
    assert (record.loaded_rtt_median_ns, record.loaded_rtt_iqr_ns) == (301, 201)
    assert (record.unloaded_sent, record.unloaded_received, record.unloaded_rtt_mean_ns) == (5, 3, 20)
    assert (record.unloaded_rtt_median_ns, record.unloaded_rtt_iqr_ns) == (20, 20)
    assert (record.probe_method, record.probe_stamps) == ("udp", "kernel")


def test_probes_that_all_were_lost_have_no_round_trip() -> None:
    record = measure(TrialData(loaded=make_probing(70 * MS, [([], 5)] * 4)))
    assert (record.loaded_sent, record.loaded_received) == (10, 0)
    assert (record.loaded_rtt_min_ns, record.loaded_rtt_median_ns, record.loaded_rtt_iqr_ns) == (None,) * 3
    nothing = measure(TrialData(loaded=make_probing(900 * MS, [([5], 0)])))
    assert (nothing.loaded_sent, nothing.loaded_received, nothing.loaded_rtt_mean_ns) == (None,) * 3


def test_a_series_has_the_times_of_the_sender_and_every_interval() -> None:
    data = TrialData(
        sender=[{"type": "start", "monotonic_ns": 50 * MS}],
        loaded=make_probing(70 * MS, [([5, 9], 1), ([], 0)]),
    )
    rows = build_series(data)["loaded_probe_histograms"].to_pylist()
    assert [(row["start_ns"], row["end_ns"], row["sent"], row["lost"]) for row in rows] == [
        (20 * MS, 120 * MS, 3, 1),
        (120 * MS, 220 * MS, 0, 0),
    ]
    assert Histogram.decode(rows[0]["histogram"]).counts.tolist() == [1, 1]
    assert (rows[1]["count"], rows[1]["mean_ns"], rows[1]["histogram"]) == (0, None, None)
