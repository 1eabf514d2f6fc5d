"""Intervals that are cut at the range of the samples, and those without an upper end."""

import math

import numpy as np
import pytest

from pathlab.analysis.estimators.cells import replicate_interval
from pathlab.analysis.estimators.interval import IntervalBuilder, Undecided
from pathlab.analysis.estimators.serial import serial_median
from pathlab.report.base.phrases import CUT_NOTE, format_ci, format_figure, format_interval, note_cut

BUILDER = IntervalBuilder(n=7, method="test")


def test_only_what_lies_beyond_is_cut() -> None:
    whole = BUILDER.build(2.0, 8.0, 0.98)
    assert whole.cut_at(2.0 + 1e-12, 8.0).cut is False  # rounding
    assert whole.cut_at(0.0, 9.0) == whole
    one_end = whole.cut_at(3.0, 9.0)
    assert (one_end.low, one_end.high, one_end.cut, one_end.coverage_ratio) == (3.0, 8.0, True, None)
    assert one_end.limits == (2.0, 8.0)
    assert one_end.decided
    assert one_end.contains(2.5)  # verdicts are read from the uncut ends
    assert not one_end.lies_below(BUILDER.build(7.5, 9.0))
    assert one_end.lies_below(BUILDER.build(8.5, 9.0).cut_at(8.7, 9.0))
    inverse = one_end.transform(lambda value: 1 / value)
    assert (inverse.low, inverse.high, inverse.limits) == (1 / 8, 1 / 3, (1 / 8, 1 / 2))
    assert one_end.extend_to(1.0).limits == (1.0, 8.0)
    assert BUILDER.build_undecided(Undecided.NO_SAMPLES).cut_at(0, 1).undecided is Undecided.NO_SAMPLES


@pytest.mark.parametrize("infinite", [1, 24, 25, 26, 40])
def test_an_end_among_infinite_replicates_is_no_huge_number(infinite: int) -> None:
    """Of 1,000: interpolation between a finite and an infinite one has no finite result."""
    replicates = np.concatenate([np.linspace(5, 9, 1000 - infinite), np.full(infinite, math.inf)])
    found = replicate_interval(np.random.default_rng(1).permutation(replicates), n=30, confidence_ratio=0.95)
    assert found.low == pytest.approx(5.1, abs=0.05)
    if infinite < 25:
        assert found.decided
        assert found.high < 9.01
    else:
        assert (found.high, found.undecided, found.limits) == (None, Undecided.NOT_BOUNDED, None)
        assert format_interval(found, format_figure) == "from 5.1, not bounded above by these data"
        assert format_ci(found, format_figure).startswith("95 % CI from 5.1, not bounded")
    unknown = replicate_interval(np.full(100, math.nan), n=30, confidence_ratio=0.95)
    assert (unknown.low, unknown.undecided) == (None, Undecided.NOT_IDENTIFIED)


def test_two_levels_have_no_interval_beyond_them() -> None:
    """Case 14: 14 runs near 940 and 7 near 470 Mbit/s; the low end used to be 355."""
    rng = np.random.default_rng(14)
    values = rng.permutation(np.concatenate([rng.normal(940, 2, 14), rng.normal(470, 2, 7)]))
    found = serial_median(values).interval
    assert values.min() <= found.low < found.high <= values.max()
    assert found.cut == (found.limits[0] < values.min() or found.limits[1] > values.max())
    if found.cut:
        assert format_ci(found, format_figure).startswith("CI cut to ")
        assert format_interval(found, format_figure).endswith("†")
        assert note_cut([found]) == CUT_NOTE
