"""Lines of CPU time: by hand, reasons and wrong values."""

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.fits.cpu_cost import fit_cpu_cost


def test_a_line_predicts_and_an_undecided_one_does_not() -> None:
    rates = np.arange(1.0, 9.0) * 1e9
    line = fit_cpu_cost(rates, 5 + 3 * rates / 1e9).with_intercept
    assert line.predict_percent([0.0, 10e9]) == pytest.approx([5.0, 35.0])
    assert np.isnan(fit_cpu_cost([1e9], [5.0]).with_intercept.predict_percent([1e9])).all()


def test_seconds_per_gigabyte_by_hand() -> None:
    """50 % of a core at 2 Gbit/s: 0.5 s of CPU for 0.25 GB, 2 s per GB; idle trials carry no cost."""
    found = fit_cpu_cost([2e9] * 6 + [1e9, 0.0], [50.0] * 6 + [25.0, 3.0])
    assert found.cpu_s_per_gb == pytest.approx(2.0)
    assert found.cpu_s_per_gb_interval.n == 7
    assert found.cpu_s_per_gb_interval.contains(2.0)


def test_throughputs_that_fix_no_line() -> None:
    equal = fit_cpu_cost([1e9] * 6, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert equal.with_intercept.undecided is Undecided.NO_VARIATION
    assert equal.with_intercept.slope_percent_per_gbit_s is None
    assert equal.through_origin.slope_percent_per_gbit_s == pytest.approx(3.5)
    lone = fit_cpu_cost([1e9] * 6 + [9e9], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    assert lone.with_intercept.undecided is Undecided.NOT_IDENTIFIED
    still = fit_cpu_cost([1e9, 2e9, 3e9, 4e9, 5e9], [5.0] * 5)
    assert still.with_intercept.slope_percent_per_gbit_s == pytest.approx(0.0, abs=1e-9)
    assert still.with_intercept.r_squared_ratio is None
