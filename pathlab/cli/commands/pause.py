"""Pause a run after the current trial."""

from __future__ import annotations

from pathlib import Path

import click

from pathlab.cli.declaration import RUN_FOLDER, declare
from pathlab.cli.deferred import DeferredImports

with DeferredImports() as libraries:
    import shlex

    from pathlab.runner.campaign.waiting import PauseRequest
    from pathlab.store.lock import find_run


def pause(results: Path) -> None:
    """Hold the run that writes the folder RESULTS between two trials, until `pathlab resume RESULTS`.
    `pathlab stop` and Ctrl-C end a paused run too.
    """
    libraries.load()
    folder, writer = find_run(results)
    PauseRequest(folder).make()
    again = shlex.join(["pathlab", "resume", str(folder)])
    click.echo(f"the run (process {writer}) pauses after the current trial; `{again}` continues it")


command = declare("pause", pause, RUN_FOLDER)
