"""``pathlab doctor``."""

from __future__ import annotations

import click


@click.command(name="doctor")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per check.")
def command(as_json: bool) -> int:
    """Try what this machine can do for PathLab and say how to fix what it cannot.

    Exit status 3 when something that every measurement needs is missing.
    """
    from pathlab.cli import doctor as action

    return action.check_machine(as_json=as_json)
