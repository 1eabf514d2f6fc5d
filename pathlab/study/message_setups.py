"""Trials with round trips of messages: how the messages travel, their size and their offered rate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pathlab.campaign.factors import find_default, format_levels
from pathlab.store.flags import Flag
from pathlab.study.answer import Answer
from pathlab.study.message_rates import MESSAGE_SIZE, read_level, strip_settings
from pathlab.study.selection import LAB_FLAGS, Rules, Sample, select
from pathlab.study.trials import Condition, TrialTable

Result = TypeVar("Result")
MESSAGE_RATE = "message_rate_per_s"
#: What does not name a setup: it is always so, or the kernel's answer to another setting.
UNNAMED = ("transport", "reply", "congestion")


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSetup:
    """How messages travel: everything that is set besides their size and rate.

    ``name``: the transport, and what differs from other setups of the same path and transport.
    """

    condition: Condition
    streams: int
    window_bytes: int | None
    name: str = ""

    @property
    def path(self) -> tuple[str, str, str]:
        """Source, destination and medium: setups of one path are alternatives to each other."""
        return self.condition.path_source, self.condition.path_destination, self.condition.medium


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MessageLoad:
    """The trials of one setup with messages of one size at one offered rate (None: one after the other).

    ``kept`` kept the rate, ``missed`` did not: their latency is not that of the offered rate. ``shared`` has
    the settings that all loads of the path have in common.
    """

    setup: MessageSetup
    shared: Condition
    size_bytes: int
    offered_messages_per_s: int | None
    kept: Sample
    missed: Sample

    @property
    def places(self) -> NDArray[np.int64]:
        """The places of the trials that kept the rate, and of those that did not."""
        return np.concatenate([self.kept.places, self.missed.places])


def list_message_loads(table: TrialTable) -> tuple[MessageLoad, ...]:
    """Every load whose replies were timed: setups in the order of measurement, by size and offered rate.

    Small messages are what hosts carry, not paths: host-limited trials are kept. A load whose trials were all
    lab-limited has none left.
    """
    found: list[tuple[MessageSetup, Sample]] = []
    for sample in select(table, Rules(flags=(), as_requested=True, needed=(), messages=True)):
        if sample.condition.get(MESSAGE_SIZE) is None or not sample.condition.get("reply"):
            continue
        travel = strip_settings(sample.condition, MESSAGE_SIZE, MESSAGE_RATE)
        for streams, window, part in sample.by_cell():
            found.append((MessageSetup(condition=travel, streams=streams, window_bytes=window), part))
    names = name_setups(dict.fromkeys(setup for setup, _ in found))
    shared: dict[tuple[str, str, str], Condition] = {}
    for setup, part in found:
        shared[setup.path] = _intersect(shared.get(setup.path, part.condition), part.condition)
    order = {setup: place for place, setup in enumerate(names)}
    loads = [(order[setup], _build_load(names[setup], part, shared[setup.path])) for setup, part in found]
    loads.sort(key=lambda one: (one[0], one[1].size_bytes, one[1].offered_messages_per_s or 0))
    return tuple(load for _, load in loads)


def _intersect(first: Condition, second: Condition) -> Condition:
    kept = tuple(one for one in first.settings if one in second.settings)
    return replace(first, settings=kept)


def _build_load(setup: MessageSetup, part: Sample, shared: Condition) -> MessageLoad:
    for flag in LAB_FLAGS:
        part = part.exclude(part.table.flagged(flag)[part.places], flag)
    missed = part.table.flagged(Flag.RATE_MISSED)[part.places]
    rate = part.condition.get(MESSAGE_RATE)
    return MessageLoad(
        setup=setup,
        shared=shared,
        size_bytes=int(part.condition.get(MESSAGE_SIZE)),
        offered_messages_per_s=None if rate is None else int(rate),
        kept=part.exclude(missed, Flag.RATE_MISSED),
        missed=part.take(missed),
    )


def name_setups(setups: Iterable[MessageSetup]) -> Mapping[MessageSetup, MessageSetup]:
    """Each setup with its name: ``tcp``, ``tcp, batch 8 KiB, wait poll``."""
    every = list(setups)
    groups: dict[Any, list[MessageSetup]] = {}
    for one in every:
        groups.setdefault((one.path, read_level(one.condition, "transport")), []).append(one)
    found = {}
    for (_, transport), group in groups.items():
        levels = [_list_levels(one) for one in group]
        names = dict.fromkeys(name for one in levels for name in one)
        varied = [name for name in names if len({one.get(name, find_default(name)) for one in levels}) > 1]
        for setup, level in zip(group, levels, strict=True):
            parts = _name_parts({name: level.get(name) for name in varied})
            found[setup] = replace(setup, name=", ".join([str(transport), *parts]))
    return found


def _list_levels(setup: MessageSetup) -> dict[str, Any]:
    cell = {"streams": setup.streams, "window_bytes": setup.window_bytes}
    settings = {name: level for name, level in setup.condition.settings if name not in UNNAMED}
    return {name: find_default(name) if level is None else level for name, level in (settings | cell).items()}


def _name_parts(levels: Mapping[str, Any]) -> Sequence[str]:
    """The levels that are not the default, in the words of the campaign file."""
    told = {
        name: level for name, level in levels.items() if level is not None and level != find_default(name)
    }
    texts = zip(told.values(), format_levels(told).items(), strict=True)
    return [key.replace("_", " ") + ("" if level is True else f" {text}") for level, (key, text) in texts]


def make_load_answer(load: MessageLoad, result: Result, sample: Sample | None = None) -> Answer[Result]:
    """The answer about a load, or about ``sample``; what is common to the path is its condition."""
    taken = load.kept if sample is None else sample
    return Answer(condition=load.shared, selection=taken.selection, result=result)
