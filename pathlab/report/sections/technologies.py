"""Round trips by technology: tables and figures by size, overheads, CPU time, load against none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from pathlab.analysis.estimators.margins import MARGIN_RATIO
from pathlab.analysis.estimators.tails import SUPPORT_SAMPLES, Tail
from pathlab.analysis.verdicts.two_samples import MINIMUM_TRIALS
from pathlab.report.blocks import Block, Question
from pathlab.report.inputs import ReportInputs
from pathlab.report.phrases import format_count, format_factor, format_interval
from pathlab.report.sections.answer_tables import write_paragraph
from pathlab.report.sections.latency_figures import draw_latency_by_size, draw_tails
from pathlab.report.sections.lazy import (
    Drawing,
    LazyBlock,
    LazyFold,
    LazyPlot,
    LazySection,
    format_suffix,
    lazy_text,
)
from pathlab.report.sections.message_latency import SETUPS_MAX, format_path_title
from pathlab.report.sections.technology_figures import draw_loads, draw_overheads, draw_ranges
from pathlab.report.tables import build_table
from pathlab.report.technology_text import (
    LOADED,
    TechnologySetting,
    choose_first_settings,
    format_overhead,
    list_technology_settings,
    name_level,
)
from pathlab.study.answer import Answer
from pathlab.study.background import LoadedRoundTrips
from pathlab.study.message_latency import MessageLatency
from pathlab.study.technology_overhead import TechnologyOverhead
from pathlab.study.technology_round_trips import TechnologyRoundTrips
from pathlab.study.trials import Condition
from pathlab.units import NOT_MEASURED, format_bytes, format_frequency, format_ratio, format_time

QUANTILES = ("p50", "p90", "p99", "p99.9", "p99.99", "p99.999")
_HEADINGS = (
    *("Technology", "Minimum", "Mean", "Maximum", *QUANTILES, "95 % CI of p50"),
    *("CPU, asking", "CPU, answering", "Trials"),
)
_OVERHEAD_HEADINGS = (
    *("Technology", "Size", "Transport", "p50 [95 % CI]", "p99 [95 % CI]", "Share of the language"),
    *("Pairs", "Undecided"),
)
_MEANINGS = {
    "CPU, asking": "CPU time per request of the end that asks",
    "CPU, answering": "CPU time per request of the end that answers, a broker with its responder",
}
LOAD_RULES = (
    "Factors of {metric}, in pairs of a cycle (Hodges-Lehmann). Intervals allow for serial correlation and "
    "for all rows of background load, or of priority (Holm). Worse or better: the interval does not contain "
    "'no change'. Equivalent: it lies within ±{margin}. A verdict needs {least} cycles."
)
METRICS = {"round-trip-median": "p50", "round-trip-p99": "p99"}


def outline_opening_technologies(inputs: ReportInputs) -> Iterator[LazyBlock]:
    """What is seen first: ranges, table and overheads of the smallest size of each path's first setting."""
    for setting in choose_first_settings(list_technology_settings(inputs.study)):
        size = setting.sizes[0]
        yield _outline_ranges(inputs, setting, size)
        yield lazy_text(_tabulate_round_trips, setting, size)
        yield from _outline_overheads(inputs, setting, size)
    for group in _choose_first_loads(_list_load_groups(inputs)):
        yield _outline_load_figure(inputs, group)


def _outline_ranges(
    inputs: ReportInputs, setting: TechnologySetting, size: int, *, on_demand: bool = False
) -> LazyPlot:
    return LazyPlot(
        name=_name("technologies", setting, size),
        title=f"Round trips by technology, {setting.describe(size)}",
        condition=format_path_title(inputs, setting.condition),
        draw=partial(draw_ranges, setting, size),
        on_demand=on_demand,
    )


def _outline_overheads(
    inputs: ReportInputs, setting: TechnologySetting, size: int, *, on_demand: bool = False
) -> Iterator[LazyPlot]:
    if setting.list_overheads(size):
        yield LazyPlot(
            name=_name("technology-overhead", setting, size),
            title=f"Factor over the transport beneath, {setting.describe(size)}",
            condition=format_path_title(inputs, setting.condition),
            draw=partial(draw_overheads, setting, size),
            on_demand=on_demand,
        )


def _name(key: str, setting: TechnologySetting, size: int) -> str:
    return f"{key}-{setting.number}{format_suffix(format_bytes(size))}"


def _tabulate_round_trips(setting: TechnologySetting, size: int) -> Iterator[Block]:
    rows = setting.list_round_trips(size)
    yield build_table(
        _name("round-trips", setting, size),
        f"Round trips by technology, {setting.describe(size)}",
        _HEADINGS,
        [_describe_row(one) for one in rows],
        note=" ".join(_list_notes(rows)),
        meanings=[_MEANINGS.get(heading, "") for heading in _HEADINGS],
        words={"Technology", "95 % CI of p50"},
        keep=_HEADINGS[:5],
    )


def _describe_row(one: TechnologyRoundTrips) -> tuple[str, ...]:
    values = [quantile.value for quantile in one.tail.quantiles] or [one.p50[0], *[None] * 5]
    return (
        one.technology,
        *map(format_time, (one.least_ns, one.mean_ns, one.most_ns)),
        *("" if value is None else format_time(value) for value in values),
        format_interval(one.p50[1], format_time) if one.p50[1].decided else NOT_MEASURED,
        *(format_time(spent.median) for spent in (one.asking_cpu_ns, one.answering_cpu_ns)),
        str(one.trials),
    )


def _list_notes(rows: Sequence[TechnologyRoundTrips]) -> Iterator[str]:
    yield (
        "All round trips of all trials; a quantile is blank where fewer than "
        f"{SUPPORT_SAMPLES} lie beyond it."
    )
    for one in rows:
        if one.hop_trials and one.hop_ns is not None and one.p50[0]:
            share = format_ratio(one.hop_ns / one.p50[0])
            yield (
                f"{one.technology}: {format_time(one.hop_ns)} of each round trip, {share} of p50, is the way "
                "to its program over a pipe (adapter-hop)."
            )
    if missed := [one for one in rows if one.missed]:
        texts = ", ".join(f"{one.technology} {one.missed}" for one in missed)
        yield f"Trials that did not keep the offered rate, left out: {texts}."
    if weak := [one for one in rows if one.weak_trials]:
        texts = ", ".join(f"{one.technology} {one.weak_trials}" for one in weak)
        yield f"Trials with a weak background load (background-weak): {texts}."


def _tabulate_overheads(setting: TechnologySetting) -> Iterator[Block]:
    overheads = [one for size in setting.sizes for one in setting.list_overheads(size)]
    if overheads:
        yield build_table(
            f"overheads-{setting.number}",
            ", ".join(filter(None, ("Factor over the transport beneath", setting.name))),
            _OVERHEAD_HEADINGS,
            [_describe_overhead(one) for one in overheads],
            note=(
                "In pairs of a cycle, over PathLab's own fastest transport of that kind with the same size, "
                "cores, load and priority (Hodges-Lehmann; intervals allow for serial correlation). Share of "
                "the language: of the time added, what a program of the same language with its standard "
                "library alone adds."
            ),
            words={"Technology", "Transport", "p50 [95 % CI]", "p99 [95 % CI]", "Undecided"},
            keep=("Size",),
        )


def _describe_overhead(one: TechnologyOverhead) -> tuple[str, ...]:
    share = one.language_share_ratio
    text = NOT_MEASURED
    if share is not None and share.median is not None:
        text = f"{format_ratio(share.median)} ({one.language})"
    return (
        one.technology,
        format_bytes(one.message_bytes),
        one.beneath,
        format_overhead(one.median),
        format_overhead(one.p99),
        text,
        str(one.median.first_n),
        str(one.median.undecided or "").replace("-", " "),
    )


def _tabulate_technologies(settings: Sequence[TechnologySetting]) -> Iterator[Block]:
    """What each technology is: language, what it does besides, versions and settings."""
    first = settings[0]
    found = {one.technology: one for size in first.sizes for one in first.list_round_trips(size)}
    yield build_table(
        f"technology-facts-{settings[0].number}",
        "The technologies",
        ("Technology", "Language", "In addition", "Without", "Versions", "Settings"),
        [
            (
                one.technology,
                one.language or NOT_MEASURED,
                ", ".join(one.adds) or NOT_MEASURED,
                ", ".join(one.lacks) or NOT_MEASURED,
                one.versions or NOT_MEASURED,
                one.settings or NOT_MEASURED,
            )
            for one in found.values()
        ],
        note="In addition: what it does besides carrying the message. Settings: as both ends read them back.",
        words={"Technology", "Language", "In addition", "Without", "Versions", "Settings"},
    )


def _outline_curves(inputs: ReportInputs, setting: TechnologySetting, *, first: bool) -> Iterator[LazyPlot]:
    """Quantiles over size and the CCDF of each size, at most ``SETUPS_MAX`` technologies to a figure."""
    if setting.offered_messages_per_s is not None:
        return  # the chapter on the latency of messages has them
    title = format_path_title(inputs, setting.condition)
    for size in setting.sizes:
        names = setting.list_technologies(size)
        for ending, shown in _split(names):
            yield LazyPlot(
                name=f"{_name('technology-tail', setting, size)}{ending}",
                title=f"Tail of round trips, {setting.describe(size)}",
                condition=title,
                draw=partial(draw_tails, partial(_find_tails, setting, size, shown), shown),
                on_demand=not first or size != setting.sizes[0],
            )
    names = setting.list_technologies(setting.sizes[0])
    for ending, shown in _split(names) if len(setting.sizes) > 1 else ():
        yield LazyPlot(
            name=f"technologies-by-size-{setting.number}{ending}",
            title=", ".join(filter(None, ("Round trips by size", setting.name))),
            condition=title,
            draw=partial(_draw_sizes, inputs, setting, shown),
            on_demand=not first,
        )


def _split(names: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """The names of each figure, and what the figure's name ends with."""
    starts = range(0, len(names), SETUPS_MAX)
    for part, start in enumerate(starts, 1):
        yield (f"-{part}" if len(starts) > 1 else ""), names[start : start + SETUPS_MAX]


def _find_tails(setting: TechnologySetting, size: int, names: Sequence[str]) -> dict[str, Tail]:
    tails = {one.technology: one.tail for one in setting.list_round_trips(size)}
    return {name: tails[name] for name in names}


def _draw_sizes(inputs: ReportInputs, setting: TechnologySetting, names: Sequence[str]) -> Drawing:
    return draw_latency_by_size(list(_name_latencies(inputs, setting)), names, None)


def _name_latencies(inputs: ReportInputs, setting: TechnologySetting) -> Iterator[Answer[MessageLatency]]:
    """The latencies of a setting's loads, by the names of their technologies."""
    names = {
        (one.load.setup, group.size_bytes): one.technology for group in setting.groups for one in group.loads
    }
    for answer in inputs.answers("message_latency"):
        one = answer.result
        name = names.get((one.setup, one.message_bytes))
        if name and one.offered_messages_per_s == setting.offered_messages_per_s:
            yield replace(answer, result=replace(one, setup=replace(one.setup, name=name)))


def _outline_setting(inputs: ReportInputs, setting: TechnologySetting, *, first: bool) -> Iterator[LazyBlock]:
    """Every size of a setting; of the first, the opening shows the smallest."""
    sizes = setting.sizes[1:] if first else setting.sizes
    for size in sizes:
        yield LazyFold(
            title=setting.describe(size),
            blocks=(
                lazy_text(_tabulate_round_trips, setting, size),
                _outline_ranges(inputs, setting, size, on_demand=not first),
                *_outline_overheads(inputs, setting, size, on_demand=True),
            ),
        )
    yield from _outline_curves(inputs, setting, first=first)
    yield lazy_text(_tabulate_overheads, setting)


def _outline(inputs: ReportInputs) -> Iterator[LazyBlock]:
    yield from _outline_loads(inputs)
    paths: dict[object, list[TechnologySetting]] = {}
    for setting in list_technology_settings(inputs.study):
        paths.setdefault(setting.condition, []).append(setting)
    for first, *others in paths.values():
        yield from _outline_setting(inputs, first, first=True)
        yield lazy_text(_tabulate_technologies, (first, *others))
        for setting in others:
            blocks = tuple(_outline_setting(inputs, setting, first=False))
            yield LazyFold(title=f"Round trips by technology: {setting.name}", blocks=blocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadGroup:
    """The technologies of one figure: a quantile of one size under each level of a factor; from 1."""

    number: int
    condition: Condition
    rows: tuple[LoadedRoundTrips, ...]


def _list_load_groups(inputs: ReportInputs) -> list[LoadGroup]:
    groups: dict[tuple[Any, ...], list[LoadedRoundTrips]] = {}
    for answer in inputs.study.loaded_round_trips() if inputs.message_conditions else ():
        one = answer.result
        levels = one.factor, one.group, one.message_bytes, one.offered_messages_per_s, one.ratio.metric
        groups.setdefault((answer.condition, *levels), []).append(one)
    return [
        LoadGroup(number=number, condition=key[0], rows=tuple(rows))
        for number, (key, rows) in enumerate(groups.items(), 1)
    ]


def _choose_first_loads(groups: Sequence[LoadGroup]) -> list[LoadGroup]:
    """The first group of each factor with the p99 of round trips, which the opening shows."""
    drawn = [one for one in groups if one.rows[0].ratio.metric == "round-trip-p99"]
    return list({one.rows[0].factor: one for one in reversed(drawn)}.values())[::-1]


def _outline_load_figure(inputs: ReportInputs, group: LoadGroup, *, on_demand: bool = False) -> LazyPlot:
    return LazyPlot(
        name=f"loaded-{group.rows[0].factor}-{group.number}",
        title=_title_loads(group.rows[0]),
        condition=format_path_title(inputs, group.condition),
        draw=partial(draw_loads, group.rows),
        on_demand=on_demand,
    )


def _outline_loads(inputs: ReportInputs) -> Iterator[LazyBlock]:
    """Load against none and priority against ordinary scheduling: all combinations, folded."""
    groups = _list_load_groups(inputs)
    if not groups:
        return
    shown = [one.number for one in _choose_first_loads(groups)]
    rules = LOAD_RULES.format(metric="p50 and p99", margin=format_ratio(MARGIN_RATIO), least=MINIMUM_TRIALS)
    blocks: list[LazyBlock] = [lazy_text(_tabulate_loads, one) for one in groups]
    blocks.append(lazy_text(write_paragraph, rules))
    blocks += [_outline_load_figure(inputs, one, on_demand=True) for one in groups if one.number not in shown]
    yield LazyFold(title="Round trips under load and with priority", blocks=tuple(blocks))


def _title_loads(one: LoadedRoundTrips) -> str:
    subject = "under load" if one.factor == "background" else "with real-time priority"
    rate = one.offered_messages_per_s
    offered = "" if rate is None else f"{format_frequency(rate)} offered"
    where = filter(None, (format_bytes(one.message_bytes), one.group, offered))
    return f"{METRICS[one.ratio.metric]} of round trips {subject}, {', '.join(where)}"


def _tabulate_loads(group: LoadGroup) -> Iterator[Block]:
    """A row for each technology, a column for each level."""
    rows = group.rows
    levels = list(dict.fromkeys(one.ratio.level for one in rows))
    pairs = np.array([one.ratio.pairs for one in rows])
    cells = {(one.technology, one.ratio.level): _format_ratio(one) for one in rows}
    base = {one.technology: format_time(one.ratio.baseline_median) for one in rows}
    headings = (
        *("Technology", LOADED[rows[0].factor][1]),
        *(name_level(rows[0].factor, level) for level in levels),
    )
    yield build_table(
        f"loaded-table-{group.number}",
        _title_loads(rows[0]),
        headings,
        [
            (name, text, *(cells.get((name, level), NOT_MEASURED) for level in levels))
            for name, text in base.items()
        ],
        note=f"Of {format_count(int(pairs.max()), 'pair')} at most.",
        words=headings,
        keep=headings,
    )


def _format_ratio(one: LoadedRoundTrips) -> str:
    interval = one.ratio.interval
    ends = f" [{format_factor(interval.low)}, {format_factor(interval.high)}]" if interval.decided else ""
    return f"{format_factor(one.ratio.ratio)} ×{ends} {one.ratio.verdict}"


def _find_gap(inputs: ReportInputs) -> str | None:
    if list_technology_settings(inputs.study) or _list_load_groups(inputs):
        return None
    return "it needs round trips of a technology"


SECTION = LazySection(
    key="technologies",
    title="Round trips by technology",
    find_gap=_find_gap,
    outline=_outline,
    question=Question.WHY,
    factors=("background",),
    of_messages=True,
)
