"""``pathlab analyze RESULTS``."""

from __future__ import annotations

from pathlab.cli.commands.checks import check_analyses
from pathlab.cli.commands.declaration import RESULTS, declare, json_flag, option

command = declare(
    "analyze",
    "analyze.analyze",
    """Analyse RESULTS, a results folder or its results.db: fits, comparisons, limits, costs.

    What these trials cannot decide is shown as undecided, with the reason.
    """,
    RESULTS,
    option(
        "--only",
        "names",
        multiple=True,
        metavar="NAME",
        help="Only this analysis; may be repeated; 'list' names them all.",
    ),
    option(
        "--reference",
        metavar="NAME",
        help="Compare the results with this published table (pathlab reference list).",
    ),
    option("--column", metavar="COLUMN", help="Only this column of the published table."),
    json_flag("Print every figure as one JSON document."),
    checks=(check_analyses,),
)
