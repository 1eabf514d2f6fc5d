"""What a combination is compared with, and whether it carries enough."""

from dataclasses import replace

import pytest

from pathlab.store.records import TrialRecord
from pathlab.study.flows.recommendation import Confidence, Reference
from tests.builders.recommendations import KIB, LINE_BITS_PER_S, answer, carry, make, take_recommended
from tests.builders.results import make_quickstart


def test_windows_that_were_not_granted_are_no_evidence() -> None:
    def flag(record: TrialRecord) -> TrialRecord:
        return replace(record, flags=("window-short",) if record.streams == 2 else ())

    found = answer(make([(1, 64 * KIB), (2, 64 * KIB)], 8, flag))
    assert take_recommended(found).streams == 1
    assert [one.exclusion is not None for one in found.candidates] == [False, True]
    # it carries as much as itself, and what carried more is not usable: nothing is decided by that
    assert found.confidence is Confidence.LOW


def test_autotuned_windows_are_larger_than_any_fixed_one() -> None:
    results = make_quickstart(cycles=8, levels=[(1, None), (1, 64 * KIB)])
    found = answer(results)
    assert take_recommended(found).window_bytes is None
    assert take_recommended(found).size_bytes is None
    assert [one.levels for one in found.smaller] == [(1, 64 * KIB)]


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
