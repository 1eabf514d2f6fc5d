"""``pathlab doctor``."""

from __future__ import annotations

from pathlab.cli.commands.declaration import declare, json_flag

command = declare(
    "doctor",
    "doctor.check_machine",
    """Try what this machine can do for PathLab and say how to fix what it cannot.

    Exit status 3 when something that every measurement needs is missing.
    """,
    json_flag("Print one JSON object per check."),
)
