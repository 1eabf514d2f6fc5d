"""Find the route to a host, and latency and capacity of its hops."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import click

from pathlab.cli.declaration import ACCEPT_KEYS, ENDS, HOSTS_FILE, declare, flag, json_flag, option
from pathlab.cli.deferred import DeferredImports
from pathlab.cli.host_options import build_hosts, name_hosts, read_tables
from pathlab.cli.names import PROBE_METHODS
from pathlab.cli.values import FIGURE_PATH, SECONDS
from pathlab.errors import UsageError
from pathlab.host_names import LOCAL, LOOPBACK, find_name_fault
from pathlab.units import format_exact_time

with DeferredImports() as libraries:
    import json

    from pathlab.cli.console import TerminalConsole
    from pathlab.discover.capacity import CapacityOptions
    from pathlab.discover.names import look_up_names
    from pathlab.discover.path import PathObserver, PathOptions, PathReport, discover_path
    from pathlab.discover.probes import METHODS, TIMEOUTS_NS
    from pathlab.discover.route import RouteOptions
    from pathlab.discover.text import HopPrinter, ProgressPrinter
    from pathlab.remote.hosts import RemoteHosts, build_access
    from pathlab.remote.local import LocalTransport
    from pathlab.remote.session import Session
    from pathlab.remote.transport import Transport


def find_path(
    ends: tuple[str, str],
    hosts_file: Path | None,
    figure: Path | None,
    *,
    both: bool,
    accept_new_host_keys: bool,
    names: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Find the route to the second HOST from the first (from this machine when one is named).

    The first HOST is `local`, this machine, a host of hosts.toml, or [user@]host[:port] as for ssh. The
    second is any name or address; with --both it is given like the first. Hops answer probes that end at
    them, so only --both needs an agent on the second HOST.
    """
    source, target = ends
    tables = read_tables(hosts_file)
    named = name_hosts(ends if both else (source,), tables)
    if not both and target != LOCAL and target not in tables and (fault := find_name_fault(target)):
        raise UsageError(f"'{target}' is not a host: {fault}", hint="give a name or an address")
    libraries.load()
    options = _read_options(settings)
    address = LOOPBACK if target == LOCAL else _address_of(target, tables)
    access = build_access(accept_new_host_keys=accept_new_host_keys)
    remote = RemoteHosts(build_hosts(tables, named), access)
    reports: list[PathReport] = []

    def discover(session: Session, address: str) -> None:
        """The hops are printed as they are settled, JSON at the end; next to a pipe, the steps on stderr."""
        console = TerminalConsole()
        printer = None if as_json else HopPrinter(console, look_up_names if names else None)
        observers: list[PathObserver] = [] if printer is None else [printer]
        if printer is not None and not console.is_terminal:
            observers.append(ProgressPrinter(TerminalConsole(stderr=True)))
        report = discover_path(session, address, options, observers)
        reports.append(report)
        if printer is not None:
            printer.finish(report)

    try:
        with contextlib.ExitStack() as stack:
            sessions = [stack.enter_context(_start_agent(name, remote)) for name, _ in named]
            if both and named[1][0] in remote:  # given as for ssh, which need not be an address
                address = remote.addresses(named[1][0])[0]
            discover(sessions[0], address)
            if both:
                measured = tables.get(source, {}).get("measure_addresses")
                back = measured[0] if measured else reports[0].route.local_address
                discover(sessions[1], str(back))
    finally:
        remote.close()
        if reports and as_json:
            _print_json(reports, names=names)
    if figure is not None:
        for place in _draw(reports, figure):
            click.echo(str(place), err=as_json)


def _start_agent(name: str, remote: RemoteHosts) -> Session:
    """Probing paths needs no engine."""
    transport: Transport = LocalTransport(with_engine=False)
    if name in remote:
        transport = remote.transport(name, with_engine=False)
    return Session(transport, host=name, require=("discovery",))


def _draw(reports: list[PathReport], figure: Path) -> list[Path]:
    """Draw each report and return the files."""
    from pathlab.report.paths.routes import plot_path
    from pathlab.report.plots.printed import write_figure  # takes a second to load

    places = (figure, figure.with_stem(f"{figure.stem}-back"))
    drawn = list(zip(reports, places, strict=False))
    for report, place in drawn:
        write_figure(plot_path(report.as_document()), place)
    return [place for _, place in drawn]


def _address_of(target: str, tables: dict[str, dict[str, Any]]) -> str:
    """What a host's table says that traffic uses, else the target as it is given."""
    table = tables.get(target, {})
    return str((table.get("measure_addresses") or [table.get("address", target)])[0])


def _read_options(settings: dict[str, Any]) -> PathOptions:
    timeout_ns = settings["timeout_ns"]
    least_ns, most_ns = TIMEOUTS_NS
    if not least_ns <= timeout_ns <= most_ns:
        hint = f"give {format_exact_time(least_ns)} to {format_exact_time(most_ns)}"
        raise UsageError(f"--timeout: '{format_exact_time(timeout_ns)}' is out of range", hint=hint)
    given = settings["budget_ns"] is not None
    budget_s = settings["budget_ns"] / 1e9 if given else CapacityOptions().budget_s
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
        in_seconds=not given,
    )


def _print_json(reports: list[PathReport], *, names: bool) -> None:
    routes = [route for report in reports for route in report.routes]
    addresses = {address for route in routes for hop in route.hops for address in hop.addresses}
    up_names = look_up_names(addresses) if names else {}
    there, *back = [report.as_document() for report in reports]
    document = {**there, "back": back[0] if back else None, "names": up_names}
    click.echo(json.dumps(document, indent=2))


command = declare(
    "path",
    find_path,
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
    option("--timeout", "timeout_ns", type=SECONDS, default="1s", help="How long to wait for an answer."),
    click.Option(["--ipv4", "family"], flag_value=4, type=int, help="Use IPv4 only."),
    click.Option(["--ipv6", "family"], flag_value=6, type=int, help="Use IPv6 only."),
    flag("--no-capacity", help="Leave out the capacity of the hops, which takes longest."),
    option(
        "--budget",
        "budget_ns",
        type=SECONDS,
        help="Longest time for the capacity of the hops. [default: 60s; of a single hop 5s]",
    ),
    option("--max-probes", type=click.IntRange(min=1), default=10_000, help="Most probes for the capacity."),
    flag("--both", help="Find the return path too: an agent then runs on the second HOST as well."),
    flag("--names", help="Look up the names of the addresses."),
    json_flag("Print everything as JSON."),
    option(
        "--figure",
        type=FIGURE_PATH,
        help="Draw the path into FILE (.svg, .png, .pdf), the return path into FILE-back.",
    ),
    HOSTS_FILE,
    ACCEPT_KEYS,
)
