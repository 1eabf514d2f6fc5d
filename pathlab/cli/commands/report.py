"""Write the report of stored results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from pathlab.cli.declaration import FIGURE_LOOK, argument, declare, flag, option
from pathlab.cli.deferred import DeferredImports
from pathlab.cli.names import FIGURE_FORMS, LIST, REPORT_FORMS, RESULTS_FORM_NAMES
from pathlab.cli.values import STORED_PATH, check_writable
from pathlab.errors import UsageError
from pathlab.store.location import locate_database

with DeferredImports() as libraries:
    from rich.console import Console

    from pathlab.cli.console import TerminalConsole
    from pathlab.cli.figures import place_figure, write_single
    from pathlab.cli.summary import print_summary
    from pathlab.report.formats.forms import FORMS, RESULTS_FORMS, choose_forms, load_libraries, place_form
    from pathlab.report.plots.figure_look import read_look
    from pathlab.report.report_builder import arrange_report, gather_inputs
    from pathlab.study.analyses import StudiedResults


def write_report(
    results: tuple[Path, ...],
    formats: tuple[str, ...],
    out: Path | None,
    *,
    figure: str | None,
    style: Path | None,
    size: str | None,
    title: str | None,
    labels: tuple[str, ...],
    quiet: bool,
) -> None:
    """Write the report of RESULTS, a results folder or its results.db, and print its path last. The form
    explorer takes several RESULTS.
    """
    if len(results) > 1 and (figure is not None or set(formats) - set(RESULTS_FORM_NAMES)):
        raise UsageError(
            f"a report is of one results folder, and {len(results)} are given",
            hint="several together: --format explorer, pathlab compare, or pathlab results merge",
        )
    if len(results) > 1 and not formats:
        raise UsageError(
            f"{len(results)} results folders are given",
            hint="--format explorer shows several on the same axes",
        )
    folder = locate_database(results[0]).parent
    if figure != LIST:
        check_writable(out or (folder if figure is None else Path()), "--out")
    chosen = {"--style": style, "--size": size, "--title": title, "--label": labels or None}
    for name, given in chosen.items():
        if figure is None and given is not None:
            raise UsageError(f"{name} is for a single figure", hint="give --figure NAME as well")
    libraries.load()
    if figure is not None and formats:
        out = place_figure(figure, formats, out)
    if figure is not None:
        with StudiedResults.open(results[0], hold=True) as stored:
            write_single(stored, figure, out, style, read_look(size, title, labels))
        return
    if drawn := [form for form in formats if form not in (*FORMS, *RESULTS_FORMS)]:
        raise UsageError(f"--format {drawn[0]} is for a single figure", hint="give --figure NAME as well")
    forms = choose_forms(formats, out)
    places = {name: place_form(name, folder, out, several=len(forms) > 1) for name in forms}
    load_libraries(forms)
    console = TerminalConsole(quiet=quiet)
    for number, path in enumerate(_write_forms(results, places, console)):
        if number == 0:
            console.print("Report:")
        click.echo(str(path))


def _write_forms(results: tuple[Path, ...], places: Mapping[str, Path], console: Console) -> Iterator[Path]:
    """Write each form, and print the summary where a report is among them; their paths, in their order."""
    if all(name in RESULTS_FORMS for name in places):
        for name, place in places.items():
            yield RESULTS_FORMS[name].write(results, place)
        return
    with StudiedResults.open(results[0], hold=True) as stored:
        inputs = gather_inputs(stored)
        print_summary(inputs, console)
        report = arrange_report(inputs)
        for name, place in places.items():
            if name in FORMS:
                yield FORMS[name].write(report, place)
            else:
                yield RESULTS_FORMS[name].write(results, place)


command = declare(
    "report",
    write_report,
    argument("results", nargs=-1, required=True, type=STORED_PATH, metavar="RESULTS..."),
    option(
        "--format",
        "formats",
        multiple=True,
        type=click.Choice(list(dict.fromkeys((*REPORT_FORMS, *RESULTS_FORM_NAMES, *FIGURE_FORMS)))),
        help="Form of the report; may be repeated. explorer: a page that filters, plots and compares trials. "
        "svg, pdf, png or csv of a --figure. Default: as --out ends, else html, of a figure svg.",
    ),
    option(
        "--out",
        type=click.Path(path_type=Path),
        help="File to write; default: report.html (.pdf, .md, .json), explorer.html next to the results.",
    ),
    option(
        "--figure",
        metavar="NAME",
        help="Write this figure alone (.svg, .pdf, .png; .csv: its numbers); 'list' names them all.",
    ),
    *FIGURE_LOOK,
    flag("--quiet", help="Print the paths of what was written only."),
)
