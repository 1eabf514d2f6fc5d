"""``pathlab view RESULTS... VIEW``: a view of the explorer as a table in the terminal, or as a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import click

from pathlab._version import VERSION
from pathlab.cli.commands.checks import split_view
from pathlab.cli.console import TerminalConsole, print_left_out
from pathlab.errors import StoreError
from pathlab.printed_table import PrintedParagraph
from pathlab.report.explorer.figure import describe_view, name_columns, plot_exploration
from pathlab.report.explorer.figure_csv import write_figure_csv
from pathlab.report.explorer.terminal import ExplorationPrinter
from pathlab.report.formats.output_file import write_whole
from pathlab.report.plots.figure_look import FigureLook, read_look
from pathlab.report.plots.printed import draw_file
from pathlab.store.saved_views import find_view
from pathlab.study.exploration.curves import build_from_rows
from pathlab.study.exploration.exploration import Exploration
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.exploration.filtering import select_rows
from pathlab.study.exploration.view import View
from pathlab.study.exploration.view_text import format_view, parse_view

DOCUMENT, DOCUMENT_VERSION = "pathlab-view", 1


def view(
    given: tuple[str, ...],
    output: Path | None,
    size: str | None = None,
    title: str | None = None,
    labels: tuple[str, ...] = (),
    style: Path | None = None,
) -> None:
    """Print the view of the results, or write it as the ending of ``output`` says and print that path.

    ``given``: results folders, and last the view's text or the name of a saved view; without one it is the
    view that the explorer opens with. The others are how a figure looks. Raises UsageError and StoreError, as
    the results, the view and the figure do.
    """
    paths, text = split_view(given)
    results = ExploredResults.open(paths)
    console = TerminalConsole(stderr=True)
    for source in results.sources:
        for note in source.notes:
            console.print(PrintedParagraph(f"{source.path}: {note}"))
    if not len(results):
        raise StoreError(
            f"no trial is stored in {', '.join(f'{str(path)!r}' for path in paths)}",
            hint="run the campaign first: pathlab run CAMPAIGN",
        )
    chosen = parse_view(find_view([Path(item.path) for item in results.sources if item.path], text), results)
    rows = select_rows(results, chosen)
    from_rows = build_from_rows(results, chosen, rows)
    if output is None:
        colour = None if chosen.colour is None else results.column(chosen.colour).label
        texts = describe_view(results, chosen)
        printer = ExplorationPrinter(from_rows, texts, colour=colour, selected=len(rows), trials=len(results))
        shown = TerminalConsole()
        if len(results.sources) > 1:
            for item in results.sources:
                shown.print(
                    PrintedParagraph(f"{item.title or item.name} ({item.path})", mark=f"{item.label}: ")
                )
            shown.print()
        printer.print_to(shown)
    else:
        drawing = FigureChoice(ending=output.suffix, style=style, look=read_look(size, title, labels))
        write = WRITERS[output.suffix.lower()]
        click.echo(str(write_whole(output, write(results, chosen, from_rows, drawing))))


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureChoice:
    """How a figure is drawn, and the ending of its file."""

    ending: str
    style: Path | None
    look: FigureLook


def _write_csv(_results: ExploredResults, _view: View, found: Exploration, _drawing: FigureChoice) -> bytes:
    return write_figure_csv(found).encode()


def _write_json(results: ExploredResults, chosen: View, found: Exploration, _drawing: FigureChoice) -> bytes:
    document = {
        "document": DOCUMENT,
        "version": DOCUMENT_VERSION,
        "program_version": VERSION,
        "results": [
            {
                "label": source.label,
                "name": source.name,
                "title": source.title,
                "path": source.path,
                "notes": source.notes,
            }
            for source in results.sources
        ],
        "view": format_view(chosen),
        "exploration": found.to_json(),
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1).encode()


def _draw(results: ExploredResults, chosen: View, found: Exploration, drawing: FigureChoice) -> bytes:
    plot = plot_exploration(found, describe_view(results, chosen))
    look = replace(drawing.look, labels=name_columns(drawing.look.labels, found))
    drawn = draw_file(plot, drawing.ending, drawing.style, look)
    print_left_out(drawn.left_out)
    return drawn.content


#: What each ending of --output writes.
WRITERS: Mapping[str, Callable[[ExploredResults, View, Exploration, FigureChoice], bytes]] = {
    ".csv": _write_csv,
    ".json": _write_json,
    ".pdf": _draw,
    ".png": _draw,
    ".svg": _draw,
}
