"""Times to recover, of which some were not watched to the end."""

from __future__ import annotations

import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.recovery import estimate_recovery, kaplan_meier_median
from pathlab.errors import UsageError


def test_without_a_recovery_there_is_no_median() -> None:
    found = estimate_recovery([5.0, 5.0, 4.0], [False] * 3)
    assert (found.n, found.recovered, found.censored) == (3, 0, 3)
    assert found.median is None
    assert found.undecided is Undecided.BEYOND_RANGE
    assert found.longest_watch == 5.0
    assert not found.interval.decided


def test_the_median_counts_those_that_did_not_recover() -> None:
    """Three recovered after 1, 2 and 3 s, two were watched for 5 s: half had recovered after 3 s, not 2."""
    found = estimate_recovery([1.0, 2.0, 3.0, 5.0, 5.0], [True] * 3 + [False] * 2)
    assert found.median == 3.0
    assert found.recovered == 3
    assert found.interval.undecided is Undecided.TOO_FEW_SAMPLES


def test_exactly_half_have_no_median_beyond_what_was_watched() -> None:
    assert kaplan_meier_median([1.0, 2.0, 5.0, 5.0], [True, True, False, False]) is None
    assert kaplan_meier_median([1.0, 2.0, 3.0, 5.0], [True, True, True, False]) == 2.5


def test_all_recovered_is_an_ordinary_median() -> None:
    times = [1.0, 3.0, 2.0, 1.5, 2.5, 1.2, 2.2]
    found = estimate_recovery(times, [True] * 7)
    assert found.median == 2.0
    assert found.longest_watch is None
    assert found.interval.decided


def test_a_watch_that_ends_early_takes_its_trial_out_from_then_on() -> None:
    """1 of 4 at 1 s, one lost at 2 s, then 1 of 2 at 3 s: 0.75 x 0.5 is below one half."""
    assert kaplan_meier_median([1.0, 2.0, 3.0, 9.0], [True, False, True, False]) == 3.0


def test_many_trials_have_an_interval_beside_some_that_did_not_recover() -> None:
    times = [1.0 + 0.1 * ((7 * place) % 40) for place in range(40)]
    known = [time < 4.5 for time in times]
    found = estimate_recovery(times, known)
    assert found.censored == 5
    assert found.interval.decided
    assert found.low is not None
    assert found.high is not None
    assert found.median is not None
    assert found.low < found.median < found.high


def test_nothing_and_bad_input() -> None:
    assert estimate_recovery([], []).undecided is Undecided.NO_SAMPLES
    with pytest.raises(UsageError, match="below 0"):
        estimate_recovery([-1.0], [True])
    with pytest.raises(UsageError, match="lengths differ"):
        estimate_recovery([1.0], [True, False])
