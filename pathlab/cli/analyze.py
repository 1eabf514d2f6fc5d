"""``pathlab analyze RESULTS``: every analysis of stored results, as tables or as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape

from pathlab.cli.overlay import render_overlays
from pathlab.errors import UsageError
from pathlab.report.analyses_text import render_analyses
from pathlab.study.analyses import StudiedResults
from pathlab.study.document import ANALYSES, build_document, choose_analyses
from pathlab.study.selection import survey_table


@click.command(name="analyze")
@click.argument("results", type=click.Path(path_type=Path))
@click.option(
    "--only",
    "names",
    multiple=True,
    metavar="NAME",
    help=f"Only this analysis; may be repeated. One of: {', '.join(ANALYSES)}.",
)
@click.option(
    "--reference",
    metavar="NAME",
    help="Lay this published table beside the results (pathlab reference list).",
)
@click.option("--column", metavar="COLUMN", help="Only this column of the published table.")
@click.option("--json", "as_json", is_flag=True, help="Print every figure as one JSON document.")
def command(
    results: Path, names: tuple[str, ...], reference: str | None, column: str | None, as_json: bool
) -> None:
    """Analyse RESULTS, a results folder or its results.db: fits, comparisons, limits, costs.

    What cannot be told from these trials is shown as undecided, with the reason.
    """
    chosen = choose_analyses(names)
    if column is not None and reference is None:
        raise UsageError("--column is a column of a published table", hint="name the table with --reference")
    references = {} if reference is None else {reference: column}
    with StudiedResults.open(results) as stored:
        if as_json:
            document = build_document(stored, chosen, references)
            click.echo(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1))
            return
        overlays = {name: stored.against_reference(name, column) for name in references}
        answers = {name: ANALYSES[name](stored) for name in chosen}
        basis = survey_table(stored.study_table())
    console = Console(highlight=False)
    if not basis.used:
        told = ", ".join(f"{count.trials} × {count.reason}" for count in basis.left_out)
        console.print(f"None of {basis.trials} trials tells of a path{': ' * bool(told)}{escape(told)}.")
    render_analyses(answers, console)
    for name, found in overlays.items():
        render_overlays(name, found, console)
