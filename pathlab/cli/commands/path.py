"""``pathlab path HOST [HOST]``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pathlab.cli.commands.names import LOCAL, PROBE_METHODS
from pathlab.cli.commands.options import PATH, accept_option, hosts_option


@click.command(name="path")
@click.argument("hosts", nargs=-1, required=True, metavar="HOST [HOST]")
@click.option(
    "--method",
    "methods",
    type=click.Choice(PROBE_METHODS),
    multiple=True,
    help="Kind of probes; may be given again. [default: all of udp, icmp, tcp]",
)
@click.option("--port", type=click.IntRange(1, 65535), help="Target's port of udp and tcp. [33434 and 443]")
@click.option(
    "--flows", type=click.IntRange(1, 16), default=4, show_default=True, help="Flows, for balanced routes."
)
@click.option(
    "--probes", type=click.IntRange(2, 1000), default=5, show_default=True, help="Per hop and flow."
)
@click.option("--max-hops", type=click.IntRange(1, 255), default=30, show_default=True, help="Furthest TTL.")
@click.option("--timeout", default="1s", show_default=True, help="How long to wait for an answer.")
@click.option("--ipv4", "family", flag_value=4, type=int, help="Use IPv4 only.")
@click.option("--ipv6", "family", flag_value=6, type=int, help="Use IPv6 only.")
@click.option("--no-capacity", is_flag=True, help="Leave out the capacity of the hops, which takes longest.")
@click.option("--budget", default="60s", show_default=True, help="Longest time for the capacity of the hops.")
@click.option(
    "--max-probes",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    help="Most probes for the capacity.",
)
@click.option(
    "--both", is_flag=True, help="Find the way back too: an agent then runs on the second HOST as well."
)
@click.option("--names", is_flag=True, help="Look up the names of the addresses.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option(
    "--figure",
    type=PATH,
    help="Draw the path into FILE (.svg, .png, .pdf), the way back into FILE-back.",
)
@hosts_option
@accept_option
def command(
    hosts: tuple[str, ...],
    both: bool,
    hosts_file: Path | None,
    accept_new_host_keys: bool,
    figure: Path | None,
    names: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Find the route to the second HOST from the first (from this machine when one is named).

    The first HOST is `local`, this machine, a host of hosts.toml, or [user@]host[:port] as for ssh; the other
    is any name or address, and with --both one as the first. Hops answer probes that end at them: without
    --both nothing needs to run there.
    """
    if len(hosts) > 2:
        raise click.UsageError(f"two hosts at most, {len(hosts)} given")
    ends = (hosts[0], hosts[1]) if len(hosts) == 2 else (LOCAL, hosts[0])
    from pathlab.cli import path as action

    reach = action.Reach(both=both, hosts_file=hosts_file, accept_new_host_keys=accept_new_host_keys)
    action.find_path(ends, reach, settings, figure, names=names, as_json=as_json)
