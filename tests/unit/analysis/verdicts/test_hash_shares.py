"""Members of a bond against a good hash: small samples and what is refused."""

import numpy as np
import pytest
from numpy.typing import ArrayLike

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts import hash_shares
from pathlab.analysis.verdicts.hash_shares import (
    HashVerdict,
    correct_hash_tests,
    evaluate_counts,
    evaluate_used,
)

ONE_IDLE = np.ones((30, 2), dtype=bool)
ONE_IDLE[3, 1] = False


@pytest.mark.parametrize(
    ("used", "streams", "verdict", "reason"),
    [
        # a good hash puts both streams on one link in every second trial
        ([[True, False]], [2], HashVerdict.UNDECIDED, Undecided.INCONCLUSIVE),
        ([[True, False]], [8], HashVerdict.POLARISED, None),
        (ONE_IDLE, [4] * 30, HashVerdict.BAD_LUCK, None),
        (np.ones((30, 2)), [4] * 30, HashVerdict.EVEN, None),
        ([[True]] * 3, [4] * 3, HashVerdict.UNDECIDED, Undecided.TOO_FEW_LEVELS),
    ],
)
def test_links_that_are_used(
    used: ArrayLike, streams: list[int], verdict: HashVerdict, reason: Undecided | None
) -> None:
    found = evaluate_used(used, streams)
    assert (found.verdict, found.undecided) == (verdict, reason)


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


def test_draws_in_portions_are_those_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    table = [[5, 3], [6, 2], [4, 4]]
    whole = evaluate_counts(table, rng=np.random.default_rng(7))
    monkeypatch.setattr(hash_shares, "MAXIMUM_COUNTS", 6000)
    assert evaluate_counts(table, rng=np.random.default_rng(7)) == whole


def test_several_tests_are_corrected_together() -> None:
    one = evaluate_used([[True, False]], [6])
    assert one.verdict is HashVerdict.POLARISED
    many = correct_hash_tests([one] * 4)
    assert {found.verdict for found in many} == {HashVerdict.UNDECIDED}
    assert correct_hash_tests([]) == ()
