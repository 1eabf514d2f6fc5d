"""Plots for print: matplotlib figures, as SVG inside a page or as files. Nothing here touches pyplot."""

from __future__ import annotations

import difflib
import functools
import io
import logging
import math
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from html import escape
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.style  # mpl.style is not there before
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from pathlab.errors import UsageError
from pathlab.files import replace_file
from pathlab.report.plots.arrangement import (
    COLUMN_GAP_RATIO,
    HANDLE_GAP_RATIO,
    HANDLE_RATIO,
    PAD_INCH,
    ROW_GAP_RATIO,
    WIDTH_INCH,
    Arrangement,
    Marks,
    NoRoomError,
    Sheet,
    arrange_plot,
    list_trace_names,
    write_title,
)
from pathlab.report.plots.callouts import Room, place_texts
from pathlab.report.plots.extents import Extent, measure_extents
from pathlab.report.plots.figure_file import check_figure_file, convert_write_errors
from pathlab.report.plots.figure_look import OWN_LOOK, FigureLook, rename_labels
from pathlab.report.plots.joined_marks import join_marks
from pathlab.report.plots.layers import (
    CALLOUT_OFF_POINTS,
    MARK_POINTS,
    NAME_OFF_POINTS,
    RING_POINTS,
    Pen,
    draw_key,
    draw_layer,
)
from pathlab.report.plots.lettering import (
    POINTS_PER_INCH,
    line_inch,
    measure_height,
    measure_width,
    read_points,
    wrap_label,
)
from pathlab.report.plots.model import Plot, Scale
from pathlab.report.plots.preparation import has_content, prepare_plot
from pathlab.report.plots.style import BLANK, INK, STYLE, UNMOVED

_TAG = re.compile(r"<[^>]*>")  # numbers in tags are shortened, text between them is not
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_IDLE = re.compile(
    r'<g id="(?:figure|patch|axes|line2d|text|xtick|ytick|matplotlib\.axis|legend|FillBetween)[^"]*"'
)
_GROUP = re.compile(r"<g\b[^>]*>|</g>")
_FONT = " font-family: 'DejaVu Sans', sans-serif;"  # the page's own
_USE_STYLE = re.compile(r'(<g(?: clip-path="[^"]*")?)>\s*((?:<use [^>]*? (style="[^"]*")/>\s*)+)</g>')
#: Size of the names of rows in points, at least, and by what it is reduced until they fit.
ROW_POINTS_MIN, ROW_POINTS_STEP = 5.0, 0.9
#: Of a figure without room: how often its size is enlarged, and the least type that is tried, in points.
SIZE_PASSES, TYPE_POINTS_MIN = 6, 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnFile:
    """The content of a figure's file, and the texts that are not in it: no room, or no title wanted."""

    content: bytes
    left_out: tuple[str, ...]


def render_svg(
    plot: Plot, key: str, *, titled: bool = False, alone: bool = False, width_inch: float = WIDTH_INCH
) -> str:
    """The plot as an ``<svg>`` element whose ids begin with ``key``, its ink and type those of the page.

    ``titled``: the picture also has title and condition. An empty plot shows its reason. The result has
    no width: the page sets it. ``alone``: for a file or an image, with width, ink and type of its own.
    """
    ready = prepare_plot(plot)
    buffer = io.StringIO()
    with _styled(None, {"svg.hashsalt": key}):
        figure = draw_plot(ready, titled=titled, width_inch=width_inch)
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = _tidy(buffer.getvalue(), key)
    if not alone:
        text = _yield_to_page(text)
    label = escape(" ".join(f"{ready.title}. {ready.sentence or ready.empty or ''}".split()))
    return text.replace("<svg", f'<svg role="img" aria-label="{label}"', 1).strip()


def write_figure(
    plot: Plot, out: Path, style: Path | str | None = None, look: FigureLook = OWN_LOOK
) -> tuple[str, ...]:
    """Write the plot as the ending of ``out`` says: .svg, .pdf or .png (200 dpi); the texts left out of it.

    ``style``: a matplotlib style sheet, or the name of one, that overrides PathLab's own. Raises UsageError
    for an ending, a style, a size, a label or a file that cannot be used.
    """
    check_figure_file(out, "--out")
    drawn = draw_file(plot, out.suffix, style, look)
    with convert_write_errors(out):
        replace_file(out, drawn.content)
    return drawn.left_out


def draw_file(
    plot: Plot, ending: str, style: Path | str | None = None, look: FigureLook = OWN_LOOK
) -> DrawnFile:
    """The file that ``write_figure`` writes; raises UsageError for style, size and labels."""
    buffer = io.BytesIO()
    with _styled(style, {"svg.hashsalt": plot.name}):
        ready = prepare_plot(rename_labels(plot, look.labels))
        figure, left_out = _draw_sheet(ready, look)
        metadata: dict[str, Any] = {"Title": f"{ready.title}: {ready.condition}"}
        if ending.lower() == ".pdf":
            metadata["CreationDate"] = None
        elif ending.lower() == ".svg":
            metadata["Date"] = None
        figure.savefig(buffer, format=ending.lower().removeprefix("."), metadata=metadata)
    return DrawnFile(content=buffer.getvalue(), left_out=left_out)


def draw_plot_figure(plot: Plot, style: Path | str | None = None, look: FigureLook = OWN_LOOK) -> Figure:
    """The plot as a figure of matplotlib, as its files have it; raises UsageError as they do."""
    with _styled(style, {}):
        return _draw_sheet(prepare_plot(rename_labels(plot, look.labels)), look)[0]


def _draw_sheet(ready: Plot, look: FigureLook) -> tuple[Figure, tuple[str, ...]]:
    """A figure as ``look`` wants it in the style that is set, and the texts that are left out of it.

    Without a title the sentence about the figure is left out as well: it belongs into the text alongside it.
    """
    width, height = look.size_inch or _read_size() or (WIDTH_INCH, None)
    sheet = Sheet(width=width, height=height)
    if look.title is None:
        sheet = replace(sheet, title=ready.title, condition=ready.condition)
    elif look.title:
        sheet = replace(sheet, title=look.title)
    if look.title != "":
        sheet = replace(sheet, caption=ready.sentence)
    try:
        figure, left_out = _draw_with_rows(ready, sheet, paper=to_hex(mpl.rcParams["axes.facecolor"]))
    except NoRoomError as found:
        raise _describe_shortage(ready, sheet, found) from found
    return figure, (*left_out, *([ready.sentence] if look.title == "" and ready.sentence else ()))


def _read_size() -> tuple[float, float | None] | None:
    """The size that a style sets, in inches."""
    size = mpl.rcParams["figure.figsize"]
    return None if size == mpl.rcParamsDefault["figure.figsize"] else (float(size[0]), float(size[1]))


def _describe_shortage(plot: Plot, sheet: Sheet, room_error: NoRoomError) -> UsageError:
    """What a figure without room needs: a larger size, and the largest type that fits into its own."""
    points, given = read_points("font.size"), f"{sheet.width:g} x {sheet.height or 0:g} in"
    hints = []
    if needed := _find_size(plot, sheet, room_error):
        size = f"{needed.width:g} x {needed.height or 0:g} in"
        hints.append(f"at a font size of {points:g} pt it needs about {size}")
    if fitting := _find_type(plot, sheet, points):
        hints.append(f"{given} are enough at {fitting:g} pt: set 'font.size' in --style")
    return UsageError(
        f"{given} are too small for '{plot.name}'", hint="; ".join(hints) or "give a larger --size"
    )


def _find_size(plot: Plot, sheet: Sheet, room_error: NoRoomError) -> Sheet | None:
    """A sheet on which the plot fits, in tenths of an inch; None where a few passes find none."""
    for _ in range(SIZE_PASSES):
        wide, high = max(sheet.width, room_error.width), max(sheet.height or 0.0, room_error.height)
        if not math.isfinite(high) or not math.isfinite(wide):
            return None
        sheet = replace(sheet, width=math.ceil(wide * 10) / 10, height=math.ceil(high * 10) / 10)
        try:
            _draw_with_rows(plot, sheet, paper="none")
        except NoRoomError as more:
            room_error = NoRoomError(width=more.width, height=max(more.height, (sheet.height or 0.0) + 0.1))
        else:
            return sheet
    return None


def _find_type(plot: Plot, sheet: Sheet, points: float) -> float | None:
    """The largest type that fits on the sheet, below ``points``; None where even the least is too large."""
    following = [name for name, size in _scale_type(points).items() if math.isclose(read_points(name), size)]
    while points > TYPE_POINTS_MIN:
        points = max(math.ceil(points * 2 - 1) / 2, TYPE_POINTS_MIN)
        scaled = _scale_type(points)
        try:
            with mpl.rc_context({"font.size": points, **{name: scaled[name] for name in following}}):
                _draw_with_rows(plot, sheet, paper="none")
        except NoRoomError:
            continue
        return points
    return None


def draw_plot(plot: Plot, *, titled: bool, width_inch: float = WIDTH_INCH) -> Figure:
    """A prepared plot as a figure as high as it needs, in the style that is set, on the page's own paper."""
    sheet = Sheet(width=width_inch)
    if titled:
        sheet = replace(sheet, title=plot.title, condition=plot.condition)
    return _draw(plot, sheet, paper="none")[0]


def _draw_with_rows(plot: Plot, sheet: Sheet, *, paper: str) -> tuple[Figure, tuple[str, ...]]:
    """The same as ``_draw``, with smaller names of rows where they have no room otherwise."""
    points = read_points("ytick.labelsize")
    while True:
        try:
            with mpl.rc_context({"ytick.labelsize": points}):
                return _draw(plot, sheet, paper=paper)
        except NoRoomError:
            if points <= ROW_POINTS_MIN or not any(panel.y.rows for panel in plot.panels):
                raise
        points = max(ROW_POINTS_STEP * points, ROW_POINTS_MIN)


def _draw(plot: Plot, sheet: Sheet, *, paper: str) -> tuple[Figure, tuple[str, ...]]:
    """A prepared plot on a sheet, and the texts that there was no room for. Raises NoRoomError."""
    if plot.empty is not None:
        return _draw_reason(plot, sheet), ()
    extents = measure_extents(plot)
    placed = arrange_plot(plot, extents, sheet)
    plot = _place_texts(plot, extents, placed)
    if list_trace_names(plot) != list(placed.legend.texts):  # texts without room in their panel
        placed = arrange_plot(plot, extents, sheet)
        plot = _place_texts(plot, extents, placed)
    figure = Figure(figsize=(placed.width, placed.height))
    result: dict[str, Any] = {}
    for panel, place, reach in zip(plot.panels, placed.panel_places, extents, strict=True):
        axes = figure.add_axes(
            (
                place.left / placed.width,
                place.bottom / placed.height,
                place.width / placed.width,
                place.height / placed.height,
            )
        )
        _set_axis(axes, axes.xaxis, panel.x.scale, place.across)
        _set_axis(axes, axes.yaxis, panel.y.scale, place.upwards)
        if place.across.turned:
            axes.tick_params(axis="x", labelrotation=90)
        pen = Pen(field_points=place.field_points, paper=paper)
        for number, layer in enumerate(panel.layers):
            draw_layer(axes, layer, panel, number, pen)
        axes.set(xlim=(reach[0].low, reach[0].high), ylim=(reach[1].low, reach[1].high))
        _show_whole_markers(axes)
        axes.set_xlabel(place.x_title, x=place.x_title_share)
        axes.set_ylabel(place.y_title)
        axes.yaxis.set_label_coords(-(place.beside + 0.05) / place.width, 0.5)
        if place.title:
            small = mpl.rcParams["legend.fontsize"]
            aside = 0.6 * POINTS_PER_INCH * line_inch(read_points("ytick.labelsize"))
            pad = 3 + aside * (place.title_share < 0)
            axes.set_title(place.title, fontsize=small, pad=pad, loc="left", x=place.title_share)
        if not has_content(panel):
            axes.annotate(BLANK, (0.5, 0.5), xycoords="axes fraction", ha="center", va="center")
        handles, labels = axes.get_legend_handles_labels()
        result |= {
            label: handle for handle, label in zip(handles, labels, strict=True) if label not in result
        }
    if placed.title:
        figure.text(0.01, 1 - PAD_INCH / placed.height, placed.title, ha="left", va="top")
    small = mpl.rcParams["legend.fontsize"]
    if placed.caption:
        figure.text(
            0.01, PAD_INCH / 2 / placed.height, placed.caption, ha="left", va="bottom", fontsize=small
        )
    result |= {key.text: draw_key(key.kind, paper) for key in plot.keys}
    _place_legend(figure, result, placed)
    return figure, placed.left_out


def _show_whole_markers(axes: Axes) -> None:
    """Let markers at the ends of an axis reach over them; a line that leaves the panel is cut there."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    for line in axes.get_lines():
        x, y = (np.asarray(values, dtype=np.float64) for values in line.get_data())
        if line.get_marker() in ("", "None") or x.shape != y.shape:
            continue
        known = np.isfinite(x) & np.isfinite(y)
        inside = (x >= left) & (x <= right) & (y >= low) & (y <= high)
        if inside[known].all():
            line.set_clip_on(False)


def _place_texts(plot: Plot, extents: list[tuple[Extent, Extent]], placed: Arrangement) -> Plot:
    """The texts inside the panels where they fit at the size of the figure."""
    points = read_points("legend.fontsize")
    panels = []
    for panel, place, reach in zip(plot.panels, placed.panel_places, extents, strict=True):
        width, height = place.width * POINTS_PER_INCH, place.height * POINTS_PER_INCH
        room = Room(
            measure=functools.partial(_measure_share, points=points, width_inch=place.width),
            line=line_inch(points) / place.height,
            apart=(CALLOUT_OFF_POINTS / width, CALLOUT_OFF_POINTS / height),
            off_line=NAME_OFF_POINTS / height,
            ring=(RING_POINTS / 2 / width, RING_POINTS / 2 / height),
            mark=(MARK_POINTS / 2 / width, MARK_POINTS / 2 / height),
        )
        panels.append(place_texts(panel, reach, room))
    return replace(plot, panels=tuple(panels))


def _measure_share(text: str, *, points: float, width_inch: float) -> float:
    """The width of a text inside a panel in widths of the panel; callouts are bold."""
    return measure_width(text, points, bold=True) / width_inch


def _draw_reason(plot: Plot, sheet: Sheet) -> Figure:
    points = read_points("font.size")
    title = write_title(sheet)
    reason = wrap_label(plot.empty or "", 0.9 * sheet.width, points)
    head = measure_height(title, points) + PAD_INCH if title else 0.0
    height = sheet.height or head + measure_height(reason, points) + 0.5
    figure = Figure(figsize=(sheet.width, height))
    figure.text(0.01, 1 - PAD_INCH / height, title, ha="left", va="top")
    axes = figure.add_axes((0.01, 0.02, 0.98, max(0.1, (height - head) / height - 0.04)))
    axes.set(xticks=(), yticks=())
    axes.annotate(reason, (0.5, 0.5), xycoords="axes fraction", ha="center", va="center")
    return figure


def _set_axis(axes: Axes, chosen: Any, scale: Scale, marks: Marks) -> None:
    if scale is not Scale.LINEAR:
        set_scale = axes.set_xscale if chosen is axes.xaxis else axes.set_yscale
        set_scale("log", base=2 if scale is Scale.LOG2 else 10, nonpositive="clip")
        chosen.set_minor_locator(NullLocator())
    chosen.set_major_locator(FixedLocator(marks.places))
    chosen.set_major_formatter(FixedFormatter(marks.labels))


def _place_legend(figure: Figure, result: dict[str, Any], placed: Arrangement) -> None:
    legend, points = placed.legend, read_points("legend.fontsize")
    above = PAD_INCH / 2
    if placed.caption:
        above += measure_height(placed.caption, points) + PAD_INCH
    blocks = zip(legend.blocks, legend.columns, legend.heights, strict=True)
    for block, columns, height in reversed(list(blocks)):
        names = [name for name in block if name in result]
        drawn = figure.legend(
            [result[name] for name in names],
            [legend.texts[name] for name in names],
            loc="lower center",
            bbox_to_anchor=(0.5, above / placed.height),
            ncols=columns,
            borderpad=0,
            borderaxespad=0,
            labelspacing=ROW_GAP_RATIO,
            handlelength=HANDLE_RATIO,
            handletextpad=HANDLE_GAP_RATIO,
            columnspacing=COLUMN_GAP_RATIO,
        )
        for handle in drawn.findobj(Line2D):
            if handle.get_markersize() == RING_POINTS:  # it would reach beyond its row
                handle.set_markersize(points)
        above += height


@contextmanager
def _styled(style: Path | str | None, more: dict[Any, Any]) -> Iterator[None]:
    """PathLab's style, with ``style`` over it; sizes of type that this leaves out follow its ``font.size``.

    What would move or resize the figure after it was arranged is off, and so is TeX, which would read names.
    """
    with warnings.catch_warnings(), mpl.rc_context():
        # A letter that the font does not have is drawn as a box, which is no reason for a warning.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        mpl.rcParams.update(STYLE)
        if style is not None:
            given = _find_style(style)
            mpl.rcParams.update(given)
            following = _scale_type(float(mpl.rcParams["font.size"]))
            more = {**following, **{name: given[name] for name in following if name in given}, **more}
        mpl.rcParams.update(UNMOVED | more)
        yield


def _scale_type(points: float) -> dict[Any, Any]:
    """The sizes of type that follow ``font.size``, where that is ``points``."""
    return {name: STYLE[name] * points / STYLE["font.size"] for name in ("axes.titlesize", "legend.fontsize")}


def _find_style(style: Path | str) -> dict[Any, Any]:
    """The settings of a style sheet, or of matplotlib's style of that name."""
    if str(style) in mpl.style.library:
        return dict(mpl.style.library[str(style)])
    path = Path(style)
    if not path.suffix and not path.exists():
        near = difflib.get_close_matches(str(style), mpl.style.available, n=3, cutoff=0.5)
        meant = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise UsageError(
            f"'{style}' is neither a file nor a style of matplotlib{meant}",
            hint="name a style sheet (.mplstyle), or a style such as 'grayscale'",
        )
    return _read_style(path)


def _read_style(style: Path) -> dict[Any, Any]:
    """The settings of a style sheet; what matplotlib only logs is an error here."""
    handler = BufferingHandler(capacity=sys.maxsize)
    logger = logging.getLogger("matplotlib")
    before = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        result = dict[Any, Any](
            mpl.rc_params_from_file(style, fail_on_error=True, use_default_template=False)
        )
        reason = "".join(record.getMessage() for record in handler.buffer[:1])
    except (OSError, UnicodeDecodeError, ValueError, KeyError) as error:
        reason = getattr(error, "strerror", None) or str(error)
    finally:
        logger.removeHandler(handler)
        logger.propagate = before
    if reason:
        raise UsageError(
            f"the style '{style}' cannot be used: {' '.join(reason.split())}",
            hint="a style sheet has lines such as 'axes.grid: False' (matplotlib's .mplstyle)",
        )
    return result


def _tidy(text: str, key: str) -> str:
    """What matplotlib wrote, without what says nothing; ids begin with ``key``."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    text = _IDLE.sub("<g", text)  # names that nothing refers to
    text = re.sub(r">\s+<", "><", text).replace(' transform="rotate(-0', ' data-turn="rotate(-0')
    text = re.sub(r' data-turn="[^"]*"', "", text)
    text = re.sub(r"\s*\n\s*", " ", text)
    text = re.sub(r'\bid="', f'id="{key}-', text)
    text = re.sub(r"url\(#", f"url(#{key}-", text)
    text = re.sub(r'href="#', f'href="#{key}-', text)
    text = join_marks(_drop_idle_groups(_USE_STYLE.sub(_lift_style, text)))
    return _TAG.sub(lambda tag: _NUMBER.sub(_shorten_number, tag[0]), text)


def _yield_to_page(text: str) -> str:
    """Ink, type and width are left to the page; the view box keeps the proportions."""
    text = text.replace(INK, "currentColor").replace(_FONT, "")
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    return re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)


def _drop_idle_groups(text: str) -> str:
    """The same without groups that say nothing, which every reader would walk through for nothing."""
    kept: list[bool] = []

    def drop(tag: re.Match[str]) -> str:
        if tag[0].endswith("/>"):
            return ""
        if tag[0] != "</g>":
            kept.append(tag[0] != "<g>")
            return tag[0] if kept[-1] else ""
        return tag[0] if kept.pop() else ""

    return _GROUP.sub(drop, text)


def _shorten_number(result: re.Match[str]) -> str:
    return f"{float(result[0]):.2f}".rstrip("0").rstrip(".")


def _lift_style(result: re.Match[str]) -> str:
    """Points of one look: their style once, around them."""
    styles = set(re.findall(r'style="[^"]*"', result[2]))
    if len(styles) != 1:
        return result[0]
    (style,) = styles
    return f"{result[1]} {style}>{result[2].replace(f' {style}', '')}</g>"
