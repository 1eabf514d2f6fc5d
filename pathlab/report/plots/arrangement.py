"""Positions of the panels of a printed figure, computed from the text around them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from pathlab.report.plots.extents import Extent, find_share, format_tick, list_marks
from pathlab.report.plots.layers import format_fields
from pathlab.report.plots.lettering import (
    POINTS_PER_INCH,
    fits_unbroken,
    line_inch,
    measure_height,
    measure_widest,
    measure_width,
    read_points,
    wrap_label,
)
from pathlab.report.plots.model import Axis, Grid, Numbers, Panel, Plot

WIDTH_INCH = 6.6  # between the margins of A4; still readable on a phone
PANEL_INCH, STACKED_INCH, GRID_ROW_INCH, ROW_INCH = 2.45, 1.3, 0.36, 0.24
PAD_INCH = 0.08
TICK_INCH = 7 / POINTS_PER_INCH  # a tick and the gap to its label
LEGEND_NAMES_MAX, LEGEND_COLUMNS_MAX = 40, 4
TICKS_ACROSS, TICKS_UPWARDS = 8, 5
LEAST_SHARE = 0.7  # of the height of a panel in a narrow figure
TITLE_LINES, CONDITION_LINES, NAME_LINES = 3, 2, 3
ROW_LETTERS, LABEL_LETTERS = 28, 14  # of the name of a row, and of a level below an axis, in one line
NAMES_SHARE = 0.42  # of the width of a figure, at most, for names alongside its axis
TURNED_INCH = 1.1  # at most, of a name that is written upwards
FIELD_POINTS_MIN, FIELD_POINTS_SHARE = 4.5, 0.8  # of a number in a field: least size, and of the other type
NARROW_INCH, OVERHANG_INCH = 1.2, 0.12  # of a panel; how far its labels reach beyond the ends of its axis
COLUMNS_MAX = 3  # of panels side by side
LEAST_LINES, LEAST_WIDTH_LINES = 3.2, 3.0  # of its ticks' type, in the height and the width of a panel
TIGHT_LINES = 1.6  # in its height, where there is no room for more
_PASSES = 4  # until labels and the room for them agree
# Of the legend, in sizes of its type: sample of a line, gap alongside it, between columns and between rows.
HANDLE_RATIO, HANDLE_GAP_RATIO, COLUMN_GAP_RATIO, ROW_GAP_RATIO = 2.0, 0.8, 2.0, 0.4
LEGEND_ROW_RATIO = 1.2  # height of a row of one line with its gap, less what a line has above its letters


class NoRoomError(Exception):
    """What a figure shows does not fit into its size; ``height`` or ``width`` is what it needs, in inches."""

    def __init__(self, *, width: float = 0.0, height: float = 0.0) -> None:
        super().__init__()
        self.width, self.height = width, height


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """The size of a figure in inches and the texts around its panels; ``height`` None: as it needs."""

    width: float = WIDTH_INCH
    height: float | None = None
    title: str = ""
    condition: str = ""
    caption: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Type:
    """The sizes of type that are set, in points."""

    text: float
    label: float
    across: float
    upwards: float
    legend: float

    @classmethod
    def read(cls) -> Type:
        """Those of matplotlib's settings."""
        names = ("font.size", "axes.labelsize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize")
        text, label, across, upwards, legend = map(read_points, names)
        return cls(text=text, label=label, across=across, upwards=upwards, legend=legend)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """Where an axis is marked, and with what; ``turned``: labels are written upwards."""

    places: tuple[float, ...]
    labels: tuple[str, ...]
    turned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelPlace:
    """A panel's place in inches from the lower left corner; titles by line, empty where there is none.

    ``x_title_share``, ``title_share``: where the middle of the title of x, and the start of that above the
    panel are, in widths of the panel. ``beside``: the width of the
    labels between the y axis and its title, the same for all panels of a column.
    ``field_points``: size of the numbers in the fields of a grid.
    """

    left: float
    bottom: float
    width: float
    height: float
    beside: float
    across: Marks
    upwards: Marks
    x_title: str
    x_title_share: float
    y_title: str
    title: str
    title_share: float
    field_points: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Legend:
    """The texts of a legend by name, in its order, and its height in inches.

    ``blocks``: names that stand together in ``columns`` each, from the top, and the heights of these blocks.
    """

    texts: dict[str, str]
    blocks: tuple[tuple[str, ...], ...]
    columns: tuple[int, ...]
    heights: tuple[float, ...]

    @property
    def height(self) -> float:
        """The height with a gap above it; 0 without a name."""
        return sum(self.heights) + PAD_INCH if self.texts else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """A figure's size in inches, its panels from the top, and the texts around them, each in lines.

    ``left_out``: texts that there was no room for.
    """

    width: float
    height: float
    panel_places: tuple[PanelPlace, ...]
    title: str
    legend: Legend
    caption: str
    left_out: tuple[str, ...] = ()


def arrange_plot(plot: Plot, extents: Sequence[tuple[Extent, Extent]], sheet: Sheet) -> Arrangement:
    """Arrange a prepared plot that has panels.

    Where the height is given and too small, condition, caption and title are left out, in this order. Raises
    NoRoomError where its panels do not fit even then.
    """
    left_out: list[str] = []
    for name in ("condition", "caption", "title"):
        try:
            return replace(_Arranger(plot, extents, sheet).arrange(), left_out=tuple(left_out))
        except NoRoomError:
            if text := getattr(sheet, name):
                left_out.append(text)
                without: dict[str, Any] = {name: ""}
                sheet = replace(sheet, **without)
    try:
        result = _Arranger(plot, extents, sheet).arrange()
    except NoRoomError:
        result = _Arranger(plot, extents, sheet, least_lines=TIGHT_LINES).arrange()
    return replace(result, left_out=tuple(left_out))


def list_trace_names(plot: Plot) -> list[str]:
    """The names that the legend shows, in the order in which they are drawn."""
    names = dict.fromkeys(
        layer.name
        for panel in plot.panels
        for layer in panel.layers
        if not isinstance(layer, Grid) and getattr(layer, "legend", True)
    )
    first = [name for name in plot.names if name in names]
    ordered = list(dict.fromkeys((*first, *names)))
    return [*ordered[:LEGEND_NAMES_MAX], *(key.text for key in plot.keys)]


def write_title(sheet: Sheet) -> str:
    """The title and the condition, in lines that fit; what is too long ends in an ellipsis."""
    room, points = sheet.width - 2 * PAD_INCH, read_points("font.size")
    parts = ((sheet.title, TITLE_LINES), (sheet.condition, CONDITION_LINES))
    return "\n".join(wrap_label(text, room, points, most=most) for text, most in parts if text)


def arrange_legend(names: Sequence[str], width_inch: float, points: float, *, dense: bool = False) -> Legend:
    """The legend in as many columns as fit side by side; names longer than a line are broken.

    ``dense``: each line holds as many names as fit, without columns below each other.
    """
    size = points / POINTS_PER_INCH
    sample = (HANDLE_RATIO + HANDLE_GAP_RATIO) * size
    texts = {name: wrap_label(name, width_inch - sample, points) for name in names}
    if not texts:
        return Legend(texts={}, blocks=(), columns=(), heights=())
    widths = [sample + measure_width(text, points) for text in texts.values()]
    heights = [(LEGEND_ROW_RATIO - 1) * size + measure_height(text, points) for text in texts.values()]
    gap = COLUMN_GAP_RATIO * size
    if dense:
        return _fill_lines(texts, widths, heights, width_inch + gap, gap)
    for columns in range(min(len(texts), LEGEND_COLUMNS_MAX), 0, -1):
        needed = sum(max(part) for part in _split_columns(widths, columns))
        if needed + (columns - 1) * gap <= width_inch or columns == 1:
            break
    height = max(sum(part) for part in _split_columns(heights, columns))
    return Legend(texts=texts, blocks=(tuple(texts),), columns=(columns,), heights=(height,))


def _fill_lines(
    texts: dict[str, str], widths: Sequence[float], heights: Sequence[float], width_inch: float, gap: float
) -> Legend:
    """A legend whose lines hold as many names as fit into a width that has room for a gap behind each."""
    lines: list[list[int]] = []
    filled = width_inch
    for at, width in enumerate(widths):
        if filled + width + gap > width_inch:
            lines.append([])
            filled = 0.0
        lines[-1].append(at)
        filled += width + gap
    names = list(texts)
    return Legend(
        texts=texts,
        blocks=tuple(tuple(names[at] for at in line) for line in lines),
        columns=tuple(map(len, lines)),
        heights=tuple(max(heights[at] for at in line) for line in lines),
    )


def _split_columns(values: Sequence[float], columns: int) -> Iterator[Sequence[float]]:
    """The values of each column, in the order in which matplotlib fills them."""
    size, rest = divmod(len(values), columns)
    ends = itertools.accumulate(size + (column < rest) for column in range(columns))
    for start, end in itertools.pairwise((0, *ends)):
        yield values[start:end]


class _Arranger:
    """The places of a plot's panels on one sheet."""

    def __init__(
        self,
        plot: Plot,
        extents: Sequence[tuple[Extent, Extent]],
        sheet: Sheet,
        least_lines: float = LEAST_LINES,
    ) -> None:
        self.panels, self.extents, self.sheet, self.type = plot.panels, extents, sheet, Type.read()
        self.least_lines = least_lines
        self.shared_x = plot.shared_x
        self.fixed = sheet.height is not None
        room = sheet.width - 2 * PAD_INCH
        self.title = write_title(sheet)
        self.caption = wrap_label(sheet.caption, room, self.type.legend)
        names = list_trace_names(plot)
        self.legend = arrange_legend(names, room, self.type.legend, dense=self.fixed)
        self.row_names = [self._write_rows(panel.y) for panel in plot.panels]

    def arrange(self) -> Arrangement:
        """Titles of y axes alongside them where they fit there, else above their panels. Raises NoRoomError.

        Panels are one below the other, or side by side where a given height has no room for that.
        """
        errors: list[NoRoomError] = []
        for columns in range(1, (min(len(self.panels), COLUMNS_MAX) if self.fixed else 1) + 1):
            for above in (False, True):
                try:
                    return _Grid(self, columns=columns, above=above).arrange()
                except NoRoomError as one:
                    errors.append(one)
        raise min(errors, key=lambda item: max(item.width / self.sheet.width, item.height))

    def measure_title(self) -> float:
        """The height of the title."""
        return measure_height(self.title, self.type.text) + PAD_INCH * bool(self.title)

    def measure_foot(self) -> float:
        """The height of legend and caption."""
        caption = measure_height(self.caption, self.type.legend) + PAD_INCH if self.caption else 0.0
        return self.legend.height + caption + PAD_INCH / 2

    def wish_height(self, panel: Panel) -> float:
        share = max(self.sheet.width / WIDTH_INCH, LEAST_SHARE)
        if (grid := _find_grid(panel)) is not None:
            return max(0.8, GRID_ROW_INCH * len(grid.y)) * share
        if panel.y.rows:
            return max(0.8, ROW_INCH * len(panel.y.ticks or ())) * share
        return (PANEL_INCH if len(self.panels) == 1 else STACKED_INCH) * share

    def find_least(self, at: int) -> float:
        """The least height of a panel in which it can be read."""
        panel = self.panels[at]
        if (grid := _find_grid(panel)) is not None:
            return len(grid.y) * line_inch(FIELD_POINTS_MIN)
        if panel.y.rows:
            highest = max(measure_height(name, self.type.upwards) for name in self.row_names[at] or ("",))
            return 1.05 * highest * len(self.row_names[at])
        return self.least_lines * line_inch(self.type.upwards)

    def measure_above(self, head: str, *, aside: bool = False) -> float:
        """The room above a panel: its head, and half a label of its y axis; ``aside``: both, as they meet."""
        half = 0.6 * line_inch(self.type.upwards)
        if not head:
            return max(PAD_INCH, half)
        return measure_height(head, self.type.legend) + PAD_INCH + half * aside

    def measure_below(self, marks: Marks, title: str, *, named: bool) -> float:
        """The room below a panel: half a label of its y axis, or the labels and the title of its x axis."""
        if not named:
            return max(PAD_INCH, 0.6 * line_inch(self.type.upwards))
        if marks.turned:
            labels = measure_widest(marks.labels, self.type.across)
        else:
            labels = max((measure_height(label, self.type.across) for label in marks.labels), default=0.0)
        return TICK_INCH + labels + measure_height(title, self.type.label) + PAD_INCH

    def write_y_title(self, title: str, height: float) -> str:
        """The title in lines along the axis. Raises NoRoomError where it would take too much of the width."""
        written = wrap_label(title, height, self.type.label)
        most = 2 if self.fixed else NAME_LINES
        if written.count("\n") >= most or not fits_unbroken(title, height, self.type.label):
            raise NoRoomError(height=math.inf)
        return written

    def choose_head(self, panel: Panel, *, above: bool) -> str:
        """What is written above a panel: its title, where there are several, and the title of y."""
        title = panel.title if panel.title and len(self.panels) > 1 else ""
        if not above:
            return title
        same = not title or panel.y.title.casefold().startswith(title.casefold())
        return panel.y.title if same else f"{title}: {panel.y.title}"

    def _write_rows(self, axis: Axis) -> tuple[str, ...]:
        """The names of the rows of a y axis in lines; empty for another axis."""
        if not axis.rows:
            return ()
        points = self.type.upwards
        most = min(measure_width("n" * ROW_LETTERS, points), NAMES_SHARE * self.sheet.width)
        return tuple(wrap_label(label, most, points) for label in axis.tick_labels or ())

    def mark_upwards(self, at: int, height: float) -> Marks:
        axis, extent, points = self.panels[at].y, self.extents[at][1], self.type.upwards
        inside = _list_inside(axis, extent)
        if inside is None:
            most = max(2, min(TICKS_UPWARDS, int(height / (1.6 * line_inch(points)))))
            return _mark_evenly(extent, most)
        places, labels = inside
        if axis.rows:
            names = dict(zip(axis.tick_labels or (), self.row_names[at], strict=True))
            return Marks(places=tuple(places), labels=tuple(names[label] for label in labels))
        wide = NAMES_SHARE * self.sheet.width
        labels = [wrap_label(label, wide, points) for label in labels]
        sizes = [measure_height(label, points) for label in labels]
        shares = find_share(axis.scale, extent, _array(places))
        return Marks(places=tuple(places), labels=_drop_crowded(labels, shares * height, sizes))

    def mark_across(self, at: int, width: float) -> Marks:
        axis, extent, points = self.panels[at].x, self.extents[at][0], self.type.across
        gap = measure_width("0", points)
        inside = _list_inside(axis, extent)
        if inside is None:
            share = self.sheet.width / WIDTH_INCH
            for most in range(max(2, round(share * TICKS_ACROSS)), 1, -1):
                marks = _mark_evenly(extent, most)
                sizes = [measure_width(label, points) + gap for label in marks.labels]
                shares = find_share(axis.scale, extent, _array(marks.places))
                if all(_drop_crowded(marks.labels, shares * width, sizes)):
                    break
            return marks
        places, labels = tuple(inside[0]), list(inside[1])
        along = find_share(axis.scale, extent, _array(places)) * width
        apart = min((b - a for a, b in itertools.pairwise(along.tolist())), default=width)
        lined = [wrap_label(label, apart - gap, points) for label in labels]
        if all(
            fits_unbroken(label, apart - gap, points) and text.count("\n") < NAME_LINES
            for label, text in zip(labels, lined, strict=True)
        ):
            return Marks(places=places, labels=tuple(lined))
        short = [wrap_label(label, measure_width("n" * LABEL_LETTERS, points), points) for label in labels]
        sizes = [measure_width(label, points) + gap for label in short]
        kept = _drop_crowded(short, along, sizes)
        if all(kept) or all(label[:1].isdigit() for label in labels):
            level = self._trim(at, Marks(places=places, labels=kept), width)
            if sum(map(bool, level.labels)) >= min(2, len(labels)):
                return level
        high = TURNED_INCH if self.sheet.height is None else min(TURNED_INCH, 0.3 * self.sheet.height)
        turned = [wrap_label(label, high, points, most=NAME_LINES) for label in labels]
        sizes = [measure_height(label, points) for label in turned]
        return Marks(places=places, labels=_drop_crowded(turned, along, sizes), turned=True)

    def _trim(self, at: int, marks: Marks, width: float) -> Marks:
        """The marks of a narrow panel without labels that reach far beyond the ends of its axis."""
        if width >= NARROW_INCH:
            return marks
        labels = list(marks.labels)
        for index, label in enumerate(labels):
            only = Marks(places=marks.places[index : index + 1], labels=(label,))
            if max(self.find_overhang(at, only, width)) > OVERHANG_INCH:
                labels[index] = ""
        return replace(marks, labels=tuple(labels))

    def find_overhang(self, at: int, marks: Marks, width: float) -> tuple[float, float]:
        """How far labels of x reach beyond the ends of their axis, before and after it."""
        shares = find_share(self.panels[at].x.scale, self.extents[at][0], _array(marks.places))
        before = after = 0.0
        for share, label in zip(shares.tolist(), marks.labels, strict=True):
            if label and math.isfinite(share):
                turned = measure_height(label, self.type.across)
                half = (turned if marks.turned else measure_width(label, self.type.across)) / 2
                before = max(before, half - share * width)
                after = max(after, half - (1 - share) * width)
        return before, after

    def find_field_points(self, panel: Panel, width: float, height: float) -> float:
        """The size of the numbers of a grid, at most that of a small text. Raises NoRoomError."""
        grid = _find_grid(panel)
        if grid is None:
            return 0.0
        across, upwards = 0.9 * width / len(grid.x), 0.85 * height / len(grid.y)
        widest = measure_widest([text for row in format_fields(grid) for text in row], 1.0)
        points = min(FIELD_POINTS_SHARE * self.type.text, upwards / line_inch(1.0), across / (widest or 1.0))
        if self.fixed and points < FIELD_POINTS_MIN:
            raise NoRoomError(width=self.sheet.width + width * (FIELD_POINTS_MIN / points - 1))
        return max(points, FIELD_POINTS_MIN)


class _Grid:
    """Panels in columns, their rows from the top; ``above``: titles of y axes are above the panels."""

    def __init__(self, of: _Arranger, *, columns: int, above: bool) -> None:
        self.of, self.above, self.columns = of, above, columns
        self.every = range(len(of.panels))
        self.lines = [self.every[at : at + columns] for at in self.every[::columns]]
        self.labelled = [not of.shared_x or at + columns >= len(of.panels) for at in self.every]
        titles = {panel.x.title for panel, named in zip(of.panels, self.labelled, strict=True) if named}
        self.joined = columns > 1 and len(titles) == 1
        wide = of.sheet.width / columns
        self.lefts, self.rights = [0.15 * wide] * columns, [PAD_INCH] * columns
        self.besides = [TICK_INCH] * columns
        self.heads = [""] * len(of.panels)
        self.below = [3 * line_inch(of.type.label)] * len(of.panels)
        self.across: list[Marks] = []

    def arrange(self) -> Arrangement:
        """The places of all panels. Raises NoRoomError."""
        result: Arrangement | None = None
        for _ in range(_PASSES):
            before, result = result, self._pass()
            if result == before:
                break
        assert result is not None
        return result

    def _pass(self) -> Arrangement:
        """The places with labels for the room that the last pass left them."""
        of = self.of
        highs = [high for high, line in zip(self._share_height(), self.lines, strict=True) for _ in line]
        y_titles = [
            "" if self.above else of.write_y_title(of.panels[at].y.title, highs[at]) for at in self.every
        ]
        upwards = [of.mark_upwards(at, highs[at]) for at in self.every]
        widths = [self._find_width(at) for at in self.every]
        across = [of.mark_across(at, widths[at]) for at in self.every]
        for column in range(self.columns):
            members = self.every[column :: self.columns]
            ends = [of.find_overhang(at, across[at], widths[at]) for at in members if self.labelled[at]]
            widest = max(measure_widest(upwards[at].labels, of.type.upwards) for at in members)
            self.besides[column] = widest + TICK_INCH
            lines = max(measure_height(y_titles[at], of.type.label) for at in members)
            self.lefts[column] = max(
                PAD_INCH + lines + self.besides[column], *(before + PAD_INCH / 2 for before, _ in ends)
            )
            self.rights[column] = max(PAD_INCH, *(after + PAD_INCH / 2 for _, after in ends))
        widths = [self._find_width(at) for at in self.every]
        x_titles = [self._write_x_title(at) for at in self.every]
        self.heads = [
            self._wrap(
                of.choose_head(of.panels[at], above=self.above), self._find_head(at)[1], of.type.legend
            )
            for at in self.every
        ]
        self.below = [
            of.measure_below(across[at], x_titles[at], named=self.labelled[at]) for at in self.every
        ]
        places: list[PanelPlace] = []
        top = of.measure_title()
        for line in self.lines:
            top += max(self._measure_above(at) for at in line)
            for at in line:
                marks = across[at]
                if not self.labelled[at]:
                    marks = replace(marks, labels=("",) * len(marks.labels))
                column = at % self.columns
                places.append(
                    PanelPlace(
                        left=of.sheet.width / self.columns * column + self.lefts[column],
                        bottom=-(top + highs[at]),
                        width=widths[at],
                        height=highs[at],
                        beside=self.besides[column],
                        across=marks,
                        upwards=upwards[at],
                        x_title=x_titles[at],
                        x_title_share=self._find_middle(at),
                        y_title=y_titles[at],
                        title=self.heads[at],
                        title_share=self._find_head(at)[0],
                        field_points=of.find_field_points(of.panels[at], widths[at], highs[at]),
                    )
                )
            top += highs[line[0]] + max(self.below[at] for at in line)
        height = of.sheet.height or top + of.measure_foot()
        return Arrangement(
            width=of.sheet.width,
            height=height,
            panel_places=tuple(replace(item, bottom=item.bottom + height) for item in places),
            title=of.title,
            legend=of.legend,
            caption=of.caption,
        )

    def _write_x_title(self, at: int) -> str:
        """The title of x below a panel; panels side by side with the same have it once."""
        if not self.labelled[at] or (self.joined and at != self.lines[-1][0]):
            return ""
        room = self._find_width(at)
        if self.columns > 1:
            room = self.of.sheet.width / (1 if self.joined else self.columns) - PAD_INCH
        title, points = self.of.panels[at].x.title, self.of.type.label
        return wrap_label(title, room, points) if self.joined else self._wrap(title, room, points)

    def _find_middle(self, at: int) -> float:
        """Where the middle of the title of x is, in widths of the panel."""
        if self.columns == 1:
            return 0.5
        wide = self.of.sheet.width / self.columns
        middle = self.of.sheet.width / 2 if self.joined else (at % self.columns + 0.5) * wide
        return (middle - at % self.columns * wide - self.lefts[at % self.columns]) / self._find_width(at)

    def _measure_above(self, at: int) -> float:
        return self.of.measure_above(self.heads[at], aside=self.columns > 1)

    def _find_head(self, at: int) -> tuple[float, float]:
        """Where the title above a panel starts, in widths of the panel, and the width that it has room for.

        Above panels side by side it starts with the labels of y.
        """
        width = self._find_width(at)
        if self.columns == 1:
            return 0.0, width
        aside = self.lefts[at % self.columns] - PAD_INCH / 2
        return -aside / width, self.of.sheet.width / self.columns - PAD_INCH

    def _wrap(self, text: str, width: float, points: float) -> str:
        """The text in lines; side by side panels break no word. Raises NoRoomError."""
        if self.columns > 1 and not fits_unbroken(text, width, points):
            short = measure_widest(text.split(), points) - width
            raise NoRoomError(width=self.of.sheet.width + self.columns * short)
        return wrap_label(text, width, points)

    def _find_width(self, at: int) -> float:
        """The width of a panel. Raises NoRoomError where nothing could be read in it."""
        column, wide = at % self.columns, self.of.sheet.width / self.columns
        width = wide - self.lefts[column] - self.rights[column]
        least = LEAST_WIDTH_LINES * line_inch(self.of.type.across)
        if width < least:
            raise NoRoomError(width=self.columns * (wide - width + least))
        return width

    def _share_height(self) -> list[float]:
        """The heights of the rows of panels."""
        of = self.of
        wanted = [max(of.wish_height(of.panels[at]) for at in line) for line in self.lines]
        least = [max(map(of.find_least, line)) for line in self.lines]
        if of.sheet.height is None:
            return [max(pair) for pair in zip(wanted, least, strict=True)]
        around = of.measure_title() + of.measure_foot()
        for line in self.lines:
            around += max(self._measure_above(at) for at in line)
            around += max(self.below[at] for at in line)
        spare = of.sheet.height - around - sum(least)
        if spare < 0:
            raise NoRoomError(height=around + sum(least))
        return [item + spare * wish / sum(wanted) for item, wish in zip(least, wanted, strict=True)]


def _find_grid(panel: Panel) -> Grid | None:
    return next((layer for layer in panel.layers if isinstance(layer, Grid)), None)


def _list_inside(axis: Axis, extent: Extent) -> tuple[list[float], list[str]] | None:
    """Places to mark that are on the axis, and their labels."""
    marks = list_marks(axis, extent)
    if marks is None:
        return None
    inside = [
        (place, label) for place, label in zip(*marks, strict=True) if extent.low <= place <= extent.high
    ]
    return [place for place, _ in inside], [label for _, label in inside]


def _array(values: Sequence[float]) -> Numbers:
    return np.asarray(values, dtype=np.float64)


def _drop_crowded(labels: Sequence[str], numbers: Numbers, sizes: Sequence[float]) -> tuple[str, ...]:
    """The labels, "" for those that would touch the one before; places and sizes in inches."""
    kept: list[str] = []
    free_from = -math.inf
    for label, place, size in zip(labels, numbers.tolist(), sizes, strict=True):
        fits = math.isfinite(place) and place - size / 2 >= free_from - 1e-9
        kept.append(label if fits else "")
        if fits and label:
            free_from = place + size / 2
    return tuple(kept)


def _mark_evenly(extent: Extent, most: int) -> Marks:
    result = MaxNLocator(nbins=most, steps=(1, 2, 2.5, 5, 10)).tick_values(extent.low, extent.high)
    places = tuple(float(place) for place in result if extent.low <= place <= extent.high)
    return Marks(places=places, labels=_format_evenly(places))


def _format_evenly(places: tuple[float, ...]) -> tuple[str, ...]:
    """Labels of a linear axis, all with as many decimals as its step needs."""
    if len(places) < 2:
        return tuple(format_tick(place) for place in places)
    step, largest = abs(places[1] - places[0]), max(map(abs, places))
    if largest >= 1e5 or largest < 1e-3 or not step:
        digits = max(1, math.ceil(math.log10(largest / step)) + 1) if step and largest else 3
        return tuple(format_tick(place, digits) for place in places)
    decimals = next((n for n in range(7) if abs(round(step, n) - step) < step * 1e-3), 7)
    return tuple(f"{place:.{decimals}f}" for place in places)
