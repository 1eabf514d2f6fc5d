"""The report as a PDF: the page without scripts, every figure as a drawing, laid out by WeasyPrint."""

from __future__ import annotations

import importlib
import logging
from pathlib import Path
from typing import Any

from pathlab.errors import PathlabError, UsageError
from pathlab.report.blocks import Report
from pathlab.report.formats.html import Shape, read_template, render_page
from pathlab.report.formats.output_file import write_whole
from pathlab.report.plots.live import SHEET
from pathlab.report.plots.markup import render_printed
from pathlab.report.plots.model import Plot

ROWS_PRINTED = 60


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
            hint="pip install 'pathlab[pdf]', or write HTML",
        ) from error
    except OSError as error:
        raise UsageError(
            "a PDF needs the library Pango, which is not installed",
            hint="Debian: apt-get install libpango-1.0-0 libpangoft2-1.0-0; or write HTML",
        ) from error


def render_pdf(report: Report) -> bytes:
    """The PDF as bytes. Tables have at most ``ROWS_PRINTED`` rows; nothing is fetched from anywhere."""
    weasyprint = load_weasyprint()
    logging.getLogger("weasyprint").setLevel(logging.ERROR)
    page = render_page(
        report,
        draw=_PrintedFigures(),
        sheet=read_template("report.css") + SHEET + read_template("paper.css"),
        scripts=(),
        shape=Shape(rows_folded=0, rows=ROWS_PRINTED, flat=True),
    )
    # only what the page itself holds
    fetcher = weasyprint.urls.URLFetcher(allowed_protocols={"data"})
    found = weasyprint.HTML(string=page, url_fetcher=fetcher).write_pdf()
    if not isinstance(found, bytes):
        raise PathlabError("WeasyPrint gave no document", hint="take --format html")
    return found


class _PrintedFigures:
    """Draws every figure as a drawing."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, plot: Plot) -> str:
        self._count += 1
        return render_printed(plot, f"f{self._count}")
