"""``pathlab path HOST [HOST]``."""

from __future__ import annotations

import click

from pathlab.cli.commands.checks import check_figure, check_target, check_times
from pathlab.cli.commands.declaration import (
    ACCEPT_KEYS,
    ENDS,
    HOSTS_FILE,
    PATH,
    declare,
    flag,
    json_flag,
    option,
)
from pathlab.cli.commands.names import PROBE_METHODS

command = declare(
    "path",
    "path.find_path",
    """Find the route to the second HOST from the first (from this machine when one is named).

    The first HOST is `local`, this machine, a host of hosts.toml, or [user@]host[:port] as for ssh. The
    second is any name or address; with --both it is given like the first. Hops answer probes that end at
    them, so only --both needs an agent on the second HOST.
    """,
    ENDS,
    option(
        "--method",
        "methods",
        type=click.Choice(PROBE_METHODS),
        multiple=True,
        help="Kind of probes; may be given again. [default: all of udp, icmp, tcp]",
    ),
    option("--port", type=click.IntRange(1, 65535), help="Target's port of udp and tcp. [33434 and 443]"),
    option("--flows", type=click.IntRange(1, 16), default=4, help="Flows, for balanced routes."),
    option("--probes", type=click.IntRange(2, 1000), default=5, help="Per hop and flow."),
    option("--max-hops", type=click.IntRange(1, 255), default=30, help="Furthest TTL."),
    option("--timeout", default="1s", help="How long to wait for an answer."),
    click.Option(["--ipv4", "family"], flag_value=4, type=int, help="Use IPv4 only."),
    click.Option(["--ipv6", "family"], flag_value=6, type=int, help="Use IPv6 only."),
    flag("--no-capacity", help="Leave out the capacity of the hops, which takes longest."),
    option("--budget", help="Longest time for the capacity of the hops. [default: 60s; of a single hop 5s]"),
    option("--max-probes", type=click.IntRange(min=1), default=10_000, help="Most probes for the capacity."),
    flag("--both", help="Find the return path too: an agent then runs on the second HOST as well."),
    flag("--names", help="Look up the names of the addresses."),
    json_flag("Print everything as JSON."),
    option(
        "--figure",
        type=PATH,
        help="Draw the path into FILE (.svg, .png, .pdf), the return path into FILE-back.",
    ),
    HOSTS_FILE,
    ACCEPT_KEYS,
    checks=(check_target, check_figure, check_times("timeout", "budget")),
)
