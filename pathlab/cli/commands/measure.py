"""``pathlab measure HOST [HOST]``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pathlab.cli.commands.names import LOCAL
from pathlab.cli.commands.options import PATH, accept_option, hosts_option


@click.command(name="measure")
@click.argument("hosts", nargs=-1, required=True, metavar="HOST [HOST]")
@click.option(
    "--streams", type=click.IntRange(1, 4096), default=1, show_default=True, help="TCP connections."
)
@click.option("--window", default="auto", show_default=True, help="Socket buffer per stream, such as 256K.")
@click.option(
    "--time", "duration", default="10s", show_default=True, help="Steady window; a bare number is seconds."
)
@click.option("--warmup", default="1s", show_default=True, help="Traffic before the steady window.")
@click.option("--interval", default="100ms", show_default=True, help="Length of one record.")
@click.option("--congestion", default="default", show_default=True, help="Congestion control, such as cubic.")
@click.option("--probe-interval", default="20ms", show_default=True, help="Time between two RTT probes.")
@click.option("--unloaded", default=50, show_default=True, help="RTT probes after the traffic.")
@click.option("--json", "as_json", is_flag=True, help="Print the record as JSON.")
@click.option("--out", type=PATH, help="Keep the results, with all series, in this folder.")
@hosts_option
@accept_option
def command(
    hosts: tuple[str, ...],
    as_json: bool,
    out: Path | None,
    hosts_file: Path | None,
    accept_new_host_keys: bool,
    **settings: Any,
) -> None:
    """Measure once from the first HOST to the second (from this machine when one is named).

    A HOST is `local`, this machine, a host of hosts.toml, or [user@]host[:port] as for ssh.
    """
    if len(hosts) > 2:
        raise click.UsageError(f"two hosts at most, {len(hosts)} given")
    ends = (hosts[0], hosts[1]) if len(hosts) == 2 else (LOCAL, hosts[0])
    from pathlab.cli import measure as action

    action.measure(
        ends, settings, hosts_file, out, accept_new_host_keys=accept_new_host_keys, as_json=as_json
    )
