"""``pathlab doctor``: what this machine can and cannot do, and how to mend it."""

from __future__ import annotations

import json
from dataclasses import asdict

import click
from rich.console import Console
from rich.text import Text

from pathlab.runner.checkup import Check, examine

MARKS = {"ok": ("ok", "green"), "limited": ("less", "yellow"), "missing": ("MISSING", "bold red")}


@click.command(name="doctor")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per check.")
def command(as_json: bool) -> int:
    """Try what this machine can do for PathLab and say how to mend what it cannot.

    Exit status 3 when something that every measurement needs is missing.
    """
    console = Console(highlight=False)
    checks = []
    for check in examine():
        checks.append(check)
        if as_json:
            click.echo(json.dumps(asdict(check)))
        else:
            _show(check, console)
    missing = [check.name for check in checks if check.state == "missing"]
    if not as_json:
        console.print()
        console.print(f"Missing: {', '.join(missing)}." if missing else "This machine can measure.")
    return 3 if missing else 0


def _show(check: Check, console: Console) -> None:
    mark, style = MARKS[check.state]
    line = Text.assemble((f"{mark:>8}", style), "  ", (f"{check.name:<19}", "bold"), check.found)
    console.print(line, soft_wrap=True)
    if check.mend:
        console.print(Text.assemble(" " * 29, ("next: ", "cyan"), check.mend), soft_wrap=True)
