"""Short texts of the analyses: reasons, notes and names."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import pathlab
from pathlab.errors import StoreError, UsageError
from pathlab.study.analyses import Study
from pathlab.study.comparison.rows import ChangeVerdict
from pathlab.study.exploration.courses import read_reduced_course
from pathlab.study.exploration.curves import build_from_rows
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.exploration.view import View
from tests.builders.levels import measure_levels
from tests.builders.messages import TCP, Setup, make_message_results
from tests.builders.multipath import Bonds, make_multipath_results
from tests.builders.results import SyntheticResults, make_quickstart, write_results
from tests.builders.sweeps import make_sweep
from tests.builders.tables import make_table, make_two_windows
from tests.builders.technologies import Technology, make_adapter, make_technology_results
from tests.golden.conftest import Say, catch
from tests.unit.study.comparison.test_levels import builds
from tests.unit.study.exploration.test_baselines import build
from tests.unit.study.exploration.test_courses import make_results
from tests.unit.study.exploration.test_distributions import build as build_distribution
from tests.unit.study.exploration.test_distributions import make_values
from tests.unit.study.flows.test_climbs import classify, probes
from tests.unit.study.technologies.test_technologies import make_study, measure

KIB = 1024
MS = 1_000_000
LEVELS = [(1, 16_384), (2, 16_384), (4, 16_384), (1, 32_768), (2, 32_768), (4, None)]


@pytest.fixture(scope="module")
def sweep() -> Study:
    return Study(make_sweep(7, levels=LEVELS, settings={"direction": "reverse"}))


@pytest.mark.parametrize("number", [2.5, np.float64("nan"), 0, "2", pd.Series([1, 2])])
def test_other_trials_per_cell_are_one_line(say: Say, sweep: Study, number: Any) -> None:
    for ask in (sweep.limits, sweep.warm_up):
        say(catch(UsageError, ask, number))


def test_the_text_of_an_answer_says_yes_and_no_and_every_reason_once(say: Say, sweep: Study) -> None:
    (answer,) = sweep.precision()
    say(repr(answer))
    reasons = [(repr(one), one.result.undecided) for one in sweep.saturation()]
    undecided = [(text, reason.value) for text, reason in reasons if reason is not None]
    assert undecided
    assert all(text.count(reason) == 1 for text, reason in undecided)


def test_other_factors_and_control_rows_never_share_a_cell(say: Say) -> None:
    results = make_quickstart(cycles=6, levels=[(1, 64 * KIB)])
    durations_ns = [seconds * 10**9 for seconds in (100, 20, 100, 20, 100, 100)]
    always = {"no_delay": True, "family": "any", "warmup_ns": 10**9}
    plan = [
        replace(row, settings={**row.settings, **always, "duration_ns": ns})
        for row, ns in zip(results.plan(), durations_ns, strict=True)
    ]
    plan[5] = replace(plan[5], settings={**plan[5].settings, "control": True})
    records = [replace(one, duration_ns=ns) for one, ns in zip(results.records, durations_ns, strict=True)]
    apart = SyntheticResults(results.campaign, plan, records, {})
    say([(one.name, len(one.complete)) for one in Study(apart).conditions()])


def test_a_baseline_without_trials_compares_nothing(say: Say) -> None:
    table = make_two_windows()
    table.values["streams"] = np.where(table.values["window"] == 65536, 4.0, 8.0)
    found = build(table, colour="window", baseline="65536")
    assert found.against == ()
    say(found.notes)
    assert build(table, colour="window").against is None
    assert build(table, colour="window", baseline="65536", statistic="cdf").against is None


def test_columns_of_another_unit_are_not_on_the_axis(say: Say) -> None:
    view = View(x="streams", y=("throughput", "rtt"), statistic="cdf")
    found = build_from_rows(make_table(np.random.default_rng(7), 60), view, np.arange(60))
    say(found.notes)
    assert {curve.y_column for curve in found.facets[0].curves} == {"throughput"}


def test_logarithmic_bins_have_equal_ratios(say: Say) -> None:
    values = np.r_[np.random.default_rng(6).lognormal(0, 2, 200), 0.0, -1.0]
    found = build_distribution(make_values(values), "histogram", scale_x="log10")
    (curve,) = found.facets[0].curves
    ratios = np.array(curve.edges[1:]) / np.array(curve.edges[:-1])
    assert ratios == pytest.approx(ratios[0])
    assert sum(point.trials for point in curve.points) == 200
    say(found.notes)


class DamagedResults(SyntheticResults):
    """Results of whose second trial no series can be read."""

    def series_tables(self, trial_id: int, columns: Mapping[str, Sequence[str]]) -> dict[str, pa.Table]:
        if trial_id == 2:
            raise StoreError("results.db: loaded_probes of trial 2 is damaged")
        return super().series_tables(trial_id, columns)


def test_a_damaged_series_is_named_and_judges_nothing(say: Say) -> None:
    rising = {"loaded_probes": probes([(160.0 + 2 * place) * MS for place in range(20)])}
    whole = make_sweep(3, levels=[(1, 65_536)])
    results = DamagedResults(whole.campaign, whole.plan(), whole.records, dict.fromkeys((1, 2, 3), rising))
    found = classify(results)
    assert (found.classified, found.rising) == (2, 2)
    say(found.damaged)


def test_what_was_not_kept_or_does_not_exist_is_named(say: Say) -> None:
    results = make_results()
    say(catch(StoreError, read_reduced_course, results, 0, "sender_nics.rx_bytes"))
    for course in ("loaded_prob.rtt_ns", "loaded_probes.rtt"):
        say(catch(UsageError, read_reduced_course, results, 0, course))


def test_of_several_results_one_with_a_damaged_trial_is_named(say: Say, tmp_path: Path) -> None:
    good, bad = (write_results(make_quickstart(cycles=1), tmp_path / name) for name in ("good", "bad"))
    with sqlite3.connect(bad / "results.db") as connection:
        connection.execute("UPDATE trial SET flags = '{}' WHERE trial_id = 5")
    found = ExploredResults.open([good, bad])
    assert len(found) == 8
    say(found.sources[1].notes[0])
    say(catch(StoreError, ExploredResults.open, [bad]))


def test_several_results_are_curves_of_one_figure(say: Say, tmp_path: Path) -> None:
    paths = [write_results(make_quickstart(cycles=2), tmp_path / name) for name in ("before", "after")]
    both = pathlab.explore(*paths)
    figure = both.view("where.window_bytes=65536")
    assert [curve.colour_level for curve in figure.facets[0].curves] in ([0, 1], [1, 0])
    say(catch(UsageError, both.view, "colour=result"))
    say(catch(UsageError, pathlab.explore))


def test_streams_and_windows_are_not_compared_as_levels(say: Say) -> None:
    study = Study(measure_levels("build", builds(against={})))
    say(catch(UsageError, study.releases, "streams"))


def test_groups_begin_with_the_one_without_load_and_priority(say: Say) -> None:
    settings = [{"background": load, "priority": level} for level in (50, None) for load in ("cpu", "none")]
    say([one.name for one in measure(settings=settings).technology_groups()])


@pytest.mark.parametrize(
    ("weak", "verdict"), [(0, ChangeVerdict.WORSE), (6, ChangeVerdict.WORSE), (7, ChangeVerdict.UNDECIDED)]
)
def test_a_load_that_hardly_ran_decides_nothing(say: Say, weak: int, verdict: ChangeVerdict) -> None:
    results = make_technology_results(
        (Technology(), make_adapter("redis", 20_000.0)),
        sizes=(64,),
        settings=[{"background": load} for load in ("none", "cpu", "disk")],
        cycles=12,
        noise_ratio=0.003,
        histograms=False,
    )
    loaded = {row.row for row in results.plan() if row.settings["background"] == "cpu"}
    for place, one in enumerate(results.records):
        if one.plan_row in loaded:
            flags = ("background-weak",) if one.cycle < weak else ()
            results.records[place] = replace(one, background_cpu_ratio=0.015, flags=flags)
    found = [one.result for one in make_study(results).loaded_round_trips()]
    cpu = [one for one in found if one.ratio.level == "cpu"]
    assert {one.ratio.verdict for one in cpu} == {verdict}
    assert {one.weak for one in cpu} == {f"{weak} of 12"}
    assert {one.weak for one in found if one.ratio.level == "disk"} == {"0 of 12"}
    say({f"{one.load}; {one.compared}; {one.ratio.reason}" for one in cpu})


def test_links_alone_are_those_with_the_default_where_a_bond_has_other_levels(say: Say) -> None:
    study = Study(make_multipath_results(Bonds(reordering=(3, 127), cycles=3, streams=(1,))))
    say({answer.result.name for answer in study.multipath()})
    assert all(answer.result.gain is not None for answer in study.multipath())


def test_setups_are_named_by_transport_and_what_differs(say: Say) -> None:
    answers = Study(make_message_results(cycles=1)).message_latency()
    say(list(dict.fromkeys(one.result.setup.name for one in answers)))
    setups = (TCP, Setup({"wait": "poll"}), Setup({"cork": True}), Setup({"streams": 4}))
    results = make_message_results(setups, sizes=(64,), rates=(1000,), cycles=1)
    say(sorted(one.result.setup.name for one in Study(results).message_latency()))
