"""``pathlab recommend RESULTS``."""

from __future__ import annotations

from pathlab.cli.commands.checks import check_targets
from pathlab.cli.commands.declaration import RESULTS, declare, json_flag, option

command = declare(
    "recommend",
    "recommend.recommend_setup",
    """Say what RESULTS recommend: streams and window, or for messages transport and batching.

    For messages, --rate and --p99 name the transport and batching that carries them with the least CPU time,
    for each size that was measured; RESULTS then have round trips at several offered rates, such as those of
    the campaign relay-latency. Without these options, messages have a list of the highest rates and the p99
    that each costs (Pareto front). Status 6: nothing meets the targets, on some path or for some size.
    """,
    RESULTS,
    option("--rate", metavar="RATE", help="Messages per second to carry, such as 5000, 5k or 1M."),
    option("--size", metavar="SIZE", help="Size of a message, such as 64B; default: each size."),
    option("--p99", metavar="TIME", help="Longest 99th percentile of the round trips, such as 50us."),
    json_flag("Print JSON."),
    checks=(check_targets,),
)
