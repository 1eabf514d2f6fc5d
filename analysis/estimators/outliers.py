"""Outliers, named with the rule that found them; none is ever dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pathlab.analysis.estimators.interval import Undecided, as_samples, check_sample_count
from pathlab.analysis.estimators.repetition import estimate_once
from pathlab.analysis.libraries import stats

MINIMUM_SAMPLES = 5


#: Scaled deviations from the median: Iglewicz and Hoaglin's limit of the modified z-score; some 1 in 2,000 of
#: normal samples are beyond it.
MAD_FACTOR = 3.5
MAD_RULE = f"median ± {MAD_FACTOR:g} MAD"
LEVEL_RULE = f"{MAD_RULE} of its level"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outliers:
    """Places (from 0, in the order given) of the values beyond the fences, and the fences in their unit.

    There are no fences for values about several levels, each of which has its own.
    """

    n: int
    rule: str
    low: float | None = None
    high: float | None = None
    places: tuple[int, ...]
    undecided: Undecided | None = None


@estimate_once
def name_outliers(values: ArrayLike) -> Outliers:
    """Name the values beyond 3.5 scaled median absolute deviations; the caller keeps them all.

    Notes
    -----
    Assumption: the bulk is about symmetric; skewed samples have more values named on the long side (pass
    logarithms of rates). Minimum sample: 5. Where half of the values are equal there is no scale to go by:
    undecided (no variation), and none is named. MAD is scaled by 1.4826 to a normal's standard deviation.
    Source: Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993.
    """
    samples = as_samples(values)
    reason = check_sample_count(samples.size, MINIMUM_SAMPLES)
    deviation = 0.0 if reason is not None else float(stats.median_abs_deviation(samples, scale="normal"))
    if deviation == 0:
        reason = reason or Undecided.NO_VARIATION
        return Outliers(n=samples.size, rule=MAD_RULE, places=(), undecided=reason)
    median = float(np.median(samples))
    low, high = median - MAD_FACTOR * deviation, median + MAD_FACTOR * deviation
    beyond = np.flatnonzero((samples < low) | (samples > high))
    return Outliers(n=samples.size, rule=MAD_RULE, low=low, high=high, places=tuple(beyond.tolist()))


def name_level_outliers(values: ArrayLike, numbers: Sequence[int]) -> Outliers:
    """The outliers of values about several levels (``modes.find_modes``): beyond the fences of their own one.

    ``numbers`` has the level of each value. Levels of fewer than 5 values have no outliers.
    """
    samples, levels = as_samples(values), np.asarray(numbers)
    places: list[int] = []
    for number in np.unique(levels):
        inside = np.flatnonzero(levels == number)
        places += inside[list(name_outliers(samples[inside]).places)].tolist()
    return Outliers(n=samples.size, rule=LEVEL_RULE, places=tuple(sorted(places)))
