"""``pathlab plan CAMPAIGN``."""

from __future__ import annotations

import click

from pathlab.cli.commands.checks import check_campaign, check_pilot
from pathlab.cli.commands.completions import complete_campaign
from pathlab.cli.commands.declaration import CHOICES, PATH, argument, declare, flag, json_flag, option

#: Rows printed by default; with all of them the sums would scroll out of sight.
ROWS_SHOWN = 50

command = declare(
    "plan",
    "plan.show_plan",
    """Show the plan of CAMPAIGN: its trials in their order, the time and the bytes they will take.

    CAMPAIGN is a TOML file or the name of a shipped campaign (`pathlab campaigns list`).
    """,
    argument("campaign", shell_complete=complete_campaign),
    *CHOICES,
    option("--rows", "shown", type=click.IntRange(0), default=ROWS_SHOWN, help="Rows to print; 0: none."),
    flag("--all", "show_all", help="Print every row."),
    option(
        "--pilot",
        type=PATH,
        metavar="RESULTS",
        help="Earlier results that show by how much trials vary; without: 5 % is assumed.",
    ),
    json_flag("Print the rows as JSON lines."),
    checks=(check_campaign, check_pilot),
)
