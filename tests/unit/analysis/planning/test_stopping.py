"""The stop rule: reasons in turn, and wrong values."""

import numpy as np
import pytest

from pathlab.analysis.estimators.serial import ordered_median_interval
from pathlab.analysis.planning.stopping import StopReason, StopRule, evaluate_stop_rule

RULE = StopRule(half_width_ratio=0.05, minimum_cycles=10, maximum_cycles=60)


def test_reasons_in_turn() -> None:
    rng = np.random.default_rng(1)
    tight, wide = rng.normal(100, 1, 60), rng.normal(100, 40, 60)
    assert evaluate_stop_rule({}, 20, RULE).reason is StopReason.NO_CELLS
    early = evaluate_stop_rule({"a": tight[:9]}, 9, RULE)
    assert (early.stop, early.reason) == (False, StopReason.BELOW_MINIMUM)
    precise = evaluate_stop_rule({"a": tight[:10]}, 10, RULE)
    assert (precise.stop, precise.reason) == (True, StopReason.PRECISE)
    one_wide = evaluate_stop_rule({"a": tight[:30], "b": wide[:30]}, 30, RULE)
    assert (one_wide.stop, one_wide.reason) == (False, StopReason.IMPRECISE)
    assert [cell.name for cell in one_wide.cells] == ["b", "a"]
    assert [cell.reached for cell in one_wide.cells] == [False, True]
    over = evaluate_stop_rule({"a": tight, "b": wide}, 60, RULE)
    assert (over.stop, over.reason) == (True, StopReason.MAXIMUM)
    assert evaluate_stop_rule({"a": tight}, 60, RULE).reason is StopReason.PRECISE


def test_half_width_is_the_farther_end_over_the_median() -> None:
    values = [90.0, 95.0, 98.0, 100.0, 101.0, 103.0, 120.0]
    cell = evaluate_stop_rule({"a": values}, 7, StopRule(minimum_cycles=6)).cells[0]
    interval = ordered_median_interval(values)
    assert (interval.low, interval.high, interval.cut) == (90.0, 120.0, True)
    # What is shown ends at the range; no rule stops for that.
    high = interval.limits[1]
    assert high > 130.0
    assert cell.half_width_ratio == pytest.approx(high / 100 - 1)


def test_cells_that_failed_or_carry_nothing_are_never_precise() -> None:
    found = evaluate_stop_rule(
        {"failed": [], "few": [1.0] * 5, "zero": [0.0] * 30, "good": [5.0] * 30}, 30, RULE
    )
    assert {cell.name: cell.half_width_ratio for cell in found.cells} == {
        "failed": None,
        "few": None,
        "zero": None,
        "good": 0.0,
    }
    assert found.cells[-1].name == "good"
    assert found.stop is False
