"""``pathlab report RESULTS``."""

from __future__ import annotations

import click

from pathlab.cli.commands.checks import check_report
from pathlab.cli.commands.declaration import PATH, RESULTS, declare, flag, option
from pathlab.cli.commands.names import REPORT_FORMS

command = declare(
    "report",
    "report.write_report",
    "Write the report of RESULTS, a results folder or its results.db, and print its path last.",
    RESULTS,
    option(
        "--format",
        "formats",
        multiple=True,
        type=click.Choice(REPORT_FORMS),
        help="Form of the report; may be repeated. Default: as --out ends, else html.",
    ),
    option(
        "--out", type=PATH, help="File to write; default: report.html (.pdf, .md, .json) beside the results."
    ),
    option(
        "--figure",
        metavar="NAME",
        help="Write this figure alone (.svg, .pdf, .png; .csv: its numbers); 'list' names them all.",
    ),
    option("--style", type=PATH, help="matplotlib style sheet that --figure is drawn with."),
    flag("--quiet", help="Print the paths of what was written only."),
    checks=(check_report,),
)
