"""Options that several subcommands have: what they change of a campaign, how they reach hosts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from pathlab.cli.commands.names import HOST_FILE_NAME

Command = TypeVar("Command", bound=Callable[..., Any])

#: A file or folder, given to the command as a ``Path``.
PATH = click.Path(path_type=Path)


def campaign_choices(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--set``, ``--profile``, ``--paths`` and ``--hosts``, given to the command as ``choices``."""

    @functools.wraps(command)
    def with_choices(
        *words: Any,
        overrides: tuple[str, ...],
        profile: str | None,
        paths: tuple[str, ...],
        hosts: Path | None,
        **others: Any,
    ) -> Any:
        from pathlab.cli.choices import Choices

        choices = Choices(overrides=overrides, profile=profile, paths=paths, hosts=hosts)
        return command(*words, choices=choices, **others)

    options = (
        click.option(
            "--set",
            "overrides",
            multiple=True,
            metavar="KEY=VALUE",
            help="Override a key of the campaign file, such as trial.duration=5s.",
        ),
        click.option("--profile", metavar="NAME", help="Apply a profile of the campaign, such as quick."),
        click.option(
            "--paths",
            multiple=True,
            metavar="A:B[,C:D]",
            help="Measure from A to B instead of the campaign's own paths.",
        ),
        click.option(
            "--hosts",
            type=PATH,
            metavar="FILE",
            help=f"Hosts by name, for the paths; else {HOST_FILE_NAME} beside the campaign.",
        ),
    )
    for option in reversed(options):
        with_choices = option(with_choices)
    return with_choices


def hosts_option(command: Command) -> Command:
    """Add ``--hosts``, given as ``hosts_file``."""
    return click.option(
        "--hosts",
        "hosts_file",
        type=PATH,
        help=f"File with tables of hosts. [default: {HOST_FILE_NAME} beside the campaign, if it is there]",
    )(command)


def accept_option(command: Command) -> Command:
    """Add ``--accept-new-host-keys``."""
    return click.option(
        "--accept-new-host-keys",
        is_flag=True,
        help="Add keys of unknown SSH servers to known_hosts; a changed key is refused all the same.",
    )(command)
