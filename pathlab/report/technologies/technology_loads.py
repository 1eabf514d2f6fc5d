"""Round trips under background load against none, and with real-time priority, as a part of a chapter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pathlab.analysis.estimators.margins import MARGIN_RATIO
from pathlab.analysis.verdicts.two_samples import MINIMUM_TRIALS
from pathlab.report.base.answer_tables import write_paragraph
from pathlab.report.base.blocks import Block
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import LazyBlock, LazyFold, LazyPlot, lazy_text
from pathlab.report.base.phrases import format_count, format_factor
from pathlab.report.base.tables import build_table
from pathlab.report.messages.message_latency import format_path_title
from pathlab.report.technologies.load_text import describe_load_rates, describe_weak_loads
from pathlab.report.technologies.technology_figures import draw_loads
from pathlab.study.base.trials import Condition
from pathlab.study.technologies.background import LOADED, LoadedRoundTrips, name_level
from pathlab.table_columns import list_table_columns
from pathlab.units import NOT_MEASURED, format_bytes, format_frequency, format_ratio, format_time

LOAD_RULES = (
    "Factors of {metric}, in pairs of a cycle (Hodges-Lehmann). Intervals are corrected for "
    "all rows of a metric and path under background load, or with priority (Holm). Worse or better: the "
    "interval does not contain 'no change'. Equivalent: it lies within ±{margin}. A verdict needs {least} "
    "cycles, and a load that was weak in half of the trials at most. A factor may be below 1: a load "
    "also keeps cores from going idle, and waking them is a part of round trips without load."
)
METRICS = {"round-trip-median": "p50", "round-trip-p99": "p99"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadGroup:
    """The technologies of one figure: a quantile of one size under each level of a factor; from 1."""

    number: int
    condition: Condition
    rows: tuple[LoadedRoundTrips, ...]


def list_load_groups(inputs: ReportInputs) -> list[LoadGroup]:
    groups: dict[tuple[Any, ...], list[LoadedRoundTrips]] = {}
    for answer in inputs.study.loaded_round_trips() if inputs.message_conditions else ():
        result = answer.result
        levels = (
            result.factor,
            result.group,
            result.message_bytes,
            result.offered_messages_per_s,
            result.ratio.metric,
        )
        groups.setdefault((answer.condition, *levels), []).append(result)
    return [
        LoadGroup(number=number, condition=key[0], rows=tuple(rows))
        for number, (key, rows) in enumerate(groups.items(), 1)
    ]


def _choose_first_loads(groups: Sequence[LoadGroup]) -> list[LoadGroup]:
    """The first group of each factor with the p99 of round trips, which the opening shows."""
    drawn = [group for group in groups if group.rows[0].ratio.metric == "round-trip-p99"]
    return list({item.rows[0].factor: item for item in reversed(drawn)}.values())[::-1]


def _list_load_figure(inputs: ReportInputs, group: LoadGroup, *, on_demand: bool = False) -> LazyPlot:
    return LazyPlot(
        name=f"loaded-{group.rows[0].factor}-{group.number}",
        title=_title_loads(group.rows[0]),
        condition=format_path_title(inputs, group.condition),
        draw=partial(draw_loads, group.rows),
        on_demand=on_demand,
    )


def list_opening_loads(inputs: ReportInputs) -> Iterator[LazyPlot]:
    """The figures that are seen first."""
    for group in _choose_first_loads(list_load_groups(inputs)):
        yield _list_load_figure(inputs, group)


def list_load_blocks(inputs: ReportInputs) -> Iterator[LazyBlock]:
    """Load against none and priority against ordinary scheduling: all combinations, folded."""
    groups = list_load_groups(inputs)
    if not groups:
        return
    shown = [first_load.number for first_load in _choose_first_loads(groups)]
    rules = LOAD_RULES.format(metric="p50 and p99", margin=format_ratio(MARGIN_RATIO), least=MINIMUM_TRIALS)
    blocks: list[LazyBlock] = [lazy_text(_build_loads_table, group) for group in groups]
    blocks.append(lazy_text(write_paragraph, rules))
    blocks += [
        _list_load_figure(inputs, group, on_demand=True) for group in groups if group.number not in shown
    ]
    yield LazyFold(title="Round trips under load and with priority", blocks=tuple(blocks))


def _title_loads(trips: LoadedRoundTrips) -> str:
    subject = "under load" if trips.factor == "background" else "with real-time priority"
    rate = trips.offered_messages_per_s
    offered = "" if rate is None else f"{format_frequency(rate)} offered"
    where = filter(None, (format_bytes(trips.message_bytes), trips.group, offered))
    return f"{METRICS[trips.ratio.metric]} of round trips {subject}, {', '.join(where)}"


def _build_loads_table(group: LoadGroup) -> Iterator[Block]:
    """A row for each technology, a column for each level."""
    rows = group.rows
    levels = list(dict.fromkeys(row.ratio.level for row in rows))
    pairs = np.array([row.ratio.pairs for row in rows])
    most = f"Of {format_count(int(pairs.max()), 'pair')} at most."
    cells = {(row.technology, row.ratio.level): _format_ratio(row) for row in rows}
    base = {row.technology: format_time(row.ratio.baseline_median) for row in rows}
    headings = (
        *("Technology", LOADED[rows[0].factor][1]),
        *(name_level(rows[0].factor, level) for level in levels),
    )
    yield build_table(
        f"loaded-table-{group.number}",
        _title_loads(rows[0]),
        list_table_columns(headings, headings, stay=True),
        [
            (name, text, *(cells.get((name, level), NOT_MEASURED) for level in levels))
            for name, text in base.items()
        ],
        note=" ".join(filter(None, (most, describe_load_rates(rows), describe_weak_loads(rows)))),
    )


def _format_ratio(trips: LoadedRoundTrips) -> str:
    interval = trips.ratio.interval
    ends = f" [{format_factor(interval.low)}, {format_factor(interval.high)}]" if interval.decided else ""
    return f"{format_factor(trips.ratio.ratio)} ×{ends} {trips.ratio.verdict}"
