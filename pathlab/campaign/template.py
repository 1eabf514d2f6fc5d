"""A commented campaign file made from a few answers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pathlab.campaign.ready_labs import read_ready_lab

_FILE = """\
# {title}
# Look at the plan with `pathlab plan FILE`, run it with `pathlab run FILE`.
# Every key is described by `pathlab campaigns schema`.

format = 1                  # version of this file format
name = {name}
title = {title_text}
description = {description}

{seed} # the same seed gives the same order
{cycles} # each combination is measured this many times
order = "random"            # drawn anew for each cycle, so that nothing in time favours one combination
{paths}
# What is varied: every combination of these levels is one trial in each cycle. Numbers may be a range in
# quotes: "1..64 step x2". To leave combinations out, put a constraint alongside the seed:
# where = "streams * window <= 16MiB"
[factors]
streams = {streams}
window = {window}
congestion = {congestion}

# How one trial runs.
[trial]
{warmup} # traffic before the steady window: slow start is not counted
{duration} # the steady window, in which the receiver's bytes are counted
interval = "100ms"          # bytes, TCP state and CPU are recorded this often

# Round trips: throughout the steady window, and again when the traffic has ended and the queue drained.
[probes]
interval = "50ms"
timeout = "2s"              # first time-out of a probe; it grows with the RTT
unloaded = 40               # probes after the traffic
{ends}
# To try it out: pathlab run FILE --profile quick
[profiles.quick]
cycles = 1
trial = {{ warmup = "500ms", duration = "1s" }}
probes = {{ unloaded = 10 }}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateAnswers:
    """The answers, as a file writes them."""

    name: str
    title: str
    paths: tuple[tuple[str, str], ...]
    streams: str
    window: str
    congestion: str
    seed: int
    cycles: int
    warmup: str
    duration: str
    topology: str | None = None  # a ready-made lab, which then has the paths' ends
    addresses: Mapping[str, str] = field(default_factory=dict)  # of hosts over SSH, by name


def write_template(answers: TemplateAnswers) -> str:
    """Return the text of the campaign file."""
    paths = "".join(
        f"\n[[paths]]\nsource = {_text(source)}\ndestination = {_text(destination)}\n"
        for source, destination in answers.paths
    )
    return _FILE.format(
        title=answers.title.replace("\n", " "),
        title_text=_text(answers.title),
        name=_text(answers.name),
        description=_text("What this campaign is for, in a few sentences."),
        seed=_line("seed", answers.seed),
        cycles=_line("cycles", answers.cycles),
        paths=f"\n# What is measured: each path from the host that sends to the one that receives.{paths}",
        streams=format_toml_levels(answers.streams),
        window=format_toml_levels(answers.window),
        congestion=format_toml_levels(answers.congestion),
        warmup=_line("warmup", answers.warmup),
        duration=_line("duration", answers.duration),
        ends=_describe_ends(answers),
    )


def list_lab_ends(topology: str) -> tuple[str, str]:
    """Return the first two hosts of a ready-made lab."""
    hosts = read_ready_lab(topology)["hosts"]
    return str(hosts[0]), str(hosts[1])


def read_levels(text: str) -> Any:
    """Return what a TOML file has for levels as a person writes them: ``1, 2, 4`` or ``1..64 step x2``."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    levels = [int(part) if part.isdecimal() else part for part in parts]
    return levels[0] if len(levels) == 1 else levels


def format_toml_levels(text: str) -> str:
    """Return levels as a TOML file has them."""
    return json.dumps(read_levels(text), ensure_ascii=False)


def _describe_ends(answers: TemplateAnswers) -> str:
    if answers.topology is not None:
        return (
            "\n# The hosts are network namespaces on this machine, joined by the links of a ready-made lab\n"
            f"# (`pathlab lab list`).\n[lab]\ntopology = {_text(answers.topology)}\n"
        )
    return "".join(
        f'\n# Reached over SSH.\n[hosts.{_key(name)}]\ntransport = "ssh"\naddress = {_text(address)}\n'
        for name, address in answers.addresses.items()
    )


def _line(key: str, value: str | int) -> str:
    """A key before its comment, in the same column everywhere."""
    return f"{key} = {_text(value) if isinstance(value, str) else value}".ljust(27)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(text: str) -> str:
    """A basic string of TOML: JSON's escapes are among TOML's, but for DEL, which TOML wants escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
