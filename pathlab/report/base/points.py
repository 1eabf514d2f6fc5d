"""Trials as points: which of them are drawn, and which are marked as outliers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.interval import Interval
from pathlab.analysis.estimators.loss import Loss
from pathlab.analysis.estimators.outliers import MAD_FACTOR
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.phrases import format_count
from pathlab.report.base.quantities import Quantity
from pathlab.report.plots.model import Curve, Layer, Points, Rule
from pathlab.study.base.answer import Spread
from pathlab.study.base.cells import Cell, MeasuredCondition
from pathlab.study.base.selection import Sample, name_exclusions
from pathlab.study.flows.order import mark_outliers
from pathlab.units import format_window

Marks = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """Trials of a window or group with their values, NaN where there is none. ``outlier``: of their cell."""

    name: str
    slot: int
    sample: Sample
    x: Floats
    y: Floats
    outlier: Marks


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Clouds as drawn: the layers, the trials that they have and draw, and their outliers."""

    layers: tuple[Points, ...]
    trials: int
    drawn: int
    outliers: int

    @property
    def words(self) -> str:
        """Remarks on the points; empty where every trial is drawn and none is an outlier."""
        return " ".join(cell for cell in (self.choice, self.marked) if cell)

    @property
    def choice(self) -> str:
        """A remark where not every trial is drawn, else empty."""
        if self.drawn == self.trials:
            return ""
        return f"{self.drawn} of {self.trials} trials are drawn: evenly chosen, all outliers and extremes."

    @property
    def marked(self) -> str:
        """The number of outliers; empty for none."""
        if not self.outliers:
            return ""
        outliers = format_count(self.outliers, "outlier")
        return f"{outliers} beyond {MAD_FACTOR:g} MAD of the combination (marked, kept)."


def gather(
    name: str,
    slot: int,
    cells: Sequence[Cell],
    axes: tuple[Quantity, Quantity],
    measured: Quantity | None = None,
) -> Cloud:
    """The trials of some cells; ``axes`` give x and y; outliers are those of ``measured`` (y) in a cell."""
    across, up = axes
    result = measured or up
    samples = [cell.sample for cell in cells]
    first = samples[0]
    joined = Sample(
        condition=first.condition,
        selection=first.selection,
        table=first.table,
        places=np.concatenate([sample.places for sample in samples]),
    )
    return Cloud(
        name=name,
        slot=slot,
        sample=joined,
        x=across.take(joined),
        y=up.take(joined),
        outlier=np.concatenate(
            [mark_outliers(result.take(item), logarithmic=result.logarithmic)[1] for item in samples]
        ),
    )


def gather_windows(
    inputs: ReportInputs,
    condition: MeasuredCondition,
    axes: tuple[Quantity, Quantity],
    windows: Sequence[int | None] | None = None,
) -> list[Cloud]:
    """A cloud for each window (None: every one with a usable trial)."""
    return [
        gather(f"window {format_window(window)}", inputs.slot(window), condition.along(window), axes)
        for window in (condition.windows if windows is None else windows)
    ]


def draw_spreads(
    name: str, x: Floats, spreads: Sequence[Spread | Loss], size: Floats | float, slot: int = 0
) -> Curve:
    """Medians, or pooled losses, with their intervals at ``x``, divided by ``size``; unknown: gaps."""
    rows = [
        (spread.loss_ratio, spread.interval_ratio.low, spread.interval_ratio.high)
        if isinstance(spread, Loss)
        else (spread.median, spread.interval.low, spread.interval.high)
        for spread in spreads
    ]
    y, low, high = np.array(rows, dtype=np.float64).reshape(-1, 3).T / size
    return Curve(name=name, x=x, y=y, low=low, high=high, slot=slot)


def draw_rule(
    name: str, value: float | None, interval: Interval, size: float, *, vertical: bool = False
) -> list[Rule]:
    """A value as a line with its interval, divided by ``size``; none where it is not known."""
    if value is None:
        return []
    low, high = (None if end is None else end / size for end in (interval.low, interval.high))
    return [Rule(name=name, value=value / size, vertical=vertical, low=low, high=high)]


def choose_points(values: Floats, always: Marks, most: int) -> NDArray[np.int64]:
    """About ``most`` places of values, evenly over their order, with those of ``always`` and both extremes.

    NaN is never chosen.
    """
    known = np.flatnonzero(~np.isnan(values))
    if known.size <= most:
        return known
    even = known[np.linspace(0, known.size - 1, most).round().astype(np.int64)]
    ends = np.array([known[np.argmin(values[known])], known[np.argmax(values[known])]])
    return np.unique(np.concatenate([even, ends, known[always[known]]]))


def draw_clouds(clouds: Sequence[Cloud], scales: tuple[float, float], most: int) -> Drawn:
    """The clouds as layers of points, x and y divided by ``scales``; ``most`` trials in all, shared out."""
    sizes = [int(np.count_nonzero(~np.isnan(cloud.x) & ~np.isnan(cloud.y))) for cloud in clouds]
    total = sum(sizes)
    layers, drawn, apart = [], 0, 0
    for cloud, size in zip(clouds, sizes, strict=True):
        if not size:
            continue
        y = np.where(np.isnan(cloud.x), np.nan, cloud.y)
        chosen = choose_points(y, cloud.outlier, max(2, most * size // max(total, 1)))
        drawn += chosen.size
        apart += int(np.count_nonzero(cloud.outlier & ~np.isnan(y)))
        layers.append(
            Points(
                name=cloud.name,
                x=cloud.x[chosen] / scales[0],
                y=y[chosen] / scales[1],
                slot=cloud.slot,
                outlier=cloud.outlier[chosen],
                hover=name_trials(cloud.sample, chosen),
                legend=False,
            )
        )
    return Drawn(layers=tuple(layers), trials=total, drawn=drawn, outliers=apart)


def draw_excluded(
    inputs: ReportInputs, condition: MeasuredCondition, axes: tuple[Quantity, Quantity], size: float
) -> list[Layer]:
    """Excluded trials, a layer of open points for each window; each point says why.

    ``axes`` give x as it is drawn and y, which is divided by ``size``.
    """
    excluded = condition.excluded
    x, y = axes[0].take(excluded), axes[1].take(excluded)
    y = np.where(np.isnan(x), np.nan, y)
    reasons = name_exclusions(excluded)
    layers: list[Layer] = []
    for window, cell in excluded.by_window():
        inside = np.isin(excluded.places, cell.places)
        values = np.where(inside, y, np.nan)
        chosen = choose_points(values, np.zeros(y.size, dtype=bool), inputs.points)
        if not chosen.size:
            continue
        named = ", ".join(dict.fromkeys(str(reason) for reason in reasons[chosen]))
        texts = name_trials(excluded, chosen)
        layers.append(
            Points(
                name=f"window {format_window(window)}, excluded ({named})",
                x=x[chosen],
                y=y[chosen] / size,
                slot=inputs.slot(window),
                hover=tuple(f"{text}, {reasons[at]}" for at, text in zip(chosen, texts, strict=True)),
                hollow=True,
            )
        )
    return layers


def name_trials(sample: Sample, chosen: NDArray[np.int64]) -> tuple[str, ...]:
    """``trial 12, cycle 3`` of each."""
    ids, cycles = sample.get("trial_id")[chosen], sample.cycles[chosen]
    return tuple(
        f"trial {int(number)}, cycle {int(cycle) + 1}" for number, cycle in zip(ids, cycles, strict=True)
    )
