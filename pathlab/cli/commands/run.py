"""``pathlab run CAMPAIGN``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pathlab.cli.commands.options import PATH, accept_option, campaign_choices

if TYPE_CHECKING:
    from pathlab.cli.choices import Choices


@click.command(name="run")
@click.argument("campaign")
@click.option("--out", type=PATH, help="Results folder; continued if it holds this campaign.")
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
    from pathlab.cli import run as action

    action.run(
        campaign,
        choices,
        out,
        new=new,
        accept_new_host_keys=accept_new_host_keys,
        quiet=quiet,
        json_events=json_events,
    )
