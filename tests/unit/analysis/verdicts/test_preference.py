"""Which of several options is preferred: by delay and loss where they differ, else the smaller one."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathlab.analysis.estimators.loss import probe_loss
from pathlab.analysis.estimators.quantiles import median_interval
from pathlab.analysis.verdicts.preference import (
    DifferenceTest,
    Option,
    Preference,
    Reason,
    find_reason,
    prefer,
)

MARGIN_NS = 2e6


def option(drtt_ms: Sequence[float], window: float | None, streams: int = 1, lost: int = 0) -> Option:
    values = 1e6 * np.array(drtt_ms, dtype=np.float64)
    return Option(
        drtt_ns=float(np.median(values)) if values.size else None,
        drtt_interval=median_interval(values),
        drtt_least_ns=float(values.min()) if values.size else None,
        drtt_most_ns=float(values.max()) if values.size else None,
        loss=probe_loss(400, 400 - lost),
        total_window_bytes=window,
        streams=streams,
    )


def test_less_delay_is_preferred_where_the_intervals_are_apart() -> None:
    fast, slow = option([16, 17, 18, 16, 17, 18], 1024), option([48, 49, 50, 48, 49, 50], 768)
    assert prefer([slow, fast], MARGIN_NS) == Preference(
        chosen=1, rival=0, reason=Reason.DELAY, evidence=DifferenceTest.INTERVALS
    )


def test_less_certain_delay_is_no_advantage_over_a_smaller_option_with_less() -> None:
    beaten, vague, least = (
        *(option([10] * 8, 256, 2), option([4, 15, 15, 15, 40] * 2, 512, 3), option([5] * 8, 1024, 4)),
    )
    assert find_reason(least, vague, MARGIN_NS) is None
    assert prefer([beaten, vague, least], MARGIN_NS) == Preference(
        chosen=2, rival=0, reason=Reason.DELAY, evidence=DifferenceTest.INTERVALS
    )


def test_a_difference_that_does_not_matter_decides_nothing() -> None:
    fast, slow = option([10.0, 10.1] * 4, 1024), option([11.5, 11.6] * 4, 768)
    assert prefer([fast, slow], MARGIN_NS).chosen == 1
    assert prefer([fast, slow], 1e6).chosen == 0


@pytest.mark.parametrize("trials", [1, 2, 5])
def test_few_trials_have_to_have_their_ranges_apart(trials: int) -> None:
    """The issue's case: 12 x 64 kB adds 48.6 ms, 4 x 256 kB 16.5 ms, in one trial each."""
    fast, slow = option([16.5] * trials, 1024e3, 4), option([48.6] * trials, 768e3, 12)
    found = prefer([slow, fast], 8e6)
    assert found == Preference(chosen=1, rival=0, reason=Reason.DELAY, evidence=DifferenceTest.RANGES)
    overlapping = option([16.5] * trials + [47.0], 1024e3, 4)
    assert prefer([slow, overlapping], 8e6).chosen == 0


OPTIONS = st.lists(
    st.builds(
        option,
        st.lists(st.floats(0, 100), min_size=0, max_size=8),
        st.sampled_from([64.0, 128.0, 256.0, None]),
        st.integers(1, 16),
        st.integers(0, 100),
    ),
    min_size=1,
    max_size=8,
)


@given(OPTIONS, st.randoms(use_true_random=False))
def test_the_order_of_the_options_does_not_matter(options: list[Option], random: np.random.Generator) -> None:
    shuffled = list(options)
    random.shuffle(shuffled)
    first, second = prefer(options, MARGIN_NS), prefer(shuffled, MARGIN_NS)
    assert _size(options[first.chosen]) == _size(shuffled[second.chosen])
    assert (first.rival is None) == (len(options) == 1)
    assert first.rival != first.chosen


def _size(one: Option) -> tuple[float | None, int]:
    return one.total_window_bytes, one.streams


def test_a_circle_names_no_rival_that_beats_the_choice() -> None:
    """Ranges of single trials and missing delays let four options beat each other."""
    options = [
        replace(option(drtt_ms, window, streams), loss=probe_loss(sent, received))
        for drtt_ms, window, streams, sent, received in (
            ([100], 128, 1, 2000, 2000),
            ([], 1024, 8, 2000, 1980),
            ([20], 256, 2, 20, 14),
            ([25, 26, 30, 30, 34, 35], 128, 2, 20, 20),
        )
    ]
    for first, second in pairwise([*options, options[0]]):
        assert find_reason(first, second, 4e6) is not None
    for order in permutations(options):
        found = prefer(order, 4e6)
        assert found.rival is None or find_reason(order[found.rival], order[found.chosen], 4e6) is None
        assert order[found.chosen] == options[prefer(options, 4e6).chosen]


@pytest.mark.parametrize("trials", [1, 8])
def test_a_drtt_below_zero_is_no_less_delay_than_none(trials: int) -> None:
    """Idle probes that met other traffic: -20 ms against -1 ms is no queue that is 19 ms shorter."""
    below, none = option([-20] * trials, 1024), option([-1] * trials, 768)
    assert prefer([below, none], MARGIN_NS) == Preference(chosen=1, rival=0, reason=Reason.WINDOW)
