"""How a subcommand is declared: its action, its parameters, and those that several share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from pathlab.cli.completions import complete_override
from pathlab.cli.values import PATH, STORED_PATH, ParsedNumber
from pathlab.host_names import HOST_FILE_NAME, LOCAL
from pathlab.units import parse_wait_ns


def declare(
    name: str, action: Callable[..., int | None], *params: click.Parameter, **settings: Any
) -> click.Command:
    """The command ``name``: its action gets the parameters by name, and has the help as its docstring."""
    return click.Command(name, callback=action, params=list(params), help=action.__doc__, **settings)


def group(name: str, text: str, *commands: click.Command) -> click.Group:
    """A command that only holds others."""
    return click.Group(name, commands=commands, help=text)


def argument(name: str, **settings: Any) -> click.Argument:
    """A positional parameter."""
    return click.Argument([name], **settings)


def option(*names: str, **settings: Any) -> click.Option:
    """An option; the help shows its default."""
    return click.Option(names, show_default="default" in settings, **settings)


def flag(*names: str, help: str) -> click.Option:
    """An option without a value."""
    return click.Option(names, is_flag=True, help=help)


def json_flag(help: str) -> click.Option:
    """``--json``, given as ``as_json``."""
    return flag("--json", "as_json", help=help)


def _read_ends(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[str, str]:
    if len(given) > 2:
        raise click.UsageError(f"two hosts at most, {len(given)} given")
    return (given[0], given[1]) if len(given) == 2 else (LOCAL, given[0])


RESULTS = argument("results", type=STORED_PATH)
#: The folder of a run that is in progress.
RUN_FOLDER = argument("results", type=PATH)
#: Given as ``ends``: this machine and the host where one is named.
ENDS = argument("ends", nargs=-1, required=True, metavar="HOST [HOST]", callback=_read_ends)
#: Given as ``hosts_file``.
HOSTS_FILE = option(
    "--hosts",
    "hosts_file",
    type=PATH,
    help=f"File with tables of hosts. [default: {HOST_FILE_NAME} next to the campaign, if it is there]",
)
ACCEPT_KEYS = flag(
    "--accept-new-host-keys",
    help="Add keys of unknown SSH servers to known_hosts; a changed key is refused all the same.",
)
WAIT_IDLE = option(
    "--wait-idle",
    "wait_idle_ns",
    type=ParsedNumber(parse_wait_ns),
    metavar="TIME",
    help="Wait for up to TIME, such as 2m, while a host is busy with other programs.",
)
#: How a figure's file looks; given as ``style``, ``size``, ``title`` and ``labels``.
FIGURE_LOOK = (
    option("--size", metavar="WxH", help="Width and height of the figure in inches, such as 3.4x2.4."),
    option("--title", metavar="TEXT", help='Title of the figure; "": none, and no sentence below it.'),
    option(
        "--label",
        "labels",
        multiple=True,
        metavar="KEY=TEXT",
        help="Write TEXT for an axis, a series or a factor, such as Streams=Flows; may be repeated.",
    ),
    option(
        "--style",
        type=PATH,
        metavar="FILE|NAME",
        help="matplotlib style sheet that the figure is drawn with, or one of matplotlib's styles.",
    ),
)
#: What the command line changes of a campaign: the fields of ``pathlab.cli.choices.Choices``.
CHOICES = (
    option(
        "--set",
        "overrides",
        multiple=True,
        metavar="KEY=VALUE",
        shell_complete=complete_override,
        help="Override a key of the campaign file, such as trial.duration=5s.",
    ),
    option("--profile", metavar="NAME", help="Apply a profile of the campaign, such as quick."),
    option(
        "--paths",
        multiple=True,
        metavar="A:B[,C:D]",
        help="Measure from A to B instead of the campaign's own paths.",
    ),
    option(
        "--hosts",
        type=PATH,
        metavar="FILE",
        help=f"Hosts by name, for the paths; else {HOST_FILE_NAME} next to the campaign.",
    ),
)
