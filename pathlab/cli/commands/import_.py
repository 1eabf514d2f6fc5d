"""``pathlab import FILE…``."""

from __future__ import annotations

from pathlab.cli.commands.checks import check_files, check_place
from pathlab.cli.commands.declaration import PATH, argument, declare, flag, option

command = declare(
    "import",
    "import_.import_files",
    """Import FILEs of iperf3 (--json, --json-stream), Flent, pScheduler, irtt and crusader.

    All files or none: each is read before anything is stored. Prints the results folder last.
    """,
    argument("files", nargs=-1, required=True, type=PATH, metavar="FILE..."),
    option(
        "--into",
        type=PATH,
        help="Results folder to add to, made if it does not exist; default: a new one under results.",
    ),
    option("--source", help="Call the sending host this, as a campaign does, so that paths compare."),
    option("--destination", help="Call the receiving host this."),
    option("--title", default="Imported measurements", help="Title of a new folder."),
    flag("--keep-going", help="Leave out files that cannot be read, and name them."),
    checks=(check_files, check_place("--into")),
)
