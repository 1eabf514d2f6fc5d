"""Latency of messages: by size, by offered rate with its knee, its tail, the front of rate and p99."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.fits.load_knee import MINIMUM_RATES
from pathlab.report.base.answer_tables import LONG_ROWS, build_answer_table, format_note
from pathlab.report.base.blocks import Block, Question
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import (
    LazyBlock,
    LazyFold,
    LazyPlot,
    LazySection,
    format_suffix,
    lazy_text,
)
from pathlab.report.base.shortfalls import Shortfall
from pathlab.report.base.summary import AnswerText
from pathlab.report.base.topic import Topic
from pathlab.report.messages.latency_figures import (
    draw_front,
    draw_latency_by_rate,
    draw_latency_by_size,
    draw_tails,
    find_tails,
)
from pathlab.report.messages.message_text import describe_latencies, name_offered, name_path
from pathlab.study.base.answer import Answer
from pathlab.study.base.registry import ANALYSES
from pathlab.study.base.selection import choose_evenly
from pathlab.study.base.trials import Condition
from pathlab.units import format_bytes, format_time

#: Figures of one kind that a path shows; the others are made by name.
FIGURES_SHOWN = 3
#: Setups of one figure that a phone still shows apart.
SETUPS_MAX = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyGroup:
    """The loads of one path: ``number`` from 1, ``setups`` by name in the order of measurement."""

    number: int
    condition: Condition
    title: str
    setups: tuple[str, ...]
    inputs: ReportInputs

    def answers(self, name: str) -> list[Answer[Any]]:
        """The answers of an analysis on this path, without those that the chapter on technologies shows."""
        return [
            answer for answer in list_latency_answers(self.inputs, name) if answer.condition == self.condition
        ]

    def list_levels(self, name: str, analysis: str = "message_latency") -> list[Any]:
        """The sizes or offered rates of an analysis, ascending; None first."""
        result = {getattr(answer.result, name) for answer in self.answers(analysis)}
        return sorted(result, key=lambda item: (item is not None, item or 0))

    def split_setups(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The setups of each figure, and what its name ends with."""
        parts = range(0, len(self.setups), SETUPS_MAX)
        for part, first in enumerate(parts, 1):
            yield (f"-{part}" if len(parts) > 1 else ""), self.setups[first : first + SETUPS_MAX]


def list_latency_answers(inputs: ReportInputs, name: str) -> list[Answer[Any]]:
    """The answers of an analysis, without loads that the chapter on technologies shows."""
    return [answer for answer in inputs.answers(name) if not inputs.study.is_of_technologies(answer.result)]


def list_latency_groups(inputs: ReportInputs) -> tuple[LatencyGroup, ...]:
    """Every path with round trips of messages."""
    names: dict[Condition, dict[str, None]] = {}
    for answer in list_latency_answers(inputs, "message_latency") if inputs.message_conditions else ():
        names.setdefault(answer.condition, {})[answer.result.setup.name] = None
    return tuple(
        LatencyGroup(
            number=number,
            condition=condition,
            title=format_path_title(inputs, condition),
            setups=tuple(setups),
            inputs=inputs,
        )
        for number, (condition, setups) in enumerate(names.items(), 1)
    )


def format_path_title(inputs: ReportInputs, condition: Condition) -> str:
    """Path, medium and date."""
    ends = condition.path_source, condition.path_destination, condition.medium
    first = next(
        item
        for item in inputs.message_conditions
        if (item.key.path_source, item.key.path_destination, item.key.medium) == ends
    )
    return first.title_of(first.path)


def list_latency_figures(group: LatencyGroup) -> Iterator[LazyPlot]:
    """Every figure of a path, the first of each kind shown."""
    latencies, knees = group.answers("message_latency"), group.answers("message_knee")
    sizes, rates = group.list_levels("message_bytes"), group.list_levels("offered_messages_per_s")
    for ending, setups in group.split_setups():
        shown = choose_evenly(rates, FIGURES_SHOWN)
        for rate in rates if len(sizes) > 1 else ():
            yield LazyPlot(
                name=f"latency-by-size-{group.number}{format_suffix(name_offered(rate))}{ending}",
                title=f"Round trips of messages by size, {name_offered(rate)}",
                condition=group.title,
                draw=partial(draw_latency_by_size, latencies, setups, rate),
                on_demand=rate not in shown,
            )
        offered = [rate for rate in rates if rate is not None]
        shown = choose_evenly(sizes, FIGURES_SHOWN)
        for size in sizes if len(offered) > 1 else ():
            yield LazyPlot(
                name=f"latency-by-rate-{group.number}{format_suffix(format_bytes(size))}{ending}",
                title=f"Round trips by offered rate, messages of {format_bytes(size)}",
                condition=group.title,
                draw=partial(draw_latency_by_rate, group.inputs, latencies, knees, setups, size),
                on_demand=size not in shown,
            )
        loads = [(size, rate) for size in sizes for rate in rates]
        shown_loads = choose_evenly(loads, FIGURES_SHOWN)
        for size, rate in loads:
            yield LazyPlot(
                name=f"latency-tail-{group.number}"
                f"{format_suffix(format_bytes(size))}{format_suffix(name_offered(rate))}{ending}",
                title=f"Tail of round trips, {format_bytes(size)}, {name_offered(rate)}",
                condition=group.title,
                draw=partial(
                    draw_tails,
                    partial(find_tails, group.inputs, group.condition, setups, size, rate),
                    setups,
                ),
                on_demand=(size, rate) not in shown_loads,
            )


def list_front_figures(group: LatencyGroup) -> Iterator[LazyPlot]:
    """The front of every size that was offered at several rates."""
    answers = group.answers("message_latency")
    for size in group.list_levels("message_bytes", "message_front"):
        yield LazyPlot(
            name=f"latency-front-{group.number}{format_suffix(format_bytes(size))}",
            title=f"p99 and offered rate, messages of {format_bytes(size)}",
            condition=group.title,
            draw=partial(draw_front, answers, group.answers("message_front"), group.setups, size),
        )


def list_opening_front(inputs: ReportInputs) -> tuple[LazyPlot, ...]:
    """The front that the opening shows: that of the smallest size of each path."""
    return tuple(front for group in list_latency_groups(inputs) for front in [*list_front_figures(group)][:1])


def _find_shortfall(group: LatencyGroup, name: str) -> Shortfall | None:
    """Why there is no knee: too few rates were offered with all setups and sizes."""
    reasons = (
        {answer.result.knee.undecided for answer in group.answers(name)} if name == "message_knee" else set()
    )
    if reasons != {Undecided.TOO_FEW_LEVELS}:
        return None
    return Shortfall(
        title=ANALYSES[name].title,
        needs=f"{MINIMUM_RATES} offered rates",
        setting='factors.message_rate="1000..256000 step x2"',
        path=name_path(group.condition),
    )


def _list_table_blocks(group: LatencyGroup, name: str, *, folded: bool = False) -> Iterator[LazyBlock]:
    answers = group.answers(name)
    if not answers:
        return
    text = lazy_text(_build_table, group, name, lacks=partial(_find_shortfall, group, name))
    title = f"{ANALYSES[name].title}: {name_path(group.condition)}"
    yield LazyFold(title=title, blocks=(text,)) if folded or len(answers) > LONG_ROWS else text


def _build_table(group: LatencyGroup, name: str) -> Iterator[Block]:
    entry, answers = ANALYSES[name], group.answers(name)
    notes = [format_note(answers, entry)]
    if name == "message_latency":
        notes.append(_describe_costs(answers))
    yield build_answer_table(
        f"{name.replace('_', '-')}-{group.number}",
        f"{entry.title}: {name_path(group.condition)}",
        name,
        answers,
        note=" ".join(filter(None, notes)) or None,
    )


def _describe_costs(answers: Sequence[Answer[Any]]) -> str | None:
    """What the measurement itself costs a round trip."""
    known = {
        name: [value for answer in answers if (value := getattr(answer.result, name)) is not None]
        for name in ("clock_cost_ns", "record_cost_ns")
    }
    if not all(known.values()):
        return None
    clock, record = (format_time(float(np.array(values).max())) for values in known.values())
    return f"Measuring costs at most {clock} for a reading of the clock and {record} to count a round trip."


def _list_blocks(inputs: ReportInputs) -> Iterator[LazyBlock]:
    opening = {front.name for front in list_opening_front(inputs)}
    for group in list_latency_groups(inputs):
        fronts = [front for front in list_front_figures(group) if front.name not in opening]
        shown = choose_evenly(fronts, FIGURES_SHOWN) if fronts else []
        yield from shown
        yield from _list_table_blocks(group, "message_front")
        yield from list_latency_figures(group)
        yield from _list_table_blocks(group, "message_knee")
        yield from _list_table_blocks(group, "message_latency")
        yield from _list_table_blocks(group, "message_tails", folded=True)


def _find_gap(inputs: ReportInputs) -> str | None:
    if list_latency_groups(inputs) or (inputs.message_conditions and inputs.study.technology_paths()):
        return None  # the chapter on technologies has them
    return "it needs trials of messages with replies"


SECTION = LazySection(
    key="message-latency",
    title="Latency of messages",
    find_gap=_find_gap,
    blocks=_list_blocks,
    question=Question.WHY,
    factors=("reply",),
    of_messages=True,
    choose_setting=lambda _: "factors.reply=[true]",
)
TOPIC = Topic(
    key="message_latency",
    describe=lambda study: map(AnswerText, describe_latencies(study)),
    blocks=list_opening_front,
    sections=(SECTION,),
)
