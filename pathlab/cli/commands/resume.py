"""Let a paused run continue."""

from __future__ import annotations

from pathlib import Path

import click

from pathlab.cli.declaration import RUN_FOLDER, declare
from pathlab.cli.deferred import DeferredImports
from pathlab.errors import UsageError

with DeferredImports() as libraries:
    from pathlab.runner.campaign.waiting import PauseRequest
    from pathlab.store.lock import find_run


def resume(results: Path) -> None:
    """Let the paused run that writes the folder RESULTS continue. A run that has ended is continued by the
    same `pathlab run`.
    """
    libraries.load()
    folder, writer = find_run(results)
    request = PauseRequest(folder)
    if not request.is_made():
        raise UsageError(f"the run in '{folder}' is not paused", hint="`pathlab pause` pauses it")
    request.clear()
    click.echo(f"the run (process {writer}) continues")


command = declare("resume", resume, RUN_FOLDER)
