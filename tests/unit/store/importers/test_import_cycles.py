"""Cycles of imported trials: neighbours in time, and never trials of days apart."""

import datetime
import json
from pathlib import Path

import pytest

from pathlab.report.flows.recommendation_text import format_confidence
from pathlab.store.import_cycles import TimedTrial, number_cycles, read_start, sort_by_time
from pathlab.store.importing import read_file, store_files
from pathlab.store.results import Results
from pathlab.study.analyses import StudiedResults
from pathlab.study.flows.recommendation import Confidence
from tests.builders.foreign_files import BEGIN_S, change, make_iperf3
from tests.builders.stored import CAMPAIGN

MONDAY = datetime.datetime(2026, 11, 23, 8, tzinfo=datetime.UTC)
HOUR_S = 3600


def number(*trials: tuple[int | None, str]) -> list[int]:
    """The cycles of trials by their second and condition, in the order given."""
    timed = [
        TimedTrial(
            started=None if second is None else MONDAY + datetime.timedelta(seconds=second), condition=name
        )
        for second, name in trials
    ]
    order = sort_by_time(timed)
    cycles = dict(zip(order, number_cycles([timed[place] for place in order]), strict=True))
    return [cycles[place] for place in range(len(timed))]


@pytest.mark.parametrize(
    ("trials", "cycles"),
    [
        ([(0, "a"), (60, "b"), (120, "a"), (180, "b")], [0, 0, 1, 1]),
        ([(60, "b"), (0, "a"), (120, "b"), (180, "a")], [0, 0, 1, 1]),
        ([(0, "a"), (60, "a"), (120, "b"), (180, "b")], [0, 1, 1, 2]),
        ([(0, "a"), (60, "b"), (24 * HOUR_S, "c")], [0, 0, 1]),
        ([(0, "a"), (7 * HOUR_S, "b")], [0, 1]),
        ([(0, "a"), (60, "b"), (HOUR_S, "a"), (HOUR_S + 60, "b")], [0, 0, 1, 1]),
        ([(0, "a"), (0, "a"), (0, "b"), (0, "b")], [0, 1, 0, 1]),
        ([(None, "a"), (None, "a"), (None, "b")], [0, 1, 0]),
        ([], []),
    ],
    ids=["in turn", "sorted", "in blocks", "a day", "hours", "hourly", "one time", "no time", "none"],
)
def test_a_cycle_has_neighbours_and_each_condition_once(
    trials: list[tuple[int | None, str]], cycles: list[int]
) -> None:
    assert number(*trials) == cycles


def test_a_time_without_a_zone_is_utc_and_other_text_is_no_time() -> None:
    assert read_start("2026-11-23T08:00:00") == MONDAY == read_start("2026-11-23T08:00:00+00:00")
    assert read_start("yesterday") is None


def make_runs(folder: Path, streams: int, begin_s: int, count: int = 8) -> list[Path]:
    """Files of tests with these streams, half an hour apart."""
    paths = []
    for place in range(count):
        node = change(make_iperf3(streams=streams), "start.timestamp.timesecs", begin_s + 1800 * place)
        paths.append(folder / f"{streams}-{begin_s}-{place}.json")
        paths[-1].write_text(json.dumps(node), encoding="utf-8")
    return paths


@pytest.mark.parametrize(("at_once", "stray"), [(True, False), (False, False), (True, True)])
def test_levels_that_were_measured_days_apart_are_neither_paired_nor_called_certain(
    tmp_path: Path, at_once: bool, stray: bool
) -> None:
    """``stray``: one test of Friday's kind was made on Monday."""
    monday, friday = make_runs(tmp_path, 1, BEGIN_S), make_runs(tmp_path, 8, BEGIN_S + 4 * 24 * HOUR_S)
    if stray:
        monday += make_runs(tmp_path, 8, BEGIN_S + 6000, count=1)
    with Results.create(tmp_path / "results", CAMPAIGN, ()) as results:
        for paths in [[*monday, *friday]] if at_once else [[path] for path in (*monday, *friday)]:
            store_files(results, [read_file(path) for path in paths])
    with StudiedResults.open(tmp_path / "results") as results:
        assert stray or [row.cycle for row in results.plan()] == list(range(16))
        (answer,) = results.recommend()
    found = answer.result
    assert found.confidence is Confidence.LOW
    assert [one.streams for one in found.apart] == [1]
    assert "1 × 64 KiB" in format_confidence(found)
