"""Check this machine and show how to fix problems."""

from __future__ import annotations

import click

from pathlab.cli.declaration import declare, json_flag
from pathlab.cli.deferred import DeferredImports

with DeferredImports() as libraries:
    import json
    from dataclasses import asdict

    from pathlab.cli.console import TerminalConsole
    from pathlab.report.hosts.host_text import render_check
    from pathlab.runner.hosts.controller_check import examine


def check_machine(*, as_json: bool) -> int:
    """Check this machine and show how to fix problems.

    Exit status 3 when something that every measurement needs is missing.
    """
    libraries.load()
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


command = declare("doctor", check_machine, json_flag("Print one JSON object per check."))
