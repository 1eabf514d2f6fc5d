"""``pathlab results list|show|merge|prune|check``."""

from __future__ import annotations

from pathlib import Path

import click

from pathlab.cli.commands.names import RESULTS_ROOT
from pathlab.cli.commands.options import PATH

#: Combinations and trials printed unless others are asked for.
ROWS_SHOWN = 50


@click.group(name="results")
def command() -> None:
    """List, show, merge, thin out and check stored results."""


@command.command(name="list")
@click.argument("folder", type=PATH, default=RESULTS_ROOT)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(folder: Path, as_json: bool) -> None:
    """List the results below FOLDER (default: results); what cannot be read is listed with the reason."""
    from pathlab.cli import results as action

    action.list_folder(folder, as_json=as_json)


@command.command(name="show")
@click.argument("results", type=PATH)
@click.option(
    "--limit",
    type=click.IntRange(0, 2**31),
    default=ROWS_SHOWN,
    show_default=True,
    help="Combinations and trials to print; 0: all.",
)
@click.option(
    "--offset", type=click.IntRange(0, 2**31), default=0, help="Trials to skip, to print the next ones."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the campaign and counts, no trials.")
def show(results: Path, limit: int, offset: int, as_json: bool) -> None:
    """Show what RESULTS holds: its campaign, its combinations, its trials, where imported ones come from.

    Trials are printed from the first one on; a last line says where the next ones are.
    """
    from pathlab.cli import results_show as action

    if as_json:
        action.print_json(results)
    else:
        action.print_overview(results, limit=limit or None, offset=offset)


@command.command(name="merge")
@click.argument("results", nargs=-1, required=True, type=PATH, metavar="RESULTS...")
@click.option("--out", type=PATH, required=True, help="Folder to make.")
def merge(results: tuple[Path, ...], out: Path) -> None:
    """Make one results folder of several RESULTS, cycles counted on; the sources stay as they are."""
    from pathlab.cli import results as action

    action.merge(results, out)


@command.command(name="prune")
@click.argument("results", type=PATH)
@click.option("--failed", is_flag=True, help="Trials that failed or were interrupted.")
@click.option(
    "--series-older-than", "age", help="Series of trials begun longer ago, such as 30d; their figures stay."
)
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
def prune(results: Path, failed: bool, age: str | None, dry_run: bool) -> None:
    """Take failed trials or old series out of RESULTS, for good."""
    from pathlab.cli import results as action

    action.prune(results, age, failed=failed, dry_run=dry_run)


@command.command(name="check")
@click.argument("results", nargs=-1, required=True, type=PATH, metavar="RESULTS...")
def check(results: tuple[Path, ...]) -> None:
    """Check the integrity of RESULTS: database, plan, digests, series. Exit status 5 if one is damaged."""
    from pathlab.cli import results as action

    action.check(results)
