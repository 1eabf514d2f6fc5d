"""What was carried of messages and writes, by their size, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

import numpy as np

from pathlab.analysis.fits.message_cost import MessageCost
from pathlab.report.base.phrases import (
    format_count,
    format_factor,
    format_interval,
    format_reason,
    format_spread,
)
from pathlab.report.messages.message_curves import CurveGroup, Found, MessageCurve, group_curves
from pathlab.study.analyses import Analyses
from pathlab.study.base.answer import Answer, Spread
from pathlab.study.base.registry import ANALYSES
from pathlab.study.base.selection import LAB_FLAGS, Sample
from pathlab.study.messages.combination_names import (
    LONE,
    OF_THE_TOOL,
    MessageCombination,
    find_naming,
    name_message_combination,
)
from pathlab.study.messages.message_rates import (
    MESSAGE_SIZE,
    MESSAGES,
    WRITES,
    FastestCurve,
    SizeFactor,
    find_fastest,
    measure_counts,
    select_sizes,
)
from pathlab.units import NOT_MEASURED, format_bytes, format_frequency, format_rate, format_time

#: Combinations without a median that are named; of more the number is given.
NAMED_MAX = 3
#: Runs of sizes with one fastest curve that a sentence names; of more it names the first and the last.
RUNS_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeTrials:
    """The trials of all sizes of one curve, and the answer on their cost."""

    sample: Sample
    cost: Answer[MessageCost]


SizeGroup: TypeAlias = CurveGroup[SizeTrials]


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeChapter:
    """How the report shows one factor: its analysis of costs, the title, and the start of figures' names."""

    factor: SizeFactor
    analysis: str
    title: str
    figure: str


MESSAGE_CHAPTER = SizeChapter(
    factor=MESSAGES,
    analysis="message_cost",
    title="Message rate and throughput by message size",
    figure="messages",
)
WRITE_CHAPTER = SizeChapter(
    factor=WRITES, analysis="write_cost", title="Throughput by write size", figure="writes"
)


def list_size_groups(study: Analyses, chapter: SizeChapter) -> tuple[SizeGroup, ...]:
    """Every cell with its cost, decided or not, by figure."""
    factor = chapter.factor
    if all(condition.key.get(factor.setting) is None for condition in study.conditions()):
        return ()
    answers = ANALYSES[chapter.analysis](study)
    curves = [
        MessageCurve(
            condition=part.condition,
            streams=streams,
            window_bytes=window,
            found=SizeTrials(sample=part, cost=answer),
        )
        for answer, (streams, window, part) in zip(
            answers, select_sizes(study.study_table(), factor), strict=True
        )
    ]
    return group_curves(study, curves, factor.setting)


def describe_messages(study: Analyses) -> tuple[str, ...]:
    """What carries most messages in each figure, and what has no median; none where none were measured."""
    groups = list_size_groups(study, MESSAGE_CHAPTER)
    named = [f"{group.name}: " if len(groups) > 1 else "" for group in groups]
    result = [(name, describe_fastest(MESSAGES, group)) for name, group in zip(named, groups, strict=True)]
    return (*(f"{name}{text}" for name, text in result if text), *describe_limited(study))


def describe_limited(study: Analyses) -> Iterator[str]:
    """The combinations of each path whose trials were all lab-limited, which no figure shows."""
    table = study.study_table()
    usable = {(part.condition, *cell) for *cell, part in select_sizes(table, MESSAGES)}
    result: dict[tuple[str, str, str], dict[MessageCombination, None]] = {}
    for item in study.conditions():
        condition = item.key.without(MESSAGE_SIZE)
        if not item.key.is_of_messages or not MESSAGES.takes(item.key):
            continue
        for cell in item.all_cells:
            flags = [table.flagged(flag)[cell.complete.places] for flag in LAB_FLAGS]
            limited = len(cell.complete) and np.any(flags, axis=0).all()
            if limited and (condition, cell.streams, cell.window_bytes) not in usable:
                kept = MessageCombination(
                    condition=condition, streams=cell.streams, window_bytes=cell.window_bytes
                )
                result.setdefault(kept.path, {})[kept] = None
    for path, combinations in result.items():
        naming = find_naming(table, path)
        names = [name_message_combination(combination, naming) for combination in combinations]
        text = "; ".join(names) if len(names) <= NAMED_MAX else format_count(len(names), "combination")
        yield f"{text}: all trials were lab-limited; no median is given."


def describe_cost(factor: SizeFactor, cost: MessageCost) -> str:
    """What one costs, the rate of its bytes and the half size, each with its interval."""
    if cost.message_ns is None:
        return f"Cost of a {factor.noun}: undecided ({format_reason(cost.undecided)})."
    interval = format_interval(cost.message_interval_ns, format_time)
    text = f"A {factor.noun} costs {format_time(cost.message_ns)} ({interval})"
    if cost.rate_bits_per_s is None:
        return f"{text}; the rate of its bytes is undecided."
    text += f"; rate of its bytes {format_rate(cost.rate_bits_per_s)}"
    if cost.half_size_bytes is None:
        return f"{text}; the half size is undecided."
    low = format_interval(cost.half_size_interval_bytes, format_bytes)
    return f"{text}; half of that rate at {format_bytes(cost.half_size_bytes)} ({low})."


def describe_fastest(factor: SizeFactor, group: SizeGroup) -> str:
    """Which curve carries most at which sizes, with numbers: the answer in one sentence for each range.

    Empty where what is varied is no choice: builds, levels of recording, numbers of sinks.
    """
    counted = {name: measure_counts(curve.found.sample, factor) for name, curve in list_usual(group)}
    if not counted:
        return ""
    fastest = find_fastest(counted)
    if len(counted) == 1:
        ((name, spreads),) = counted.items()
        ends = dict.fromkeys((fastest[0].size_bytes, fastest[-1].size_bytes))
        head = "Carried per second" if name == LONE else f"{name}, carried per second"
        return f"{head}: {'; '.join(_describe_rate(size, spreads[size]) for size in ends)}."
    runs = [list(run) for _, run in groupby(fastest, key=lambda item: (item.name, item.apart))]
    shown = runs if len(runs) <= RUNS_NAMED else [runs[0][:1], runs[-1][-1:]]
    return " ".join(_describe_run(factor, run, counted) for run in shown)


def list_usual(group: CurveGroup[Found]) -> Iterator[tuple[str, MessageCurve[Found]]]:
    """The curves that one chooses from, by names without build and recording."""
    naming = [name for name in group.factors if name not in OF_THE_TOOL]
    for curve in group.usual:
        yield name_message_combination(curve, naming) or LONE, curve


def _describe_run(
    factor: SizeFactor, run: Sequence[FastestCurve], counted: Mapping[str, Mapping[int, Spread]]
) -> str:
    """Sizes at which one curve carries most, shown to or not, and by how much at the smallest of them."""
    first, last = run[0], format_bytes(run[-1].size_bytes)
    size = format_bytes(first.size_bytes)
    where = f"At {size}" if last == size else f"From {size} to {last}"
    text = f"{where}, {first.name} carries most {factor.noun}s: "
    text += _describe_rate(first.size_bytes, counted[first.name][first.size_bytes])
    if first.ratio is not None:
        text += f", {format_factor(first.ratio)} × as many as {first.next_name}"
        text += "" if first.apart else " (not shown to differ)"
    return f"{text}."


def _describe_rate(size: int, spread: Spread) -> str:
    """``1.2 M/s of 64 B (95 % CI 1.1–1.3 M/s), 614 Mbit/s``."""
    if spread.median is None:
        return f"{NOT_MEASURED} of {format_bytes(size)}"
    rate, whole = format_frequency(spread.median), format_spread(spread, format_frequency)
    text = f"{rate} of {format_bytes(size)}{whole.removeprefix(rate)}"
    return f"{text}, {format_rate(8 * size * spread.median)}"
