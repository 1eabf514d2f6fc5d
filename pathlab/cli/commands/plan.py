"""``pathlab plan CAMPAIGN``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pathlab.cli.commands.options import campaign_choices

if TYPE_CHECKING:
    from pathlab.cli.choices import Choices

#: Rows printed unless more are asked for; a table of all would scroll the sums away.
ROWS_SHOWN = 50


@click.command(name="plan")
@click.argument("campaign")
@campaign_choices
@click.option(
    "--rows",
    "shown",
    type=click.IntRange(0),
    default=ROWS_SHOWN,
    show_default=True,
    help="Rows to print; 0: none.",
)
@click.option("--all", "show_all", is_flag=True, help="Print every row.")
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON lines.")
def command(campaign: str, choices: Choices, shown: int, show_all: bool, as_json: bool) -> None:
    """Show the plan of CAMPAIGN: its trials in their order, the time and the bytes they will take.

    CAMPAIGN is a TOML file or the name of a shipped campaign (`pathlab campaigns list`).
    """
    from pathlab.cli import plan as action

    action.show_plan(campaign, choices, None if show_all else shown, as_json=as_json)
