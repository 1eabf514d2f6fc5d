"""``pathlab view RESULTS... VIEW``."""

from __future__ import annotations

from pathlab.cli.commands.checks import check_view
from pathlab.cli.commands.completions import complete_view_text
from pathlab.cli.commands.declaration import FIGURE_LOOK, PATH, argument, declare, option

command = declare(
    "view",
    "view.view",
    "Print a view of the explorer as a table: curves, intervals, trials, and what was excluded and why.\n\n"
    "VIEW is the part after # in the explorer's address, such as "
    "'x=streams&y=throughput_bits_per_s&colour=window_bytes', or the name of a saved view. Without it, the "
    "view is the one that the explorer opens with.",
    argument(
        "given", nargs=-1, required=True, metavar="RESULTS... [VIEW]", shell_complete=complete_view_text
    ),
    option(
        "--output",
        type=PATH,
        metavar="FILE",
        help="Write the view into a file instead: .csv, .json, .svg, .pdf or .png.",
    ),
    *FIGURE_LOOK,
    checks=(check_view,),
)
