"""Bonds against their links: missing trials, small samples, and what is refused."""

import math

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts.bond_gain import BondVerdict, SumVerdict, correct_bonds, evaluate_bond

NAN = math.nan
WOBBLE = np.array([1.0, 1.01, 0.99, 1.005, 0.995, 1.002, 0.998])


def test_the_ratios_are_those_to_the_sum_and_to_the_best_link() -> None:
    found = evaluate_bond(60 * WOBBLE, [50 * WOBBLE[::-1], 20 * np.roll(WOBBLE, 2)])
    assert found.efficiency == pytest.approx(60 / 70, rel=0.01)
    assert found.gain == pytest.approx(60 / 50, rel=0.01)
    assert found.best_link == 0
    assert found.link_medians == pytest.approx((50, 20), rel=0.01)
    assert (found.verdict, found.sum_verdict) == (BondVerdict.GAINS, SumVerdict.BELOW)


def test_what_drifts_from_cycle_to_cycle_cancels() -> None:
    level = np.linspace(1, 0.2, 7)
    found = evaluate_bond(96 * WOBBLE * level, [48 * WOBBLE[::-1] * level, 48 * np.roll(WOBBLE, 2) * level])
    assert found.verdict is BondVerdict.GAINS
    assert found.efficiency == pytest.approx(1, rel=0.02)


@pytest.mark.parametrize(
    ("bond", "links", "reason"),
    [
        ([], [[]], Undecided.NO_SAMPLES),
        ([NAN, 5.0], [[5.0, NAN]], Undecided.NO_SAMPLES),
        ([0.0] + [5.0] * 6, [[4.0] * 7], Undecided.NOT_POSITIVE),
        ([5.0] * 7, [[4.0] * 7], Undecided.NO_VARIATION),
    ],
)
def test_what_decides_nothing_says_why(
    bond: list[float], links: list[list[float]], reason: Undecided
) -> None:
    (found,) = correct_bonds([evaluate_bond(bond, links)])
    assert found.verdict is BondVerdict.UNDECIDED
    assert found.undecided is reason
    assert found.gain_interval.undecided is reason
    assert found.efficiency_interval.undecided is reason
    assert found.more_cycles is None


def test_an_undecided_bond_says_how_many_cycles_would_decide() -> None:
    rng = np.random.default_rng(2)
    noise = rng.normal(0, 0.1, (3, 8))
    found = evaluate_bond(52 * np.exp(noise[0]), [50 * np.exp(noise[1]), 30 * np.exp(noise[2])])
    assert found.verdict is BondVerdict.UNDECIDED
    assert found.undecided is Undecided.INCONCLUSIVE
    assert found.more_cycles > 5
