"""``pathlab run CAMPAIGN``: carry out a campaign, show its results, write its report."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
from rich.console import Console

from pathlab.campaign.load import parse_campaign, read_campaign
from pathlab.cli.live import LiveView
from pathlab.errors import PartialCampaign
from pathlab.report.findings import findings
from pathlab.report.html import write_report
from pathlab.report.summary import summarise
from pathlab.report.text import render_summary
from pathlab.runner.campaign import CampaignSource, RunOutcome, run_campaign
from pathlab.runner.folders import choose_folder
from pathlab.store.results import Results

REPORT_NAME = "report.html"


@click.command(name="run")
@click.argument("campaign")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Results folder; continued if it holds this campaign."
)
@click.option("--new", is_flag=True, help="Start anew even if an unfinished run of this campaign is there.")
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a key of the campaign file."
)
@click.option("--quiet", is_flag=True, help="Print the report's path only.")
def command(campaign: str, out: Path | None, new: bool, overrides: tuple[str, ...], quiet: bool) -> None:
    """Run CAMPAIGN, a TOML file or the name of a shipped campaign (such as quickstart).

    An unfinished run of the same campaign is continued at its first unfinished trial. The path of the HTML
    report is the last line printed.
    """
    console = Console(quiet=quiet, highlight=False)
    given = read_campaign(campaign)
    source = CampaignSource(campaign=parse_campaign(given, overrides), text=given.text)
    folder = choose_folder(source.campaign, out=out, new=new)
    with LiveView(console, quiet=quiet) as view:
        outcome = run_campaign(source, folder, view)
    with Results.open(folder) as results:
        summary = summarise(results)
        console.print()
        render_summary(summary, findings(summary), console)
        report = write_report(results, folder / REPORT_NAME)
    console.print("\nReport:")
    click.echo(str(report))
    words = ["pathlab", "run", campaign, "--out", str(folder)]
    _refuse_partial(outcome, shlex.join([*words, *(f"--set={override}" for override in overrides)]))


def _refuse_partial(outcome: RunOutcome, again: str) -> None:
    """Exit 4 when rows are missing; what was measured is stored and reported all the same."""
    missing = outcome.rows - outcome.complete
    if not missing:
        return
    reason = "ended by a signal" if outcome.interrupted else f"{outcome.failed} failed"
    raise PartialCampaign(
        f"{outcome.complete} of {outcome.rows} trials are complete ({reason}); "
        f"all that was measured is kept in {outcome.folder}",
        hint=f"continue with: {again}",
    )
