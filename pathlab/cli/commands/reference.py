"""Show published series, to compare own results with."""

from __future__ import annotations

import click

from pathlab.cli.declaration import argument, declare, group, json_flag
from pathlab.cli.deferred import DeferredImports

with DeferredImports() as series:
    from pathlab.reference.series import list_tables, load_table

with DeferredImports() as libraries:
    import json

    from pathlab.cli.console import TerminalConsole
    from pathlab.printed_table import PrintedParagraph, PrintedTable
    from pathlab.report.base.answer_table import format_row, print_answers
    from pathlab.study.base.answer import Answer
    from pathlab.study.base.registry import ANALYSES
    from pathlab.study.base.selection import SampleSelection
    from pathlab.study.base.trials import Condition
    from pathlab.study.comparison.references import fit_columns
    from pathlab.study.document import encode
    from pathlab.table_columns import TableColumn


def list_references() -> None:
    """List the published tables by name."""
    series.load()
    for name in list_tables():
        columns = ", ".join(load_table(name).columns)
        click.echo(f"{name}\t{columns}")


def show(name: str, *, as_json: bool) -> None:
    """Print the published table NAME and, by message size, the fit t(m) = a + m / r."""
    series.load()
    table = load_table(name)
    libraries.load()
    fits = fit_columns(table)
    if as_json:
        document = {"name": name, "columns": dict(table.columns), "message_cost": encode(fits)}
        click.echo(json.dumps(document, allow_nan=False, indent=1))
        return
    console = TerminalConsole()
    published = [[f"{value:g}" for value in row] for row in zip(*table.columns.values(), strict=True)]
    columns = [TableColumn(heading, priority=number) for number, heading in enumerate(table.columns)]
    PrintedTable(columns=columns, rows=published, title=name, elsewhere="--json").print_to(console)
    if fits:
        entry = ANALYSES["message_cost"]
        headings = (TableColumn("column"), *entry.columns[1:])
        fitted = []
        for column, fit in fits.items():
            condition = Condition(path_source=name, path_destination=column, medium="published", settings=())
            selection = SampleSelection(trials=fit.n, used=fit.n)
            answer = Answer(condition=condition, selection=selection, result=fit, quantity=column)
            fitted.append(format_row(entry, answer))
        console.print()
        print_answers(headings, fitted, "t(m) = a + m / r", console)
        note = "Each size has one published value: the intervals show the scatter around the line."
        console.print(PrintedParagraph(note, "dim"))


command = group(
    "reference",
    "Show the published series that come with PathLab, to compare own results with.",
    declare("list", list_references),
    declare("show", show, argument("name"), json_flag("Print table and fits as JSON.")),
)
