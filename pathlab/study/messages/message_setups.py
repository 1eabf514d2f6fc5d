"""Trials with round trips of messages: how the messages travel, their size and their offered rate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pathlab.store.flags import Flag
from pathlab.study.base.answer import Answer
from pathlab.study.base.message_values import MESSAGES_MISSING, MISSING_RATIO_MAX, measure_missing
from pathlab.study.base.selection import LAB_FLAGS, Rules, Sample, select
from pathlab.study.base.trials import Condition, TrialTable
from pathlab.study.messages.combination_names import MessageCombination, find_naming, name_message_combination
from pathlab.study.messages.message_rates import MESSAGE_SIZE

Result = TypeVar("Result")
MESSAGE_RATE = "message_rate_per_s"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSetup(MessageCombination):
    """How messages travel: everything that is set besides their size and rate."""

    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MessageLoad:
    """The trials of one setup with messages of one size at one offered rate (None: one after the other).

    ``kept`` kept the rate, ``missed`` did not: their latency is not that of the offered rate. A trial of
    which more than 1 % of the messages never returned did not keep it either. ``shared`` has the settings
    that all loads of the path have in common.
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
    result: list[tuple[MessageSetup, Sample]] = []
    for sample in select(table, Rules(flags=(), as_requested=True, needed=(), messages=True)):
        if sample.condition.get(MESSAGE_SIZE) is None or not sample.condition.get("reply"):
            continue
        travel = sample.condition.without(MESSAGE_SIZE, MESSAGE_RATE)
        for streams, window, part in sample.by_cell():
            result.append((MessageSetup(condition=travel, streams=streams, window_bytes=window), part))
    names = _name_setups(table, dict.fromkeys(setup for setup, _ in result))
    shared: dict[tuple[str, str, str], Condition] = {}
    for setup, part in result:
        shared[setup.path] = _intersect(shared.get(setup.path, part.condition), part.condition)
    order = {setup: index for index, setup in enumerate(names)}
    loads = [(order[setup], _build_load(names[setup], part, shared[setup.path])) for setup, part in result]
    loads.sort(key=lambda item: (item[0], item[1].size_bytes, item[1].offered_messages_per_s or 0))
    return tuple(load for _, load in loads)


def _intersect(first: Condition, second: Condition) -> Condition:
    kept = tuple(setting for setting in first.settings if setting in second.settings)
    return replace(first, settings=kept)


def _build_load(setup: MessageSetup, part: Sample, shared: Condition) -> MessageLoad:
    for flag in LAB_FLAGS:
        part = part.exclude(part.table.flagged(flag)[part.places], flag)
    late = part.table.flagged(Flag.RATE_MISSED)[part.places]
    lost = ~late & (measure_missing(part) > MISSING_RATIO_MAX)
    rate = part.condition.get(MESSAGE_RATE)
    return MessageLoad(
        setup=setup,
        shared=shared,
        size_bytes=int(part.condition.get(MESSAGE_SIZE)),
        offered_messages_per_s=None if rate is None else int(rate),
        kept=part.exclude(late, Flag.RATE_MISSED).exclude(lost[~late], MESSAGES_MISSING),
        missed=part.take(late | lost),
    )


def _name_setups(table: TrialTable, setups: Iterable[MessageSetup]) -> Mapping[MessageSetup, MessageSetup]:
    """Each setup with its name: ``tcp``, ``tcp (spinning), batch 8 KiB``."""
    every = list(setups)
    naming = {path: find_naming(table, path) for path in {item.path for item in every}}
    return {item: replace(item, name=name_message_combination(item, naming[item.path])) for item in every}


def make_load_answer(load: MessageLoad, result: Result, sample: Sample | None = None) -> Answer[Result]:
    """The answer about a load, or about ``sample``; what is common to the path is its condition."""
    taken = load.kept if sample is None else sample
    return Answer(condition=load.shared, selection=taken.selection, result=result)
