"""Series of histograms: exact sums of what was asked for, and damage that is named."""

from pathlib import Path
from typing import Any

import pytest

from pathlab.store.arrays import convert_rows
from pathlab.store.interval_histograms import read_probe_histograms, read_round_trips, sum_histograms
from pathlab.store.results import Results
from pathlab.store.series_columns import SERIES
from tests.builders.series import make_end_intervals, make_histogram_row
from tests.builders.stored import COMPLETE, make_results

ROWS = [
    make_histogram_row(0, [4, 90_000], phase="warmup", stream=0),
    make_histogram_row(100_000_000, [7, 1_000_003, 2_000_001], phase="steady", stream=0),
    make_histogram_row(100_000_000, [], phase="steady", stream=1),
    make_histogram_row(200_000_000, [9], phase="steady", stream=1),
]


def store(folder: Path, kind: str, rows: list[dict[str, Any]]) -> Path:
    with make_results(folder) as results:
        series = {
            "sender_intervals": make_end_intervals(sender=True),
            kind: convert_rows(rows, SERIES[kind].schema),
        }
        results.add_trial(COMPLETE, series)
    return folder


def test_a_trial_without_round_trips_has_none(tmp_path: Path) -> None:
    with make_results(tmp_path / "stored") as results:
        results.add_trial(COMPLETE, {"sender_intervals": make_end_intervals(sender=True)})
        assert read_round_trips(results, 1) is None
        assert read_probe_histograms(results, 1, "loaded_probes") is None


def test_loaded_probes_are_those_wholly_in_the_steady_window(tmp_path: Path) -> None:
    rows = [
        make_histogram_row(start_ms * 1_000_000, [start_ms], sent=2, lost=1, reordered=0)
        for start_ms in (0, 50, 99, 100, 150, 200, 201, 300)
    ]
    with Results.open(store(tmp_path / "stored", "loaded_probe_histograms", rows)) as results:
        inside = read_probe_histograms(results, 1, "loaded_probes")
    assert [start_ns // 1_000_000 for start_ns in inside["start_ns"].to_pylist()] == [100, 150, 200]


def test_without_figures_the_places_are_asked() -> None:
    rows = [{**row, "max_ns": None} for row in ROWS[1:]]
    table = convert_rows(rows, SERIES["round_trips"].schema)
    exact = sum_histograms(table).exact
    assert (exact.count, exact.min_ns, exact.max_ns) == (4, 7, 2_007_039)


def test_figures_that_are_no_numbers_are_not_taken() -> None:
    rows = [{**row, "mean_ns": float("nan")} for row in ROWS[1:2]]
    exact = sum_histograms(convert_rows(rows, SERIES["round_trips"].schema)).exact
    assert exact.mean_ns == pytest.approx(1_000_003.7, rel=0.01)
