"""``pathlab doctor``: what this machine can and cannot do, and how to fix it."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from pathlab.cli.console import TerminalConsole
from pathlab.report.hosts.host_text import render_check
from pathlab.runner.hosts.controller_check import examine


def check_machine(*, as_json: bool) -> int:
    """Print what this machine can do; exit status 3 when a measurement needs something that is missing."""
    console = TerminalConsole()
    missing = []
    for check in examine():
        if as_json:
            click.echo(json.dumps(asdict(check)))
        else:
            render_check(check.state, check.item, check.found, check.fix, console)
        missing += [check.item] if check.state == "missing" else []
    if not as_json:
        console.print(f"\nMissing: {', '.join(missing)}." if missing else "\nThis machine can measure.")
    return 3 if missing else 0
