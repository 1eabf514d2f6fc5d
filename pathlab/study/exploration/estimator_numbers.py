"""Numbers of the estimators that the explorer's scripts compute with, under the names that scripts have."""

from __future__ import annotations

from collections.abc import Mapping

from pathlab.analysis.estimators import interval, serial, shifts
from pathlab.analysis.estimators.quantiles import median_interval_minimum
from pathlab.analysis.libraries import stats
from pathlab.analysis.verdicts import two_samples
from pathlab.study.exploration import estimates

#: Numbers of the estimators, by the modules of ``pathlab.analysis`` that say what they are.
ESTIMATORS: Mapping[str, float] = {
    "CONFIDENCE_RATIO": interval.CONFIDENCE_RATIO,
    "ROUNDING_RATIO": interval.ROUNDING_RATIO,
    "MINIMUM_SAMPLES": median_interval_minimum(),
    "MINIMUM_SPREAD": estimates.MINIMUM_SPREAD,
    "CORRELATION_SAMPLES": serial.CORRELATION_SAMPLES,
    "BOUND_RATIO": serial.BOUND_RATIO,
    "CEILING_RATIO": serial.CEILING_RATIO,
    "UPPER_QUANTILE": serial.UPPER_QUANTILE,
    "SHAPE_SAMPLES": serial.SHAPE_SAMPLES,
    "SECOND_QUANTILE": serial.SECOND_QUANTILE,
    "SECOND_SAMPLES": serial.SECOND_SAMPLES,
    "LEAST_PERIODS": serial.LEAST_PERIODS,
    "TREND_RATIO": serial.TREND_RATIO,
    "EXACT_PAIRS": shifts.EXACT_PAIRS,
    "MAXIMUM_PAIRS": shifts.MAXIMUM_PAIRS,
    "MINIMUM_PAIRS": shifts.MINIMUM_PAIRS,
    "SHIFT_ROUNDING_RATIO": shifts.ROUNDING_RATIO,
    "MAXIMUM_PRODUCT": two_samples.MAXIMUM_PRODUCT,
    "NORMAL_QUANTILE": float(stats.norm.ppf((1 - interval.CONFIDENCE_RATIO) / 2)),
}
