"""``pathlab stop RESULTS``."""

from __future__ import annotations

from pathlib import Path

import click

from pathlab.cli.commands.options import PATH


@click.command(name="stop")
@click.argument("results", type=PATH)
@click.option("--now", is_flag=True, help="End the trial that is under way as well.")
def command(results: Path, now: bool) -> None:
    """End the run that writes the folder RESULTS; the same `pathlab run` continues it."""
    from pathlab.cli import stop as action

    action.stop(results, now=now)
