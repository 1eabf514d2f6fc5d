"""Analyse stored results: fits, comparisons, limits, costs."""

from __future__ import annotations

from pathlib import Path

import click

from pathlab.cli.declaration import argument, declare, json_flag, option
from pathlab.cli.deferred import DeferredImports
from pathlab.cli.names import LIST
from pathlab.cli.values import PATH
from pathlab.errors import UsageError
from pathlab.store.location import locate_database

with DeferredImports() as series:
    from pathlab.reference.series import load_table

with DeferredImports() as libraries:
    import json

    from pathlab.cli.console import TerminalConsole
    from pathlab.cli.overlay import render_overlays
    from pathlab.report.base.answer_table import render_analyses
    from pathlab.study.analyses import StudiedResults
    from pathlab.study.base.registry import ANALYSES, choose_analyses
    from pathlab.study.base.selection import survey_table
    from pathlab.study.document import build_analysis_document


def analyze(
    results: Path, names: tuple[str, ...], reference: str | None, column: str | None, *, as_json: bool
) -> None:
    """Analyse RESULTS, a results folder or its results.db: fits, comparisons, limits, costs.

    What these trials cannot decide is shown as undecided, with the reason.
    """
    if column is not None and reference is None:
        raise UsageError("--column is a column of a published table", hint="name the table with --reference")
    if reference is not None:
        series.load()
        load_table(reference)
    if LIST not in names:
        locate_database(results)
    libraries.load()
    if LIST in names:
        for name, entry in ANALYSES.items():
            click.echo(f"{name}\t{entry.description.partition('. ')[0].removesuffix('.')}")
        return
    chosen = choose_analyses(names)
    references = {} if reference is None else {reference: column}
    with StudiedResults.open(results, hold=True) as stored:
        if as_json:
            document = build_analysis_document(stored, chosen, references)
            click.echo(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1))
            return
        overlays = {name: stored.against_reference(name, column) for name in references}
        answers = {name: ANALYSES[name](stored) for name in chosen}
        selection = survey_table(stored.study_table())
    console = TerminalConsole()
    if not selection.used:
        reasons = ", ".join(f"{count.trials} × {count.reason}" for count in selection.excluded)
        console.print(f"No usable trial of {selection.trials}{': ' * bool(reasons)}{reasons}.")
    render_analyses(answers, console)
    for name, overlay in overlays.items():
        render_overlays(name, overlay, console)


command = declare(
    "analyze",
    analyze,
    argument("results", type=PATH),
    option(
        "--only",
        "names",
        multiple=True,
        metavar="NAME",
        help="Only this analysis; may be repeated; 'list' names them all.",
    ),
    option(
        "--reference",
        metavar="NAME",
        help="Compare the results with this published table (pathlab reference list).",
    ),
    option("--column", metavar="COLUMN", help="Only this column of the published table."),
    json_flag("Print every figure as one JSON document."),
)
