"""Which of several options is preferred: by delay and loss where they differ, else the smaller one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathlab.analysis.loss import probe_loss
from pathlab.analysis.preference import DifferenceTest, Option, Preference, Reason, prefer
from pathlab.analysis.quantiles import median_interval

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


def test_intervals_that_overlap_leave_it_to_the_total_window() -> None:
    fast, slow = option([10, 60, 20, 16, 17, 55], 1024), option([48, 49, 50, 48, 49, 50], 768)
    assert prefer([fast, slow], MARGIN_NS) == Preference(chosen=1, rival=0, reason=Reason.WINDOW)


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


def test_less_loss_is_preferred_and_more_loss_takes_the_preference_away() -> None:
    clean, lossy = option([10] * 6, 1024), option([10] * 6, 768, lost=40)
    assert prefer([lossy, clean], MARGIN_NS) == Preference(
        chosen=1, rival=0, reason=Reason.LOSS, evidence=DifferenceTest.INTERVALS
    )
    late, quick = option([30, 31] * 4, 512), option([10, 11] * 4, 1024, lost=40)
    assert prefer([late, quick], MARGIN_NS) == Preference(chosen=0, rival=1, reason=Reason.WINDOW)


def test_ties_go_to_fewer_streams_and_unknown_windows_come_last() -> None:
    two, one, unknown = option([], 512, 2), option([], 512, 1), option([], None, 1)
    assert prefer([unknown, two, one], MARGIN_NS) == Preference(chosen=2, rival=1, reason=Reason.STREAMS)
    assert prefer([unknown, two], MARGIN_NS).chosen == 1
    assert prefer([two], MARGIN_NS) == Preference(chosen=0)


def test_the_rival_is_the_smaller_one_that_loses() -> None:
    larger, chosen, smaller = option([60] * 6, 2048), option([10] * 6, 1024), option([40] * 6, 512)
    assert prefer([larger, chosen, smaller], MARGIN_NS).rival == 2
    assert prefer([larger, chosen], MARGIN_NS) == Preference(
        chosen=1, rival=0, reason=Reason.DELAY, evidence=DifferenceTest.INTERVALS
    )


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
