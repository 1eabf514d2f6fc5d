"""``pathlab measure HOST [HOST]``."""

from __future__ import annotations

import click

from pathlab.cli.commands.checks import check_ends, check_place, check_times
from pathlab.cli.commands.declaration import (
    ACCEPT_KEYS,
    ENDS,
    HOSTS_FILE,
    PATH,
    WAIT_IDLE,
    declare,
    json_flag,
    option,
)

command = declare(
    "measure",
    "measure.measure",
    """Measure once from the first HOST to the second (from this machine when one is named).

    A HOST is `local`, this machine, a host of hosts.toml, or [user@]host[:port] as for ssh.
    """,
    ENDS,
    option("--streams", type=click.IntRange(1, 4096), default=1, help="TCP connections."),
    option("--window", default="auto", help="Socket buffer per stream, such as 256K."),
    option("--time", "duration", default="10s", help="Steady window; a bare number is seconds."),
    option("--warmup", default="1s", help="Traffic before the steady window."),
    option("--interval", default="100ms", help="Length of one record."),
    option("--congestion", default="default", help="Congestion control, such as cubic."),
    option("--probe-interval", default="20ms", help="Time between two RTT probes."),
    option("--unloaded", default=50, help="RTT probes after the traffic."),
    json_flag("Print the record as JSON."),
    option("--out", type=PATH, help="Keep the results, with all series, in this folder."),
    WAIT_IDLE,
    HOSTS_FILE,
    ACCEPT_KEYS,
    checks=(check_ends, check_place("--out"), check_times("wait_idle")),
)
