"""``pathlab report RESULTS``."""

from __future__ import annotations

import click

from pathlab.cli.commands.checks import check_report
from pathlab.cli.commands.declaration import FIGURE_LOOK, PATH, argument, declare, flag, option
from pathlab.cli.commands.names import FIGURE_FORMS, REPORT_FORMS, RESULTS_FORMS

command = declare(
    "report",
    "report.write_report",
    "Write the report of RESULTS, a results folder or its results.db, and print its path last. The form "
    "explorer takes several RESULTS.",
    argument("results", nargs=-1, required=True, type=PATH, metavar="RESULTS..."),
    option(
        "--format",
        "formats",
        multiple=True,
        type=click.Choice(list(dict.fromkeys((*REPORT_FORMS, *RESULTS_FORMS, *FIGURE_FORMS)))),
        help="Form of the report; may be repeated. explorer: a page that filters, plots and compares trials. "
        "svg, pdf, png or csv of a --figure. Default: as --out ends, else html, of a figure svg.",
    ),
    option(
        "--out",
        type=PATH,
        help="File to write; default: report.html (.pdf, .md, .json), explorer.html next to the results.",
    ),
    option(
        "--figure",
        metavar="NAME",
        help="Write this figure alone (.svg, .pdf, .png; .csv: its numbers); 'list' names them all.",
    ),
    *FIGURE_LOOK,
    flag("--quiet", help="Print the paths of what was written only."),
    checks=(check_report,),
)
