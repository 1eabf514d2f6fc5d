"""``pathlab results list|show|merge|prune|check``."""

from __future__ import annotations

import click

from pathlab.cli.commands.checks import check_age, check_place, check_stored
from pathlab.cli.commands.declaration import PATH, RESULTS, argument, declare, flag, group, json_flag, option
from pathlab.cli.commands.names import RESULTS_ROOT

#: Combinations and trials printed by default.
ROWS_SHOWN = 50
_SEVERAL = argument("results", nargs=-1, required=True, type=PATH, metavar="RESULTS...")

command = group(
    "results",
    "List, show, merge, prune and check stored results.",
    declare(
        "list",
        "results.list_folder",
        "List the results below FOLDER (default: results); those that cannot be read, with the reason.",
        argument("folder", type=PATH, default=RESULTS_ROOT),
        json_flag("Print JSON."),
    ),
    declare(
        "show",
        "results_show.show",
        """Show the campaign, combinations and trials of RESULTS, and the files that it was imported from.

        Trials are printed from the first one on; a last line says where the next ones are.
        """,
        RESULTS,
        option(
            "--limit",
            type=click.IntRange(0, 2**31),
            default=ROWS_SHOWN,
            help="Combinations and trials to print; 0: all.",
        ),
        option(
            "--offset",
            type=click.IntRange(0, 2**31),
            default=0,
            help="Trials to skip, to print the next ones.",
        ),
        json_flag("Print JSON: the campaign and counts, no trials."),
        checks=(check_stored,),
    ),
    declare(
        "merge",
        "results.merge",
        "Make one results folder of several RESULTS, cycles counted on; the sources do not change.",
        _SEVERAL,
        option("--out", type=PATH, required=True, help="Folder to make."),
        checks=(check_stored, check_place("--out")),
    ),
    declare(
        "prune",
        "results.prune",
        "Delete failed trials or old series from RESULTS permanently.",
        RESULTS,
        flag("--failed", help="Trials that failed or were interrupted."),
        option(
            "--series-older-than",
            "age",
            help="Series of trials begun longer ago, such as 30d; their figures stay.",
        ),
        flag("--dry-run", help="Only say what would go."),
        checks=(check_stored, check_age),
    ),
    declare(
        "check",
        "results.check",
        """Check the integrity of RESULTS: database, plan, digests, series.

        Exit status 5 if one is damaged.
        """,
        _SEVERAL,
        checks=(check_stored,),
    ),
)
