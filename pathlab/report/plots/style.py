"""Colours, markers, dashes and type of every figure, in print and in the browser.

The first colours are those of Okabe and Ito (2008) that contrast with paper and with a dark page; the others
were searched for in the same range of luminance, farthest apart in OKLab with full colour vision and with
deuteranopia and protanopia as Machado et al. (2009) simulate them. Markers and line styles differ as well, so
that a figure also reads in grey. A slot chooses all of them together, the same in every figure of a report.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from cycler import cycler

Dash: TypeAlias = "str | tuple[float, tuple[float, ...]]"

INK = "#1f2328"  # replaced by the page's own colour in SVG and in the browser
GRID = "#8b949e"
BLANK = "no value to draw"  # shown in a panel without a value
PALETTE = "cividis"  # shades of a grid, readable with every kind of colour vision and in grey
#: As many as a figure has named streams; the same on paper, on the page and on the dark page.
COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CF12AB", "#CC79A7", "#245AFC", "#FC516C", "#7575D8"),
    *("#516C3F", "#3F99CF", "#A22DD8", "#63637E", "#7E873F", "#C6126C", "#B43F00", "#0987FC"),
)
#: Below zero, zero, above zero: shades of a grid of differences.
DIVERGING = ("#0072B2", "#F2F2F2", "#D55E00")
INK_SLOT = -1  # lines that belong to no series are drawn in the page's own ink
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES: tuple[Dash, ...] = (
    "-",
    "--",
    "-.",
    ":",
    (0, (5, 1, 1, 1, 1, 1)),
    (0, (1, 1)),
    (0, (8, 3)),
)
HATCHES = ("", "///", "\\\\\\", "xxx", "|||", "---", "++")  # lines only: dots are large in SVG
STYLE: dict[Any, Any] = {
    "axes.prop_cycle": cycler(color=COLOURS),
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "text.parse_math": False,  # a name may hold a dollar sign
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "hatch.linewidth": 0.6,
    "image.cmap": PALETTE,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
}
#: Settings that no style overrides: texts are placed by their sizes before a figure is drawn.
UNMOVED: dict[Any, Any] = {
    "figure.autolayout": False,
    "figure.constrained_layout.use": False,
    "savefig.bbox": None,
    "text.parse_math": False,
    "text.usetex": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """How one slot is drawn; ``look`` and ``hatch_look`` are the places of marker, dash and hatch in lists.

    ``templates/report.js`` has the same lists for the browser.
    """

    colour: str
    look: int
    hatch_look: int

    @property
    def marker(self) -> str:
        """The marker in print."""
        return MARKERS[self.look]

    @property
    def dash(self) -> Dash:
        """The line style in print."""
        return DASHES[self.look]

    @property
    def hatch(self) -> str:
        """The hatch in print."""
        return HATCHES[self.hatch_look]


def choose_slot(number: int, colours: tuple[str, ...] = COLOURS) -> Slot:
    """The looks of a slot; those after the last colour begin again with other markers, dashes and hatches."""
    if number == INK_SLOT:
        return Slot(colour=INK, look=len(MARKERS) - 1, hatch_look=0)
    turn = number // len(colours)
    look = (number + turn) % len(MARKERS)
    return Slot(
        colour=colours[number % len(colours)],
        look=look,
        hatch_look=(number + number // len(HATCHES)) % len(HATCHES),
    )
