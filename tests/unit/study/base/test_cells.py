"""Conditions and cells have what the model of the results put in, and nothing that was not measured."""

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from pathlab.cli.running_table import RunningTable
from pathlab.report.base.answer_table import name_condition
from pathlab.store.records import TrialRecord
from pathlab.study.analyses import Study
from pathlab.study.base.cells import Cell, find_extremes, sort_by_throughput
from pathlab.study.base.links import DirectLink
from pathlab.study.base.trials import Condition
from pathlab.study.flows.costs import CellFigures, describe_cell
from pathlab.units import format_rate, format_time
from tests.builders.results import SyntheticResults, make_quickstart
from tests.builders.trials import GOODPUT_BITS_PER_S

KIB = 1024


def find_cell(results: SyntheticResults, streams: int, window_bytes: int | None) -> Cell:
    (condition,) = Study(results).conditions()
    (found,) = [
        one for one in condition.all_cells if (one.streams, one.window_bytes) == (streams, window_bytes)
    ]
    return found


def describe(results: SyntheticResults, streams: int, window_bytes: int | None) -> CellFigures:
    return describe_cell(find_cell(results, streams, window_bytes).sample)


@pytest.mark.parametrize(
    ("direction", "path"), [("forward", "a → b"), ("reverse", "a ← b"), ("both", "a → b"), (None, "a → b")]
)
def test_the_arrow_of_a_path_is_that_of_the_data(direction: str | None, path: str) -> None:
    settings = () if direction is None else (("direction", direction),)
    condition = Condition(path_source="a", path_destination="b", medium="hosts", settings=settings)
    assert condition.path == path
    assert name_condition(condition).startswith(path)


def test_throughput_and_rise_are_the_models() -> None:
    cell = describe(make_quickstart(), 1, 64 * KIB)
    assert cell.throughput_bits_per_s.median == pytest.approx(64 * KIB * 8 / 0.04, rel=0.01)
    assert cell.drtt_ns.median == pytest.approx(-1e5)
    full = describe(make_quickstart(), 8, 256 * KIB)
    assert full.throughput_bits_per_s.median == pytest.approx(GOODPUT_BITS_PER_S, rel=0.01)
    assert full.drtt_ns.median == pytest.approx(50e6 - 1e5)
    assert (full.loaded_loss.sent, full.loaded_loss.lost) == (40, 2)


def test_exclusions_of_a_cell_are_counted_by_reason() -> None:
    results = make_quickstart(cycles=3, levels=[(1, 64 * KIB)])
    results.records[0] = replace(results.records[0], flags=("lab", "lab-limited"))
    (condition,) = Study(results).conditions()
    (cell,) = condition.all_cells
    assert [(one.reason, one.trials) for one in condition.count_exclusions(cell)] == [("lab-limited", 1)]
    assert {one.reason: one.trials for one in describe_cell(cell.complete).flags}["lab-limited"] == 1


def test_least_fairness_and_the_trial_nearest_to_the_median() -> None:
    results = make_quickstart(cycles=3, levels=[(4, 64 * KIB)])
    for place, rate in enumerate((3e6, 1e6, 2e6)):
        results.records[place] = replace(results.records[place], throughput_bits_per_s=rate)
    cell = find_cell(results, 4, 64 * KIB)
    assert cell.fairness_min_ratio == 0.25
    assert cell.choose_trial() == 3


def test_a_full_queue_delays_by_its_bytes_over_the_rate() -> None:
    (condition,) = Study(make_quickstart()).conditions()
    link = condition.direct_link
    twice = replace(link, queue_bytes=link.bottleneck.rate_bits_per_s / 4)
    assert twice.full_queue_ns == pytest.approx(2e9)
    assert replace(link, queue_bytes=None).full_queue_ns is None


def test_interval_is_undecided_below_six_cycles_and_decided_from_six_on() -> None:
    few = describe(make_quickstart(cycles=5), 1, 64 * KIB).throughput_bits_per_s
    assert few.interval.undecided == "too-few-samples"
    enough = describe(make_quickstart(cycles=6), 1, 64 * KIB).throughput_bits_per_s
    # Six allow for a correlation that they cannot show: the interval is wider than what was measured.
    assert (enough.interval.low, enough.interval.high, enough.interval.cut) == (
        enough.least,
        enough.most,
        True,
    )
    limits = enough.interval.limits
    assert limits[0] < enough.least < enough.most < limits[1]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [({}, 0.8), ({"sender_cpu_user_s": None}, None), ({"received_total_bytes": 0}, None)],
)
def test_cpu_is_per_gigabyte_of_the_whole_trial(changes: dict[str, Any], expected: float | None) -> None:
    results = make_quickstart(cycles=1, levels=[(1, 64 * KIB)])
    spent = {f"{end}_cpu_{part}_s": 0.1 for end in ("sender", "receiver") for part in ("user", "system")}
    one = replace(results.records[0], **{**spent, "received_total_bytes": 500_000_000, **changes})
    results.records = [one]
    assert describe(results, 1, 64 * KIB).cpu_s_per_gb.median == pytest.approx(expected)


def test_truth_is_the_link_of_the_path() -> None:
    def find_link(results: SyntheticResults) -> DirectLink | None:
        return Study(results).conditions()[0].direct_link

    truth = find_link(make_quickstart())
    assert truth.bottleneck.data_bits_per_s == pytest.approx(GOODPUT_BITS_PER_S)
    other = {"links": [{"between": ["west", "north"], "rate_bits_per_s": 1, "delay_ns": 1}]}
    assert find_link(make_quickstart(environment={"lab": other})) is None
    assert find_link(make_quickstart(environment={"lab": None, "fallback": None})) is None


@pytest.mark.parametrize(("sent", "received"), [(20, 21), (20, -1), (-5, 0), (2**62, 2**61)])
def test_impossible_counts_of_probes_are_no_loss(sent: int, received: int) -> None:
    results = make_quickstart(cycles=2, levels=[(1, 64 * KIB)])
    results.records[0] = replace(results.records[0], loaded_sent=sent, loaded_received=received)
    assert describe(results, 1, 64 * KIB).loaded_loss.sent == 20


def show_live(results: SyntheticResults) -> str:
    """The last line of the table that a run shows."""
    table = RunningTable()
    for record in results.records:
        table.add(record, {})
    screen = io.StringIO()
    Console(file=screen, width=150).print(table.build())
    return screen.getvalue().splitlines()[-1].rstrip()


@pytest.mark.parametrize(
    ("flag", "used"),
    [
        *((flag, 5) for flag in ("lab-limited", "host-limited", "window-short", "congestion-not-granted")),
        ("over-line-rate", 9),
    ],
)
def test_the_recommendation_takes_the_trials_of_a_cell(flag: str, used: int) -> None:
    """One selection of trials, one median, one dRTT (of the averages), whoever shows them."""
    results = make_quickstart(cycles=9, levels=[(4, 64 * KIB)])

    def mark(record: TrialRecord) -> TrialRecord:
        late = replace(record, loaded_rtt_median_ns=(record.loaded_rtt_mean_ns or 0) + 3e7)
        marked = {"flags": ("lab", flag), "throughput_bits_per_s": 45e6 + record.cycle}
        return replace(late, **marked) if record.cycle < 4 else late  # type: ignore[arg-type]

    results.change_trials(mark)
    cell = describe(results, 4, 64 * KIB)
    (candidate,) = Study(results).recommend()[0].result.candidates
    assert cell.throughput_bits_per_s == candidate.throughput_bits_per_s
    assert (cell.drtt_ns, cell.loaded_loss) == (candidate.drtt_ns, candidate.loaded_loss)
    assert len(find_cell(results, 4, 64 * KIB).sample) == candidate.n == used
    row = show_live(results)
    assert format_rate(cell.throughput_bits_per_s.median) in row
    assert row.endswith(format_time(cell.drtt_ns.median))
    assert ("5 of 9" in row) == (used == 5)


def test_a_cell_without_a_trial_that_counts_has_no_median_and_is_still_shown() -> None:
    results = make_quickstart(cycles=2, levels=[(1, 64 * KIB)])
    results.change_trials(flags=("lab", "lab-limited"))
    (condition,) = Study(results).conditions()
    (cell,) = condition.all_cells
    assert (len(cell.complete), len(cell.sample), len(cell.shown)) == (2, 0, 2)
    assert describe_cell(cell.sample).throughput_bits_per_s.median is None
    assert (condition.cells, condition.measured_cells) == ((), (cell,))
    assert "2 provisional" in show_live(results)
    assert format_rate(describe_cell(cell.shown).throughput_bits_per_s.median) in show_live(results)


def test_extremes_are_the_first_of_equals() -> None:
    (condition,) = Study(make_quickstart(cycles=2)).conditions()
    first, *_, most = condition.along(64 * KIB)
    assert find_extremes(condition.cells, lambda cell: cell.streams) == (first, most)
    assert find_extremes(condition.cells, lambda _: 1.0) == (first, first)
    assert find_extremes(condition.cells, lambda _: None) is None
    rates = [cell.throughput.median or 0.0 for cell in sort_by_throughput(condition.cells)]
    assert rates == sorted(rates, reverse=True)


def test_a_fitted_surface_has_a_residual_for_each_of_its_cells() -> None:
    study = Study(make_quickstart(cycles=6))
    (condition,) = study.conditions()
    (surface,) = [answer.result for answer in study.surface()]
    ratios = condition.relate_residuals(surface)
    assert list(ratios) == list(condition.cells)
    assert sorted(ratios.values()) == sorted(surface.residuals.cell_ratio)
    assert condition.relate_residuals(replace(surface, residuals=None)) == {}
