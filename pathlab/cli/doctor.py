"""``pathlab doctor``: what this machine can and cannot do, and how to fix it."""

from __future__ import annotations

import json
from dataclasses import asdict

import click
from rich.console import Console
from rich.text import Text

from pathlab.cli.console import TerminalConsole
from pathlab.runner.hosts.controller_check import Check, examine

MARKS = {"ok": ("ok", "green"), "limited": ("less", "yellow"), "missing": ("MISSING", "bold red")}


def check_machine(*, as_json: bool) -> int:
    """Print what this machine can do; exit status 3 when a measurement needs something that is missing."""
    console = TerminalConsole()
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
    if check.fix:
        console.print(Text.assemble(" " * 29, ("fix: ", "cyan"), check.fix), soft_wrap=True)
