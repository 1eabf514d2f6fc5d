"""What is drawn of every trial: its figures in the units of an axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.report.answer_table import format_figure
from pathlab.study.selection import Sample
from pathlab.units import format_rate, format_ratio, format_time

Take = Callable[[Sample], Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    """A unit of an axis and how much of the store's unit it is."""

    unit: str
    size: float


#: For each kind of figure, units from large to small.
UNITS = {
    "rate": (
        Scaled(unit="Gbit/s", size=1e9),
        Scaled(unit="Mbit/s", size=1e6),
        Scaled(unit="kbit/s", size=1e3),
    ),
    "time": (Scaled(unit="s", size=1e9), Scaled(unit="ms", size=1e6), Scaled(unit="µs", size=1e3)),
    "share": (Scaled(unit="%", size=0.01),),
    "plain": (Scaled(unit="", size=1.0),),
}
FORMATTERS: dict[str, Callable[[float | None], str]] = {
    "rate": format_rate,
    "time": format_time,
    "share": format_ratio,
    "plain": format_figure,
}
#: A unit serves where the largest value is at least so many of it.
LEAST_COUNT = {"rate": 2.0, "time": 1.0, "share": 0.0, "plain": 0.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A figure of a trial: ``take`` gives it in the store's unit, NaN where it was not measured.

    ``logarithmic``: outliers are told on the scale of ratios. ``short``: for an axis whose panel has the
    whole label above it.
    """

    label: str
    kind: str
    take: Take
    logarithmic: bool = False
    short: str = ""

    def format(self, value: float | None) -> str:
        """The value with its unit, for reading."""
        return FORMATTERS[self.kind](value)

    def choose_unit(self, values: Iterable[float]) -> Scaled:
        """The unit in which these are written."""
        return choose_unit(self.kind, values)


def choose_unit(kind: str, values: Iterable[float]) -> Scaled:
    """The largest unit of a kind of which the largest value has enough; the smallest where none serves."""
    known = np.abs(np.fromiter(values, dtype=np.float64))
    most = float(np.max(known, initial=0.0, where=np.isfinite(known)))
    serving = (one for one in UNITS[kind] if most >= LEAST_COUNT[kind] * one.size)
    return next(serving, UNITS[kind][-1 if kind != "time" else 1])


def reaches_zero(values: Floats) -> bool:
    """Whether an axis of these values is read best from 0 on: the least is below half of the largest."""
    known = values[np.isfinite(values)]
    return bool(known.size) and bool(2 * known.min() < known.max())


THROUGHPUT = Quantity(
    label="Throughput", kind="rate", take=lambda sample: sample.rates_bits_per_s, logarithmic=True
)
RISE_MEAN = Quantity(
    label="dRTT of the averages", short="dRTT", kind="time", take=lambda sample: sample.rise_ns
)
RISE_MEDIAN = Quantity(
    label="dRTT of the medians",
    short="dRTT",
    kind="time",
    take=lambda sample: sample.rise_median_ns,
)
IQR_LOADED = Quantity(
    label="IQR, loaded", short="IQR", kind="time", take=lambda sample: sample.get("loaded_rtt_iqr_ns")
)
IQR_UNLOADED = Quantity(
    label="IQR, unloaded", short="IQR", kind="time", take=lambda sample: sample.get("unloaded_rtt_iqr_ns")
)
RV_LOADED = Quantity(
    label="RV, loaded", short="RV", kind="share", take=lambda sample: sample.measure_variability("loaded")
)
RV_UNLOADED = Quantity(
    label="RV, unloaded",
    short="RV",
    kind="share",
    take=lambda sample: sample.measure_variability("unloaded"),
)
LOSS_LOADED = Quantity(
    label="Loss, loaded", short="Loss", kind="share", take=lambda sample: sample.measure_loss("loaded")
)
LOSS_UNLOADED = Quantity(
    label="Loss, unloaded", short="Loss", kind="share", take=lambda sample: sample.measure_loss("unloaded")
)
FAIRNESS = Quantity(label="Jain's index", kind="plain", take=lambda sample: sample.fairness_ratio)
