"""Equivalence: reasons and wrong values."""

from __future__ import annotations

import numpy as np
import pytest

from pathlab.analysis.estimators.corrections import correct_holm
from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.margins import log_margins
from pathlab.analysis.estimators.shifts import hodges_lehmann
from pathlab.analysis.libraries import stats
from pathlab.analysis.verdicts.equivalence import evaluate_ratio, evaluate_shift
from pathlab.errors import UsageError
from tests.statistics.shift_samples import make_shift

MARGINS = log_margins(0.05)


def test_estimate_with_its_own_standard_error() -> None:
    found = evaluate_shift(make_shift(0.01, 0.02, 30), (-0.05, 0.05))
    assert found.p_value == pytest.approx(2 * float(stats.t.cdf(-2.0, 30)))
    assert found.equivalent is False


def test_reasons() -> None:
    assert evaluate_shift(hodges_lehmann([]), MARGINS).undecided is Undecided.NO_SAMPLES
    assert (
        evaluate_shift(hodges_lehmann([0.1, 0.2, 0.0, 0.3, 0.1]), MARGINS).undecided
        is Undecided.TOO_FEW_SAMPLES
    )
    assert evaluate_shift(hodges_lehmann(np.full(9, 0.01)), MARGINS).undecided is Undecided.NO_VARIATION
    zero = evaluate_ratio([0.0, 1.0, 2.0], [1.0, 1.0, 1.0])
    assert (zero.undecided, zero.n, zero.equivalent) == (Undecided.NOT_POSITIVE, 3, None)
    assert evaluate_ratio([], []).undecided is Undecided.NO_SAMPLES


@pytest.mark.parametrize(
    "call",
    [
        lambda: log_margins(0.0),
        lambda: log_margins(1.0),
        lambda: evaluate_ratio([1.0], [1.0, 2.0]),
        lambda: evaluate_shift(hodges_lehmann([0.1, 0.2, 0.3]), (0.1, 0.2)),
        lambda: evaluate_shift(hodges_lehmann([0.1, 0.2, 0.3]), MARGINS, 0.7),
        lambda: correct_holm([1.5]),
        lambda: correct_holm([float("nan")]),
    ],
)
def test_wrong_values_are_refused_with_a_hint(call: object) -> None:
    assert callable(call)
    with pytest.raises(UsageError) as caught:
        call()
    assert caught.value.hint
