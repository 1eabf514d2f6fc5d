"""``pathlab recommend RESULTS``."""

from __future__ import annotations

from pathlab.cli.commands.checks import check_targets
from pathlab.cli.commands.declaration import RESULTS, declare, json_flag, option

command = declare(
    "recommend",
    "recommend.recommend_setup",
    """Name the transport and batching that carries messages at a rate and latency with the least CPU time.

    RESULTS have round trips of messages at several offered rates, such as those of the campaign
    relay-latency. Without --rate and --p99, list the highest rates and the p99 that each costs
    (Pareto front). Status 6: nothing meets the targets.
    """,
    RESULTS,
    option("--rate", metavar="RATE", help="Messages per second to carry, such as 5000, 5k or 1M."),
    option("--size", metavar="SIZE", help="Size of a message, such as 64B; needed if several were measured."),
    option("--p99", metavar="TIME", help="Longest 99th percentile of the round trips, such as 50us."),
    json_flag("Print JSON."),
    checks=(check_targets,),
)
