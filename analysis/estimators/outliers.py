"""Outliers, named with the rule that found them; none is ever dropped."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.interval import Undecided, as_samples
from pathlab.analysis.libraries import stats
from pathlab.errors import UsageError

MINIMUM_SAMPLES = 5


class Fence(StrEnum):
    """How far out is out: by the median absolute deviation, or by the inter-quartile range."""

    MAD = "mad"
    TUKEY = "tukey"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlierRule:
    """A rule with its factor: 3.5 scaled deviations from the median, or 1.5 ranges beyond the quartiles."""

    fence: Fence
    factor: float

    def __post_init__(self) -> None:
        """Raise ``UsageError`` unless the factor is above 0."""
        if not 0 < self.factor < np.inf:
            raise UsageError(
                f"outlier rule: factor {self.factor} is not above 0", hint="3.5 for MAD, 1.5 for Tukey"
            )

    @property
    def name(self) -> str:
        """The rule in words, as reports print it."""
        if self.fence is Fence.MAD:
            return f"median +- {self.factor:g} MAD"
        return f"quartiles +- {self.factor:g} IQR (Tukey)"


#: Iglewicz and Hoaglin's limit of the modified z-score; some 1 in 2,000 of normal samples.
MAD_RULE = OutlierRule(fence=Fence.MAD, factor=3.5)
#: Tukey's fences; some 7 in 1,000 of normal samples.
TUKEY_RULE = OutlierRule(fence=Fence.TUKEY, factor=1.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outliers:
    """Places (from 0, in the order given) of the values beyond the fences, and the fences in their unit."""

    n: int
    rule: str
    low: float | None = None
    high: float | None = None
    places: tuple[int, ...]
    undecided: Undecided | None = None


def name_outliers(values: ArrayLike, rule: OutlierRule = MAD_RULE) -> Outliers:
    """Name the values that lie beyond the rule's fences; the caller keeps them all.

    Notes
    -----
    Assumption: the bulk is about symmetric; skewed samples have more values named on the long side (pass
    logarithms of rates). Minimum sample: 5. Where half of the values are equal there is no scale to go by:
    undecided (no variation), and none is named. MAD is scaled by 1.4826 to a normal's standard deviation.
    Source: Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993; Tukey, Exploratory Data Analysis,
    1977. Quartiles of type 7; MAD by ``scipy.stats.median_abs_deviation``.
    """
    samples = as_samples(values)
    fences = _place_fences(samples, rule) if samples.size >= MINIMUM_SAMPLES else None
    if fences is None:
        reason = Undecided.TOO_FEW_SAMPLES if samples.size else Undecided.NO_SAMPLES
        if samples.size >= MINIMUM_SAMPLES:
            reason = Undecided.NO_VARIATION
        return Outliers(n=samples.size, rule=rule.name, places=(), undecided=reason)
    low, high = fences
    beyond = np.flatnonzero((samples < low) | (samples > high))
    return Outliers(
        n=samples.size, rule=rule.name, low=low, high=high, places=tuple(int(place) for place in beyond)
    )


def _place_fences(samples: NDArray[np.float64], rule: OutlierRule) -> tuple[float, float] | None:
    if rule.fence is Fence.MAD:
        deviation = float(stats.median_abs_deviation(samples, scale="normal"))
        low = high = float(np.median(samples))
    else:
        low, high = (float(value) for value in np.quantile(samples, (0.25, 0.75), method="linear"))
        deviation = high - low
    if deviation == 0:
        return None
    return low - rule.factor * deviation, high + rule.factor * deviation
