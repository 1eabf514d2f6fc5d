"""What a run and its report say about results in the terminal, and the report that ends a run."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from pathlab.report.base.inputs import ReportInputs
from pathlab.report.formats.forms import FORMS, place_form
from pathlab.report.formats.terminal import render_summary
from pathlab.report.report_builder import arrange_report, gather_inputs
from pathlab.report.runs.notices import list_notices
from pathlab.report.topics import summarise_topics
from pathlab.study.analyses import StudiedResults


def close_run(folder: Path, console: Console | None) -> Path:
    """Write the HTML report of a run and print its summary where there is a console; the report's path."""
    with StudiedResults.open(folder) as results:
        inputs = gather_inputs(results)
        if console is not None:
            console.print()
            print_summary(inputs, console)
        return FORMS["html"].write(arrange_report(inputs), place_form("html", folder, None, several=False))


def print_summary(inputs: ReportInputs, console: Console) -> None:
    """Print the answers, tables and warnings of results."""
    render_summary(summarise_topics(inputs.study), list_notices(inputs.study), console)
