"""``pathlab lab list|up|exec|change|show|down``."""

from __future__ import annotations

from pathlib import Path

import click

from pathlab.cli.commands.options import PATH

_name_option = click.option("--name", help="Name of the lab, where several are up.")


@click.group(name="lab")
def command() -> None:
    """Make WANs out of network namespaces and emulated links on this machine, and work in them."""


@command.command(name="list")
def list_labs() -> None:
    """Show the ready-made labs, and which labs are up."""
    from pathlab.cli import lab as action

    action.list_labs()


@command.command()
@click.argument("topology")
@click.option("--name", help="Name of the lab; else that of the topology.")
@click.option(
    "--backend", type=click.Choice(["auto", "netem", "tun", "packet"]), help="How links are emulated."
)
def up(topology: str, name: str | None, backend: str | None) -> None:
    """Make the lab TOPOLOGY: a ready-made one, or the table [lab] of a TOML file. It stays until `down`."""
    from pathlab.cli import lab as action

    action.up(topology, name, backend)


@command.command(name="exec", context_settings={"ignore_unknown_options": True})
@_name_option
@click.argument("host")
@click.argument("argv", nargs=-1, required=True, type=click.UNPROCESSED, metavar="COMMAND...")
def execute(name: str | None, host: str, argv: tuple[str, ...]) -> int:
    """Run COMMAND on HOST of the lab; `pathlab lab exec a -- ping -c 3 198.18.0.2`."""
    from pathlab.cli import lab as action

    return action.execute(name, host, argv)


@command.command()
@_name_option
@click.option("--both", is_flag=True, help="Change the other direction as well.")
@click.option(
    "--link", "place", type=click.IntRange(min=1), default=1, help="Which of several links between the two."
)
@click.argument("start", metavar="FROM")
@click.argument("end", metavar="TO")
@click.argument("changes", nargs=-1, required=True, metavar="KEY=VALUE...")
def change(name: str | None, both: bool, place: int, start: str, end: str, changes: tuple[str, ...]) -> None:
    """Give a link other settings while it runs; `pathlab lab change a b rate=10Mbit/s loss=1%`.

    The direction from FROM to TO alone, unless --both. Keys are those of a link in a file; KEY=none removes
    one. Packets already on the link keep their time.
    """
    from pathlab.cli import lab as action

    action.change(name, (start, end), place, changes, both=both)


@command.command()
@click.argument("topology", required=False)
@_name_option
@click.option("--json", "as_json", is_flag=True, help="Print the lab and its counters as JSON.")
@click.option("--figure", type=PATH, help="Draw it into a file (.svg, .png, .pdf) as well.")
def show(topology: str | None, name: str | None, as_json: bool, figure: Path | None) -> None:
    """Draw the lab that is up with its counters, or TOPOLOGY (ready-made, or a file) as it would be."""
    from pathlab.cli import lab as action

    action.show(topology, name, figure, as_json=as_json)


@command.command()
@_name_option
def down(name: str | None) -> None:
    """End the lab and everything that runs in it."""
    from pathlab.cli import lab as action

    action.down(name)
