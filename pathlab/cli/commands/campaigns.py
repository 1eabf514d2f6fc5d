"""``pathlab campaigns list|show|new|schema``."""

from __future__ import annotations

from pathlib import Path

import click


@click.group(name="campaigns")
def command() -> None:
    """List, show and write campaign files."""


@command.command(name="list")
def list_campaigns() -> None:
    """Show the campaigns that ship with PathLab, and the time they take."""
    from pathlab.cli import campaigns as action

    action.list_campaigns()


@command.command(name="show")
@click.argument("name")
def show(name: str) -> None:
    """Print the file of a campaign that ships, to read it or to change a copy: NAME > mine.toml."""
    from pathlab.cli import campaigns as action

    action.show(name)


@command.command(name="new")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False)
def new(file: Path | None) -> None:
    """Ask a few questions and write a commented campaign file. An existing FILE is not touched.

    Answers may come from a pipe, one a line; an empty line takes the default in brackets.
    """
    from pathlab.cli import campaigns as action

    action.new(file)


@command.command(name="schema")
@click.option("--json", "as_json", is_flag=True, help="The JSON Schema, for editors.")
def schema(as_json: bool) -> None:
    """Print what every key of a campaign file means."""
    from pathlab.cli import campaigns as action

    action.schema(as_json=as_json)
