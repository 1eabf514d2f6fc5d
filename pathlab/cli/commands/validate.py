"""``pathlab validate HOST HOST``."""

from __future__ import annotations

import click

from pathlab.cli.commands.checks import check_place, check_times, check_validated_ends, check_wait
from pathlab.cli.commands.declaration import (
    ACCEPT_KEYS,
    HOSTS_FILE,
    PATH,
    WAIT_IDLE,
    argument,
    declare,
    json_flag,
    option,
)

command = declare(
    "validate",
    "validate.validate",
    """Measure from SOURCE to DESTINATION by PathLab's engine and by iperf3, interleaved.

    The ratio of the two throughputs is printed with its 95 % confidence interval for each number of streams;
    the interval needs six cycles or more. iperf3 (3.7 or newer) has to be installed on both hosts.
    """,
    argument("source"),
    argument("destination"),
    option("--streams", default="1,4,16", help="Numbers of streams, with commas."),
    option("--cycles", type=click.IntRange(1, 1000), default=7, help="Pairs of each."),
    option("--time", "duration", default="5s", help="Steady window of each trial."),
    option("--warmup", default="2s", help="Traffic before the steady window."),
    option("--congestion", help="Congestion control of both, such as cubic; else the system's."),
    option("--lab", metavar="NAME", help="Hosts of this ready-made lab (`pathlab lab list`)."),
    WAIT_IDLE,
    HOSTS_FILE,
    ACCEPT_KEYS,
    option("--out", type=PATH, help="Keep the results in this folder."),
    json_flag("Print the ratios as JSON."),
    checks=(check_validated_ends, check_times("duration", "warmup"), check_wait, check_place("--out")),
)
