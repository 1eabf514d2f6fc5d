"""What one view of results shows: axes, curves of points with intervals, and the trials behind them.

The browser builds the same from the same table (``web/core/curves.js``); the JSON of both is
equal, field by field.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np


class PointState(StrEnum):
    """Whether a point has an interval, or why it has none; cut: its ends are at the range of the values.

    Provisional: no trial of the point counts, and it is that of those whose only flaw is ``lab-limited``.
    """

    ESTIMATED = "estimated"
    CUT = "cut"
    UNDECIDED = "undecided"
    PROVISIONAL = "provisional"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploredAxis:
    """An axis: its column, and how it is marked.

    ``kind`` is that of the column; ``levels`` are the names of a category's levels, whose places on the axis
    are 0, 1, 2 ... ``ticks`` and ``tick_labels`` (of equal length) name the levels that were measured; None:
    the renderer's choice. ``suggested`` is the scale that suits the values. ``low`` and ``high`` are the
    view's own limits.
    """

    column: str
    label: str
    unit: str | None
    scale: str
    kind: str
    ticks: tuple[float, ...] | None = None
    tick_labels: tuple[str, ...] | None = None
    levels: tuple[str, ...] = ()
    suggested: str = "linear"
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploredPoint:
    """One estimate: ``y`` with its range, over ``trials`` trials, whose places in the table are ``rows``.

    ``low`` and ``high`` are None without a range. ``state`` says whether there are enough trials for an
    interval, whatever range is shown.
    """

    x: float
    y: float | None
    low: float | None = None
    high: float | None = None
    state: PointState
    trials: int
    rows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """One trial: ``row`` is its place in the table; ``reason`` says why it is not counted.

    ``flagged``: it has a flag that not all selected trials have.
    """

    x: float
    y: float
    row: int
    counted: bool
    reason: str | None
    flagged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploredCurve:
    """The points of one colour and y column, x ascending.

    ``colour_level`` is the place of its level among all levels of the colour column, selected or not; -1: not
    set; None: no colour. ``edges`` (one more than points) are the bins of a histogram.
    """

    name: str
    colour_level: int | None
    y_column: str
    points: tuple[ExploredPoint, ...]
    dots: tuple[Dot, ...] = ()
    edges: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """One panel of the figure and its curves, from low to high; those of results in their order."""

    name: str
    curves: tuple[ExploredCurve, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgainstPoint:
    """Ratio or difference to the baseline at one x; ``paired``: of trials of the same cycles.

    ``drawn``: its interval rests on the draw of the order of these cycles, and on nothing else.
    """

    x: float
    y: float | None
    low: float | None = None
    high: float | None = None
    state: PointState
    trials: int
    baseline_trials: int
    paired: bool
    drawn: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AgainstCurve:
    """A curve against the baseline's curve of the same facet and y column."""

    facet: str
    name: str
    colour_level: int | None
    y_column: str
    points: tuple[AgainstPoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exploration:
    """A view of results, ready to be drawn.

    ``title`` is what all selected trials share. ``excluded`` counts the selected trials that no estimate
    takes, by reason. ``undecided`` counts the points that have too few trials for an interval. ``statistic``
    and ``range`` name what y and its range are, in words.
    """

    title: str
    notes: tuple[str, ...]
    statistic: str
    range: str
    x: ExploredAxis
    ys: tuple[ExploredAxis, ...]
    facets: tuple[Facet, ...]
    excluded: tuple[tuple[str, int], ...]
    against: tuple[AgainstCurve, ...] | None
    undecided: int

    def to_json(self) -> dict[str, Any]:
        """The same as JSON of the browser: names in camelCase, None for what is no finite number."""
        result: dict[str, Any] = _to_json(self)
        return result


def _to_json(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return {_camel(field.name): _to_json(getattr(value, field.name)) for field in fields}
    if isinstance(value, Mapping):
        return {str(key): _to_json(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_to_json(item) for item in value]
    if isinstance(value, (np.integer, np.bool_)):
        return value.item()
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return str(value) if isinstance(value, StrEnum) else value


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)
