"""Plots for print: matplotlib figures, as SVG inside a page or as files. Nothing here touches pyplot."""

from __future__ import annotations

import io
import logging
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from pathlab.errors import UsageError
from pathlab.report.plots.arrangement import (
    LEGEND_LETTERS,
    LEGEND_NAMES_MAX,
    LINE_INCH,
    LINE_LETTERS,
    PAD_INCH,
    WIDTH_INCH,
    Marks,
    arrange_plot,
    write_title,
)
from pathlab.report.plots.extents import break_title, measure_extents
from pathlab.report.plots.figure_file import check_figure_file, refuse_unwritable
from pathlab.report.plots.joined_marks import join_marks
from pathlab.report.plots.layers import draw_layer
from pathlab.report.plots.model import Plot, Scale
from pathlab.report.plots.preparation import has_content, prepare_plot
from pathlab.report.plots.style import BLANK, INK, STYLE

_TAG = re.compile(r"<[^>]*>")  # numbers in tags are shortened, text between them is not
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_IDLE = re.compile(
    r'<g id="(?:figure|patch|axes|line2d|text|xtick|ytick|matplotlib\.axis|legend|FillBetween)[^"]*"'
)
_GROUP = re.compile(r"<g\b[^>]*>|</g>")
_FONT = " font-family: 'DejaVu Sans', sans-serif;"  # the page's own
_USE_STYLE = re.compile(r'(<g(?: clip-path="[^"]*")?)>\s*((?:<use [^>]*? (style="[^"]*")/>\s*)+)</g>')


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


def write_figure(plot: Plot, out: Path, style: Path | None = None) -> None:
    """Write the plot, its title included, as the ending of ``out`` says: .svg, .pdf or .png (200 dpi).

    ``style``: a matplotlib style sheet that overrides PathLab's own. Raises UsageError for an ending, a style
    or a file that cannot be used.
    """
    check_figure_file(out, "--out")
    drawn = draw_file(plot, out.suffix, style)
    with refuse_unwritable(out):
        out.write_bytes(drawn)


def draw_file(plot: Plot, ending: str, style: Path | None = None) -> bytes:
    """The content of the file that ``write_figure`` writes; raises UsageError for the style."""
    buffer = io.BytesIO()
    with _styled(style, {"svg.hashsalt": plot.name}):
        ready = prepare_plot(plot)
        figure = draw_plot(ready, titled=True)
        metadata: dict[str, Any] = {"Title": f"{ready.title}: {ready.condition}"}
        if ending.lower() == ".pdf":
            metadata["CreationDate"] = None
        elif ending.lower() == ".svg":
            metadata["Date"] = None
        figure.savefig(buffer, format=ending.lower().removeprefix("."), metadata=metadata)
    return buffer.getvalue()


def draw_plot(plot: Plot, *, titled: bool, width_inch: float = WIDTH_INCH) -> Figure:
    """A prepared plot as a figure, in the style that is set."""
    if plot.empty is not None:
        return _draw_reason(plot, titled=titled)
    extents = measure_extents(plot)
    placed = arrange_plot(plot, extents, titled=titled, width_inch=width_inch)
    figure = Figure(figsize=(placed.width, placed.height))
    found: dict[str, Any] = {}
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
        for number, layer in enumerate(panel.layers):
            draw_layer(axes, layer, panel, number)
        axes.set(xlim=(reach[0].low, reach[0].high), ylim=(reach[1].low, reach[1].high))
        axes.set(xlabel=place.x_title, ylabel=place.y_title)
        axes.yaxis.set_label_coords(-(place.beside + 0.05) / place.width, 0.5)
        if place.title:
            axes.set_title(place.title, fontsize=mpl.rcParams["legend.fontsize"], pad=3)
        if not has_content(panel):
            axes.annotate(BLANK, (0.5, 0.5), xycoords="axes fraction", ha="center", va="center")
        handles, labels = axes.get_legend_handles_labels()
        found |= {label: handle for handle, label in zip(handles, labels, strict=True) if label not in found}
    if placed.title:
        figure.text(0.01, 1 - PAD_INCH / placed.height, placed.title, ha="left", va="top")
    _place_legend(figure, found, placed.legend_columns)
    if mpl.rcParams["figure.figsize"] != mpl.rcParamsDefault["figure.figsize"]:
        figure.set_size_inches(*mpl.rcParams["figure.figsize"])
    return figure


def _draw_reason(plot: Plot, *, titled: bool) -> Figure:
    title = write_title(plot) if titled else ""
    reason = break_title(plot.empty or "", LINE_LETTERS - 4)
    head = (title.count("\n") + 1) * LINE_INCH + PAD_INCH if title else 0.0
    box = len(reason) * LINE_INCH + 0.5
    figure = Figure(figsize=(WIDTH_INCH, head + box))
    figure.text(0.01, 1 - PAD_INCH / (head + box), title, ha="left", va="top")
    axes = figure.add_axes((0.01, 0.02, 0.98, box / (head + box) - 0.04))
    axes.set(xticks=(), yticks=())
    axes.annotate("\n".join(reason), (0.5, 0.5), xycoords="axes fraction", ha="center", va="center")
    return figure


def _set_axis(axes: Axes, chosen: Any, scale: Scale, marks: Marks) -> None:
    if scale is not Scale.LINEAR:
        set_scale = axes.set_xscale if chosen is axes.xaxis else axes.set_yscale
        set_scale("log", base=2 if scale is Scale.LOG2 else 10, nonpositive="clip")
        chosen.set_minor_locator(NullLocator())
    chosen.set_major_locator(FixedLocator(marks.places))
    chosen.set_major_formatter(FixedFormatter(marks.labels))


def _place_legend(figure: Figure, found: dict[str, Any], columns: int) -> None:
    if not found:
        return
    names = list(found)[:LEGEND_NAMES_MAX]
    texts = [name if len(name) <= LEGEND_LETTERS else f"{name[: LEGEND_LETTERS - 1]}…" for name in names]
    handles = [found[name] for name in names]
    figure.legend(handles, texts, loc="lower center", bbox_to_anchor=(0.5, 0), ncols=columns, borderpad=0)


@contextmanager
def _styled(style: Path | None, more: dict[Any, Any]) -> Iterator[None]:
    with warnings.catch_warnings(), mpl.rc_context():
        # A letter that the font does not have is drawn as a box, which is no reason for a warning.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        mpl.rcParams.update(STYLE)
        if style is not None:
            mpl.rcParams.update(_read_style(style))
        mpl.rcParams.update(more)
        yield


def _read_style(style: Path) -> dict[Any, Any]:
    """The settings of a style sheet; what matplotlib only logs is an error here."""
    handler = BufferingHandler(capacity=sys.maxsize)
    logger = logging.getLogger("matplotlib")
    before = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        found = dict[Any, Any](mpl.rc_params_from_file(style, fail_on_error=True, use_default_template=False))
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
    return found


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


def _shorten_number(found: re.Match[str]) -> str:
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".")


def _lift_style(found: re.Match[str]) -> str:
    """Points of one look: their style once, around them."""
    styles = set(re.findall(r'style="[^"]*"', found[2]))
    if len(styles) != 1:
        return found[0]
    (style,) = styles
    return f"{found[1]} {style}>{found[2].replace(f' {style}', '')}</g>"
