"""Overhead and load of technologies in simulated campaigns whose cycles follow each other.

Noise that is correlated is each technology's own here, and no matter of time: a draw of the order does
nothing against it, so that such campaigns have a given order.
"""

import pytest

from pathlab.study.analyses import Study
from pathlab.study.comparison.rows import ChangeVerdict
from tests.builders.results import with_order
from tests.builders.technologies import FACTS, Technology, make_adapter, make_technology_results
from tests.length import choose_runs, list_long
from tests.statistics.noise import check_share

FACTOR = 5.0
#: Of one set of results.
SIZES_MAX = 120
#: Two transports beneath that are equally fast: one of them is chosen by the same cycles.
BENEATH = (Technology(per_byte_ns=0.0), Technology({"wait": "poll"}, per_byte_ns=0.0))


@pytest.mark.parametrize(
    ("cycles", "correlation", "runs"),
    [
        *((*case, choose_runs(120, short=12)) for case in ((7, 0.0), (20, 0.7))),
        *list_long((7, 20), (0.0, 0.7), runs=1200),
    ],
)
def test_intervals_of_overhead_hold_the_factor(cycles: int, correlation: float, runs: int) -> None:
    """Every size is a run: each has trials of its own."""
    sizes = min(runs, SIZES_MAX)
    redis = make_adapter("redis", FACTOR * 4_000.0, 0.0)
    held = decided = 0
    for part in range(runs // sizes):
        results = make_technology_results(
            (*BENEATH, redis),
            sizes=range(64, 64 + sizes),
            cycles=cycles,
            noise_ratio=0.05,
            correlation=correlation,
            histograms=False,
            seed=100 * cycles + part,
        )
        study = Study(with_order(results, "given" if correlation else "random"))
        study.technology_facts = FACTS
        found = [one.result.median for one in study.technology_overhead()]
        assert len(found) == sizes
        decided += sum(one.interval.decided for one in found)
        held += sum(one.interval_ratio.contains(FACTOR) for one in found if one.interval.decided)
    assert decided >= 0.9 * runs  # of a ramp or a step there is none
    check_share(held, decided, 0.92, 1.0)


@pytest.mark.parametrize(
    ("correlation", "runs"), [(0.7, choose_runs(40, short=6)), *list_long((0.0, 0.7), runs=400)]
)
def test_a_load_that_does_nothing_is_seldom_found(correlation: float, runs: int) -> None:
    """Of all campaigns, at most 7 % have a verdict that is wrong in one of the 4 rows of a metric."""
    levels = [{"background": load} for load in ("none", "disk", "cpu")]
    redis = make_adapter("redis", 20_000.0)
    wrong = 0
    for run in range(runs):
        results = make_technology_results(
            (Technology(), redis),
            sizes=(64,),
            settings=levels,
            cycles=12,
            noise_ratio=0.05,
            correlation=correlation,
            histograms=False,
            seed=1000 + run,
            loads={"none": 1.0, "disk": 1.0, "cpu": 1.0},
        )
        study = Study(with_order(results, "given" if correlation else "random"))
        found = [one.result.ratio for one in study.loaded_round_trips()]
        verdicts = {one.verdict for one in found if one.metric == "round-trip-p99"}
        assert len(found) == 8
        wrong += bool(verdicts & {ChangeVerdict.BETTER, ChangeVerdict.WORSE})
    check_share(wrong, runs, 0.0, 0.07)
