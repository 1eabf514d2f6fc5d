"""Stop a run after the current trial."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import click

from pathlab.cli.declaration import RUN_FOLDER, declare, flag
from pathlab.cli.deferred import DeferredImports
from pathlab.errors import UsageError

with DeferredImports() as libraries:
    from pathlab.runner.campaign.waiting import StopRequest
    from pathlab.store.lock import find_run


def stop(results: Path, *, now: bool) -> None:
    """End the run that writes the folder RESULTS; the same `pathlab run` continues it."""
    libraries.load()
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


command = declare("stop", stop, RUN_FOLDER, flag("--now", help="End the trial under way as well."))
