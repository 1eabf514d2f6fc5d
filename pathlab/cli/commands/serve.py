"""``pathlab serve [RESULTS…|FOLDER]``."""

from __future__ import annotations

import click

from pathlab.cli.commands.checks import check_served
from pathlab.cli.commands.declaration import PATH, argument, declare, option
from pathlab.cli.commands.names import BIND_ADDRESS, RESULTS_ROOT

command = declare(
    "serve",
    "serve.serve",
    f"""Show RESULTS, or all results below a FOLDER, in a browser: filter, plot, compare, watch runs.

    Prints an address that opens the page once, and a new one after each use. Without an argument it is the
    folder `{RESULTS_ROOT}`. Ctrl-C ends the server, with exit status 0.
    """,
    argument("places", nargs=-1, type=PATH, metavar="[RESULTS...|FOLDER]"),
    option("--port", type=click.IntRange(1, 65535), help="Port to listen on. [default: a free one]"),
    option(
        "--bind",
        default=BIND_ADDRESS,
        metavar="ADDRESS",
        help="Address to listen on; others than this machine's own let other machines connect, unencrypted.",
    ),
    checks=(check_served,),
)
