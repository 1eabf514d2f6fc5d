"""Whether comparisons rest on the draw of the order, and what a plan can learn from earlier trials."""

from dataclasses import replace

import numpy as np
import pytest

from pathlab.study.analyses import Study
from pathlab.study.base.trials import read_study_trials
from pathlab.study.flows.noise import measure_noise
from tests.builders.recommendations import KIB, make, rate
from tests.builders.results import SyntheticResults, make_quickstart, with_order

LEVELS = [(8, 64 * KIB), (4, 128 * KIB), (2, 256 * KIB)]


def measure(cycles: int, order: str) -> SyntheticResults:
    """Three combinations of one total window; the first is 20 % better, with 1 % of noise."""
    results = make(LEVELS, cycles, rate({(8, 64): 60e6, (4, 128): 50e6, (2, 256): 50e6}))
    return with_order(results, order)


def test_six_cycles_in_random_order_find_what_a_given_order_cannot() -> None:
    drawn, given = (Study(measure(6, order)).streams_vs_windows() for order in ("random", "given"))
    words = [str(one.result.comparison.verdict) for one in drawn]
    assert words.count("more streams win") == 2
    for answer in drawn:
        found = answer.result.comparison
        assert (found.drawn, found.tests) == (True, 3)
        assert found.ratio_interval.confidence_ratio == 0.95
        assert found.ratio_interval.method == "signed-rank-exact"
    assert all(not answer.result.comparison.drawn for answer in given)
    assert {answer.result.comparison.ratio_interval.method for answer in given} == {"signed-rank-widened"}
    assert all(answer.result.comparison.ratio_interval.confidence_ratio > 0.95 for answer in given)


def test_more_cycles_are_planned_by_the_draw() -> None:
    needed = [
        [answer.result.cycles for answer in Study(measure(12, order)).planning(difference_ratio=0.01)]
        for order in ("random", "given")
    ]
    assert all(ours < theirs for ours, theirs in zip(*needed, strict=True) if ours and theirs)


def test_noise_is_what_combination_and_cycle_do_not_explain() -> None:
    results = make_quickstart(cycles=40, levels=LEVELS, environment={})
    rng = np.random.default_rng(7)
    cycles = rng.normal(0, 0.3, 40)
    results.change_trials(
        lambda one: replace(
            one,
            throughput_bits_per_s=1e6 * one.streams * float(np.exp(cycles[one.cycle] + rng.normal(0, 0.05))),
        )
    )
    assert measure_noise(read_study_trials(results)) == pytest.approx(0.05, rel=0.2)


@pytest.mark.parametrize(("cycles", "levels"), [(1, LEVELS), (8, LEVELS[:1])])
def test_too_little_shows_no_noise(cycles: int, levels: list[tuple[int, int]]) -> None:
    results = make_quickstart(cycles=cycles, levels=levels, environment={})
    assert measure_noise(read_study_trials(results)) is None
