"""How the values of selected trials are distributed: CDF, CCDF and histogram of each curve."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.serial_levels import measure_distribution_band
from pathlab.study.base.selection import choose_evenly
from pathlab.study.exploration.drawn_panels import DrawnPanels
from pathlab.study.exploration.estimates import INTERVAL
from pathlab.study.exploration.exploration import (
    ExploredAxis,
    ExploredCurve,
    ExploredPoint,
    Facet,
    PointState,
)
from pathlab.study.exploration.figure_axes import LINEAR, LOG10, describe_axis
from pathlab.study.exploration.grouping import Places, split_rows
from pathlab.study.exploration.labels import write_trial_count
from pathlab.study.exploration.selected_trials import SelectedTrials, sort_curves

CDF, CCDF, HISTOGRAM = "cdf", "ccdf", "histogram"
DISTRIBUTIONS = (CDF, CCDF, HISTOGRAM)
#: Steps of a curve above which some are chosen: evenly, and all of those at either end.
STEPS_MAX, END_STEPS = 120, 20
BINS_MAX = 100
#: A value that is nearer to an edge of a bin than this share of its width is on the edge.
EDGE_RATIO = 1e-9
#: Half the width of the only bin of equal values: a share of the value, and where it is 0.
ONLY_BIN_RATIO, ONLY_BIN = 0.05, 0.5


class _Bins:
    """Bins of equal width on a scale, from ``low`` to ``high`` on it."""

    def __init__(self, values: Floats, *, log: bool) -> None:
        self.log = log
        places = self._place(values)
        self.low, self.high = float(places.min()), float(places.max())
        self.count = count_bins(places)
        if self.low == self.high:
            half = abs(self.low) * ONLY_BIN_RATIO or ONLY_BIN
            self.low, self.high = self.low - half, self.high + half

    @property
    def width(self) -> float:
        return (self.high - self.low) / self.count

    def find(self, values: Floats) -> NDArray[np.intp]:
        """The bin of each value; the upper end belongs to the last."""
        bins = np.floor((self._place(values) - self.low) / self.width + EDGE_RATIO).astype(np.intp)
        return np.clip(bins, 0, self.count - 1)

    def edge(self, at: float) -> float:
        """The value at an edge, or between two."""
        high = self.high if at == self.count else self.low + at * self.width
        return 10.0**high if self.log else high

    def _place(self, values: Floats) -> Floats:
        return np.log10(values) if self.log else values


def count_bins(values: Floats) -> int:
    """How many bins of equal width values get, 1 to 100.

    Notes
    -----
    Width 2 IQR / n^(1/3): Freedman and Diaconis, Probability Theory and Related Fields 57, 1981. Where more
    than half of the values are equal, 1 + log2(n): Sturges, JASA 21, 1926.
    """
    low, q1, q3, high = np.quantile(values, (0, 0.25, 0.75, 1), method="linear").tolist()
    if low == high:
        return 1
    if q1 == q3:
        return math.ceil(math.log2(values.size)) + 1
    bins: float = (high - low) / (2 * (q3 - q1)) * float(np.cbrt(values.size))
    return min(BINS_MAX, max(1, math.ceil(bins - EDGE_RATIO)))


def build_distributions(trials: SelectedTrials) -> DrawnPanels:
    """The distribution of each curve over all its trials, whatever their x.

    The y columns share the axis of values: those of another unit than the first are not shown. CDF and CCDF
    are in percent of the trials, with a band of 95 % (``serial_levels.measure_distribution_band``); bins of a
    histogram are those of all curves together.
    """
    view, notes = trials.view, list(trials.list_limits())
    first = trials.ys[0]
    kept = [at for at, column in enumerate(trials.ys) if column.unit == first.unit]
    others = [column.label for column in trials.ys if column.unit != first.unit]
    notes += [f"{label} not shown: {first.label} has another unit." for label in others]
    statistic = view.statistic
    log = statistic == HISTOGRAM and (view.scale_x or LINEAR) != LINEAR
    taken = [trials.used & ~np.isnan(trials.values[at]) for at in kept]
    if log:
        above = [mask & (trials.values[at] > 0) for at, mask in zip(kept, taken, strict=True)]
        below = int(np.sum(taken)) - int(np.sum(above))
        if below:
            notes.append(f"{write_trial_count(below)} at or below 0 not shown on a logarithmic axis.")
        taken = above
    pooled = np.concatenate([trials.values[at][mask] for at, mask in zip(kept, taken, strict=True)])
    bins = _Bins(pooled, log=log) if statistic == HISTOGRAM and pooled.size else None
    facets = []
    for name, indices in trials.split_facets():
        curves = [
            curve
            for at, mask in zip(kept, taken, strict=True)
            for colour, part in trials.split_colours(indices[mask[indices]])
            for curve in _build_curve(trials, at, (colour, part), bins)
        ]
        if curves:
            facets.append(Facet(name=name, curves=sort_curves(curves, trials.view)))
    return DrawnPanels(
        x=_describe_values(trials, kept),
        ys=tuple(_describe_shares(trials, at) for at in kept),
        facets=tuple(facets),
        notes=tuple(notes),
    )


def _build_curve(
    trials: SelectedTrials, at: int, group: tuple[int, Places], bins: _Bins | None
) -> Iterator[ExploredCurve]:
    colour, indices = group
    if not indices.size:
        return
    values, rows = trials.values[at][indices], trials.rows[indices]
    points = _build_steps(trials, values, rows) if bins is None else _build_bins(values, rows, bins)
    yield ExploredCurve(
        name=trials.name_curve(colour, trials.ys[at]),
        colour_level=trials.find_level(colour),
        y_column=trials.ys[at].name,
        points=tuple(points),
        edges=() if bins is None else tuple(bins.edge(place) for place in range(bins.count + 1)),
    )


def _build_steps(trials: SelectedTrials, values: Floats, rows: Places) -> Iterator[ExploredPoint]:
    """The share of trials at or below (CDF), or above (CCDF), each value; a point's rows are its step's."""
    ordered = np.sort(values)
    ends = np.append(np.flatnonzero(np.diff(ordered)), values.size - 1)
    if ends.size > STEPS_MAX:
        evenly = choose_evenly(ends.tolist(), STEPS_MAX)
        ends = np.unique([*evenly, *ends[:END_STEPS], *ends[-END_STEPS:]])
    band = measure_distribution_band(values).half_width_ratio
    state = PointState.UNDECIDED if band is None else PointState.ESTIMATED
    shown = None if band is None or trials.view.range != INTERVAL else 100 * band
    steps = split_rows(np.searchsorted(ordered[ends], values), rows)
    for step, end in enumerate(ends.tolist()):
        counted = values.size - end - 1 if trials.view.statistic == CCDF else end + 1
        share = 100 * counted / values.size
        yield ExploredPoint(
            x=float(ordered[end]),
            y=share,
            low=None if shown is None else max(0.0, share - shown),
            high=None if shown is None else min(100.0, share + shown),
            state=state,
            trials=int(values.size),
            rows=tuple(steps[step].tolist()),
        )


def _build_bins(values: Floats, rows: Places, bins: _Bins) -> Iterator[ExploredPoint]:
    """The number of trials in each bin, at its middle on the scale of the bins."""
    parts = split_rows(bins.find(values), rows)
    for place in range(bins.count):
        part = parts.get(place, np.zeros(0, dtype=np.intp))
        yield ExploredPoint(
            x=bins.edge(place + 0.5),
            y=float(part.size),
            state=PointState.ESTIMATED,
            trials=int(part.size),
            rows=tuple(part.tolist()),
        )


def _describe_values(trials: SelectedTrials, kept: Sequence[int]) -> ExploredAxis:
    """The axis of the values, which is that of x."""
    view = trials.view
    axis = describe_axis(trials.ys[kept[0]], view.scale_x or LINEAR)
    label = ", ".join(trials.ys[at].label for at in kept)
    return replace(axis, label=label, low=view.min_x, high=view.max_x)


def _describe_shares(trials: SelectedTrials, at: int) -> ExploredAxis:
    """The axis of shares or of counts of one y column."""
    view = trials.view
    label = {CDF: "trials at or below", CCDF: "trials above", HISTOGRAM: "trials"}[view.statistic]
    suggested = LOG10 if view.statistic == CCDF else LINEAR
    return ExploredAxis(
        column=trials.ys[at].name,
        label=f"{trials.ys[at].label}: {label}" if len(trials.ys) > 1 else label.capitalize(),
        unit=None if view.statistic == HISTOGRAM else "%",
        scale=view.scale_y or suggested,
        kind="number",
        suggested=suggested,
        low=view.min_y,
        high=view.max_y,
    )
