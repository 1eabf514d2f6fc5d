"""``pathlab results``: list, show, merge, prune and check stored results."""

from __future__ import annotations

import datetime
import json
from dataclasses import asdict
from pathlib import Path

import click

from pathlab.cli.console import TerminalConsole
from pathlab.errors import StoreError
from pathlab.printed_table import PrintedColumn, PrintedTable
from pathlab.report.base.names import format_utc
from pathlab.store.archive import Listing, list_results, merge_results, prune_results
from pathlab.store.check import check_results
from pathlab.store.results import Results
from pathlab.units import format_volume, parse_age_ns

LISTED = (
    PrintedColumn("Folder", left=True),
    PrintedColumn("Campaign", 1, left=True),
    PrintedColumn("Created", 4, left=True),
    PrintedColumn("Complete", 2),
    PrintedColumn("Failed", 3),
    PrintedColumn("Size", 5),
)


def list_folder(folder: Path, *, as_json: bool) -> None:
    """Print the results below a folder, and those that cannot be read with the reason."""
    listings = list_results(folder)
    if as_json:
        click.echo(
            json.dumps([{**asdict(listing), "path": str(listing.path)} for listing in listings], indent=2)
        )
        return
    if not listings:
        click.echo(f"no results in '{folder}'")
        return
    console = TerminalConsole()
    rows = [_format_listing(listing) for listing in listings if listing.problem is None]
    if rows:
        PrintedTable(columns=LISTED, rows=rows, elsewhere="--json").print_to(console)
    for listing in listings:
        if listing.problem is not None:
            console.print(f"{listing.path}: {listing.problem}", soft_wrap=True)


def _format_listing(one: Listing) -> tuple[str, ...]:
    return (
        str(one.path),
        one.name or "",
        format_utc(one.created_utc or ""),
        f"{one.complete} of {one.planned}",
        str(one.failed),
        format_volume(one.size_bytes),
    )


def merge(results: tuple[Path, ...], out: Path) -> None:
    click.echo(str(merge_results(list(results), out)))


def prune(results: Path, age: str | None, *, failed: bool, dry_run: bool) -> None:
    """Take failed trials, or series older than ``age``, out of the results, and print how many."""
    before = None
    if age is not None:
        age_ns = parse_age_ns(age)
        before = datetime.datetime.now(datetime.UTC) - datetime.timedelta(microseconds=age_ns // 1000)
    with Results.open(results, write=True) as stored:
        done = prune_results(stored, failed=failed, series_before=before, dry_run=dry_run)
    verb = "would go" if dry_run else "are gone"
    click.echo(f"{done.trials} trials and {done.series} series {verb}")
    if done.size_after_bytes is not None:
        click.echo(
            f"{format_volume(done.size_before_bytes)} before, {format_volume(done.size_after_bytes)} now"
        )


def check(results: tuple[Path, ...]) -> None:
    """Print what is damaged in each of the results, and notes. Raises StoreError if one is damaged."""
    damaged = 0
    for path in results:
        result = check_results(path)
        for fault in result.faults:
            click.echo(f"{path}: {fault}")
        for note in result.notes:
            click.echo(f"{path}: note: {note}")
        if result.faults:
            damaged += 1
        else:
            click.echo(f"{path}: no errors found ({result.trials} trials, {result.series} series)")
    if damaged:
        raise StoreError(
            f"{damaged} of {len(results)} results files are damaged",
            hint="save what can still be read: pathlab export RESULTS --format csv",
        )
