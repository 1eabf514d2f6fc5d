"""What a combination is compared with, and whether it carries enough."""

from dataclasses import replace

import pytest

from pathlab.analysis.estimators.interval import Interval
from pathlab.analysis.fits.curve_fit import Estimate
from pathlab.store.records import TrialRecord
from pathlab.study.analyses import Study
from pathlab.study.candidates import CellVerdicts, build_candidates
from pathlab.study.recommendation import Confidence, Reference, recommend
from tests.builders.recommendations import KIB, LINE_BITS_PER_S, answer, carry, make, rate, take_recommended
from tests.builders.results import make_quickstart


def test_ninety_percent_of_the_best_suffice_where_there_is_no_capacity() -> None:
    levels = [(1, 64 * KIB), (2, 64 * KIB), (4, 64 * KIB)]
    found = answer(make(levels, 20, rate({(1, 64): 80e6, (2, 64): 93e6, (4, 64): 100e6})))
    assert found.capacity is None
    assert found.reference_bits_per_s == pytest.approx(100e6, rel=0.02)
    assert [one.enough for one in found.candidates] == [False, True, True]
    assert [one.equivalent for one in found.candidates] == [False, False, True]
    assert (take_recommended(found).streams, found.confidence) == (2, Confidence.HIGH)


def test_windows_that_were_not_granted_are_no_evidence() -> None:
    def flag(record: TrialRecord) -> TrialRecord:
        return replace(record, flags=("window-short",) if record.streams == 2 else ())

    found = answer(make([(1, 64 * KIB), (2, 64 * KIB)], 8, flag))
    assert take_recommended(found).streams == 1
    assert [one.exclusion is not None for one in found.candidates] == [False, True]
    # it carries as much as itself, and what carried more is not usable: nothing is decided by that
    assert found.confidence is Confidence.LOW


def test_a_capacity_that_nothing_came_near_is_said() -> None:
    levels = [(1, 64 * KIB), (2, 64 * KIB)]
    (measured,) = Study(make_quickstart(cycles=8, levels=levels, environment={})).conditions()
    interval = Interval(low=99e6, high=101e6, n=16, confidence_ratio=0.95, coverage_ratio=None, method="test")
    fitted = Estimate(name="capacity", unit="bit/s", value=100e6, interval=interval)
    found = recommend(build_candidates(measured, CellVerdicts()), "west → east", fitted)
    assert (take_recommended(found).streams, found.confidence) == (2, Confidence.HIGH)
    assert take_recommended(found).share_ratio == pytest.approx(0.262, rel=0.01)


def test_autotuned_windows_are_larger_than_any_fixed_one() -> None:
    results = make_quickstart(cycles=8, levels=[(1, None), (1, 64 * KIB)])
    found = answer(results)
    assert take_recommended(found).window_bytes is None
    assert take_recommended(found).size_bytes is None
    assert [one.levels for one in found.smaller] == [(1, 64 * KIB)]


def test_the_labs_line_is_held_against_nothing_measured_elsewhere() -> None:
    inside = make_quickstart(cycles=6)
    assert answer(inside).line_bits_per_s is not None
    inside.change_trials(flags=("imported",))
    assert answer(inside).line_bits_per_s is None


@pytest.mark.parametrize("flagged", [(8,), ()], ids=["flagged", "by-its-median"])
def test_what_counted_more_than_the_link_carries_is_no_reference(flagged: tuple[int, ...]) -> None:
    """99.3 % of the highest median was 101 % of the link."""
    found = carry({1: 12.0, 4: 38.3, 8: 39.4}, flagged)
    assert found.line_bits_per_s == LINE_BITS_PER_S
    assert (found.best.streams, take_recommended(found).streams) == (4, 4)
    assert found.reference is Reference.HIGHEST_MEDIAN
    assert take_recommended(found).share_ratio == pytest.approx(1.0)
    assert [(one.streams, one.over_line, one.enough) for one in found.candidates] == [
        *((1, False, False), (4, False, True), (8, True, None))
    ]


def test_a_slow_combination_is_not_the_best_because_the_others_counted_too_much() -> None:
    found = carry({1: 12.0, 4: 39.4, 8: 39.6}, (4, 8))
    assert found.reference is Reference.LINK
    assert take_recommended(found).streams == 4
    assert found.candidates[0].share_ratio == pytest.approx(12e6 / LINE_BITS_PER_S, rel=1e-3)
    assert found.candidates[0].enough is False
