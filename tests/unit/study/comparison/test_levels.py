"""Levels of one factor against its first, in pairs of a cycle."""

import math
from dataclasses import replace

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.shifts import hodges_lehmann
from pathlab.analysis.verdicts.paired_samples import compare_paired
from pathlab.analysis.verdicts.two_samples import compare_groups
from pathlab.errors import UsageError
from pathlab.study.analyses import Study
from pathlab.study.comparison.releases import CostVerdict, ReleaseRatio
from pathlab.study.comparison.rows import ChangeVerdict
from tests.builders.levels import measure_levels
from tests.builders.results import SyntheticResults

SLOWER = {"throughput_bits_per_s": 0.9}


def ratios(results: SyntheticResults, factor: str | None = None) -> dict[tuple[str, int, str], ReleaseRatio]:
    """The rows by level, streams and metric."""
    found = Study(results).releases(factor)
    return {(one.result.level, one.streams or 0, one.result.metric): one.result for one in found}


def builds(**effects: dict[str, float]) -> dict[str, dict[str, float]]:
    return {"this": {}, "again": {}, **effects}


def test_pairs_cancel_what_a_cycle_shares() -> None:
    rng = np.random.default_rng(1)
    drift = np.exp(rng.normal(0, 0.5, 12))
    before, after = drift * np.exp(rng.normal(0, 0.01, 12)), 0.97 * drift * np.exp(rng.normal(0, 0.01, 12))
    paired = compare_paired(before, after)
    expected = hodges_lehmann(np.log(after / before))
    assert paired.shift == pytest.approx(expected.shift)
    assert paired.p_value == pytest.approx(expected.p_value)
    assert paired.interval_ratio.contains(0.97)
    assert not paired.interval_ratio.contains(1.0)
    assert compare_groups(before, after).interval_ratio.contains(1.0)
    assert (paired.first_n, paired.second_n, paired.interval.n) == (12, 12, 12)
    closer, wider = paired.at(0.8).interval, paired.at(0.99).interval
    assert closer.method == wider.method == expected.interval.method
    assert (wider.low or 0) < (paired.interval.low or 0) < (closer.low or 0)


def test_missing_and_impossible_values_are_no_pairs() -> None:
    nan = math.nan
    found = compare_paired([1.0, nan, 2.0, nan], [2.0, 3.0, nan, nan])
    assert (found.first_n, found.ratio, found.undecided) == (1, 2.0, Undecided.TOO_FEW_SAMPLES)
    assert compare_paired([nan], [1.0]).undecided is Undecided.NO_SAMPLES
    assert compare_paired([0.0, 1.0], [1.0, 1.0]).undecided is Undecided.NOT_POSITIVE


def test_each_combination_has_a_verdict_beside_the_noise_floor() -> None:
    cells = ({"streams": 1}, {"streams": 8})
    results = measure_levels("build", builds(against=SLOWER), cells=cells)
    found = ratios(results)
    assert set(found) == {("against", n, metric) for n in (1, 8) for metric in ("throughput", "cpu")}
    for streams in (1, 8):
        rate, cpu = found["against", streams, "throughput"], found["against", streams, "cpu"]
        assert rate.verdict is ChangeVerdict.WORSE
        assert rate.ratio == pytest.approx(0.9, abs=0.01)
        assert rate.interval.contains(0.9)
        assert (rate.name, rate.pairs) == ("against : this", 12)
        assert rate.noise_ratio == pytest.approx(1, abs=0.01)
        assert 1 < (rate.noise_floor_ratio or 0) < 1.01
        assert cpu.verdict is ChangeVerdict.EQUIVALENT
    assert not any(one.level == "again" for one in found.values())


def test_a_difference_within_the_noise_floor_is_none() -> None:
    results = measure_levels("build", builds(again={"throughput_bits_per_s": 1.12}, against=SLOWER))
    found = ratios(results)["against", 1, "throughput"]
    assert found.verdict is ChangeVerdict.UNDECIDED
    assert found.interval.contains(1.0)


def test_few_cycles_decide_nothing() -> None:
    found = ratios(measure_levels("build", builds(against=SLOWER), cycles=3))["against", 1, "throughput"]
    assert (found.verdict, found.reason) == (ChangeVerdict.UNDECIDED, "too few trials")
    assert found.ratio == pytest.approx(0.9, abs=0.02)


def test_the_same_build_alone_gives_the_noise_floor_and_no_row() -> None:
    study = Study(measure_levels("build", builds()))
    found = study.compare_releases()
    assert found.found.rows == ()
    assert {name for _, name in found.again} == {"throughput", "cpu"}
    assert study.releases() == ()
    assert Study(measure_levels("no_delay", {False: {}})).compare_releases() is None


def test_the_campaign_names_another_factor_to_compare() -> None:
    model = {"compare": "no_delay", "factors": {"no_delay": [True, False]}}
    both = ({"build": "this"}, {"build": "again"})
    results = measure_levels("no_delay", {False: {}, True: SLOWER}, model=model, also=both)
    (found,) = (one for one in ratios(results).values() if one.metric == "throughput")
    assert (found.baseline, found.level, found.pairs) == ("yes", "no", 12)
    assert found.ratio == pytest.approx(1 / 0.9, rel=0.01)
    assert found.verdict is ChangeVerdict.BETTER
    assert found.noise_ratio == pytest.approx(1, abs=0.01)
    assert ratios(results, "mss") == {}
    with pytest.raises(UsageError):
        Study(results).releases("speed")


def test_trials_of_an_overloaded_lab_are_in_no_pair() -> None:
    results = measure_levels("build", builds(against=SLOWER))
    results.records[0] = replace(results.records[0], flags=("lab-limited",))
    assert ratios(results)["against", 1, "throughput"].pairs == 11


def test_the_cost_of_recording_is_a_share_of_the_rate_without_it() -> None:
    effects: dict[str, dict[str, float]] = {
        "off": {},
        "default": {},
        "full": {"messages_per_s": 0.95, "throughput_bits_per_s": 0.95},
    }
    cells = ({"streams": 1}, {"streams": 1, "message_bytes": 64})
    found = Study(measure_levels("recording", effects, cells=cells)).observer_cost()
    assert [(one.result.rate, one.result.level) for one in found] == [
        *(("throughput", "default"), ("throughput", "full")),
        *(("messages", "default"), ("messages", "full")),
    ]
    for one in found:
        cost = one.result
        if cost.level == "full":
            assert cost.verdict is CostVerdict.COSTS
            assert cost.interval_ratio.contains(0.05)
            assert cost.cost_ratio == pytest.approx(0.05, abs=0.01)
        else:
            assert cost.verdict is CostVerdict.NOT_SHOWN
            assert cost.interval_ratio.contains(0.0)
    few = Study(measure_levels("recording", effects, cycles=2)).observer_cost()
    assert {one.result.verdict for one in few} == {CostVerdict.UNDECIDED}
    faster = {**effects, "full": {"throughput_bits_per_s": 1.1}}
    quick = Study(measure_levels("recording", faster)).observer_cost()
    assert {one.result.verdict for one in quick} == {CostVerdict.NOT_SHOWN}


@pytest.mark.parametrize("level", ["this", "against"])
def test_trials_that_missed_their_rate_are_in_no_pair_of_latencies(level: str) -> None:
    cells = ({"streams": 1, "message_bytes": 64, "message_rate_per_s": 5000},)
    results = measure_levels("build", builds(against={"round_trip_p99_ns": 0.2}), cells=cells)
    missed = [place for place, row in enumerate(results.plan()) if row.settings["build"] == level]
    for place in missed[:-1]:
        results.records[place] = replace(results.records[place], flags=("rate-missed",))
    one = ratios(results)["against", 1, "round-trip-p99"]
    assert (one.pairs, one.verdict, one.reason) == (1, ChangeVerdict.UNDECIDED, "too few trials")
    results.records[missed[-1]] = replace(results.records[missed[-1]], flags=("rate-missed",))
    none = ratios(results)["against", 1, "round-trip-p99"]
    assert (none.ratio, none.level_median, none.reason) == (None, None, "not-measured")


def test_cpu_time_of_one_end_is_not_that_of_both() -> None:
    cells = ({"streams": 1, "message_bytes": 64}, {"streams": 1, "message_bytes": 64, "placement": "fused"})
    results = measure_levels("build", builds(against={}), cells=cells)
    for place, row in enumerate(results.plan()):
        if row.settings["build"] == "against" or "placement" in row.settings:
            results.records[place] = replace(results.records[place], receiver_cpu_ns_per_message=None)
    found = {
        one.condition.get("placement"): one.result
        for one in Study(results).releases()
        if one.result.metric == "cpu-message"
    }
    assert (found[None].ratio, found[None].reason) == (None, "not-measured")
    assert found["fused"].verdict is ChangeVerdict.EQUIVALENT
    assert found["fused"].baseline_median == pytest.approx(600, rel=0.3)
