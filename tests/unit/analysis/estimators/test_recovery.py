"""Times to recover, of which some were not watched to the end."""

import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.recovery import estimate_recovery, kaplan_meier_median


def test_without_a_recovery_there_is_no_median() -> None:
    found = estimate_recovery([5.0, 5.0, 4.0], [False] * 3)
    assert (found.n, found.recovered, found.censored, found.longest_watch) == (3, 0, 3, 5.0)
    assert (found.median, found.undecided) == (None, Undecided.BEYOND_RANGE)
    assert not found.interval.decided


@pytest.mark.parametrize(
    ("times", "known", "median"),
    [
        ([1.0, 2.0, 3.0, 5.0, 5.0], [True] * 3 + [False] * 2, 3.0),  # half had recovered after 3 s, not 2
        ([1.0, 2.0, 5.0, 5.0], [True, True, False, False], None),  # exactly half
        ([1.0, 2.0, 3.0, 5.0], [True, True, True, False], 2.5),
        # 1 of 4 at 1 s, one lost at 2 s, then 1 of 2 at 3 s: 0.75 x 0.5 is below one half
        ([1.0, 2.0, 3.0, 9.0], [True, False, True, False], 3.0),
    ],
)
def test_the_median_counts_those_that_did_not_recover(
    times: list[float], known: list[bool], median: float | None
) -> None:
    assert kaplan_meier_median(times, known) == median
    assert estimate_recovery(times, known).interval.undecided is not None


def test_all_recovered_is_an_ordinary_median() -> None:
    times = [1.0, 3.0, 2.0, 1.5, 2.5, 1.2, 2.2]
    found = estimate_recovery(times, [True] * 7)
    assert found.median == 2.0
    assert found.longest_watch is None
    assert found.interval.decided


def test_many_trials_have_an_interval_beside_some_that_did_not_recover() -> None:
    times = [1.0 + 0.1 * ((7 * place) % 40) for place in range(40)]
    known = [time < 4.5 for time in times]
    found = estimate_recovery(times, known)
    assert found.censored == 5
    assert found.interval.decided
    assert found.low < found.median < found.high
