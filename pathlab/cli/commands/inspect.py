"""``pathlab inspect RESULTS --trial N``, ``pathlab inspect CAPTURE``."""

from __future__ import annotations

import click

from pathlab.cli.commands.checks import check_inspection
from pathlab.cli.commands.declaration import PATH, argument, declare, flag, option
from pathlab.cli.commands.names import REPORT_FORMS

command = declare(
    "inspect",
    "inspect.inspect",
    """Explain the TCP packets of a capture: retransmissions by cause, reordering, RTT, windows.

    SOURCE is a pcap or pcapng file, or with --trial a results folder whose campaign recorded packet
    headers ([trial] capture = "headers").
    """,
    argument("source", type=PATH),
    option("--trial", type=click.IntRange(min=1), metavar="N", help="Inspect the captures of trial N."),
    option("--flow", type=click.IntRange(min=1), metavar="N", help="Show flow N; default: most bytes."),
    option("--from", "first", metavar="TIME", help="Begin the figures TIME after the first packet."),
    option("--to", "last", metavar="TIME", help="End the figures TIME after the first packet."),
    option(
        "--format",
        "formats",
        multiple=True,
        type=click.Choice(REPORT_FORMS),
        help="Write a page too; may be repeated. With --out alone: as it ends.",
    ),
    option("--out", type=PATH, help="File to write; default: inspection.html (.pdf, .md, .json) here."),
    option("--figure", type=PATH, help="Draw the time-sequence figure into FILE (.svg, .png, .pdf)."),
    flag("--quiet", help="Print the paths of what was written only."),
    checks=(check_inspection,),
)
