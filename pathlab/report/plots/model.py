"""A figure before it is drawn: panels of layers of numbers, for print and browser.

Values are in the unit that the axis names. NaN is a gap: nothing is drawn there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.float64]
KeyKind: TypeAlias = Literal[
    "interval", "point", "undecided", "provisional", "dot", "flagged", "excluded", "band"
]
#: Of the height of a row: how far the levels of a factor are drawn from its middle.
ROW_SHARE = 0.6


class Scale(StrEnum):
    """The scale of an axis."""

    LINEAR = "linear"
    LOG2 = "log2"
    LOG10 = "log10"


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """An axis: what it shows and in which unit.

    ``ticks`` and ``tick_labels`` (of equal length) name the only places to mark, such as the streams that
    were measured; None: the renderer's choice. ``from_zero``: the axis begins at 0. ``rows``: of a y axis
    whose ticks name rows one below the other; every name is shown, and the panel is as high as they need.
    ``low`` and ``high``: limits that a reader chose, instead of those that the values need.
    """

    label: str
    unit: str | None = None
    scale: Scale = Scale.LINEAR
    ticks: tuple[float, ...] | None = None
    tick_labels: tuple[str, ...] | None = None
    from_zero: bool = False
    rows: bool = False
    low: float | None = None
    high: float | None = None

    @property
    def title(self) -> str:
        """The label with its unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A line through points: medians, a fit, a rate over time. ``x`` and ``y`` have the same length.

    ``slot`` chooses colour, marker and dash together, the same in every figure of a report (one window keeps
    its slot). ``low`` and ``high`` are the ends of an interval at each point, drawn as bars. ``step``: a
    value holds from its ``x`` on to the next one. ``filled``: full markers, where open ones mean something
    else. ``solid``: without the dashes of its slot. ``faint``: thin and pale, for published figures alongside
    own ones. ``dotted``: a dot inside open markers. ``texts``: what is written above each point, "" for
    nothing.
    """

    name: str
    x: Numbers
    y: Numbers
    slot: int = 0
    low: Numbers | None = None
    high: Numbers | None = None
    markers: bool = True
    line: bool = True
    step: bool = False
    legend: bool = True
    filled: bool = False
    texts: tuple[str, ...] | None = None
    solid: bool = False
    faint: bool = False
    dotted: bool = False


#: The side of a callout that has no room alongside its point.
LEGEND = "legend"
#: Sides of a point for its callout, the preferred first.
CALLOUT_SIDES = (
    *("bottom right", "bottom center", "bottom left", "top left", "top center", "top right"),
    *("middle right", "middle left"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """A cloud of single values: trials, probes. ``outlier`` (bool, as long as ``x``) marks outliers.

    ``hover`` says of each point what it is. ``hollow``: open markers, for values that enter no median.
    ``small``: little circles, below the markers of a curve through them.
    ``callout``: a ring around each point, with this text on ``side``, which ``callouts`` chooses; on the
    side ``LEGEND`` there is no room for it, and the legend names the ring.
    """

    name: str
    x: Numbers
    y: Numbers
    slot: int = 0
    outlier: NDArray[np.bool_] | None = None
    hover: tuple[str, ...] | None = None
    at_axis: bool = False  # without a height, such as lost probes: crosses on the x axis, y is not used
    legend: bool = True
    hollow: bool = False
    small: bool = False
    callout: str | None = None
    side: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """An area between two lines, such as a prediction band; ``solid``: one of a stack, not see-through."""

    name: str
    x: Numbers
    low: Numbers
    high: Numbers
    slot: int = 0
    legend: bool = True
    solid: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """Bars from ``bottom`` (None: 0) upwards by ``height``; bars of equal ``x`` with bottoms are stacked."""

    name: str
    x: Numbers
    height: Numbers
    slot: int = 0
    bottom: Numbers | None = None
    width: float = 0.8
    legend: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A straight line at one value across the panel: a known capacity, a breakpoint.

    ``low`` and ``high``: its interval, shaded. ``labelled``: its name is written above the line (a
    horizontal one only), not in the legend; ``at_right``: at its right end, ``below`` the line, as
    ``callouts`` chooses.
    """

    name: str
    value: float
    vertical: bool = False
    low: float | None = None
    high: float | None = None
    labelled: bool = False
    at_right: bool = False
    below: bool = False

    @property
    def legend(self) -> bool:
        """Whether the legend names it."""
        return not self.labelled


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of the x axis that is marked, such as the steady window."""

    name: str
    start: float
    end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A value for each pair of levels, such as the response surface; ``values``: shape (len(y), len(x)).

    The lowest row is ``y[0]``. Each field shows its number; the colour says the same in shades. ``unit``: of
    the values. ``diverging``: differences, whose shades part at 0.
    """

    name: str
    x: tuple[str, ...]
    y: tuple[str, ...]
    values: Numbers
    unit: str
    diverging: bool = False


Layer: TypeAlias = Curve | Points | Area | Bars | Rule | Span | Grid


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One pair of axes with its layers, drawn in their order."""

    x: Axis
    y: Axis
    layers: tuple[Layer, ...]
    title: str | None = None  # where a figure has several panels


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """An entry of the legend that explains a mark; ``kind`` as in ``legend.js`` of the explorer."""

    kind: KeyKind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A figure: its name for ``--figure``, what it shows, where that was measured, and a sentence about it.

    ``name``: letters, digits and dashes, unique in a report; the same results give the same name. ``title``:
    the subject; ``condition``: path, place, date. ``sentence``: what the numbers show, made from them.
    ``panels`` are drawn one above the other and share x where ``shared_x``. ``empty``: why there is nothing
    to draw; such a figure has no panel and is shown as a box with that reason. ``prepared``: it is as
    ``plots.preparation`` leaves it. ``keys``: entries of the printed legend behind those of the layers.
    ``names``: those that it begins with.
    """

    name: str
    title: str
    condition: str
    sentence: str
    panels: tuple[Panel, ...] = ()
    shared_x: bool = False
    empty: str | None = None
    prepared: bool = False
    keys: tuple[Key, ...] = ()
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if bool(self.panels) == (self.empty is not None):
            raise ValueError(f"figure '{self.name}' needs either panels or a reason why it has none")


def build_row_axis(label: str, names: Sequence[str]) -> Axis:
    """An axis with a row for each name, the first at the top."""
    ticks = tuple(float(len(names) - place) for place in range(len(names)))
    return Axis(label=label, ticks=ticks, tick_labels=tuple(names), rows=True)
