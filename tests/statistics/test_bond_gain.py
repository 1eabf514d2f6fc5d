"""Bonds against their links in simulation: intervals hold the truth, and verdicts are rarely wrong."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from pathlab.analysis.verdicts.bond_gain import (
    BondGain,
    BondVerdict,
    SumVerdict,
    correct_bonds,
    evaluate_bond,
)
from tests.length import choose_runs, list_long

from .noise import check_share, draw_autoregressive

RUNS = choose_runs(200, short=25)
CASES = [
    *((n, correlation, RUNS) for n, correlation in ((7, 0.7), (13, 0.7), (60, 0.0))),
    *list_long((7, 13, 60), (0.0, 0.7), runs=2000),
]


def simulate(
    rng: np.random.Generator, rates: tuple[float, Sequence[float]], n: int, correlation: float = 0.0
) -> BondGain:
    """Rates of a bond and its links with log-normal noise of 2 %, and a level that drifts in common."""
    bond, links = rates
    noise = 0.02 * math.sqrt(1 - correlation**2) * draw_autoregressive(rng, 1 + len(links), n, correlation)
    drift = np.cumsum(rng.normal(0, 0.05, n))
    measured = np.exp(noise + drift) * np.array([bond, *links])[:, None]
    return evaluate_bond(measured[0], measured[1:])


@pytest.mark.parametrize(("n", "correlation", "runs"), CASES)
@pytest.mark.parametrize("links", [(50.0, 20.0), (50.0, 50.0, 49.0, 10.0)])
def test_both_intervals_hold_the_truth(
    n: int, correlation: float, runs: int, links: tuple[float, ...]
) -> None:
    rng = np.random.default_rng([n, int(10 * correlation), len(links), int(sum(links))])
    bond = 0.9 * sum(links)
    found = [simulate(rng, (bond, links), n, correlation) for _ in range(runs)]
    whole = sum(one.efficiency_interval.contains(0.9) for one in found)
    best = sum(one.gain_interval.contains(bond / max(links)) for one in found)
    check_share(whole, runs, 0.95, 1.0)
    check_share(best, runs, 0.95, 1.0)
    assert not any(one.verdict is BondVerdict.HARMS for one in found)


@pytest.mark.parametrize(("n", "correlation", "runs"), CASES)
@pytest.mark.parametrize("links", [(50.0, 50.0), (50.0,) * 8])
def test_a_bond_as_good_as_its_best_link_is_rarely_called_better_or_worse(
    n: int, correlation: float, runs: int, links: tuple[float, ...]
) -> None:
    rng = np.random.default_rng([n, int(10 * correlation), len(links), 5])
    found = [simulate(rng, (50.0, links), n, correlation).verdict for _ in range(runs)]
    wrong = sum(verdict in (BondVerdict.GAINS, BondVerdict.HARMS) for verdict in found)
    check_share(wrong, runs, 0.0, 0.05)
    if n == 60 and not correlation and len(links) == 2:
        assert found.count(BondVerdict.EQUAL) > 0.95 * runs


@pytest.mark.parametrize(("bond", "verdict"), [(96.0, BondVerdict.GAINS), (35.0, BondVerdict.HARMS)])
def test_clear_gains_and_the_collapse_are_decided_by_seven_cycles(bond: float, verdict: BondVerdict) -> None:
    rng = np.random.default_rng(int(bond))
    links = (48.2, 48.2) if verdict is BondVerdict.GAINS else (48.2, 19.3)
    found = [simulate(rng, (bond, links), 7, 0.7).verdict for _ in range(RUNS)]
    assert found.count(verdict) >= 0.98 * RUNS


def test_the_whole_sum_and_less_than_it_are_decided() -> None:
    rng = np.random.default_rng(4)
    for share, verdict in ((1.0, SumVerdict.FULL), (0.8, SumVerdict.BELOW), (1.2, SumVerdict.ABOVE)):
        found = [simulate(rng, (share * 100, (50, 50)), 25).sum_verdict for _ in range(RUNS)]
        assert found.count(verdict) >= 0.95 * RUNS


def test_several_bonds_together_are_rarely_wrong() -> None:
    """Ten bonds that all carry what one link does: any wrong verdict among them is as rare as for one."""
    rng = np.random.default_rng(11)
    runs, wrong = choose_runs(200, short=12), 0
    for _ in range(runs):
        found = correct_bonds([simulate(rng, (50.0, (50.0, 50.0)), 7) for _ in range(10)])
        assert {one.tests for one in found} == {10}
        wrong += any(one.verdict in (BondVerdict.GAINS, BondVerdict.HARMS) for one in found)
    check_share(wrong, runs, 0.0, 0.05)


def test_verdicts_follow_from_the_intervals() -> None:
    """The interval of the corrected level and the p-values say the same."""
    rng = np.random.default_rng(12)
    for scale in (0.5, 0.97, 1.0, 1.06, 1.2):
        batch = [simulate(rng, (50.0 * scale, (50.0, 45.0)), 9, 0.3) for _ in range(10)]
        for one in (*batch, *correct_bonds(batch)):
            low, high = one.gain_interval.low, one.gain_interval.high
            assert low <= one.gain <= high
            alike = low > 1 / 1.05 and high < 1.05
            expected = (
                BondVerdict.EQUAL
                if alike
                else BondVerdict.GAINS
                if low > 1
                else BondVerdict.HARMS
                if high < 1
                else BondVerdict.UNDECIDED
            )
            assert one.verdict is expected
            assert (one.undecided is None) == (one.verdict is not BondVerdict.UNDECIDED)
