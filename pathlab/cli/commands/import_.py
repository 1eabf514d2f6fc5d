"""``pathlab import FILE…``."""

from __future__ import annotations

from pathlib import Path

import click

from pathlab.cli.commands.options import PATH


@click.command(name="import")
@click.argument("files", nargs=-1, required=True, type=PATH, metavar="FILE...")
@click.option(
    "--into",
    type=PATH,
    help="Results folder to add to, made if it is not there; default: a fresh one under results.",
)
@click.option("--source", help="Call the sending host this, as a campaign does, so that paths compare.")
@click.option("--destination", help="Call the receiving host this.")
@click.option("--title", default="Imported measurements", show_default=True, help="Title of a fresh folder.")
@click.option("--keep-going", is_flag=True, help="Leave out files that cannot be read, and name them.")
def command(
    files: tuple[Path, ...],
    into: Path | None,
    source: str | None,
    destination: str | None,
    title: str,
    keep_going: bool,
) -> None:
    """Import FILEs of iperf3 (--json, --json-stream), Flent, pScheduler, irtt and crusader.

    All files or none: each is read before anything is stored. Prints the results folder last.
    """
    from pathlab.cli import import_ as action

    action.import_files(
        files, into, source=source, destination=destination, title=title, keep_going=keep_going
    )
