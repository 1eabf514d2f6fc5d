"""Run a campaign, show its results, write its report."""

from __future__ import annotations

import contextlib
import datetime
from pathlib import Path
from typing import Any

import click

from pathlab.cli.choices import Choices
from pathlab.cli.completions import complete_campaign
from pathlab.cli.declaration import ACCEPT_KEYS, CHOICES, WAIT_IDLE, argument, declare, flag, option
from pathlab.cli.deferred import DeferredImports
from pathlab.cli.values import PATH, WRITABLE_PATH
from pathlab.escaping import escape_line

with DeferredImports() as beginning:
    import json
    import shlex

    from pathlab.campaign.campaign_text import read_campaign
    from pathlab.runner.events import EVENT_FORMAT, Emit, Event, Preparing, describe_event

with DeferredImports() as libraries:
    from pathlab.analysis.libraries import load_all
    from pathlab.cli.console import TerminalConsole
    from pathlab.cli.live import LiveView, continue_after_broken_pipe
    from pathlab.cli.outcome import check_complete_rows, check_usable_trials
    from pathlab.cli.summary import close_run
    from pathlab.remote.engine import OTHER_BUILD_OPTION
    from pathlab.remote.hosts import build_access
    from pathlab.runner.campaign.folders import choose_folder
    from pathlab.runner.campaign.run import CampaignSource, run_campaign
    from pathlab.store.results import Results


def run(
    campaign: str,
    out: Path | None,
    *,
    new: bool,
    against: Path | None,
    wait_idle_ns: int | None,
    accept_new_host_keys: bool,
    quiet: bool,
    json_events: bool,
    serve: bool,
    serve_port: int | None,
    **chosen: Any,
) -> None:
    """Run CAMPAIGN, a TOML file or the name of a shipped campaign (such as quickstart).

    An unfinished run of the same campaign is continued at its first unfinished trial. The path of the HTML
    report is the last line printed.
    """
    beginning.load()
    given = read_campaign(campaign)
    if json_events or not quiet:
        _announce(f"reading campaign {campaign}", as_event=json_events)
    choices = Choices(**chosen)
    model = choices.parse(given)
    libraries.load()  # takes a second, so after the checks
    load_all()  # before the run, during which an upgrade may replace the files
    access = build_access(accept_new_host_keys=accept_new_host_keys)
    source = CampaignSource(
        campaign=model, text=given.text, access=access, wait_idle_ns=wait_idle_ns or 0, against=against
    )
    folder = choose_folder(model, out=out, new=new)
    console = None if json_events else TerminalConsole(quiet=quiet)
    with contextlib.ExitStack() as opened:
        explorer = None
        if serve or serve_port is not None:
            from pathlab.cli.run_explorer import RunExplorer, choose_printer

            explorer = opened.enter_context(RunExplorer(folder, serve_port, choose_printer(console)))
        with (
            contextlib.nullcontext(print_event) if console is None else LiveView(console, quiet=quiet) as view
        ):
            outcome = run_campaign(source, folder, emit_to_both(continue_after_broken_pipe(view), explorer))
        report = close_run(folder, console)
        if console is None:
            _print_line({"format": EVENT_FORMAT, "event": "report", "time_utc": _now(), "path": str(report)})
        else:
            console.print("Report:")
            click.echo(str(report))
        if explorer is not None and not outcome.interrupted:
            explorer.outlast_run()
    words = ["pathlab", "run", campaign, "--out", str(folder)]
    words += [] if against is None else [f"{OTHER_BUILD_OPTION}={against}"]
    again = [*words, *choices.format_words()]
    check_complete_rows(outcome, shlex.join(again))
    idle = shlex.join([*words[:3], "--new", "--wait-idle=10m", *choices.format_words()])
    with Results.open(folder) as stored:
        check_usable_trials(stored.records(), f"the report says why; with idle cores: {idle}")


def emit_to_both(first: Emit, second: Emit | None) -> Emit:
    """Tell each event to both, in this order."""
    if second is None:
        return first

    def emit(event: Event) -> None:
        first(event)
        second(event)

    return emit


def _announce(text: str, *, as_event: bool) -> None:
    """Say that the run begins; it goes on where the output is closed."""
    with contextlib.suppress(SystemExit):
        if as_event:
            print_event(Preparing(text=text))
        else:
            click.echo(escape_line(text))


def print_event(event: Event) -> None:
    """One event as one line of JSON on stdout; called from several threads."""
    _print_line(describe_event(event, _now()))


def _print_line(line: dict[str, Any]) -> None:
    click.echo(json.dumps(line, allow_nan=False))


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


command = declare(
    "run",
    run,
    argument("campaign", shell_complete=complete_campaign),
    option("--out", type=WRITABLE_PATH, help="Results folder; continued if it holds this campaign."),
    flag("--new", help="Start a new run even if an unfinished one of this campaign exists."),
    *CHOICES,
    option(
        "--against",
        type=PATH,
        metavar="ENGINE",
        help="Another build of pathlab-engine, for trials with the level `against` of the factor `build`.",
    ),
    WAIT_IDLE,
    ACCEPT_KEYS,
    flag("--quiet", help="Print the report's path only."),
    flag("--json-events", help="Print what happens as JSON lines (docs/EVENTS.md)."),
    flag("--serve", help="Show the run in a browser: prints a URL, as `pathlab serve` does."),
    option(
        "--serve-port",
        type=click.IntRange(1, 65535),
        help="As --serve, on this port. [default: a free one]",
    ),
)
