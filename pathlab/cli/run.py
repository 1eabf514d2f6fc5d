"""``pathlab run CAMPAIGN``: carry out a campaign, show its results, write its report."""

from __future__ import annotations

import contextlib
import datetime
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pathlab.campaign.campaign_text import read_campaign
from pathlab.errors import PartialCampaign
from pathlab.escaping import escape_line
from pathlab.runner.events import EVENT_FORMAT, Emit, Event, Preparing, describe_event
from pathlab.units import parse_wait_ns

if TYPE_CHECKING:
    from pathlab.runner.campaign.run import RunOutcome


def run(
    campaign: str,
    out: Path | None,
    *,
    new: bool,
    against: Path | None,
    wait_idle: str | None,
    accept_new_host_keys: bool,
    quiet: bool,
    json_events: bool,
    serve: bool,
    serve_port: int | None,
    **chosen: Any,
) -> None:
    """Run or continue a campaign and write its report. Raises PartialCampaign where trials are missing,
    NotMeasurable where none is usable.
    """
    given = read_campaign(campaign)
    if json_events or not quiet:
        _announce(f"reading campaign {campaign}", as_event=json_events)
    from pathlab.cli.choices import Choices  # the checks take half a second to load

    choices = Choices(**chosen)
    model = choices.parse(given)
    # Takes a second, so after the checks; before the run, during which an upgrade may replace the files.
    from pathlab.analysis.libraries import load_all
    from pathlab.cli.console import TerminalConsole
    from pathlab.cli.live import LiveView, continue_after_broken_pipe
    from pathlab.cli.report import close_run
    from pathlab.cli.unusable import check_usable_trials
    from pathlab.remote.engine import OTHER_BUILD_OPTION
    from pathlab.remote.hosts import build_access
    from pathlab.runner.campaign.folders import choose_folder
    from pathlab.runner.campaign.run import CampaignSource, run_campaign
    from pathlab.store.results import Results

    load_all()

    access = build_access(accept_new_host_keys=accept_new_host_keys)
    idle_ns = parse_wait_ns(wait_idle or "0")
    source = CampaignSource(
        campaign=model, text=given.text, access=access, wait_idle_ns=idle_ns, against=against
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
    """Say that the run begins; it goes on where nobody reads that."""
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


def check_complete_rows(outcome: RunOutcome, again: str) -> None:
    """Exit 4 when rows are missing; what was measured is stored and reported all the same."""
    if not outcome.missing:
        return
    if outcome.interrupted:
        done = f"{outcome.ended} after {outcome.complete} of {outcome.rows} trials"
    else:
        reason = outcome.ended or f"{outcome.failed} failed"
        done = f"{outcome.complete} of {outcome.rows} trials are complete ({reason})"
    raise PartialCampaign(f"{done}; everything measured is saved in {outcome.folder}", hint=again)
