"""Streams against windows: verdicts that agree with their intervals, and say when they cannot decide."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.planning.cycles import cycles_beyond
from pathlab.analysis.verdicts.pairs import PairVerdict, compare_pairs, correct_comparisons
from tests.statistics.noise import draw_cycles


def test_each_verdict() -> None:
    rng = np.random.default_rng(1)
    more = compare_pairs(*draw_cycles(rng, 25, 1.4))
    assert (more.verdict, more.words) == (PairVerdict.STREAMS, "more streams win")
    assert (more.undecided, more.more_cycles) == (None, None)
    assert more.ratio > 1.2
    assert more.shift.shift > 0
    less = compare_pairs(*draw_cycles(rng, 25, 0.7))
    assert (less.verdict, less.words) == (PairVerdict.WINDOWS, "larger windows win")
    same = compare_pairs(*draw_cycles(rng, 25, 1.01, spread=0.01))
    assert (same.verdict, same.words) == (PairVerdict.EQUIVALENT, "equivalent")
    open_ = compare_pairs(*draw_cycles(rng, 10, 1.05, spread=0.3))
    assert (open_.verdict, open_.undecided) == (PairVerdict.UNDECIDED, Undecided.INCONCLUSIVE)
    assert open_.more_cycles is not None
    assert open_.words == f"undecided ({open_.more_cycles} more cycles would decide)"
    assert (open_.small, more.small) == (True, False)


def test_ordered_cycles_count_for_less_than_the_same_in_disorder() -> None:
    """Sorted halves make a step: the same pairs in another order tell of a winner."""
    rng = np.random.default_rng(5)
    logs = np.sort(rng.normal(0.1, 0.08, 40))
    shuffled = rng.permutation(logs)
    assert compare_pairs(np.exp(shuffled), np.ones(40)).verdict is PairVerdict.STREAMS
    assert compare_pairs(np.exp(logs), np.ones(40)).verdict is PairVerdict.UNDECIDED


@settings(max_examples=25)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(800, 1200), st.integers(800, 1200)), min_size=6, max_size=16),
        min_size=1,
        max_size=4,
    )
)
def test_verdicts_and_intervals_never_contradict_each_other(families: list[list[tuple[int, int]]]) -> None:
    """Alone and Holm-corrected: intervals exclude no difference for winners, and for others only if alike."""
    alone = [compare_pairs(*np.array(pairs, dtype=float).T) for pairs in families]
    for one in (*alone, *correct_comparisons(alone)):
        low, high = one.ratio_interval.low, one.ratio_interval.high
        if low is None or high is None or one.shift.interval.low is None or one.shift.interval.high is None:
            assert one.verdict not in (PairVerdict.STREAMS, PairVerdict.WINDOWS)
            continue
        assert low <= one.ratio <= high
        within = low > 1 / 1.05 and high < 1.05
        assert (one.verdict is PairVerdict.EQUIVALENT) is within
        if not within:
            assert (one.verdict is PairVerdict.STREAMS) is (low > 1) is (one.shift.interval.low > 0)
            assert (one.verdict is PairVerdict.WINDOWS) is (high < 1) is (one.shift.interval.high < 0)
            assert (one.p_value < 0.05) is (one.verdict is not PairVerdict.UNDECIDED)
        assert one.equivalence.equivalent is within


def test_holm_takes_back_a_lone_finding_among_many() -> None:
    rng = np.random.default_rng(11)
    noise = [compare_pairs(*draw_cycles(rng, 12, spread=0.4)) for _ in range(19)]
    alone = next(
        one
        for one in (compare_pairs(*draw_cycles(rng, 12, 1.25, spread=0.2)) for _ in range(200))
        if one.p_value is not None and 0.01 < one.p_value < 0.05
    )
    assert alone.verdict is PairVerdict.STREAMS
    corrected = correct_comparisons([*noise, alone])
    assert corrected[-1].tests == 20
    assert corrected[-1].verdict is PairVerdict.UNDECIDED
    assert corrected[-1].shift.shift == alone.shift.shift
    # Its interval is judged at the corrected level, too.
    assert (corrected[-1].ratio_interval.low or 2.0) < 1.0 < (alone.ratio_interval.low or 0.0)
    assert corrected[-1].ratio_interval.confidence_ratio == pytest.approx(1 - 0.05 / 20)
    assert corrected[-1].p_value > alone.p_value
    assert corrected[-1].words.startswith("undecided")
    # With 5 % for this pair alone its 12 cycles had sufficed; what is promised holds at the corrected level.
    assert alone.more_cycles is None
    assert corrected[-1].more_cycles == cycles_beyond(alone.pilot, alpha_ratio=0.05 / 20)
    assert (corrected[-1].more_cycles or 0) > 1
    strong = compare_pairs(*draw_cycles(rng, 30, 2.0))
    assert correct_comparisons([*noise, strong])[-1].verdict is PairVerdict.STREAMS
    assert correct_comparisons([]) == ()


def test_pairing_sees_what_cycles_hide() -> None:
    """A tenth more in every cycle, under cycles that differ tenfold: found by pairs, invisible without."""
    rng = np.random.default_rng(6)
    cycle = 1e8 * rng.lognormal(0, 1.0, 30)
    ours, theirs = cycle * 1.1 * rng.lognormal(0, 0.02, 30), cycle * rng.lognormal(0, 0.02, 30)
    assert compare_pairs(ours, theirs).verdict is PairVerdict.STREAMS
    assert compare_pairs(ours, rng.permutation(theirs)).verdict is PairVerdict.UNDECIDED


RATES = st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 10**6)), min_size=6, max_size=30)


@settings(max_examples=25)
@given(RATES, st.integers(1, 10**6), st.randoms(use_true_random=False))
def test_verdict_ignores_scale_and_order_and_mirrors(
    pairs: list[tuple[int, int]], scale: int, shuffler: random.Random
) -> None:
    ours, theirs = np.array(pairs, dtype=float).T
    found = compare_pairs(ours, theirs)
    swapped = compare_pairs(theirs, ours)
    opposite = {PairVerdict.STREAMS: PairVerdict.WINDOWS, PairVerdict.WINDOWS: PairVerdict.STREAMS}
    assert swapped.verdict is opposite.get(found.verdict, found.verdict)
    shuffled = list(pairs)
    if len(pairs) < 10:  # from there on the order of the cycles tells their correlation
        shuffler.shuffle(shuffled)
    moved = compare_pairs(*(np.array(shuffled, dtype=float) * scale).T)
    assert moved.verdict is found.verdict
    assert moved.p_value == pytest.approx(found.p_value)
    assert moved.cliffs_delta.delta_ratio == pytest.approx(found.cliffs_delta.delta_ratio)
    assert moved.ratio == pytest.approx(found.ratio)
