"""The report as a PDF: the page without scripts, every figure as a drawing, laid out by WeasyPrint."""

from __future__ import annotations

import importlib
import logging
from pathlib import Path
from typing import Any

from pathlab.errors import PathlabError, UsageError
from pathlab.report.base.blocks import Report, list_blocks
from pathlab.report.formats.html import Shape, read_template, render_page
from pathlab.report.formats.output_file import write_whole
from pathlab.report.plots.arrangement import WIDTH_INCH
from pathlab.report.plots.live import SHEET
from pathlab.report.plots.markup import render_printed
from pathlab.report.plots.model import Plot

ROWS_PRINTED = 60
#: Up to so many trials the details are left to the other forms.
SMALL_TRIALS = 100
#: Tables of at most this number of columns stand next to figures.
COLUMNS_NARROW = 7
#: The width of figures that stand side by side, in inches before they are scaled to half a page.
HALF_INCH = 4.6


def write_pdf(report: Report, out: Path) -> Path:
    """Write the PDF and return its path; the file is replaced as a whole.

    Raises UsageError where WeasyPrint or Pango is missing, StoreError where the file cannot be written.
    """
    return write_whole(out, render_pdf(report))


def load_weasyprint() -> Any:
    """The module, which only a PDF needs. Raises UsageError where it or Pango is not installed."""
    try:
        return importlib.import_module("weasyprint")
    except ImportError as error:
        raise UsageError(
            "a PDF needs the package 'weasyprint', which is not installed",
            hint="pip install weasyprint, or write HTML",
        ) from error
    except OSError as error:
        raise UsageError(
            "a PDF needs the library Pango, which is not installed",
            hint="Debian: apt-get install libpango-1.0-0 libpangoft2-1.0-0; or write HTML",
        ) from error


def render_pdf(report: Report) -> bytes:
    """The PDF as bytes. Tables have at most ``ROWS_PRINTED`` rows; nothing is fetched from anywhere.

    Results of at most ``SMALL_TRIALS`` trials are printed without the details of each question.
    """
    weasyprint = load_weasyprint()
    logging.getLogger("weasyprint").setLevel(logging.ERROR)
    trials = report.trials.complete if report.trials is not None else SMALL_TRIALS + 1
    page = render_page(
        report,
        draw=_PrintedFigures(report),
        sheet=read_template("report.css") + SHEET + read_template("paper.css"),
        scripts=(),
        shape=Shape(
            rows_folded=0, rows=ROWS_PRINTED, flat=True, details=trials > SMALL_TRIALS, narrow=COLUMNS_NARROW
        ),
    )
    # only what the page itself holds
    fetcher = weasyprint.urls.URLFetcher(allowed_protocols={"data"})
    result = weasyprint.HTML(string=page, url_fetcher=fetcher).write_pdf()
    if not isinstance(result, bytes):
        raise PathlabError("WeasyPrint gave no document", hint="take --format html")
    return result


class _PrintedFigures:
    """Draws every figure as a drawing, those of questions for half the width of a page."""

    def __init__(self, report: Report) -> None:
        sections = [section for section in report.sections if section.question is not None]
        blocks = (block for section in sections for block in list_blocks(section.blocks))
        self._half = {block.name for block in blocks if isinstance(block, Plot)}
        self._count = 0

    def __call__(self, plot: Plot) -> str:
        self._count += 1
        width_inch = HALF_INCH if plot.name in self._half else WIDTH_INCH
        return render_printed(plot, f"f{self._count}", width_inch=width_inch)
