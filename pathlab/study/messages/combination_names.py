"""The names of combinations of messages: the transport, and what sets one apart from others of its path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from pathlab.campaign.factor import Level
from pathlab.campaign.factors import FACTORS, find_default, format_level, name_levels
from pathlab.store.flags import Status
from pathlab.study.base.trials import Condition, TrialTable
from pathlab.study.messages.message_rates import read_level
from pathlab.units import format_window

_TCP_ALONE = ("no_delay", "cork")
#: The name of what nothing sets apart.
LONE = "median"
#: Factors that name first; a later one whose levels go with those before it is not named.
NAMED_FIRST = ("transport", "placement", "encoding", "batch_bytes", "no_delay", "cork")
#: How a level is named alongside others; "" for one that needs no name alongside the other level.
WORDS: Mapping[str, Callable[[Level], str]] = {
    "transport": str,
    "placement": lambda level: {
        "host": "two hosts",
        "process": "one host",
        "threaded": "two threads",
        "fused": "fused",
    }.get(str(level), str(level)),
    "encoding": lambda level: {"fixed": "fixed layout"}.get(str(level), str(level)),
    "batch_bytes": lambda level: f"batch {format_level('batch_bytes', level)}" if level else "",
    "no_delay": lambda level: "no delay" if level else "Nagle",
    "cork": lambda level: "cork" if level else "",
    "background": lambda level: "no load" if level in (None, "none") else f"{level} load",
    "priority": lambda level: f"real-time priority {level}" if level else "",
}
#: The cores of each end, which are named together.
CORES = ("cpus_sender", "cpus_receiver")
#: Factors that the name of the technology says, where it is named.
OF_THE_TECHNOLOGY = ("transport", "engine", "wait")
#: What is no part of a combination: it runs along the curves, or is named alongside the combination.
UNNAMED = ("message_bytes", "write_bytes", "reply", "message_rate_per_s")
#: Factors of the program that measures: their levels are compared with each other, not recommended.
OF_THE_TOOL = ("build", "recording")


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageCombination:
    """How messages travel: a condition without size and rate, streams and window."""

    condition: Condition
    streams: int
    window_bytes: int | None

    def read(self, name: str) -> Any:
        """The level of a factor, streams and window among them."""
        own = {"streams": self.streams, "window_bytes": self.window_bytes}
        return own[name] if name in own else read_level(self.condition, name)

    @property
    def path(self) -> tuple[str, str, str]:
        """Source, destination and medium: combinations of one path are alternatives to each other."""
        return self.condition.path_source, self.condition.path_destination, self.condition.medium


Found = TypeVar("Found", bound=MessageCombination)


def list_combinations(table: TrialTable, setting: str = "message_bytes") -> tuple[MessageCombination, ...]:
    """Every combination with a complete trial whose plan sets this, usable or not, in the order of trials."""
    is_set = np.array([item.get(setting) is not None for item in table.distinct_conditions], dtype=bool)
    indices = np.flatnonzero((table.statuses == Status.COMPLETE) & is_set[table.condition_numbers])
    levels = (table.get(name)[indices].tolist() for name in ("streams", "window_requested_bytes"))
    result = dict.fromkeys(
        (table.conditions[index], int(streams), None if window != window else int(window))
        for index, streams, window in zip(indices, *levels, strict=True)
    )
    bare = {item: item.without(*UNNAMED) for item in dict.fromkeys(condition for condition, _, _ in result)}
    return tuple(
        dict.fromkeys(
            MessageCombination(condition=bare[condition], streams=streams, window_bytes=window)
            for condition, streams, window in result
        )
    )


def choose_usual(combinations: Iterable[Found]) -> list[Found]:
    """Those of the usual build and recording, where others are measured alongside them."""
    kept = list(combinations)
    for name in OF_THE_TOOL:
        kept = [item for item in kept if item.read(name) == find_default(name)] or kept
    return kept


def list_varying(combinations: Sequence[MessageCombination]) -> list[str]:
    """The factors whose level is not the same in all of them, those first that name a combination first."""
    names = {name for combination in combinations for name, _ in combination.condition.settings} | {
        "streams",
        "window_bytes",
    }
    ordered = sorted(names - FACTORS.keys() - {*NAMED_FIRST})
    ordered = [*NAMED_FIRST, *(name for name in FACTORS if name not in NAMED_FIRST), *ordered]
    return [name for name in ordered if len({combination.read(name) for combination in combinations}) > 1]


def choose_naming(combinations: Sequence[MessageCombination]) -> list[str]:
    """The factors that set each of these combinations apart from the others."""
    chosen: list[str] = []
    for name in list_varying(combinations):
        known = {tuple(map(combination.read, chosen)) for combination in combinations}
        finer = {tuple(map(combination.read, (*chosen, name))) for combination in combinations}
        if name not in UNNAMED and (name in NAMED_FIRST or len(finer) > len(known)):
            chosen.append(name)
    return chosen


def find_naming(table: TrialTable, path: tuple[str, str, str], setting: str = "message_bytes") -> list[str]:
    """The factors that name combinations of a path wherever they are shown: of all that were measured.

    Those of messages are named by their transport too where all have the same.
    """
    chosen = choose_naming(
        [combination for combination in list_combinations(table, setting) if combination.path == path]
    )
    return list(dict.fromkeys(("transport", *chosen))) if setting == "message_bytes" else chosen


def name_technology(combination: MessageCombination) -> str:
    """What carries the messages: ``redis``, of the native engine ``tcp``, ``shared-memory (spinning)``.

    Both ends of one that spins poll for messages instead of sleeping in the kernel.
    """
    engine, transport = combination.read("engine"), str(combination.read("transport"))
    if engine != find_default("engine"):
        return str(engine) if transport == find_default("transport") else f"{transport}, engine {engine}"
    return f"{transport} (spinning)" if combination.read("wait") == "poll" else transport


def name_message_combination(combination: MessageCombination, names: Iterable[str]) -> str:
    """The levels of these factors: ``tcp``, ``tcp, batch 64 KiB``; empty where none needs a name."""
    wanted = list(names)
    texts = []
    if "transport" in wanted and _applies(combination, "transport"):
        wanted = [name for name in wanted if name not in OF_THE_TECHNOLOGY]
        texts.append(name_technology(combination))
    elif "transport" in wanted:
        wanted = list(dict.fromkeys(("placement", *wanted)))
    pinned = next((name for name in wanted if name in CORES), None)
    for name in wanted:
        if name == pinned:
            texts.append(_name_cores(combination))
        elif name not in CORES and _applies(combination, name):
            texts.append(_format_level(name, combination.read(name)))
    return ", ".join(filter(None, texts))


def _name_cores(combination: MessageCombination) -> str:
    """``core 1 for both ends``, ``cores 0 and 1``."""
    sender, receiver = (combination.read(name) or "any" for name in CORES)
    if sender != receiver:
        return f"cores {sender} and {receiver}"
    return f"core{'' if str(sender).isdecimal() else 's'} {sender} for both ends"


def _applies(combination: MessageCombination, name: str) -> bool:
    """Whether a factor means something there: threads of one program have no transport between them."""
    if name == "transport" or name in _TCP_ALONE:
        apart = combination.read("placement") not in ("threaded", "fused")
        return apart and (name == "transport" or combination.read("transport") in ("tcp", "mptcp"))
    return True


def _format_level(name: str, level: Any) -> str:
    if name == "window_bytes":
        return f"window {format_window(level)}"
    if name == "streams":
        return f"{level} stream{'' if level == 1 else 's'}"
    if name in WORDS:
        return WORDS[name](level)
    if level is None and find_default(name) is None:
        return ""
    (key,) = name_levels({name: level})
    return f"{key.replace('_', ' ')} {format_level(name, level)}"
