"""Round trips under background load against none, and with real-time priority against ordinary scheduling."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pathlab.campaign.background_checks import PARTS
from pathlab.campaign.factors import find_default, format_level
from pathlab.store.flags import Flag
from pathlab.study.base.answer import Answer
from pathlab.study.base.selection import Sample
from pathlab.study.base.trials import TrialTable
from pathlab.study.comparison.levels import LevelComparison, compare_levels_of
from pathlab.study.comparison.metrics import ChosenMetrics
from pathlab.study.comparison.releases import ReleaseRatio, describe_releases
from pathlab.study.comparison.rows import ChangeVerdict
from pathlab.study.messages.combination_names import name_message_combination
from pathlab.study.messages.message_rates import MESSAGE_SIZE
from pathlab.study.messages.message_setups import MESSAGE_RATE, MessageSetup, list_message_loads
from pathlab.study.technologies.technology_round_trips import choose_apart, name_technologies
from pathlab.units import format_rate, format_ratio, format_volume

#: What a factor is to a reader whose levels are compared with its default: a level, the default, all levels.
LOADED = {
    "background": ("{} load", "no load", "under load"),
    "priority": ("real-time priority {}", "ordinary scheduling", "with real-time priority"),
}
ROUND_TRIP_METRICS = ChosenMetrics(messages=("round-trip-median", "round-trip-p99"), streams=())
#: From this share of weak trials on, a row says nothing of its load; why it is undecided then.
WEAK_RATIO, WEAK_LOAD = 0.5, "the load hardly ran"
#: The rates of a load: its column and how it is written.
LOAD_RATES: Mapping[str, Callable[[float], str]] = {
    "background_cpu_ratio": lambda value: f"{format_ratio(value)} of its threads' time",
    "background_disk_bytes_per_s": lambda value: f"{format_volume(value)}/s of disk",
    "background_network_bits_per_s": lambda value: f"{format_rate(value)} of network",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedRoundTrips:
    """A quantile of round trips at one level of ``factor`` over that at its default, in pairs of a cycle.

    ``group`` names what sets the load apart from others of its path besides the technology and this factor.
    Of both levels' trials ``loaded_trials`` had a background load, which was weak in ``weak_trials``;
    What it did is the median over them. The ratio is undecided where more than half of them are weak.
    """

    technology: str
    group: str
    message_bytes: int
    offered_messages_per_s: int | None
    factor: str
    ratio: ReleaseRatio
    loaded_trials: int
    weak_trials: int
    background_cpu_ratio: float | None
    background_disk_bytes_per_s: float | None
    background_network_bits_per_s: float | None

    @property
    def rates(self) -> dict[str, float]:
        """What the load did, of the parts that it had."""
        result = {name: getattr(self, name) for name in LOAD_RATES}
        return {name: value for name, value in result.items() if value is not None}

    @property
    def compared(self) -> str:
        """``cpu load against no load``."""
        return f"{name_level(self.factor, self.ratio.level)} against {LOADED[self.factor][1]}"

    @property
    def weak(self) -> str | None:
        """``3 of 12``; None without a load."""
        return f"{self.weak_trials} of {self.loaded_trials}" if self.loaded_trials else None

    @property
    def load(self) -> str | None:
        """``48 % of its threads' time, 30 MB/s of disk``; None without a load."""
        return ", ".join(LOAD_RATES[name](value) for name, value in self.rates.items()) or None


def find_median_rates(rows: Sequence[LoadedRoundTrips]) -> dict[str, float]:
    """The median over rows of each rate of their load, by its column; without rates that no row has."""
    values = {name: [row.rates[name] for row in rows if name in row.rates] for name in LOAD_RATES}
    return {name: float(np.median(value)) for name, value in values.items() if value}


def name_level(factor: str, level: str) -> str:
    """``combined load``, ``real-time priority 50``."""
    return LOADED[factor][0].format(level)


def compare_loads(table: TrialTable) -> tuple[Answer[LoadedRoundTrips], ...]:
    """Every level of background load and of priority against none; nothing where neither was varied.

    Notes
    -----
    ``compare_levels_of``: pairs of a cycle. Each factor, metric and path is one family of Holm's correction.
    """
    return tuple(
        answer
        for factor in LOADED
        for answer in _sort(_describe(table, factor, compare_load_levels(table, factor)))
    )


def compare_load_levels(table: TrialTable, factor: str) -> LevelComparison | None:
    """The levels of one of these factors against its default; None where it was not varied."""
    if not any(condition.get(factor) not in (None, find_default(factor)) for condition in table.conditions):
        return None
    return compare_levels_of(
        table,
        factor,
        find_default(factor),
        ROUND_TRIP_METRICS,
        family=lambda row: (row.metric.name, row.cell.source, row.cell.destination),
    )


#: An answer and the place of its group among those of its path.
_Ranked = tuple[tuple[object, ...], Answer[LoadedRoundTrips]]


def _describe(table: TrialTable, factor: str, comparison: LevelComparison | None) -> Iterator[_Ranked]:
    if comparison is None:
        return
    samples = [comparison.parts[row.cell].sample for row in comparison.found.rows]
    answers = [
        (_find_setup(release), release, sample)
        for release, sample in zip(describe_releases(comparison), samples, strict=True)
    ]
    shared = {load.setup.path: load.shared for load in list_message_loads(table)}
    for path in dict.fromkeys(setup.path for setup, *_ in answers):
        own = [item for item in answers if item[0].path == path]
        setups = [setup for setup, *_ in own]
        names, apart = name_technologies(setups), choose_apart(setups)
        for setup, answer, sample in own:
            rate = answer.condition.get(MESSAGE_RATE)
            result = LoadedRoundTrips(
                technology=names[setup],
                group=name_message_combination(setup, apart),
                message_bytes=int(answer.condition.get(MESSAGE_SIZE)),
                offered_messages_per_s=None if rate is None else int(rate),
                factor=factor,
                **_measure_load(sample, factor, answer.result),
            )
            levels = [(name, setup.read(name)) for name in reversed(apart)]
            rank = tuple((level != find_default(name), _rank_level(name, level)) for name, level in levels)
            yield (*path, *rank), Answer(condition=shared[path], selection=answer.selection, result=result)


def _find_setup(answer: Answer[ReleaseRatio]) -> MessageSetup:
    return MessageSetup(
        condition=answer.condition.without(MESSAGE_SIZE, MESSAGE_RATE),
        streams=answer.streams or 1,
        window_bytes=answer.window_bytes,
    )


def _measure_load(sample: Sample, factor: str, ratio: ReleaseRatio) -> Mapping[str, Any]:
    """What the load of the trials that a ratio compares did; the ratio, undecided where that was little."""
    conditions = [sample.table.conditions[index] for index in sample.places]
    compared = (ratio.level, ratio.baseline)
    loaded = np.array(
        [
            format_level(factor, condition.get(factor)) in compared
            and condition.get("background") not in (None, find_default("background"))
            for condition in conditions
        ]
    )
    weak = int((loaded & sample.table.flagged(Flag.BACKGROUND_WEAK)[sample.places]).sum())
    if weak > WEAK_RATIO * loaded.sum():
        ratio = replace(ratio, verdict=ChangeVerdict.UNDECIDED, reason=WEAK_LOAD)
    values = {name: sample.get(name)[loaded] for name in LOAD_RATES}
    return {
        "ratio": ratio,
        "loaded_trials": int(loaded.sum()),
        "weak_trials": weak,
        **{
            name: None if np.isnan(known).all() else float(np.nanmedian(known))
            for name, known in values.items()
        },
    }


def _rank_level(name: str, level: object) -> tuple[int, str]:
    """Loads in the order of the factor, other levels by their text."""
    order = [str(item) for item in PARTS] if name == "background" else []
    return (order.index(str(level)) if str(level) in order else 0), str(level)


def _sort(answers: Iterable[_Ranked]) -> list[Answer[LoadedRoundTrips]]:
    """By path, size, rate and setting; then technologies from the least median to the largest."""
    result = list(answers)
    medians: dict[tuple[object, ...], float] = {}
    for rank, item in result:
        if item.result.ratio.metric == ROUND_TRIP_METRICS.messages[0]:
            medians[rank, _find_combination(item)] = item.result.ratio.baseline_median or math.inf

    def place(ranked: _Ranked) -> tuple[object, ...]:
        rank, item = ranked
        combination = _find_combination(item)
        median = medians.get((rank, combination), math.inf)
        level = _rank_level(item.result.factor, item.result.ratio.level)
        metric = ROUND_TRIP_METRICS.messages.index(item.result.ratio.metric)
        return rank[:3], combination[:2], rank[3:], median, combination, metric, level

    return [item for _, item in sorted(result, key=place)]


def _find_combination(answer: Answer[LoadedRoundTrips]) -> tuple[object, ...]:
    result = answer.result
    return result.message_bytes, result.offered_messages_per_s or 0, result.group, result.technology
