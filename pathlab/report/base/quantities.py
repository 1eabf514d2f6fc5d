"""The figures of trials that are drawn, in the units of an axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.quantities import DisplayUnit, resolve_unit
from pathlab.report.base.phrases import FORMATS, format_figure
from pathlab.study.base.selection import Sample
from pathlab.study.measures import MEASURES_BY_KEY

Take = Callable[[Sample], Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A figure of a trial: ``take`` gives it in ``unit``, that of the store; NaN where it was not measured.

    ``logarithmic``: outliers are found on the scale of ratios. ``short``: for an axis whose panel has the
    whole label above it.
    """

    label: str
    take: Take
    unit: str = ""
    logarithmic: bool = False
    short: str = ""

    def format(self, value: float | None) -> str:
        """The value with its unit, for reading."""
        return FORMATS.get(self.unit, format_figure)(value)

    def choose_unit(self, values: Iterable[float]) -> DisplayUnit:
        """The unit in which these are written."""
        return choose_unit(self.unit, values)


def choose_unit(unit: str, values: Iterable[float]) -> DisplayUnit:
    """The unit of an axis of these values, by the name of the stored unit."""
    known = np.abs(np.fromiter(values, dtype=np.float64))
    return resolve_unit(unit).choose_axis_unit(float(np.max(known, initial=0.0, where=np.isfinite(known))))


def reaches_zero(values: Floats) -> bool:
    """Whether an axis of these values is read best from 0 on: the least is below half of the largest."""
    known = values[np.isfinite(values)]
    return bool(known.size) and bool(2 * known.min() < known.max())


def _measure(key: str) -> Quantity:
    """The quantity of a measure."""
    measure = MEASURES_BY_KEY[key]
    return Quantity(
        label=measure.label,
        take=measure.read,
        unit=measure.unit,
        logarithmic=measure.unit == "bit/s",
        short=measure.short,
    )


THROUGHPUT, FAIRNESS = _measure("throughput_bits_per_s"), _measure("fairness_jain")
RISE_MEAN, RISE_MEDIAN = _measure("drtt_ns"), _measure("drtt_median_ns")
IQR_LOADED, IQR_UNLOADED = _measure("loaded_rtt_iqr_ns"), _measure("unloaded_rtt_iqr_ns")
RV_LOADED, RV_UNLOADED = _measure("loaded_variability_ratio"), _measure("unloaded_variability_ratio")
LOSS_LOADED, LOSS_UNLOADED = _measure("loaded_loss_ratio"), _measure("unloaded_loss_ratio")
