"""``pathlab reference list|show NAME``."""

from __future__ import annotations

import click


@click.group(name="reference")
def command() -> None:
    """Published series that come with PathLab, to compare own results with."""


@command.command(name="list")
def list_() -> None:
    """List the published tables by name."""
    from pathlab.cli import reference as action

    action.list_references()


@command.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print table and fits as JSON.")
def show(name: str, as_json: bool) -> None:
    """Print the published table NAME and, where it goes by message size, the fit t(m) = a + m / r."""
    from pathlab.cli import reference as action

    action.show(name, as_json=as_json)
