"""``pathlab run CAMPAIGN``: carry out a campaign, show its results, write its report."""

from __future__ import annotations

import datetime
import json
import shlex
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from pathlab.campaign.load import read_campaign
from pathlab.cli.choices import Choices, campaign_choices
from pathlab.cli.host_options import accept_option
from pathlab.cli.live import LiveView
from pathlab.errors import PartialCampaign
from pathlab.remote.hosts import build_access
from pathlab.report.page.answer import answer_paths
from pathlab.report.page.document import arrange_report, gather_material
from pathlab.report.page.html import write_html
from pathlab.report.page.notices import list_notices
from pathlab.report.page.terminal import render_summary
from pathlab.runner.campaign import CampaignSource, RunOutcome, run_campaign
from pathlab.runner.events import EVENT_FORMAT, Event, describe_event
from pathlab.runner.folders import choose_folder
from pathlab.study.analyses import StudiedResults

REPORT_NAME = "report.html"


@click.command(name="run")
@click.argument("campaign")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Results folder; continued if it holds this campaign."
)
@click.option("--new", is_flag=True, help="Start anew even if an unfinished run of this campaign is there.")
@campaign_choices
@accept_option
@click.option("--quiet", is_flag=True, help="Print the report's path only.")
@click.option("--json-events", is_flag=True, help="Print what happens as JSON lines (docs/EVENTS.md).")
def command(
    campaign: str,
    out: Path | None,
    new: bool,
    choices: Choices,
    accept_new_host_keys: bool,
    quiet: bool,
    json_events: bool,
) -> None:
    """Run CAMPAIGN, a TOML file or the name of a shipped campaign (such as quickstart).

    An unfinished run of the same campaign is continued at its first unfinished trial. The path of the HTML
    report is the last line printed.
    """
    given = read_campaign(campaign)
    model = choices.parse(given)
    access = build_access(accept_new_host_keys=accept_new_host_keys)
    source = CampaignSource(campaign=model, text=given.text, access=access)
    folder = choose_folder(model, out=out, new=new)
    if json_events:
        outcome = run_campaign(source, folder, print_event)
    else:
        console = Console(quiet=quiet, highlight=False)
        with LiveView(console, quiet=quiet) as view:
            outcome = run_campaign(source, folder, view)
    with StudiedResults.open(folder) as results:
        material = gather_material(results)
        if not json_events:
            console.print()
            notices = list_notices(material.summary)
            render_summary(material.summary, answer_paths(material), notices, console)
        report = write_html(arrange_report(material), folder / REPORT_NAME)
    if json_events:
        _print_line({"format": EVENT_FORMAT, "event": "report", "time_utc": _now(), "path": str(report)})
    else:
        console.print("\nReport:")
        click.echo(str(report))
    words = ["pathlab", "run", campaign, "--out", str(folder)]
    refuse_partial(outcome, shlex.join([*words, *choices.spell()]))


def print_event(event: Event) -> None:
    """One event as one line of JSON on stdout; called from several threads."""
    _print_line(describe_event(event, _now()))


def _print_line(line: dict[str, Any]) -> None:
    click.echo(json.dumps(line, allow_nan=False))


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def refuse_partial(outcome: RunOutcome, again: str) -> None:
    """Exit 4 when rows are missing; what was measured is stored and reported all the same."""
    if not outcome.missing:
        return
    reason = outcome.ended or f"{outcome.failed} failed"
    raise PartialCampaign(
        f"{outcome.complete} of {outcome.rows} trials are complete ({reason}); "
        f"all that was measured is kept in {outcome.folder}",
        hint=f"continue with: {again}",
    )
