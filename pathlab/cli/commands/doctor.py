"""``pathlab doctor``."""

from __future__ import annotations

from pathlab.cli.commands.declaration import declare, json_flag

command = declare(
    "doctor",
    "doctor.check_machine",
    """Check this machine and show how to fix problems.

    Exit status 3 when something that every measurement needs is missing.
    """,
    json_flag("Print one JSON object per check."),
)
