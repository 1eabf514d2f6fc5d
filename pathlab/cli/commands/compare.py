"""``pathlab compare A B …``."""

from __future__ import annotations

import click

from pathlab.cli.commands.checks import check_comparison, check_stored
from pathlab.cli.commands.declaration import PATH, argument, declare, flag, json_flag, option
from pathlab.cli.commands.names import MARGIN_RATIO, UNDECIDED, WORSE
from pathlab.study.measures import METRICS

command = declare(
    "compare",
    "compare.compare",
    "Compare results B and others with A for each combination: better, worse, equivalent or undecided.",
    argument("results", nargs=-1, required=True, type=PATH, metavar="A B..."),
    option(
        "--metric",
        "metrics",
        multiple=True,
        type=click.Choice(list(METRICS)),
        metavar="NAME",
        help=f"What to compare: {', '.join(METRICS)}; may be repeated. Default: throughput and loaded-rtt; "
        "of UDP flows packets and udp-loss; of messages round-trip-p99, cpu-message and, where no rate was "
        "offered, messages.",
    ),
    option(
        "--margin",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        default=MARGIN_RATIO,
        help="Share below which a difference does not matter.",
    ),
    flag("--any-path", help="Ignore host names when matching combinations."),
    option(
        "--ignore",
        "ignored",
        multiple=True,
        metavar="SETTING",
        help="Match combinations without a setting that was changed on purpose, such as window or pacing. "
        "May be repeated.",
    ),
    option(
        "--unchanged",
        type=PATH,
        help="A again, without any change: the noise floor is how far it differs, not how far halves do.",
    ),
    flag(
        "--all",
        "flagged",
        help="Count flagged trials too, as of a machine that was too busy; every number is provisional then.",
    ),
    option(
        "--fail-on",
        type=click.Choice([WORSE, UNDECIDED]),
        help="End with status 6 where a row is worse; undecided: also where one is undecided, or where a "
        "combination has no usable trial on one side. Status 7: no trial is usable.",
    ),
    json_flag("Print JSON."),
    option(
        "--report",
        type=PATH,
        metavar="FILE",
        help="Write the comparison as a page as well: .html, .md or .pdf.",
    ),
    checks=(check_stored, check_comparison),
)
