"""List, show, merge, prune and check stored results."""

from __future__ import annotations

import datetime
from pathlib import Path

import click

from pathlab.cli.declaration import RESULTS, argument, declare, flag, group, json_flag, option
from pathlab.cli.deferred import DeferredImports
from pathlab.cli.values import PATH, STORED_PATH, WRITABLE_PATH, ParsedNumber
from pathlab.errors import StoreError
from pathlab.store.location import RESULTS_ROOT
from pathlab.units import format_volume, parse_age_ns

with DeferredImports() as libraries:
    import json
    from dataclasses import asdict

    from pathlab.cli.console import TerminalConsole
    from pathlab.cli.results_show import print_json_overview, print_overview
    from pathlab.printed_table import PrintedTable
    from pathlab.report.base.names import format_utc
    from pathlab.store.archive import Listing, list_results, merge_results, prune_results
    from pathlab.store.check import check_results
    from pathlab.store.results import Results
    from pathlab.table_columns import TableColumn


def list_folder(folder: Path, *, as_json: bool) -> None:
    """List the results below FOLDER (default: results); those that cannot be read, with the reason."""
    libraries.load()
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
        columns = (
            TableColumn("Folder", left=True),
            TableColumn("Campaign", priority=1, left=True),
            TableColumn("Created", priority=4, left=True),
            TableColumn("Complete", priority=2),
            TableColumn("Failed", priority=3),
            TableColumn("Size", priority=5),
        )
        PrintedTable(columns=columns, rows=rows, elsewhere="--json").print_to(console)
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


def show(results: Path, limit: int, offset: int, *, as_json: bool) -> None:
    """Show the campaign, combinations and trials of RESULTS, and the files that it was imported from.

    Trials are printed from the first one on; a last line says where the next ones are.
    """
    libraries.load()
    if as_json:
        print_json_overview(results)
    else:
        print_overview(results, TerminalConsole(), limit=limit or None, offset=offset)


def merge(results: tuple[Path, ...], out: Path) -> None:
    """Make one results folder of several RESULTS, cycles counted on; the sources do not change."""
    libraries.load()
    click.echo(str(merge_results(list(results), out)))


def prune(results: Path, age_ns: int | None, *, failed: bool, dry_run: bool) -> None:
    """Delete failed trials or old series from RESULTS permanently."""
    libraries.load()
    before = None
    if age_ns is not None:
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
    """Check the integrity of RESULTS: database, plan, digests, series.

    Exit status 5 if one is damaged.
    """
    libraries.load()
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


#: Combinations and trials printed by default.
ROWS_SHOWN = 50
_SEVERAL = argument("results", nargs=-1, required=True, type=STORED_PATH, metavar="RESULTS...")

command = group(
    "results",
    "List, show, merge, prune and check stored results.",
    declare(
        "list",
        list_folder,
        argument("folder", type=PATH, default=RESULTS_ROOT),
        json_flag("Print JSON."),
    ),
    declare(
        "show",
        show,
        RESULTS,
        option(
            "--limit",
            type=click.IntRange(0, 2**31),
            default=ROWS_SHOWN,
            help="Combinations and trials to print; 0: all.",
        ),
        option(
            "--offset",
            type=click.IntRange(0, 2**31),
            default=0,
            help="Trials to skip, to print the next ones.",
        ),
        json_flag("Print JSON: the campaign and counts, no trials."),
    ),
    declare(
        "merge",
        merge,
        _SEVERAL,
        option("--out", type=WRITABLE_PATH, required=True, help="Folder to make."),
    ),
    declare(
        "prune",
        prune,
        RESULTS,
        flag("--failed", help="Trials that failed or were interrupted."),
        option(
            "--series-older-than",
            "age_ns",
            type=ParsedNumber(parse_age_ns),
            help="Series of trials begun longer ago, such as 30d; their figures stay.",
        ),
        flag("--dry-run", help="Only say what would go."),
    ),
    declare("check", check, _SEVERAL),
)
