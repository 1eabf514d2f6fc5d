"""Make WANs on this machine, and work in them."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import click

from pathlab.cli.declaration import argument, declare, flag, group, json_flag, option
from pathlab.cli.deferred import DeferredImports
from pathlab.cli.values import FIGURE_PATH
from pathlab.units import format_rate, format_time

with DeferredImports() as libraries:
    import json
    import subprocess
    from dataclasses import asdict

    from pathlab.campaign.load import load_lab
    from pathlab.campaign.ready_labs import describe_ready_lab, list_ready_labs
    from pathlab.cli.console import TerminalConsole
    from pathlab.files import replace_file
    from pathlab.lab import daemon
    from pathlab.lab.namespaces import lab_error
    from pathlab.lab.topology import Topology, read_facts
    from pathlab.printed_table import PrintedParagraph, PrintedTable
    from pathlab.remote.engine import find_engine
    from pathlab.report.hosts.lab_text import describe_direction, print_lab
    from pathlab.report.plots.figure_file import convert_write_errors
    from pathlab.runner.hosts.lab_changes import change_settings
    from pathlab.runner.hosts.lab_topology import build_topology
    from pathlab.table_columns import TableColumn


FIGURE_DPI = 200


def list_labs() -> None:
    """Show the ready-made labs, and which labs are up."""
    libraries.load()
    columns = (
        TableColumn("Lab", left=True),
        TableColumn("Rate", priority=3),
        TableColumn("One way", priority=2),
        TableColumn("Round trip"),
        TableColumn("What it is", priority=1, wraps=True),
    )
    rows = []
    for name in list_ready_labs():
        plan = build_topology(load_lab(name))
        host = plan.hosts[0]
        peer = [node for node in plan.hosts if plan.is_joined(host, node)][-1]
        delay_ns = sum(way.delay_ns for way in plan.directions(host, peer))
        times = (format_time(delay_ns), format_time(plan.idle_rtt_ns(host, peer)))
        rows.append((name, format_rate(plan.bottleneck(host, peer)[0]), *times, describe_ready_lab(name)))
    console = TerminalConsole()
    PrintedTable(columns=columns, rows=rows).print_to(console)
    names = daemon.list_running_labs()
    console.print()
    console.print(PrintedParagraph(f"up now: {', '.join(names) if names else 'none'}"))
    for ended in daemon.read_exit_reports():
        console.print(PrintedParagraph(ended))


def up(topology: str, name: str | None, backend: str | None) -> None:
    """Make the lab TOPOLOGY: a ready-made one, or the table [lab] of a TOML file.

    It stays up until `pathlab lab down`.
    """
    libraries.load()
    model = load_lab(topology)
    chosen = name or Path(topology).stem
    daemon.socket_path(chosen)  # refuses an invalid name before anything is made
    if chosen in daemon.list_running_labs():
        raise lab_error(
            f"a lab '{chosen}' is up already", f"pathlab lab down --name {chosen}, or choose another --name"
        )
    plan = build_topology(model)
    started = _start_daemon(chosen, backend or model.backend, plan)
    click.echo(f"lab '{chosen}' is up (back end {started['backend']}):")
    print_lab(plan, TerminalConsole())
    first = plan.hosts[0]
    for last in [host for host in plan.hosts if plan.is_joined(first, host)][-1:]:
        click.echo(f"next: pathlab lab exec {first} -- ping -c 3 {plan.address(last, first)}")


def _start_daemon(name: str, backend: str, plan: Topology) -> dict[str, Any]:
    process = subprocess.Popen(
        [sys.executable, "-m", "pathlab.lab.daemon", name, backend, str(find_engine())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(json.dumps(plan.as_table()))
    process.stdin.close()
    line = process.stdout.readline()
    if not line:
        words = process.stderr.read().strip().splitlines()
        raise lab_error(f"the lab daemon ended: {words[-1] if words else 'no output'}")
    answer: dict[str, Any] = json.loads(line)
    if not answer["up"]:
        raise lab_error(answer["error"], answer["hint"])
    return answer


def _the_lab(name: str | None) -> str:
    """The lab that is meant: the named one, or the only one that is up."""
    if name is not None:
        return name
    names = daemon.list_running_labs()
    if len(names) == 1:
        return names[0]
    if not names:
        raise daemon.no_lab("no lab is up")
    raise lab_error(f"several labs are up: {', '.join(names)}", "say which with --name")


def execute(name: str | None, host: str, argv: tuple[str, ...]) -> int:
    """Run COMMAND on HOST of the lab; `pathlab lab exec a -- ping -c 3 198.18.0.2`."""
    libraries.load()
    return daemon.execute_in_lab(_the_lab(name), host, list(argv))


def change(
    name: str | None, start: str, end: str, changes: tuple[str, ...], *, place: int, both: bool
) -> None:
    """Change a link while it runs; `pathlab lab change a b rate=10Mbit/s loss=1%`.

    Only the direction from FROM to TO changes, unless --both. Keys are those of a link in a file; KEY=none
    removes one. Packets already on the link keep their time.
    """
    libraries.load()
    chosen = _the_lab(name)
    plan = read_facts(daemon.request(chosen, {"op": "describe"})["lab"])
    number = _find_link(plan, (start, end), place)
    link = plan.links[number]
    first = link.between.index(start)
    ends = (first, 1 - first) if both else (first,)
    wanted = [(item, change_settings(link, item, changes)) for item in ends]
    for item, settings in wanted:
        daemon.request(chosen, {"op": "change", "link": number, "end": item, "settings": asdict(settings)})
        click.echo(f"{link.between[item]} to {link.between[1 - item]}: {describe_direction(settings)}")


def _find_link(plan: Topology, ends: tuple[str, str], place: int) -> int:
    """Number of the link between two nodes, by its place among those between them."""
    numbers = [number for number, link in enumerate(plan.links) if set(link.between) == set(ends)]
    if not numbers:
        known = ", ".join(dict.fromkeys("-".join(link.between) for link in plan.links))
        raise lab_error(f"no link joins '{ends[0]}' and '{ends[1]}'", f"name a link: {known}")
    if place > len(numbers):
        count = f"{len(numbers)} {'link joins' if len(numbers) == 1 else 'links join'}"
        raise lab_error(f"{count} '{ends[0]}' and '{ends[1]}', not {place}", "give a smaller --link")
    return numbers[place - 1]


def show(topology: str | None, name: str | None, figure: Path | None, *, as_json: bool) -> None:
    """Draw the lab that is up with its counters, or TOPOLOGY (ready-made, or a file) as planned."""
    libraries.load()
    counters: list[dict[str, Any]] | None = None
    title = topology or ""
    if topology is not None:
        plan = build_topology(load_lab(topology))
        facts: dict[str, Any] = {"lab": plan.as_table()}
    else:
        facts = daemon.request(_the_lab(name), {"op": "describe"})
        plan, counters, title = read_facts(facts["lab"]), facts["counters"], facts["name"]
    if as_json:
        click.echo(json.dumps({key: value for key, value in facts.items() if key != "ok"}))
    else:
        if counters is not None:
            lab = facts["lab"]
            click.echo(f"lab '{title}' is up: back end {lab['backend']}, privilege {lab['privilege']}")
        print_lab(plan, TerminalConsole(), counters)
    if figure is not None:
        _save_figure(plan, title, figure)
        click.echo(str(figure), err=as_json)


def _save_figure(plan: Topology, title: str, path: Path) -> None:
    from pathlab.report.hosts.lab_figure import draw_figure  # takes a second to import

    drawn = io.BytesIO()
    draw_figure(plan, title).savefig(drawn, format=path.suffix.lower().removeprefix("."), dpi=FIGURE_DPI)
    with convert_write_errors(path):
        replace_file(path, drawn.getvalue())


def down(name: str | None) -> None:
    """End the lab and everything that runs in it."""
    libraries.load()
    chosen = _the_lab(name)
    daemon.request(chosen, {"op": "down"})
    daemon.wait_until_gone(chosen)
    click.echo(f"lab '{chosen}' is down")


_NAME = option("--name", help="Name of the lab, where several are up.")

command = group(
    "lab",
    "Make WANs out of network namespaces and emulated links on this machine, and work in them.",
    declare("list", list_labs),
    declare(
        "up",
        up,
        argument("topology"),
        option("--name", help="Name of the lab; default: that of the topology."),
        option(
            "--backend", type=click.Choice(["auto", "netem", "tun", "packet"]), help="How links are emulated."
        ),
    ),
    declare(
        "exec",
        execute,
        _NAME,
        argument("host"),
        argument("argv", nargs=-1, required=True, type=click.UNPROCESSED, metavar="COMMAND..."),
        context_settings={"ignore_unknown_options": True},
    ),
    declare(
        "change",
        change,
        _NAME,
        flag("--both", help="Change the other direction as well."),
        option(
            "--link",
            "place",
            type=click.IntRange(min=1),
            default=1,
            help="Which of several links between the two.",
        ),
        argument("start", metavar="FROM"),
        argument("end", metavar="TO"),
        argument("changes", nargs=-1, required=True, metavar="KEY=VALUE..."),
    ),
    declare(
        "show",
        show,
        argument("topology", required=False),
        _NAME,
        json_flag("Print the lab and its counters as JSON."),
        option("--figure", type=FIGURE_PATH, help="Draw it into a file (.svg, .png, .pdf) as well."),
    ),
    declare("down", down, _NAME),
)
