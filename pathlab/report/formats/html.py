"""The report as one HTML file that needs nothing else: figures, scripts and style inside, no network."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from pathlab.escaping import escape_controls
from pathlab.report.base.blocks import Block, Fold, Report, Section, TableBlock, group_sections, list_figures
from pathlab.report.formats.output_file import write_whole
from pathlab.report.plots.live import SCRIPT, SHEET, read_library
from pathlab.report.plots.markup import render_figure
from pathlab.report.plots.model import Plot
from pathlab.store.flags import Flag

#: Figures, not folded, of which the page also has pictures: what a preview without scripts shows. Drawing
#: one takes as long as all else about it, so that the rest is left to the page's script.
STATIC_FIGURES = 12
STATIC_BYTES = 3_000_000
ROWS_FOLDED, ROWS_SHOWN = 40, 400
COLUMNS_UPRIGHT = 14  # of a table; a wider one is printed on a landscape page
#: Notices without which the answer would mislead: they come before it.
GRAVE = ("fallback", "empty", *(flag.value for flag in Flag if flag.notice and flag.notice.of_most))
_BEFORE_UNIT = re.compile(
    r"(?<=\d) (?=(?:%|×|[kMGT]?bit/s|[kKMGT]i?B|B|ns|µs|ms|s|min)(?![\w/]))|(?<=×) (?=\d)"
)
_TEMPLATES = resources.files("pathlab.report") / "templates"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How a page lays out long content.

    ``flat``: without folds, as on paper; ``details``: with the contents of those that hold details;
    ``narrow``: tables of so many columns stand side by side.
    """

    rows_folded: int = ROWS_FOLDED
    rows: int = ROWS_SHOWN
    flat: bool = False
    details: bool = True
    narrow: int = 0


def write_html(report: Report, out: Path) -> Path:
    """Write the page and return its path; the file is replaced as a whole. StoreError if it cannot be."""
    return write_whole(out, render_html(report).encode())


def render_html(report: Report) -> str:
    """The page as text."""
    drawn = any(plot.empty is None for plot in list_figures(report))
    return render_page(
        report,
        draw=_LiveFigures(report),
        sheet=read_template("report.css") + SHEET,
        scripts=(read_library(), SCRIPT) if drawn else (),
        shape=Shape(),
    )


def render_page(
    report: Report, *, draw: Callable[[Plot], str], sheet: str, scripts: Sequence[str], shape: Shape
) -> str:
    """A page whose figures ``draw`` makes; ``sheet`` and ``scripts`` are put in as they are."""
    environment = Environment(
        loader=PackageLoader("pathlab.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_show_controls,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["tie"] = tie_units_on_paper if shape.flat else tie_units
    environment.filters["kind"] = _name_kind
    environment.filters["wide"] = _begin_wide
    environment.filters["named_twice"] = _is_named_twice
    environment.filters["details"] = _list_details
    return environment.get_template("report.html").render(
        report=report,
        groups=group_sections(report),
        draw=lambda plot: Markup(draw(plot)),
        sheet=Markup(sheet),
        scripts=[Markup(script) for script in scripts],
        shape=shape,
        grave=GRAVE,
        several=len({notice.path for notice in report.notices if notice.path}) > 1,
    )


def read_template(name: str) -> str:
    """A packaged style sheet."""
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def tie_units(text: str) -> str:
    """Text in which no line breaks between a number and its unit."""
    return _BEFORE_UNIT.sub("\u00a0", text)


def tie_units_on_paper(text: str) -> Markup:
    """The same, and no line breaks within ``bit/s`` (in a browser this would hide it from searches).

    It is markup, because the word joiner would be shown as a control of the text.
    """
    shown = escape(escape_controls(tie_units(text)))
    return shown.replace("bit/s", "bit/\u2060s")


def _show_controls(value: Any) -> Any:
    """Text of a template with controls and invisible characters made visible; markup is left as it is."""
    return escape_controls(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _name_kind(block: Any) -> str:
    return type(block).__name__


def _begin_wide(blocks: Sequence[Block]) -> bool:
    """Whether the first block is a table for a landscape page; its heading then goes there too."""
    first = blocks[0] if blocks else None
    if isinstance(first, Fold):
        return _begin_wide(first.blocks)
    return isinstance(first, TableBlock) and len(first.shown) > COLUMNS_UPRIGHT


def _is_named_twice(fold: Fold) -> bool:
    """Whether a fold has the title of its only table."""
    return [getattr(block, "title", None) for block in fold.blocks] == [fold.title]


def _list_details(sections: Sequence[Section]) -> list[str]:
    """The titles of the folds that the paper of small results leaves out."""
    blocks = (block for section in sections for block in section.blocks)
    return [block.title for block in blocks if isinstance(block, Fold) and block.detail]


class _LiveFigures:
    """Draws the figures of a page one after the other, the first ones in sight as pictures too."""

    def __init__(self, report: Report) -> None:
        sections = (report.opening, *report.sections)
        shown = [
            block.name
            for section in sections
            if section.question is None
            for block in section.blocks
            if isinstance(block, Plot)
        ]
        self._still = set(shown[:STATIC_FIGURES])
        self._count = 0
        self._size_bytes = 0

    def __call__(self, plot: Plot) -> str:
        self._count += 1
        static = plot.name in self._still and self._size_bytes < STATIC_BYTES
        drawn = render_figure(plot, f"f{self._count}", static=static)
        if static:
            self._size_bytes += len(drawn.encode())
        return drawn
