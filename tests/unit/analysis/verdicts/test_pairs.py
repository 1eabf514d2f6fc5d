"""Pairs: missing trials, costs, reasons and wrong values."""

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts.pairs import PairVerdict, compare_cost, compare_pairs, match_pairs
from tests.statistics.noise import draw_cycles

NAN = float("nan")


def test_missing_trials_leave_their_cycle_out() -> None:
    streams, windows, left_out = match_pairs([1.0, NAN, 3.0, 4.0], [1.0, 2.0, NAN, 5.0])
    assert (list(streams), list(windows), left_out) == ([1.0, 4.0], [1.0, 5.0], 2)
    rng = np.random.default_rng(4)
    ours, theirs = draw_cycles(rng, 30, 1.4)
    whole = compare_pairs(ours, theirs)
    holes = compare_pairs([*ours, NAN, 1.0], [*theirs, 1.0, NAN])
    assert (holes.pairs, holes.left_out, holes.shift) == (30, 2, whole.shift)


def test_costs_stand_side_by_side() -> None:
    rng = np.random.default_rng(9)
    cost = compare_cost("dRTT", rng.normal(30e6, 1e6, 21), rng.normal(10e6, 1e6, 21))
    assert (cost.name, cost.pairs, cost.undecided) == ("dRTT", 21, None)
    assert cost.shift.shift == pytest.approx(20e6, rel=0.1)
    assert cost.shift.interval.contains(cost.shift.shift or 0.0)
    nothing = compare_cost("loss", [NAN], [0.1])
    assert (nothing.pairs, nothing.left_out, nothing.streams_median) == (0, 1, None)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_too_few_pairs_have_no_winner(n: int) -> None:
    found = compare_pairs(np.full(n, 9e8) + np.arange(n), np.full(n, 1e8))
    assert found.verdict is PairVerdict.UNDECIDED
    assert found.undecided is (Undecided.TOO_FEW_SAMPLES if n else Undecided.NO_SAMPLES)
    assert (found.more_cycles, found.words) == (None, "undecided")


def test_series_that_never_vary_or_stand_still_have_no_winner() -> None:
    still = compare_pairs(np.full(30, 2e8), np.full(30, 1e8))
    assert (still.verdict, still.undecided) == (PairVerdict.UNDECIDED, Undecided.NO_VARIATION)
    dead = compare_pairs(np.zeros(30), np.zeros(30))
    assert (dead.verdict, dead.ratio, dead.p_value) == (PairVerdict.UNDECIDED, None, None)
    assert dead.equivalence.undecided is Undecided.NOT_POSITIVE
    rng = np.random.default_rng(1)
    halted = compare_pairs([0.0, *rng.normal(2e8, 1e7, 29)], rng.normal(1e8, 1e7, 30))
    assert (halted.verdict, halted.ratio) == (PairVerdict.STREAMS, None)
    assert halted.ratio_interval.undecided is Undecided.NOT_POSITIVE
