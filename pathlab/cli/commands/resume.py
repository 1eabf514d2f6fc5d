"""``pathlab resume RESULTS``."""

from __future__ import annotations

from pathlab.cli.commands.declaration import RESULTS, declare

command = declare(
    "resume",
    "pause.resume",
    "Let the paused run that writes the folder RESULTS continue. A run that has ended is continued by the "
    "same `pathlab run`.",
    RESULTS,
)
