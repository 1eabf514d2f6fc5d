"""``pathlab run CAMPAIGN``."""

from __future__ import annotations

import click

from pathlab.cli.commands.checks import check_campaign, check_place, check_wait
from pathlab.cli.commands.completions import complete_campaign
from pathlab.cli.commands.declaration import (
    ACCEPT_KEYS,
    CHOICES,
    PATH,
    WAIT_IDLE,
    argument,
    declare,
    flag,
    option,
)

command = declare(
    "run",
    "run.run",
    """Run CAMPAIGN, a TOML file or the name of a shipped campaign (such as quickstart).

    An unfinished run of the same campaign is continued at its first unfinished trial. The path of the HTML
    report is the last line printed.
    """,
    argument("campaign", shell_complete=complete_campaign),
    option("--out", type=PATH, help="Results folder; continued if it holds this campaign."),
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
    checks=(check_campaign, check_place("--out"), check_wait),
)
