"""Print any view of stored results, or write it as a figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from pathlab._version import VERSION
from pathlab.cli.completions import complete_view_text
from pathlab.cli.declaration import FIGURE_LOOK, argument, declare, option
from pathlab.cli.deferred import DeferredImports
from pathlab.cli.values import CheckedPath, check_writable
from pathlab.errors import StoreError, UsageError
from pathlab.report.plots.figure_file import check_ending
from pathlab.store.location import locate_database

with DeferredImports() as libraries:
    import json
    from dataclasses import replace

    from pathlab.cli.console import TerminalConsole, print_left_out
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
    """Print a view of the explorer as a table: curves, intervals, trials, and what was excluded and why.

    VIEW is the part after # in the explorer's address, such as
    'x=streams&y=throughput_bits_per_s&colour=window_bytes', or the name of a saved view. Without it, the view
    is the one that the explorer opens with.
    """
    paths, text = _split_view(given)
    for path in paths:
        locate_database(path)
    if output is None or output.suffix.lower() in (".csv", ".json"):
        look = {"--size": size, "--title": title, "--label": labels or None, "--style": style}
        _check_no_look(look, f"--output {output}" if output else None)
    libraries.load()
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


def _split_view(given: tuple[str, ...]) -> tuple[list[Path], str]:
    """The results and the text of the view: the last argument, unless it is the only one or a file.

    Of an address of the explorer it is the part behind the ``#``. Its parts may be arguments of their own.
    """
    *paths, last = given
    if not paths or ("=" not in last and Path(last).exists()):
        return [Path(item) for item in given], ""
    parts = [last.rpartition("#")[2]]
    while len(paths) > 1 and "=" in paths[-1] and not Path(paths[-1]).exists():
        parts.insert(0, paths.pop())
    return [Path(path) for path in paths], "&".join(parts)


def _check_no_look(look: Mapping[str, object], file: str | None) -> None:
    """Raise UsageError for options of a figure where there is none; ``file``: what is written instead."""
    for name, value in look.items():
        if value is not None:
            raise UsageError(
                f"{name} is for a figure" + (f", and '{file}' is none" if file else ""),
                hint="write one: .svg, .pdf or .png",
            )


def _check_output(output: Path, option: str) -> None:
    check_ending(
        f"{option}: '{output}'", output, tuple(WRITERS), hint="name a file such as view.csv or view.svg"
    )
    check_writable(output, option)


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


command = declare(
    "view",
    view,
    argument(
        "given", nargs=-1, required=True, metavar="RESULTS... [VIEW]", shell_complete=complete_view_text
    ),
    option(
        "--output",
        type=CheckedPath(_check_output),
        metavar="FILE",
        help="Write the view into a file instead: .csv, .json, .svg, .pdf or .png.",
    ),
    *FIGURE_LOOK,
)
