"""Round trips under background load against none, and with real-time priority against ordinary scheduling."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pathlab.campaign.factors import find_default
from pathlab.study.answer import Answer
from pathlab.study.combination_names import name_message_combination
from pathlab.study.comparison.levels import LevelComparison, compare_levels_of
from pathlab.study.comparison.metrics import ChosenMetrics
from pathlab.study.message_rates import MESSAGE_SIZE
from pathlab.study.message_setups import MESSAGE_RATE, MessageSetup, list_message_loads
from pathlab.study.releases import ReleaseRatio, describe_releases
from pathlab.study.technology_round_trips import choose_apart, name_technologies
from pathlab.study.trials import TrialTable

#: The factors whose levels are compared with their default: no load, ordinary scheduling.
LOAD_FACTORS = ("background", "priority")
ROUND_TRIP_METRICS = ChosenMetrics(messages=("round-trip-median", "round-trip-p99"), streams=())


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedRoundTrips:
    """A quantile of round trips at one level of ``factor`` over that at its default, in pairs of a cycle.

    ``group`` names what sets the load apart from others of its path besides the technology and this factor.
    """

    technology: str
    group: str
    message_bytes: int
    offered_messages_per_s: int | None
    factor: str
    ratio: ReleaseRatio


def compare_loads(table: TrialTable) -> tuple[Answer[LoadedRoundTrips], ...]:
    """Every level of background load and of priority against none; nothing where neither was varied.

    Notes
    -----
    ``compare_levels_of``: pairs of a cycle, each factor one family of Holm's correction over all of its rows.
    """
    return tuple(
        answer
        for factor in LOAD_FACTORS
        for answer in _sort(_describe(table, factor, compare_load_levels(table, factor)))
    )


def compare_load_levels(table: TrialTable, factor: str) -> LevelComparison | None:
    """The levels of one of these factors against its default; None where it was not varied."""
    if not any(condition.get(factor) not in (None, find_default(factor)) for condition in table.conditions):
        return None
    return compare_levels_of(table, factor, find_default(factor), ROUND_TRIP_METRICS)


def _describe(
    table: TrialTable, factor: str, found: LevelComparison | None
) -> Iterator[Answer[LoadedRoundTrips]]:
    answers = [(_find_setup(one), one) for one in describe_releases(found)]
    shared = {load.setup.path: load.shared for load in list_message_loads(table)} if answers else {}
    for path in dict.fromkeys(setup.path for setup, _ in answers):
        setups = [setup for setup, _ in answers if setup.path == path]
        names, apart = name_technologies(setups), choose_apart(setups)
        for setup, answer in answers:
            if setup.path != path:
                continue
            rate = answer.condition.get(MESSAGE_RATE)
            result = LoadedRoundTrips(
                technology=names[setup],
                group=name_message_combination(setup, apart),
                message_bytes=int(answer.condition.get(MESSAGE_SIZE)),
                offered_messages_per_s=None if rate is None else int(rate),
                factor=factor,
                ratio=answer.result,
            )
            yield Answer(condition=shared[path], selection=answer.selection, result=result)


def _find_setup(answer: Answer[ReleaseRatio]) -> MessageSetup:
    return MessageSetup(
        condition=answer.condition.without(MESSAGE_SIZE, MESSAGE_RATE),
        streams=answer.streams or 1,
        window_bytes=answer.window_bytes,
    )


def _sort(answers: Iterable[Answer[LoadedRoundTrips]]) -> list[Answer[LoadedRoundTrips]]:
    """By size and setting, then by technology from the least median without load to the largest."""
    found = list(answers)
    medians: dict[tuple[object, ...], float] = {}
    for one in found:
        if one.result.ratio.metric == ROUND_TRIP_METRICS.messages[0]:
            medians[_find_combination(one)] = one.result.ratio.baseline_median or math.inf
    return sorted(
        found, key=lambda one: (_find_combination(one)[:3], medians.get(_find_combination(one), 0.0))
    )


def _find_combination(one: Answer[LoadedRoundTrips]) -> tuple[object, ...]:
    found = one.result
    return found.message_bytes, found.offered_messages_per_s or 0, found.group, found.technology
