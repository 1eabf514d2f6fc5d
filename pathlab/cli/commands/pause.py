"""``pathlab pause RESULTS``."""

from __future__ import annotations

from pathlab.cli.commands.declaration import RESULTS, declare

command = declare(
    "pause",
    "pause.pause",
    "Hold the run that writes the folder RESULTS between two trials, until `pathlab resume RESULTS`. "
    "`pathlab stop` and Ctrl-C end a paused run too.",
    RESULTS,
)
