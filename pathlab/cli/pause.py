"""``pathlab pause RESULTS`` and ``pathlab resume RESULTS``: hold a run between trials, let it continue."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from pathlab.cli.stop import find_run
from pathlab.errors import UsageError
from pathlab.runner.campaign.waiting import PauseRequest


def pause(results: Path) -> None:
    """Hold the run that writes the results after its trial. Raises UsageError where none runs."""
    folder, writer = find_run(results)
    PauseRequest(folder).make()
    again = shlex.join(["pathlab", "resume", str(folder)])
    click.echo(f"the run (process {writer}) pauses after the current trial; `{again}` continues it")


def resume(results: Path) -> None:
    """Let the paused run that writes the results continue. Raises UsageError where none runs or is paused."""
    folder, writer = find_run(results)
    request = PauseRequest(folder)
    if not request.is_made():
        raise UsageError(f"the run in '{folder}' is not paused", hint="`pathlab pause` pauses it")
    request.clear()
    click.echo(f"the run (process {writer}) continues")
