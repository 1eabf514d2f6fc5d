"""Check hosts before measuring with them."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

import click

from pathlab.cli.choices import Choices
from pathlab.cli.completions import complete_campaign
from pathlab.cli.declaration import ACCEPT_KEYS, HOSTS_FILE, argument, declare, flag, group, json_flag, option
from pathlab.cli.deferred import DeferredImports
from pathlab.cli.host_options import build_hosts, name_hosts, read_tables
from pathlab.errors import UsageError
from pathlab.host_names import LOCAL

with DeferredImports() as libraries:
    import json
    from dataclasses import asdict

    from rich.console import Console
    from rich.text import Text

    from pathlab.campaign.host_model import Host
    from pathlab.cli.console import TerminalConsole
    from pathlab.remote.hosts import build_access
    from pathlab.report.hosts.host_text import render_check
    from pathlab.runner.hosts.facts_check import HostCheck
    from pathlab.runner.hosts.pair_check import HostInspection, list_pairs


HOSTS_MAX_FOR_PAIRS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenHosts:
    """What to check: hosts by name in order, and ordered pairs; ``tables`` also has those jumped through."""

    tables: dict[str, Host]
    names: list[str]
    pairs: list[tuple[str, str]]


def _choose(hosts: tuple[str, ...], hosts_file: Path | None) -> ChosenHosts:
    """The hosts named, else all of the file, and their pairs. Raises UsageError where there is none."""
    written = read_tables(hosts_file)
    named = name_hosts(hosts, written)
    names = list(dict(named)) or list(written)
    if not names:
        raise UsageError(
            "no host to check", hint="name hosts, a file of hosts with --hosts, or a campaign with --campaign"
        )
    libraries.load()
    few = bool(hosts) or len(names) <= HOSTS_MAX_FOR_PAIRS
    return ChosenHosts(
        tables=build_hosts(written, named),
        names=names,
        pairs=list_pairs(names) if few else [],
    )


def _choose_of_campaign(campaign: str, hosts_file: Path | None) -> ChosenHosts:
    """The hosts and paths of a campaign. Raises UsageError where all are emulated."""
    model = Choices(hosts=hosts_file).load(campaign)
    emulated = model.lab.hosts if model.lab is not None else ()
    measured = [path for path in model.paths if path.source not in emulated]
    paths = [(path.source, host) for path in measured for host in path.hosts[1:]]
    if not paths:
        raise UsageError(
            f"all hosts of '{campaign}' are emulated: there is nothing to check",
            hint="see `pathlab doctor` for what labs need",
        )
    libraries.load()
    both_ways = [pair for path in paths for pair in (path, path[::-1]) if pair[0] != pair[1]]
    return ChosenHosts(
        tables=dict(model.hosts),
        names=list(dict.fromkeys(end for path in paths for end in path)),
        pairs=list(dict.fromkeys((source, destination) for source, destination in both_ways)),
    )


def check(
    hosts: tuple[str, ...],
    hosts_file: Path | None,
    campaign: str | None,
    *,
    no_pairs: bool,
    accept_new_host_keys: bool,
    as_json: bool,
) -> int:
    """Try what hosts can do, alone and in pairs in both directions, and say how to fix the rest.

    A HOST is `local`, a host of hosts.toml, or [user@]host[:port] as for ssh. Without any, all hosts of the
    file or of the campaign are checked. Exit status 3 when something that measuring needs fails.
    """
    if campaign and hosts:
        raise UsageError("give hosts or --campaign, not both", hint="pathlab hosts check --help")
    chosen = _choose_of_campaign(campaign, hosts_file) if campaign else _choose(hosts, hosts_file)
    console = TerminalConsole()
    failed = False
    access = build_access(accept_new_host_keys=accept_new_host_keys)
    with contextlib.closing(HostInspection(chosen.tables, access)) as inspection:
        pairs = [] if no_pairs else chosen.pairs
        ends_too = dict.fromkeys([*chosen.names, *(end for pair in pairs for end in pair)])
        for name, checks in inspection.check_hosts(list(ends_too)):
            failed |= _show(name, {"host": name}, checks, console, as_json=as_json)
        for pair in inspection.check_pairs(pairs):
            ends = {"source": pair.source, "destination": pair.destination}
            title = f"{pair.source} to {pair.destination}"
            failed |= _show(title, ends, pair.items, console, as_json=as_json)
    if not as_json:
        console.print("\nSomething that measuring needs fails." if failed else "\nThese hosts can measure.")
        if not (no_pairs or chosen.pairs) and len(chosen.names) > 1:
            console.print(
                f"Pairs of more than {HOSTS_MAX_FOR_PAIRS} hosts are checked only if you name the hosts."
            )
    return 3 if failed else 0


def _show(
    title: str, ends: dict[str, str], checks: tuple[HostCheck, ...], console: Console, *, as_json: bool
) -> bool:
    """Print one block; whether something in it fails."""
    if as_json:
        for item in checks:
            click.echo(json.dumps({**ends, **asdict(item)}))
    else:
        console.print(Text("This machine" if title == LOCAL else title, style="bold"), soft_wrap=True)
        for item in checks:
            render_check(item.state, item.item, item.found, item.fix, console)
    return any(item.state == "missing" for item in checks)


command = group(
    "hosts",
    "Check hosts before measuring with them.",
    declare(
        "check",
        check,
        argument("hosts", nargs=-1, metavar="[HOST]..."),
        HOSTS_FILE,
        option(
            "--campaign",
            shell_complete=complete_campaign,
            help="Check the hosts and paths of this campaign.",
        ),
        flag("--no-pairs", help="Check each host by itself only."),
        ACCEPT_KEYS,
        json_flag("Print one JSON object per check."),
    ),
)
