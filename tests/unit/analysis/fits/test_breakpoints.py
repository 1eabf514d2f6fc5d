"""Breakpoints: reasons, wrong values, and trials in blocks."""

from typing import Any

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.fits import breakpoints
from pathlab.analysis.fits.breakpoints import find_breakpoint
from tests.statistics.breakpoint_samples import simulate


def test_reasons() -> None:
    def reason(x: np.ndarray, y: np.ndarray, cycles: np.ndarray) -> Undecided | None:
        found = find_breakpoint(x, y, cycles=cycles, rng=np.random.default_rng(0))
        assert found.breakpoint.value is None
        return found.undecided

    rng = np.random.default_rng(0)
    x, y = rng.uniform(0, 10, 60), rng.normal(size=60)
    one = np.arange(60)
    assert reason(x[:49], y[:49], one[:49]) is Undecided.TOO_FEW_SAMPLES
    assert reason(np.ones(60), y, one) is Undecided.NO_VARIATION
    assert reason(x, np.ones(60), one) is Undecided.NO_VARIATION
    assert reason(np.repeat([1.0, 2.0], 30), y, one) is Undecided.TOO_FEW_LEVELS
    assert reason(x, y, one % 4) is Undecided.TOO_FEW_SAMPLES
    # Twelve cycles of the same x, each higher than the one before, which tilts no line; and each steeper.
    cycles, levels = np.repeat(np.arange(12), 5), np.tile(np.linspace(0, 10, 5), 12)
    assert reason(levels, cycles + 0.01 * y, cycles) is Undecided.NO_BREAK
    assert reason(levels, cycles * levels + 0.01 * y, cycles) is Undecided.TOO_CORRELATED


def test_many_trials_are_taken_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = simulate("constant", 10, 30, np.random.default_rng(1))
    sizes: list[int] = []

    def make_units(hinges: Any, block: slice) -> Any:
        found = make(hinges, block)
        sizes.append(found.size)
        return found

    make = breakpoints._make_units
    monkeypatch.setattr(breakpoints, "_make_units", make_units)
    monkeypatch.setattr(breakpoints, "BLOCK_VALUES", 1000)
    found = simulate("constant", 10, 30, np.random.default_rng(1))
    assert max(sizes) <= 1000
    assert found.break_p == whole.break_p
    for name in ("slope", "breakpoint", "slope_before", "slope_after"):
        ours, theirs = getattr(found, name), getattr(whole, name)
        assert ours.value == pytest.approx(theirs.value, rel=1e-9)
        assert ours.interval.low == pytest.approx(theirs.interval.low, rel=1e-9)
