"""The figures of trials that are drawn, in the units of an axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.quantities import DisplayUnit, resolve_unit
from pathlab.report.phrases import FORMATS, format_figure
from pathlab.study.selection import Sample

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


THROUGHPUT = Quantity(
    label="Throughput", unit="bit/s", take=lambda sample: sample.rates_bits_per_s, logarithmic=True
)
RISE_MEAN = Quantity(label="Added delay (dRTT)", short="dRTT", unit="ns", take=lambda sample: sample.rise_ns)
RISE_MEDIAN = Quantity(
    label="Added delay (dRTT of medians)",
    short="dRTT",
    unit="ns",
    take=lambda sample: sample.rise_median_ns,
)


def _of_probes(name: str, unit: str, take: Callable[[Sample, str], Floats]) -> tuple[Quantity, Quantity]:
    """A figure of the loaded and of the unloaded probes."""
    loaded, unloaded = (
        Quantity(label=f"{name}, {probes}", short=name, unit=unit, take=partial(_take_probes, take, probes))
        for probes in ("loaded", "unloaded")
    )
    return loaded, unloaded


def _take_probes(take: Callable[[Sample, str], Floats], probes: str, sample: Sample) -> Floats:
    return take(sample, probes)


IQR_LOADED, IQR_UNLOADED = _of_probes("IQR", "ns", lambda sample, probes: sample.get(f"{probes}_rtt_iqr_ns"))
RV_LOADED, RV_UNLOADED = _of_probes("RV", "ratio", Sample.measure_variability)
LOSS_LOADED, LOSS_UNLOADED = _of_probes("Loss", "ratio", Sample.measure_loss)
FAIRNESS = Quantity(label="Jain's index", take=lambda sample: sample.fairness_ratio)
