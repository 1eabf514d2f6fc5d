"""``pathlab analyze RESULTS``."""

from __future__ import annotations

from pathlib import Path

import click

from pathlab.cli.commands.names import ANALYSES
from pathlab.cli.commands.options import PATH
from pathlab.errors import UsageError


@click.command(name="analyze")
@click.argument("results", type=PATH)
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
    help="Compare the results with this published table (pathlab reference list).",
)
@click.option("--column", metavar="COLUMN", help="Only this column of the published table.")
@click.option("--json", "as_json", is_flag=True, help="Print every figure as one JSON document.")
def command(
    results: Path, names: tuple[str, ...], reference: str | None, column: str | None, as_json: bool
) -> None:
    """Analyse RESULTS, a results folder or its results.db: fits, comparisons, limits, costs.

    What these trials cannot decide is shown as undecided, with the reason.
    """
    if column is not None and reference is None:
        raise UsageError("--column is a column of a published table", hint="name the table with --reference")
    from pathlab.cli import analyze as action

    action.analyze(results, names, reference, column, as_json=as_json)
