"""Round trips by technology: tables and figures by size, overheads, CPU time, load against none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from pathlab.analysis.estimators.tails import SUPPORT_SAMPLES, Tail
from pathlab.report.base.blocks import Block, Question
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import (
    Drawing,
    LazyBlock,
    LazyFold,
    LazyPlot,
    LazySection,
    format_suffix,
    lazy_text,
)
from pathlab.report.base.phrases import format_count, format_interval
from pathlab.report.base.summary import group_answer
from pathlab.report.base.tables import build_table
from pathlab.report.base.topic import Topic
from pathlab.report.messages.latency_figures import draw_latency_by_size, draw_tails
from pathlab.report.messages.message_latency import SETUPS_MAX, format_path_title
from pathlab.report.technologies.technology_figures import draw_overheads, draw_ranges
from pathlab.report.technologies.technology_loads import (
    list_load_blocks,
    list_load_groups,
    list_opening_loads,
)
from pathlab.report.technologies.technology_table import build_technologies_table
from pathlab.report.technologies.technology_text import (
    TechnologySetting,
    choose_first_settings,
    describe_technologies,
    format_overhead,
    list_technology_settings,
)
from pathlab.study.base.answer import Answer, Spread
from pathlab.study.messages.message_latency import MessageLatency
from pathlab.study.technologies.technology_overhead import TechnologyOverhead
from pathlab.study.technologies.technology_round_trips import TechnologyRoundTrips
from pathlab.table_columns import ItemColumn, list_rows
from pathlab.units import NOT_MEASURED, format_bytes, format_ratio, format_time

FACTS_TITLE = "The technologies"
#: The quantiles above the median.
QUANTILES = ("p90", "p99", "p99.9", "p99.99", "p99.999")


def _describe_additions(trips: TechnologyRoundTrips) -> str:
    """``broker, store and copy; without persistence``; empty for a plain transport."""
    lacks = f"without {', '.join(trips.lacks)}" if trips.lacks else ""
    return "; ".join(filter(None, (", ".join(trips.adds), lacks)))


def _format_end(spent: Spread) -> str:
    return format_time(spent.median)


def _list_quantile_columns() -> Iterator[ItemColumn[TechnologyRoundTrips]]:
    """The quantiles above the median; blank where a trial's samples do not carry them."""

    def build(number: int, heading: str) -> ItemColumn[TechnologyRoundTrips]:
        def read(item: TechnologyRoundTrips) -> str:
            values = [quantile.value for quantile in item.tail.quantiles]
            value = values[number] if values else None
            return "" if value is None else format_time(value)

        return ItemColumn(heading, read=read)

    return (build(number, heading) for number, heading in enumerate(QUANTILES, 1))


def _format_median_interval(item: TechnologyRoundTrips) -> str:
    interval = item.median_ns.interval
    return format_interval(interval, format_time) if interval.decided else NOT_MEASURED


def _format_share(item: TechnologyOverhead) -> str:
    if (share := item.language_share_ratio) is None:
        return NOT_MEASURED
    return f"{format_ratio(share)} ({item.language}, {format_count(item.share_cycles, 'cycle')})"


_COLUMNS: tuple[ItemColumn[TechnologyRoundTrips], ...] = (
    ItemColumn("Technology", left=True, read=lambda item: item.technology),
    ItemColumn("Minimum", stays=True, read=lambda item: format_time(item.least_ns)),
    ItemColumn("Mean", stays=True, read=lambda item: format_time(item.mean_ns)),
    ItemColumn("Maximum", stays=True, read=lambda item: format_time(item.most_ns)),
    ItemColumn(
        "p50",
        stays=True,
        read=lambda item: "" if item.median_ns.median is None else format_time(item.median_ns.median),
        meaning="median of the trials' medians",
    ),
    *_list_quantile_columns(),
    ItemColumn(
        "CPU, asking",
        read=lambda item: _format_end(item.asking_cpu_ns),
        meaning="CPU time per request of the end that asks",
    ),
    ItemColumn(
        "CPU, answering",
        read=lambda item: _format_end(item.answering_cpu_ns),
        meaning="CPU time per request of the end that answers, a broker with its responder",
    ),
    ItemColumn("95 % CI of p50", left=True, read=_format_median_interval),
    ItemColumn(
        "In addition",
        left=True,
        stays=True,
        read=_describe_additions,
        meaning="what it does besides carrying the message, and what it leaves out",
    ),
    ItemColumn("Language", left=True, read=lambda item: item.language or NOT_MEASURED),
    ItemColumn("Trials", read=lambda item: str(item.trials)),
)
_OVERHEAD_COLUMNS: tuple[ItemColumn[TechnologyOverhead], ...] = (
    ItemColumn("Technology", left=True, read=lambda item: item.technology),
    ItemColumn("Size", stays=True, read=lambda item: format_bytes(item.message_bytes)),
    ItemColumn("Transport", left=True, read=lambda item: item.beneath),
    ItemColumn("p50 [95 % CI]", left=True, read=lambda item: format_overhead(item.median)),
    ItemColumn("p99 [95 % CI]", left=True, read=lambda item: format_overhead(item.p99)),
    ItemColumn("Share of the language", read=_format_share),
    ItemColumn("Pairs", read=lambda item: str(item.median.first_n)),
    ItemColumn("Undecided", left=True, read=lambda item: str(item.median.undecided or "").replace("-", " ")),
)
_FACT_COLUMNS: tuple[ItemColumn[TechnologyRoundTrips], ...] = (
    ItemColumn("Technology", left=True, read=lambda item: item.technology),
    ItemColumn("Language", left=True, read=lambda item: item.language or NOT_MEASURED),
    ItemColumn("In addition", left=True, read=lambda item: ", ".join(item.adds) or NOT_MEASURED),
    ItemColumn("Without", left=True, read=lambda item: ", ".join(item.lacks) or NOT_MEASURED),
    ItemColumn("Versions", left=True, read=lambda item: item.versions or NOT_MEASURED),
    ItemColumn("Settings", left=True, read=lambda item: item.settings or NOT_MEASURED),
)


def list_opening_technologies(inputs: ReportInputs) -> Iterator[LazyBlock]:
    """What is seen first: ranges, table and overheads of the smallest size of each path's first setting."""
    for setting in choose_first_settings(list_technology_settings(inputs.study)):
        size = setting.sizes[0]
        yield _list_range_blocks(inputs, setting, size)
        yield lazy_text(_build_round_trips_table, setting, size)
        yield from _list_overhead_blocks(inputs, setting, size)
    yield from list_opening_loads(inputs)


def _list_range_blocks(
    inputs: ReportInputs, setting: TechnologySetting, size: int, *, on_demand: bool = False
) -> LazyPlot:
    return LazyPlot(
        name=_name("technologies", setting, size),
        title=f"Round trips by technology, {setting.describe(size)}",
        condition=format_path_title(inputs, setting.condition),
        draw=partial(draw_ranges, setting, size),
        on_demand=on_demand,
    )


def _list_overhead_blocks(
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


def _build_round_trips_table(setting: TechnologySetting, size: int) -> Iterator[Block]:
    rows = setting.list_round_trips(size)
    yield build_table(
        _name("round-trips", setting, size),
        f"Round trips by technology, {setting.describe(size)}",
        _COLUMNS,
        list_rows(_COLUMNS, rows),
        note=" ".join(_list_notes(rows)),
    )


def _list_notes(rows: Sequence[TechnologyRoundTrips]) -> Iterator[str]:
    yield (
        "p50: median of the trials' medians; mean and higher quantiles: each trial has the same weight; "
        f"minimum and maximum: of all round trips. Blank where fewer than {SUPPORT_SAMPLES} lie "
        f"beyond it. Versions and settings: table '{FACTS_TITLE}'."
    )
    for row in rows:
        if row.hop_trials and row.hop_ns is not None and row.median_ns.median:
            share = format_ratio(row.hop_ns / row.median_ns.median)
            yield (
                f"{row.technology}: {format_time(row.hop_ns)} of each round trip, {share} of p50, is the way "
                "to its program over a pipe (adapter-hop)."
            )
    if missed := [row for row in rows if row.missed]:
        texts = ", ".join(f"{item.technology} {item.missed}" for item in missed)
        yield f"Trials that did not keep the offered rate, left out: {texts}."
    if weak := [row for row in rows if row.weak_trials]:
        texts = ", ".join(f"{item.technology} {item.weak_trials}" for item in weak)
        yield f"Trials with a weak background load (background-weak): {texts}."


def _build_overheads_table(setting: TechnologySetting) -> Iterator[Block]:
    overheads = [overhead for size in setting.sizes for overhead in setting.list_overheads(size)]
    if overheads:
        yield build_table(
            f"overheads-{setting.number}",
            ", ".join(filter(None, ("Factor over the transport beneath", setting.name))),
            _OVERHEAD_COLUMNS,
            list_rows(_OVERHEAD_COLUMNS, overheads),
            note=(
                "In pairs of a cycle, over the transport of PathLab's engine with the least median, of the "
                "kind beneath and the same size, cores, load and priority (Hodges-Lehmann). "
                "The p99 factor is over the same transport, whose p99 is not always "
                "the least. Share of the language: of the time added to the median, what a program of the "
                "same language with its standard library alone adds over the same kind of transport."
            ),
        )


def _build_technologies_table(setting: TechnologySetting) -> Iterator[Block]:
    """What each technology is: language, what it does besides, versions and settings."""
    result = {
        round_trip.technology: round_trip
        for size in setting.sizes
        for round_trip in setting.list_round_trips(size)
    }
    yield build_table(
        f"technology-facts-{setting.number}",
        FACTS_TITLE,
        _FACT_COLUMNS,
        list_rows(_FACT_COLUMNS, result.values()),
        note="In addition: what it does besides carrying the message. Settings: as both ends read them back.",
    )


def _list_curve_blocks(
    inputs: ReportInputs, setting: TechnologySetting, *, first: bool
) -> Iterator[LazyPlot]:
    """Quantiles over size and the CCDF of each size, at most ``SETUPS_MAX`` technologies to a figure."""
    if setting.offered_messages_per_s is not None:
        return  # the chapter on the latency of messages has them
    title = format_path_title(inputs, setting.condition)
    for size in setting.sizes:
        names = setting.list_technologies(size)
        for ending, part, shown in _split(names):
            yield LazyPlot(
                name=f"{_name('technology-tail', setting, size)}{ending}",
                title=f"Tail of round trips, {setting.describe(size)}{part}",
                condition=title,
                draw=partial(draw_tails, partial(_find_tails, setting, size, shown), shown),
                on_demand=not first or size != setting.sizes[0],
            )
    names = setting.list_technologies(setting.sizes[0])
    for ending, part, shown in _split(names) if len(setting.sizes) > 1 else ():
        yield LazyPlot(
            name=f"technologies-by-size-{setting.number}{ending}",
            title=", ".join(filter(None, ("Round trips by size", setting.name))) + part,
            condition=title,
            draw=partial(_draw_sizes, inputs, setting, shown),
            on_demand=not first,
        )


def _split(names: Sequence[str]) -> Iterator[tuple[str, str, Sequence[str]]]:
    """The names of each figure, about as many in each, and what its name and its title end with."""
    parts = -(-len(names) // SETUPS_MAX)
    for part in range(parts):
        shown = names[part * len(names) // parts : (part + 1) * len(names) // parts]
        several = parts > 1
        yield f"-{part + 1}" * several, f" ({part + 1} of {parts})" * several, shown


def _find_tails(setting: TechnologySetting, size: int, names: Sequence[str]) -> dict[str, Tail]:
    tails = {round_trip.technology: round_trip.tail for round_trip in setting.list_round_trips(size)}
    return {name: tails[name] for name in names}


def _draw_sizes(inputs: ReportInputs, setting: TechnologySetting, names: Sequence[str]) -> Drawing:
    return draw_latency_by_size(list(_name_latencies(inputs, setting)), names, None)


def _name_latencies(inputs: ReportInputs, setting: TechnologySetting) -> Iterator[Answer[MessageLatency]]:
    """The latencies of a setting's loads, by the names of their technologies."""
    names = {
        (load.load.setup, group.size_bytes): load.technology
        for group in setting.groups
        for load in group.loads
    }
    for answer in inputs.answers("message_latency"):
        result = answer.result
        name = names.get((result.setup, result.message_bytes))
        if name and result.offered_messages_per_s == setting.offered_messages_per_s:
            yield replace(answer, result=replace(result, setup=replace(result.setup, name=name)))


def _list_setting_blocks(
    inputs: ReportInputs, setting: TechnologySetting, *, first: bool
) -> Iterator[LazyBlock]:
    """Every size of a setting; of the first, the opening shows the smallest."""
    sizes = setting.sizes[1:] if first else setting.sizes
    for size in sizes:
        yield LazyFold(
            title=setting.describe(size),
            blocks=(
                lazy_text(_build_round_trips_table, setting, size),
                _list_range_blocks(inputs, setting, size, on_demand=not first),
                *_list_overhead_blocks(inputs, setting, size, on_demand=True),
            ),
        )
    yield from _list_curve_blocks(inputs, setting, first=first)
    yield lazy_text(_build_overheads_table, setting)


def _list_blocks(inputs: ReportInputs) -> Iterator[LazyBlock]:
    yield from list_load_blocks(inputs)
    paths: dict[object, list[TechnologySetting]] = {}
    for setting in list_technology_settings(inputs.study):
        paths.setdefault(setting.condition, []).append(setting)
    for first, *others in paths.values():
        yield lazy_text(_build_technologies_table, first)
        yield from _list_setting_blocks(inputs, first, first=True)
        for setting in others:
            blocks = tuple(_list_setting_blocks(inputs, setting, first=False))
            yield LazyFold(title=f"Round trips by technology: {setting.name}", blocks=blocks)


def _find_gap(inputs: ReportInputs) -> str | None:
    if list_technology_settings(inputs.study) or list_load_groups(inputs):
        return None
    return "it needs round trips of a technology"


SECTION = LazySection(
    key="technologies",
    title="Round trips by technology",
    find_gap=_find_gap,
    blocks=_list_blocks,
    question=Question.WHY,
    factors=("background",),
    of_messages=True,
)
TOPIC = Topic(
    key="technologies",
    describe=lambda study: group_answer(describe_technologies(study)),
    tables=build_technologies_table,
    blocks=list_opening_technologies,
    sections=(SECTION,),
)
