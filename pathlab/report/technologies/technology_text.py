"""Round trips by technology in words: what is compared with what, overheads, and load against none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.margins import MARGIN_RATIO
from pathlab.analysis.verdicts.two_samples import GroupShift
from pathlab.report.base.phrases import (
    format_caveat,
    format_count,
    format_factor,
    format_few,
    format_in_brackets,
    format_reason,
)
from pathlab.report.messages.message_text import name_offered, name_path
from pathlab.report.technologies.load_text import describe_weak_loads
from pathlab.study.analyses import Analyses
from pathlab.study.base.answer import Answer
from pathlab.study.base.selection import choose_evenly
from pathlab.study.base.trials import Condition
from pathlab.study.comparison.rows import TOO_FEW_TRIALS, ChangeVerdict
from pathlab.study.technologies.background import LOADED, LoadedRoundTrips, name_level
from pathlab.study.technologies.technology_overhead import TechnologyOverhead, find_least_median
from pathlab.study.technologies.technology_round_trips import TechnologyGroup, TechnologyRoundTrips
from pathlab.units import format_bytes, format_ratio, format_time

#: Overheads that a sentence names; of more the least, the largest and some of the others, at even places.
OVERHEADS_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TechnologySetting:
    """Round trips that are compared with each other: of one path, load, priority, placement and cores.

    ``number`` from 1 over all settings of the results; ``name`` says what sets it apart from others of its
    path, empty for nothing. ``groups``: one for each size, ascending. Answers are computed when asked for.
    """

    number: int
    name: str
    groups: tuple[TechnologyGroup, ...]
    study: Analyses

    @property
    def condition(self) -> Condition:
        """The path, with the settings that all of its loads share."""
        return self.groups[0].loads[0].load.shared

    @property
    def offered_messages_per_s(self) -> int | None:
        """The offered rate; None: one request after the other."""
        return self.groups[0].offered_messages_per_s

    @property
    def sizes(self) -> list[int]:
        """The sizes of messages, ascending."""
        return [group.size_bytes for group in self.groups]

    def list_technologies(self, size_bytes: int) -> list[str]:
        """The names of the technologies with messages of one size, from the least median to the largest."""
        return [
            load.technology for group in self.groups if group.size_bytes == size_bytes for load in group.loads
        ]

    def list_round_trips(self, size_bytes: int) -> list[TechnologyRoundTrips]:
        """The round trips with messages of one size, from the least median to the largest."""
        return [
            technology.result
            for technology in self.study.technologies()
            if self._holds(technology, size_bytes)
        ]

    def list_overheads(self, size_bytes: int) -> list[TechnologyOverhead]:
        """The overheads with messages of one size, from the least to the largest."""
        result = [item.result for item in self.study.technology_overhead() if self._holds(item, size_bytes)]
        return sorted(result, key=lambda item: item.median.shift or 0.0)

    def _holds(
        self, answer: Answer[TechnologyRoundTrips] | Answer[TechnologyOverhead], size_bytes: int
    ) -> bool:
        key = answer.result.group, answer.result.message_bytes, answer.result.offered_messages_per_s
        own = self.groups[0].name, size_bytes, self.offered_messages_per_s
        return answer.condition == self.condition and key == own

    def describe(self, size_bytes: int) -> str:
        """``64 B, no load``."""
        return ", ".join(filter(None, (format_bytes(size_bytes), self.name)))


def list_technology_settings(study: Analyses) -> tuple[TechnologySetting, ...]:
    """Every setting with round trips of a technology, in the order of the analyses."""
    result: dict[tuple[Condition, str, int | None], list[TechnologyGroup]] = {}
    for group in study.technology_groups():
        rate = group.offered_messages_per_s
        name = ", ".join(filter(None, (group.name, "" if rate is None else f"{name_offered(rate)} offered")))
        result.setdefault((group.loads[0].load.shared, name, rate), []).append(group)
    return tuple(
        TechnologySetting(number=number, name=name, groups=tuple(groups), study=study)
        for number, ((_, name, _), groups) in enumerate(result.items(), 1)
    )


def choose_first_settings(settings: Iterable[TechnologySetting]) -> list[TechnologySetting]:
    """The first setting of each path: without load and priority, where that was measured."""
    return list({setting.condition: setting for setting in reversed(list(settings))}.values())[::-1]


def describe_technologies(study: Analyses) -> tuple[str, ...]:
    """The shortest and the longest round trips, overheads, what load changes; empty without any.

    The first sentence is the answer, the others are alongside it.
    """
    settings = list_technology_settings(study)
    first = choose_first_settings(settings)
    texts: list[str] = []
    for setting in first:
        where = f"{name_path(setting.condition)}: " if len(first) > 1 else ""
        texts += [where + text for text in _describe_setting(setting)]
    return (*texts, *describe_loads(study.loaded_round_trips()))


def _describe_setting(setting: TechnologySetting) -> Iterator[str]:
    for size in dict.fromkeys((setting.sizes[0], setting.sizes[-1])):
        yield from _describe_range(setting, size)
    if overheads := setting.list_overheads(setting.sizes[0]):
        yield describe_overheads(overheads, setting.sizes[0])


def _describe_range(setting: TechnologySetting, size_bytes: int) -> Iterator[str]:
    known = [
        round_trip
        for round_trip in setting.list_round_trips(size_bytes)
        if round_trip.median_ns.median is not None
    ]
    if not known:
        return
    most = known[-1]
    text = f"Round trips of {setting.describe(size_bytes)}: {_describe_least(setting, size_bytes, known)}"
    if len(known) > 1:
        text += f"; {most.technology} has the largest median of {len(known)}, "
        text += format_time(most.median_ns.median)
    yield f"{text}."


def _describe_least(setting: TechnologySetting, size_bytes: int, known: list[TechnologyRoundTrips]) -> str:
    """``tcp has the shortest, median 4 µs (95 % CI ...)``, as far as that is decided."""
    first = known[0]
    median = format_time(first.median_ns.median)
    group = next(item for item in setting.groups if item.size_bytes == size_bytes)
    result = find_least_median(group)
    if result is None or result.undecided is Undecided.TOO_FEW_SAMPLES:
        text = f"{first.technology} has the lowest median so far, {median}"
        return text + (format_caveat(result.cycles) if result else "")
    if not result.rivals:
        ends = format_in_brackets(first.median_ns.interval, format_time)
        return f"{first.technology} has the shortest, median {median}{ends}"
    rival = next(item for item in known if item.technology == result.rivals[0])
    text = f"the shortest is not decided between {first.technology} and {rival.technology}"
    if len(result.rivals) > 1:
        text += f" and {len(result.rivals) - 1} more"
    return f"{text} (median {median} and {format_time(rival.median_ns.median)})"


def describe_overheads(overheads: Sequence[TechnologyOverhead], size_bytes: int) -> str:
    """``At 64 B: grpc 6.45 × [6.11, 6.8] tcp; …``, the largest last."""
    shown = choose_evenly(overheads, OVERHEADS_NAMED)
    texts = [f"{item.technology}: {format_overhead(item.median)} {item.beneath}" for item in shown]
    text = f"Median over the transport beneath, {format_bytes(size_bytes)}"
    if len(overheads) > len(shown):
        text += f" ({len(shown)} of {len(overheads)} shown)"
    text += f": {'; '.join(texts)}"
    if few := [
        overhead.median for overhead in overheads if overhead.median.undecided is Undecided.TOO_FEW_SAMPLES
    ]:
        text += format_caveat(max(item.first_n for item in few), of="no interval")
    return f"{text}."


def format_overhead(shift: GroupShift) -> str:
    """``6.45 × [6.11, 6.8]``; without the interval where there is none."""
    interval = shift.interval_ratio
    ends = f" [{format_factor(interval.low)}, {format_factor(interval.high)}]" if interval.decided else ""
    return f"{format_factor(shift.ratio)} ×{ends}"


def describe_loads(answers: Sequence[Answer[LoadedRoundTrips]]) -> tuple[str, ...]:
    """What each load and priority does to the p99 of round trips; why some are undecided; weak loads."""
    result = [answer.result for answer in answers if answer.result.ratio.metric == "round-trip-p99"]
    if not result:
        return ()
    factors: dict[str, list[LoadedRoundTrips]] = {}
    for item in result:
        factors.setdefault(item.factor, []).append(item)
    reasons = _explain_undecided(result)
    weak = filter(None, [describe_weak_loads(next(iter(factors.values())))])
    if all(item.ratio.verdict is ChangeVerdict.UNDECIDED for item in result):
        subjects = " and ".join(LOADED[factor][2] for factor in factors)
        text = f"p99 {subjects}: undecided in all {format_count(len(result), 'combination')} ({reasons})."
        return (text, *weak)
    texts = [_describe_factor(rows) for rows in factors.values()]
    return (*texts[:-1], f"{texts[-1]} Undecided: {reasons}." if reasons else texts[-1], *weak)


def _describe_factor(rows: Sequence[LoadedRoundTrips]) -> str:
    """``p99 against that with no load: cpu load worse in 9 of 10 (1.4 to 1.6 times), undecided in 1 ...``"""
    levels: dict[str, list[LoadedRoundTrips]] = {}
    for row in rows:
        levels.setdefault(row.ratio.level, []).append(row)
    factor = rows[0].factor
    texts = [f"{name_level(factor, level)} {_count_verdicts(result)}" for level, result in levels.items()]
    return f"p99 against that with {LOADED[factor][1]}: {'; '.join(texts)}."


def _count_verdicts(rows: Sequence[LoadedRoundTrips]) -> str:
    """``worse in 9 of 10 (1.4 to 1.6 times), undecided in 1``."""
    verdicts = Counter(row.ratio.verdict for row in rows)
    parts: list[str] = []
    for verdict in ChangeVerdict:
        if not verdicts[verdict]:
            continue
        text = f"{verdict} in {verdicts[verdict]}"
        if not parts:
            text += f" of {len(rows)}"
        if verdict in (ChangeVerdict.BETTER, ChangeVerdict.WORSE):
            ratios = sorted(row.ratio.ratio or 0.0 for row in rows if row.ratio.verdict is verdict)
            ends = " to ".join(dict.fromkeys(map(format_factor, (ratios[0], ratios[-1]))))
            text += f" ({ends} times)"
        parts.append(text)
    return ", ".join(parts)


def _explain_undecided(rows: Sequence[LoadedRoundTrips]) -> str:
    """Why, each reason once; empty where all is decided."""
    reasons = dict.fromkeys(
        row.ratio.reason for row in rows if row.ratio.verdict is ChangeVerdict.UNDECIDED and row.ratio.reason
    )
    texts, margin = [], f"±{format_ratio(MARGIN_RATIO)}"
    for reason in reasons:
        if reason == TOO_FEW_TRIALS:
            pairs = max(row.ratio.pairs for row in rows if row.ratio.reason == reason)
            texts.append(format_few(pairs))
        elif reason == Undecided.INCONCLUSIVE:
            texts.append(f"the interval contains 'no change' and exceeds {margin}; more cycles decide it")
        else:
            texts.append(format_reason(reason))
    return "; ".join(texts)
