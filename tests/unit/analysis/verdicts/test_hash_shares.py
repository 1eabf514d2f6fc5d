"""Members of a bond against a good hash: small samples and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts.hash_shares import (
    HashVerdict,
    correct_hash_tests,
    evaluate_counts,
    evaluate_used,
)
from pathlab.errors import UsageError


def test_two_streams_on_one_link_are_no_proof() -> None:
    """A good hash puts both on one link in every second trial."""
    found = evaluate_used([[True, False]], [2])
    assert found.p_value == pytest.approx(0.5)
    assert found.uneven
    assert found.verdict is HashVerdict.UNDECIDED
    assert found.undecided is Undecided.INCONCLUSIVE


def test_eight_streams_on_one_link_are() -> None:
    """2 / 2^8 of all placements."""
    found = evaluate_used([[True, False]], [8])
    assert found.p_value == pytest.approx(2 / 2**8)
    assert found.verdict is HashVerdict.POLARISED


def test_one_idle_link_among_many_trials_is_bad_luck() -> None:
    used = np.ones((30, 2), dtype=bool)
    used[3, 1] = False
    found = evaluate_used(used, [4] * 30)
    assert found.verdict is HashVerdict.BAD_LUCK
    assert evaluate_used(np.ones((30, 2)), [4] * 30).verdict is HashVerdict.EVEN


def test_one_stream_per_trial_says_nothing_by_use_and_everything_by_place() -> None:
    used = [[True, False]] * 12
    assert evaluate_used(used, [1] * 12).verdict is HashVerdict.UNDECIDED
    found = evaluate_counts(np.array(used, dtype=int), rng=np.random.default_rng(1))
    assert found.verdict is HashVerdict.POLARISED


def test_uneven_counts_of_a_good_hash_are_bad_luck() -> None:
    found = evaluate_counts([[20, 12], [15, 17], [18, 14]], rng=np.random.default_rng(1))
    assert found.uneven
    assert found.verdict is HashVerdict.BAD_LUCK
    even = evaluate_counts([[16, 16]] * 3, rng=np.random.default_rng(1))
    assert even.verdict is HashVerdict.EVEN


def test_weights_are_those_of_the_hash() -> None:
    """Routes of weight 3 and 1: 24 and 8 streams are even."""
    rng = np.random.default_rng(1)
    assert evaluate_counts([[24, 8]] * 4, rng=rng, weights=[3, 1]).verdict is HashVerdict.EVEN
    assert evaluate_counts([[24, 8]] * 4, rng=rng).verdict is HashVerdict.POLARISED


def test_the_same_generator_gives_the_same_p_value() -> None:
    table = [[5, 3], [6, 2], [4, 4]]
    first, second = (evaluate_counts(table, rng=np.random.default_rng(7)) for _ in range(2))
    assert first == second


def test_many_trials_are_drawn_in_portions() -> None:
    rng = np.random.default_rng(1)
    table = rng.multinomial(8, np.full(8, 1 / 8), 400)
    assert evaluate_counts(table, rng=rng).verdict is not HashVerdict.POLARISED


def test_a_single_member_has_no_hash() -> None:
    found = evaluate_used([[True]] * 3, [4] * 3)
    assert found.verdict is HashVerdict.UNDECIDED
    assert found.undecided is Undecided.TOO_FEW_LEVELS


def test_several_tests_are_corrected_together() -> None:
    one = evaluate_used([[True, False]], [6])
    assert one.verdict is HashVerdict.POLARISED
    many = correct_hash_tests([one] * 4)
    assert {found.verdict for found in many} == {HashVerdict.UNDECIDED}
    assert correct_hash_tests([]) == ()


def test_bad_input_is_refused() -> None:
    rng = np.random.default_rng(1)
    for table in ([[0, 0]], [[-1, 2]], [[0.5, 2]], [1, 2]):
        with pytest.raises(UsageError, match="streams of members"):
            evaluate_counts(table, rng=rng)
    with pytest.raises(UsageError, match="used members"):
        evaluate_used([[False, False]], [2])
    with pytest.raises(UsageError, match="used members"):
        evaluate_used([[True, False]], [2, 2])
    with pytest.raises(UsageError, match="0 streams"):
        evaluate_used([[True, False]], [0])
    with pytest.raises(UsageError, match="weights"):
        evaluate_counts([[1, 1]], rng=rng, weights=[1, 1, 1])
