"""List, show and write campaign files."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from pathlab.cli.completions import complete_shipped
from pathlab.cli.declaration import argument, declare, group, json_flag
from pathlab.cli.deferred import DeferredImports
from pathlab.errors import CampaignError, UsageError
from pathlab.host_names import LOCAL
from pathlab.units import format_time

with DeferredImports() as libraries:
    import json
    import tomllib

    from pathlab.campaign.budget import estimate_campaign
    from pathlab.campaign.campaign_text import list_shipped, read_campaign
    from pathlab.campaign.load import build_campaign, load_campaign
    from pathlab.campaign.ready_labs import list_ready_labs
    from pathlab.campaign.schema import build_json_schema, describe_campaign_file
    from pathlab.campaign.template import TemplateAnswers, list_lab_ends, read_levels, write_template
    from pathlab.cli.console import TerminalConsole
    from pathlab.printed_table import PrintedTable
    from pathlab.table_columns import TableColumn


QUICK = "quick"


def list_campaigns() -> None:
    """Show the campaigns that ship with PathLab, and the time they take."""
    libraries.load()
    columns = (
        TableColumn("name", left=True),
        TableColumn("what it measures", priority=1, wraps=True),
        TableColumn("trials", priority=2),
        TableColumn("time"),
        TableColumn(f"--profile {QUICK}", priority=3),
    )
    rows = []
    for name in list_shipped():
        whole, quick = (estimate_campaign(load_campaign(name, profile=kind)) for kind in (None, QUICK))
        times = (format_time(whole.time_ns), format_time(quick.time_ns))
        rows.append((name, load_campaign(name).title, str(whole.trials), *times))
    PrintedTable(columns=columns, rows=rows).print_to(TerminalConsole())


def show(name: str) -> None:
    """Print the file of a shipped campaign, to read it or to change a copy: NAME > mine.toml."""
    libraries.load()
    if name not in list_shipped():
        read_campaign(name)  # raises an error that lists the shipped ones, unless it is a file of the user
    click.echo(read_campaign(name).text, nl=False)


def new(file: Path | None) -> None:
    """Ask a few questions and write a commented campaign file. An existing FILE is not touched.

    Answers may come from a pipe, one a line; an empty line takes the default in brackets.
    """
    libraries.load()
    if file is not None:
        _check_absent(file)
    name = _ask("Name (small letters, digits, '-')", "mine", _check("name"))
    target = file or Path(f"{name}.toml")
    if file is None:
        _check_absent(target)
    text = write_template(_interview(name))
    build_campaign(tomllib.loads(text), label=str(target))
    try:
        with target.open("x", encoding="utf-8") as written:
            written.write(text)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(
            f"'{target}' cannot be written: {reason}", hint="name a file in a folder of yours"
        ) from error
    click.echo(f"Written: {target}. Next: pathlab plan {target}; pathlab run {target} --profile {QUICK}")


def schema(*, as_json: bool) -> None:
    """Print what every key of a campaign file means."""
    libraries.load()
    click.echo(json.dumps(build_json_schema(), indent=2) if as_json else describe_campaign_file())


def _check_absent(file: Path) -> None:
    if file.exists():
        raise UsageError(f"'{file}' already exists", hint="name another file: pathlab campaigns new FILE")


def _interview(name: str) -> TemplateAnswers:
    title = _ask("Title of the report", f"Campaign {name}", _check("title"))
    kind = _ask(
        "Measure in a lab on this machine, or between hosts? (lab, hosts)",
        "lab",
        click.Choice(("lab", "hosts")),
    )
    topology: str | None = None
    addresses: dict[str, str] = {}
    if kind == "lab":
        topology = _ask(
            f"Which lab? ({', '.join(list_ready_labs())})", "wan-40ms", click.Choice(list_ready_labs())
        )
        source, destination = list_lab_ends(topology)
    else:
        source, destination = (_ask_host(f"Host that {what}", addresses) for what in ("sends", "receives"))
    paths = [(source, destination)]
    if _ask("Measure the reverse direction as well? (yes, no)", "no", click.Choice(("yes", "no"))) == "yes":
        paths.append((destination, source))
    return TemplateAnswers(
        name=name,
        title=title,
        paths=tuple(paths),
        topology=topology,
        addresses=addresses,
        streams=_ask("Streams, a list or a range", "1, 2, 4, 8", _check("factors", "streams", levels=True)),
        window=_ask("Windows per stream", "64KiB, 256KiB, auto", _check("factors", "window", levels=True)),
        congestion=_ask("Congestion control", "cubic", _check("factors", "congestion", levels=True)),
        warmup=_ask("Traffic before the steady window", "1s", _check("trial", "warmup")),
        duration=_ask("Steady window", "10s", _check("trial", "duration")),
        cycles=int(_ask("Cycles (6 or more give intervals)", "6", _check("cycles", number=True))),
        seed=int(_ask("Seed of the order", f"{datetime.date.today():%Y%m%d}", _check("seed", number=True))),
    )


def _ask_host(question: str, addresses: dict[str, str]) -> str:
    """A host's name; asks for the address of any but this machine, too."""
    name = _ask(f"{question} ('{LOCAL}' is this machine)", LOCAL, _check("paths", 0, "source"))
    if name != LOCAL and name not in addresses:
        addresses[name] = _ask(f"Address of {name} for SSH", name, _check("hosts", "x", "address"))
    return name


def _ask(question: str, default: str, check: Callable[[str], str]) -> str:
    """Ask until the answer fits. Raises UsageError when the input ends."""
    try:
        answer: str = click.prompt(question, default=default, value_proc=check)
    except click.Abort:
        if sys.stdin.isatty():
            raise
        raise UsageError(
            f"the input ended before the question '{question}'", hint="give one answer a line"
        ) from None
    return answer


def _check(*key: str | int, levels: bool = False, number: bool = False) -> Callable[[str], str]:
    """A check of one answer by the model itself: the answer put into a campaign without other mistakes."""

    def check(answer: str) -> str:
        answer = answer.strip()
        value: Any = (
            read_levels(answer) if levels else int(answer) if number and answer.isdecimal() else answer
        )
        try:
            build_campaign(_example(key, value), label="")
        except CampaignError as error:
            raise click.UsageError(error.mistakes[0].partition(": ")[2]) from error
        return answer

    return check


def _example(key: tuple[str | int, ...], value: Any) -> Mapping[str, Any]:
    data: dict[str, Any] = {
        "format": 1,
        "name": "x",
        "title": "x",
        "seed": 0,
        "paths": [{"source": LOCAL, "destination": LOCAL}],
        "factors": {"streams": 1},
        "trial": {"interval": "10ms"},
    }
    if key[0] == "hosts":
        data["hosts"] = {"x": {"transport": "ssh"}}
    if key[0] == "paths" and value != LOCAL:
        data["hosts"] = {value: {"transport": "local"}}
    place: Any = data
    for step in key[:-1]:
        place = place[step]
    place[key[-1]] = value
    return data


command = group(
    "campaigns",
    "List, show and write campaign files.",
    declare("list", list_campaigns),
    declare("show", show, argument("name", shell_complete=complete_shipped)),
    declare(
        "new",
        new,
        argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False),
    ),
    declare("schema", schema, json_flag("The JSON Schema, for editors.")),
)
