"""Short texts of the analyses: reasons, notes and names."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import pathlab
from pathlab.errors import StoreError, UsageError
from pathlab.report.recommendation_text import (
    describe_recommendation,
)
from pathlab.study.analyses import Study
from pathlab.study.comparison.rows import ChangeVerdict
from pathlab.study.exploration.courses import (
    read_reduced_course,
)
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.recommendation import Confidence, Reference
from tests.builders.levels import measure_levels
from tests.builders.recommendations import KIB, LINE_BITS_PER_S, answer, carry
from tests.builders.results import (
    SyntheticResults,
    make_quickstart,
    study,
    write_results,
)
from tests.builders.sweeps import make_sweep
from tests.builders.tables import MadeTable, make_two_windows
from tests.builders.technologies import (
    Technology,
    make_adapter,
    make_technology_results,
)
from tests.golden.conftest import Say
from tests.unit.study.comparison.test_levels import builds
from tests.unit.study.exploration.test_baselines import build
from tests.unit.study.exploration.test_courses import make_results
from tests.unit.study.test_climbs import classify, probes
from tests.unit.study.test_technologies import make_study, measure


def test_a_cell_cannot_be_classified_by_no_trial(say: Say) -> None:
    one = study(make_sweep(2, levels=[(2, 65536)]))
    for ask in (one.limits, one.warm_up):
        with pytest.raises(UsageError) as caught:
            ask(0)
        say(caught.value)


@pytest.fixture
def table() -> MadeTable:
    return make_two_windows()


def test_a_baseline_without_trials_compares_nothing(say: Say, table: MadeTable) -> None:
    table.values["streams"] = np.where(table.values["window"] == 65536, 4.0, 8.0)
    found = build(table, colour="window", baseline="65536")
    assert found.against == ()
    say(found.notes)
    assert build(table, colour="window").against is None
    assert build(table, colour="window", baseline="65536", statistic="cdf").against is None


def test_round_trips_alone_are_complete_and_recommend_nothing(say: Say) -> None:
    results = make_quickstart(cycles=2, levels=[(1, 64 * KIB)])
    results.records = [replace(one, throughput_bits_per_s=None) for one in results.records]
    say(describe_recommendation(answer(results)).lead)
    results.records = [replace(one, streams=0, window_requested_bytes=None) for one in results.records]
    say(describe_recommendation(answer(results)).lead)


def test_where_all_counted_too_much_shares_are_of_the_links_payload_rate_and_it_is_said(say: Say) -> None:
    found = carry({4: 39.4, 8: 39.6}, (4, 8))
    assert (found.reference, found.reference_bits_per_s) == (Reference.LINK, LINE_BITS_PER_S)
    assert found.confidence is Confidence.LOW
    assert {one.share_ratio for one in found.candidates} == {1.0}
    reported = describe_recommendation(found)
    say(reported.lead)
    say(reported.reasons)
    say(reported.certainty[0])
    say(reported.sentences)


def test_what_counted_too_much_is_not_compared_with_a_highest_median_below_it(say: Say) -> None:
    reported = describe_recommendation(carry({1: 12.0, 4: 39.4, 8: 39.6}, (4, 8)))
    say(reported.sentences)


MS = 1_000_000
LEVELS = [(1, 65_536)]


class DamagedResults(SyntheticResults):
    """Results of whose second trial no series can be read."""

    def series_tables(self, trial_id: int, columns: Mapping[str, Sequence[str]]) -> dict[str, pa.Table]:
        if trial_id == 2:
            raise StoreError("results.db: loaded_probes of trial 2 is damaged")
        return super().series_tables(trial_id, columns)


def test_a_damaged_series_is_named_and_judges_nothing(say: Say) -> None:
    rising = {"loaded_probes": probes([(160.0 + 2 * place) * MS for place in range(20)])}
    whole = make_sweep(3, levels=LEVELS)
    results = DamagedResults(whole.campaign, whole.plan(), whole.records, dict.fromkeys((1, 2, 3), rising))
    found = classify(results)
    assert (found.classified, found.rising) == (2, 2)
    say(found.damaged)


def test_what_was_not_kept_or_does_not_exist_is_named(say: Say) -> None:
    results = make_results()
    with pytest.raises(StoreError) as caught:
        read_reduced_course(results, 0, "sender_nics.rx_bytes")
    say(caught.value)
    with pytest.raises(UsageError) as refused:
        read_reduced_course(results, 0, "loaded_prob.rtt_ns")
    say(refused.value)
    with pytest.raises(UsageError) as refused:
        read_reduced_course(results, 0, "loaded_probes.rtt")
    say(refused.value)


def test_of_several_results_one_with_a_damaged_trial_is_named(say: Say, tmp_path: Path) -> None:
    good, bad = (write_results(make_quickstart(cycles=1), tmp_path / name) for name in ("good", "bad"))
    with sqlite3.connect(bad / "results.db") as connection:
        connection.execute("UPDATE trial SET flags = '{}' WHERE trial_id = 5")
    found = ExploredResults.open([good, bad])
    assert len(found) == 8
    say(found.sources[1].notes[0])
    with pytest.raises(StoreError) as caught:
        ExploredResults.open([bad])
    say(caught.value)


def test_streams_and_windows_are_not_compared_as_levels(say: Say) -> None:
    with pytest.raises(UsageError) as caught:
        Study(measure_levels("build", builds(against={}))).releases("streams")
    say(caught.value)


TCP, REDIS = Technology(), make_adapter("redis", 20_000.0)


def weaken(results: SyntheticResults, cycles: int) -> SyntheticResults:
    """The same, whose load of cores was weak in the first cycles."""
    cpu = {row.row for row in results.plan() if row.settings["background"] == "cpu"}
    results.records = [
        replace(one, background_cpu_ratio=0.015, flags=("background-weak",) if one.cycle < cycles else ())
        if one.plan_row in cpu
        else one
        for one in results.records
    ]
    return results


def test_groups_begin_with_the_one_without_load_and_priority(say: Say) -> None:
    settings = [{"background": load, "priority": level} for level in (50, None) for load in ("cpu", "none")]
    names = [one.name for one in measure(settings=settings).technology_groups()]
    say(names)


@pytest.mark.parametrize(
    ("weak", "verdict"), [(0, ChangeVerdict.WORSE), (6, ChangeVerdict.WORSE), (7, ChangeVerdict.UNDECIDED)]
)
def test_a_load_that_hardly_ran_decides_nothing(say: Say, weak: int, verdict: ChangeVerdict) -> None:
    settings = [{"background": load} for load in ("none", "cpu", "disk")]
    results = make_technology_results(
        (TCP, REDIS), sizes=(64,), settings=settings, cycles=12, noise_ratio=0.003, histograms=False
    )
    found = [one.result for one in make_study(weaken(results, weak)).loaded_round_trips()]
    cpu = [one for one in found if one.ratio.level == "cpu"]
    assert {one.ratio.verdict for one in cpu} == {verdict}
    assert {one.weak for one in cpu} == {f"{weak} of 12"}
    say({one.load for one in cpu})
    say({one.compared for one in cpu})
    assert {one.weak for one in found if one.ratio.level == "disk"} == {"0 of 12"}
    if verdict is ChangeVerdict.UNDECIDED:
        say({one.ratio.reason for one in cpu})


def test_several_results_are_curves_of_one_figure(say: Say, tmp_path: Path) -> None:
    paths = [write_results(make_quickstart(cycles=2), tmp_path / name) for name in ("before", "after")]
    both = pathlab.explore(*paths)
    figure = both.view("where.window_bytes=65536")
    assert [curve.colour_level for curve in figure.facets[0].curves] in ([0, 1], [1, 0])
    with pytest.raises(UsageError) as caught:
        both.view("colour=result")
    say(caught.value)
    with pytest.raises(UsageError) as caught:
        pathlab.explore()
    say(caught.value)
