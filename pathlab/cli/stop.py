"""``pathlab stop RESULTS``: end a run after the trial that is under way."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import click

from pathlab.errors import UsageError
from pathlab.runner.campaign.waiting import StopRequest
from pathlab.store.location import DATABASE_NAME
from pathlab.store.lock import find_writer


def stop(results: Path, *, now: bool) -> None:
    """End the run that writes the results after its trial, or now. Raises UsageError where none runs."""
    folder, writer = find_run(results)
    if not now:
        StopRequest(folder).make()
        click.echo(f"the run (process {writer}) stops after the current trial")
        return
    try:
        os.kill(writer, signal.SIGTERM)
    except OSError as error:
        raise UsageError(
            f"process {writer} cannot be ended: {error.strerror or error}",
            hint="run this as the user who started it, or leave out --now",
        ) from error
    click.echo(f"the run (process {writer}) ends now; everything measured is saved")


def find_run(results: Path) -> tuple[Path, int]:
    """The results folder and the process of the run that writes it. Raises UsageError where none runs."""
    folder = results.parent if results.name == DATABASE_NAME else results
    writer = find_writer(folder)
    if writer is None:
        raise UsageError(f"nothing runs in '{folder}'", hint="name the results folder of a run in progress")
    return folder, writer
