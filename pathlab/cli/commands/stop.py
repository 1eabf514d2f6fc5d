"""``pathlab stop RESULTS``."""

from __future__ import annotations

from pathlab.cli.commands.declaration import RESULTS, declare, flag

command = declare(
    "stop",
    "stop.stop",
    "End the run that writes the folder RESULTS; the same `pathlab run` continues it.",
    RESULTS,
    flag("--now", help="End the trial under way as well."),
)
