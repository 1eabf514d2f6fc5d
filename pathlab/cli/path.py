"""``pathlab path HOST [HOST]``: the route, its MTU, and latency and capacity of every hop."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from pathlab.campaign.model import LOCAL, Host
from pathlab.cli.host_options import accept_option, hosts_option, name_hosts, read_tables
from pathlab.discover.capacity import CapacityOptions
from pathlab.discover.names import look_up_names
from pathlab.discover.path import PathOptions, PathReport, discover_path
from pathlab.discover.probes import METHODS, TIMEOUTS_NS
from pathlab.discover.route import RouteOptions
from pathlab.discover.text import render_path
from pathlab.errors import UsageError
from pathlab.remote.deploy import ensure_agent
from pathlab.remote.hosts import RemoteHosts, build_access
from pathlab.remote.local import agent_command, start_process
from pathlab.remote.process import ProcessChannel
from pathlab.remote.session import Session
from pathlab.remote.transport import Transport
from pathlab.units import parse_time_ns, spell_time


class AgentAlone(Transport):
    """An agent on this machine without an engine, which probing paths does not need."""

    def open(self) -> ProcessChannel:
        """Start the agent. HostError names the stage."""
        return start_process(agent_command(ensure_agent(host=LOCAL), None), host=LOCAL)

    def close(self) -> None:
        """Nothing is held between channels."""

    def describe(self) -> str:
        """A few words for messages."""
        return "local process"


@click.command(name="path")
@click.argument("hosts", nargs=-1, required=True, metavar="HOST [HOST]")
@click.option(
    "--method",
    "methods",
    type=click.Choice(METHODS),
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
    type=click.Path(path_type=Path),
    help="Draw the path into FILE (.svg, .png, .pdf), the way back into FILE-back.",
)
@hosts_option
@accept_option
def command(
    hosts: tuple[str, ...],
    both: bool,
    names: bool,
    as_json: bool,
    figure: Path | None,
    hosts_file: Path | None,
    accept_new_host_keys: bool,
    **settings: Any,
) -> None:
    """Find the route to the second HOST from the first (from this machine when one is named).

    The first HOST is `local`, this machine, a host of hosts.toml, or [user@]host[:port] as for ssh; the other
    is any name or address, and with --both one as the first. Hops answer probes that end at them: without
    --both nothing needs to run there.
    """
    if len(hosts) > 2:
        raise click.UsageError(f"two hosts at most, {len(hosts)} given")
    source, target = hosts if len(hosts) == 2 else (LOCAL, hosts[0])
    tables = read_tables(hosts_file)
    ends = name_hosts((source, target) if both else (source,), tables)
    if figure is not None:
        from pathlab.report.path_figure import check_figure_file  # drawing takes a second to load

        check_figure_file(figure)
    options = _read_options(settings)
    address = "127.0.0.1" if target == LOCAL else _address_of(target, tables)
    remote = _open_remote(ends, tables, accept_new_host_keys=accept_new_host_keys)
    reports: list[PathReport] = []
    try:
        with contextlib.ExitStack() as stack:
            sessions = [stack.enter_context(_start_agent(name, remote)) for name, _ in ends]
            if both and ends[1][0] in remote:  # given as for ssh, which need not be an address
                address = remote.addresses(ends[1][0])[0]
            reports.append(discover_path(sessions[0], address, options))
            if both:
                named = tables.get(source, {}).get("measure_addresses")
                back = named[0] if named else reports[0].route.local_address
                reports.append(discover_path(sessions[1], str(back), options))
    finally:
        remote.close()
        if reports:
            _show(reports, names=names, as_json=as_json)
    if figure is not None:
        _draw(reports, figure)


def _open_remote(
    ends: list[tuple[str, dict[str, Any] | None]],
    tables: dict[str, dict[str, Any]],
    *,
    accept_new_host_keys: bool,
) -> RemoteHosts:
    known = {name: Host.model_validate(entry) for name, entry in tables.items()}
    known |= {name: Host.model_validate(table) for name, table in ends if table is not None}
    return RemoteHosts(
        {name: host for name, host in known.items() if host.transport == "ssh"},
        build_access(accept_new_host_keys=accept_new_host_keys),
    )


def _start_agent(name: str, remote: RemoteHosts) -> Session:
    transport = remote.transport(name, with_engine=False) if name in remote else AgentAlone()
    return Session(transport, host=name, require=("discovery",))


def _draw(reports: list[PathReport], figure: Path) -> None:
    from pathlab.report.path_figure import save_path_figure

    save_path_figure(reports[0], figure)
    for report in reports[1:]:
        save_path_figure(report, figure.with_stem(f"{figure.stem}-back"))


def _address_of(target: str, tables: dict[str, dict[str, Any]]) -> str:
    """What a host's table says that traffic uses, else the target as it is given."""
    table = tables.get(target, {})
    return str((table.get("measure_addresses") or [table.get("address", target)])[0])


def _read_options(settings: dict[str, Any]) -> PathOptions:
    timeout_ns = _read_time(settings, "timeout")
    least_ns, most_ns = TIMEOUTS_NS
    if not least_ns <= timeout_ns <= most_ns:
        hint = f"give {spell_time(least_ns)} to {spell_time(most_ns)}"
        raise UsageError(f"--timeout: '{settings['timeout']}' is out of range", hint=hint)
    budget_s = _read_time(settings, "budget") / 1e9
    capacity = CapacityOptions(
        budget_s=budget_s, budget_packets=settings["max_probes"], timeout_ns=timeout_ns
    )
    route = RouteOptions(max_hops=settings["max_hops"], repeats=settings["probes"], timeout_ns=timeout_ns)
    return PathOptions(
        methods=tuple(dict.fromkeys(settings["methods"])) or METHODS,
        flows=settings["flows"],
        port=settings["port"],
        family=settings["family"] or 0,
        route=route,
        capacity=None if settings["no_capacity"] else capacity,
    )


def _read_time(settings: dict[str, Any], name: str) -> int:
    try:
        return parse_time_ns(str(settings[name]), bare_unit="s")
    except UsageError as error:
        raise UsageError(f"--{name}: {error}", hint="pathlab path --help") from error


def _show(reports: list[PathReport], *, names: bool, as_json: bool) -> None:
    routes = [route for report in reports for route in report.routes]
    addresses = {address for route in routes for hop in route.hops for address in hop.addresses}
    found = look_up_names(addresses) if names else {}
    if as_json:
        there, *back = [report.as_document() for report in reports]
        document = {**there, "back": back[0] if back else None, "names": found}
        click.echo(json.dumps(document, indent=2))
        return
    for report in reports:
        render_path(report, Console(highlight=False), found)
