"""``pathlab hosts check``."""

from __future__ import annotations

from pathlib import Path

import click

from pathlab.cli.commands.options import accept_option, hosts_option
from pathlab.errors import UsageError


@click.group(name="hosts")
def command() -> None:
    """Look at hosts before measuring with them."""


@command.command(name="check")
@click.argument("hosts", nargs=-1, metavar="[HOST]...")
@hosts_option
@click.option("--campaign", help="Check the hosts and paths of this campaign.")
@click.option("--no-pairs", is_flag=True, help="Look at each host by itself only.")
@accept_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per check.")
def check(
    hosts: tuple[str, ...],
    hosts_file: Path | None,
    campaign: str | None,
    no_pairs: bool,
    accept_new_host_keys: bool,
    as_json: bool,
) -> int:
    """Try what hosts, and each pair of them in both directions, can do, and say how to fix what they cannot.

    A HOST is `local`, a host of hosts.toml, or [user@]host[:port] as for ssh; without any, all of the file or
    of the campaign are checked. Exit status 3 when something that measuring needs fails.
    """
    if campaign and hosts:
        raise UsageError("give hosts or --campaign, not both", hint="pathlab hosts check --help")
    from pathlab.cli import hosts as action

    chosen = action.choose_of_campaign(campaign, hosts_file) if campaign else action.choose(hosts, hosts_file)
    return action.check(
        chosen, pairs=not no_pairs, accept_new_host_keys=accept_new_host_keys, as_json=as_json
    )
