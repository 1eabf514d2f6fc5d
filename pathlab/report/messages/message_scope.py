"""The combinations of messages of a path, and how some of them are named: by what they alone share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pathlab.campaign.factors import format_levels
from pathlab.study.base.cells import Cell, MeasuredCondition
from pathlab.study.messages.message_rates import MESSAGE_SIZE, read_level

#: Most combinations that are named one by one; of more the number is given.
COMBINATIONS_NAMED = 3
#: A setting that others mostly imply, so it names combinations last.
IMPLIED = "congestion"
MessageLevels = Mapping[Cell, Mapping[str, Any]]


def list_message_paths(
    conditions: Iterable[MeasuredCondition],
) -> tuple[tuple[MeasuredCondition, ...], ...]:
    """The conditions of messages of each path that have a combination, in the order of measurement."""
    paths: dict[tuple[str, str, str], list[MeasuredCondition]] = {}
    for condition in conditions:
        if condition.key.is_of_messages and condition.all_cells:
            key = condition.key.path_source, condition.key.path_destination, condition.key.medium
            paths.setdefault(key, []).append(condition)
    return tuple(map(tuple, paths.values()))


def list_message_levels(conditions: Sequence[MeasuredCondition]) -> MessageLevels:
    """The levels of every measured combination, by attribute, of the factors that vary; the size first."""
    every = {
        cell: {
            **{
                name: read_level(condition.key, name)
                for other in conditions
                for name, _ in other.key.settings
            },
            "streams": cell.streams,
            "window_bytes": cell.window_bytes,
        }
        for condition in conditions
        for cell in condition.measured_cells
    }
    names = sorted({name for levels in every.values() for name in levels})
    names.sort(key=lambda name: name != MESSAGE_SIZE)
    varied = [name for name in names if len({levels[name] for levels in every.values()}) > 1]
    return {cell: {name: levels[name] for name in varied} for cell, levels in every.items()}


def locate_messages(every: MessageLevels, result: Sequence[Cell], cells: Sequence[Cell]) -> str:
    """``In all 24 combinations``, ``With placement host``, ``In 5 of 24 combinations``."""
    if len(result) == len(cells):
        return format_all_combinations(len(cells)) if len(cells) > 1 else "In the combination"
    name = _name_combinations(every, result)
    names = [name] if name else [_name_combinations(every, [cell]) for cell in result]
    if len(names) <= COMBINATIONS_NAMED:
        return f"With {'; '.join(names)}"
    return f"In {len(result)} of {len(cells)} combinations"


def format_all_combinations(number: int) -> str:
    """``In both combinations``, ``In all 24 combinations``."""
    return "In both combinations" if number == 2 else f"In all {number} combinations"


def _name_combinations(every: MessageLevels, cells: Sequence[Cell]) -> str:
    """The fewest levels that these combinations share and no other has; empty where there are none."""
    shared = dict(every[cells[0]])
    for cell in cells[1:]:
        shared = {name: level for name, level in shared.items() if every[cell][name] == level}
    if _count_matching(every, shared) != len(cells):
        return ""
    for name in sorted(shared, key=lambda name: name != IMPLIED):
        fewer = {other: level for other, level in shared.items() if other != name}
        if fewer and _count_matching(every, fewer) == len(cells):
            shared = fewer
    return ", ".join(f"{key.replace('_', ' ')} {text}" for key, text in format_levels(shared).items())


def _count_matching(every: MessageLevels, wanted: Mapping[str, Any]) -> int:
    return sum(all(levels[name] == level for name, level in wanted.items()) for levels in every.values())
