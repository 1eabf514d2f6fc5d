"""What a run leaves behind when it ends: a summary on the terminal and the HTML report."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from pathlab.report.formats.html import write_html
from pathlab.report.formats.terminal import render_summary
from pathlab.report.report_builder import arrange_report, gather_inputs
from pathlab.report.sections.notices import list_notices
from pathlab.study.analyses import StudiedResults

REPORT_NAME = "report.html"


def close_run(folder: Path, console: Console | None) -> Path:
    """Write the report of what is stored, and print its summary where there is a console; its path."""
    with StudiedResults.open(folder) as results:
        inputs = gather_inputs(results)
        if console is not None:
            console.print()
            notices = list_notices(inputs.summary)
            render_summary(inputs.summary, inputs.study.recommend(), notices, console)
        return write_html(arrange_report(inputs), folder / REPORT_NAME)
