"""``pathlab analyze RESULTS``: every analysis of stored results, as tables or as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pathlab.cli.commands.names import LIST
from pathlab.cli.console import TerminalConsole
from pathlab.cli.overlay import render_overlays
from pathlab.errors import UsageError
from pathlab.report.base.answer_table import render_analyses
from pathlab.study.analyses import StudiedResults
from pathlab.study.base.registry import ANALYSES, choose_analyses
from pathlab.study.base.selection import survey_table
from pathlab.study.document import build_analysis_document


def analyze(
    results: Path, names: tuple[str, ...], reference: str | None, column: str | None, *, as_json: bool
) -> None:
    """Print the analyses named (none: all) and, if one is named, the comparison with a published table.

    The name ``list`` prints what there is to name instead.
    """
    if column is not None and reference is None:
        raise UsageError("--column is a column of a published table", hint="name the table with --reference")
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
