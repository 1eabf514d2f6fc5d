"""List the technologies whose round trips can be measured."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pathlab.cli.declaration import ACCEPT_KEYS, HOSTS_FILE, argument, declare, json_flag
from pathlab.cli.deferred import DeferredImports
from pathlab.cli.host_options import build_hosts, name_hosts, read_tables
from pathlab.errors import HostError, PathlabError
from pathlab.host_names import LOCAL

with DeferredImports() as libraries:
    import json
    from dataclasses import asdict

    from pathlab.campaign.technologies import is_shipped_technology, list_adapter_faults, list_technologies
    from pathlab.cli.console import TerminalConsole
    from pathlab.printed_table import PrintedParagraph, PrintedTable
    from pathlab.remote.hosts import build_access
    from pathlab.runner.hosts.pair_check import HostInspection
    from pathlab.runner.hosts.technology_check import TechnologyState, format_fix
    from pathlab.table_columns import TableColumn


if TYPE_CHECKING:
    States = Mapping[str, Sequence[TechnologyState]]


def list_states(
    hosts: tuple[str, ...], hosts_file: Path | None, *, accept_new_host_keys: bool, as_json: bool
) -> int:
    """List the technologies whose round trips can be measured, and what hosts lack for them.

    A HOST is `local`, a host of hosts.toml, or [user@]host[:port] as for ssh. Without any it is this machine,
    or every host of the file named. A technology of your own is one file in ~/.config/pathlab/adapters or in
    a folder that $PATHLAB_ADAPTERS names. Exit status 3 only where no host could be asked.
    """
    written = read_tables(hosts_file)
    every = [LOCAL] if hosts_file is None else list(written)
    named = name_hosts(hosts or every, written)
    libraries.load()
    states: dict[str, list[TechnologyState]] = {}
    failures: list[PathlabError] = []
    access = build_access(accept_new_host_keys=accept_new_host_keys)
    with contextlib.closing(HostInspection(build_hosts(written, named), access)) as inspection:
        for name in dict(named):
            try:
                states[name] = inspection.check_technologies(name, list(list_technologies()))
            except PathlabError as error:
                failures.append(error)
    if not states and failures:
        raise failures[0]
    if as_json:
        _print_json(states, failures)
    else:
        _print_table(states, failures)
    return 0


def _print_json(states: States, failures: Sequence[PathlabError]) -> None:
    for own in states.values():
        for state in own:
            technology = list_technologies()[state.name]
            about = {key: getattr(technology, key) for key in ("title", "language", "beneath", "baseline")}
            about |= {"adds": technology.adds, "lacks": technology.lacks, "file": technology.file}
            click.echo(json.dumps({"kind": "technology", **asdict(state), **about}))
    for failure in failures:
        host = failure.host if isinstance(failure, HostError) else None
        click.echo(json.dumps({"kind": "failure", "host": host, "failure": str(failure)}))
    for fault in list_adapter_faults():
        click.echo(json.dumps({"kind": "fault", "fault": fault}))


def _print_table(states: States, failures: Sequence[PathlabError]) -> None:
    console, several = TerminalConsole(), len(states) > 1
    heads = [
        TableColumn("name", left=True),
        TableColumn("technology", priority=2, left=True, wraps=True),
        TableColumn("language", priority=1, left=True),
        TableColumn("adds", priority=3, left=True, wraps=True),
        *(TableColumn(name if several else "here", left=True, wraps=True) for name in states),
    ]
    by_name = {(state.name, host): state for host, own in states.items() for state in own}
    rows = [
        (
            technology.name,
            technology.title + ("" if is_shipped_technology(technology) else " (your own)"),
            technology.language,
            ", ".join(technology.adds),
            *(_describe(by_name.get((technology.name, host))) for host in states),
        )
        for technology in list_technologies().values()
    ]
    PrintedTable(columns=heads, rows=rows, elsewhere="--json").print_to(console)
    for host, own in states.items():
        lacking = [state for state in own if state.missing]
        if fix := format_fix(lacking):
            where = f" on {host}" if several else ""
            console.print(PrintedParagraph(f"{len(own) - len(lacking)} of {len(own)} can run{where}."))
            click.echo(f"  fix: {fix}")
        if any(not state.sandbox for state in own):
            console.print(PrintedParagraph(f"{host} refuses user namespaces: servers run without a sandbox."))
    for text in (*map(str, failures), *(f"left out: {fault}" for fault in list_adapter_faults())):
        console.print(PrintedParagraph(text))


def _describe(state: TechnologyState | None) -> str:
    if state is None:
        return ""
    if not state.missing:
        return state.versions or "yes"
    return f"no: {', '.join(state.debian or state.pip or state.missing)}"


command = declare(
    "technologies",
    list_states,
    argument("hosts", nargs=-1, metavar="[HOST]..."),
    HOSTS_FILE,
    ACCEPT_KEYS,
    json_flag(
        "Print one JSON object per technology and host; `kind` is technology, failure (of a host) or "
        "fault (of a file)."
    ),
)
