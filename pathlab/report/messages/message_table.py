"""Results of messages for a terminal: one table of rates and one of round trips for each path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pathlab.printed_table import PrintedTable
from pathlab.report.base.phrases import format_interval
from pathlab.report.base.summary import TableGroup, format_more
from pathlab.report.base.trial_flags import PROVISIONAL, PROVISIONAL_EXPLANATION, count_flags
from pathlab.report.messages.message_curves import MessageCurve
from pathlab.report.messages.message_scope import list_message_paths
from pathlab.report.messages.message_text import name_offered, name_path
from pathlab.store.flags import Flag
from pathlab.study.analyses import Analyses
from pathlab.study.base.answer import Spread, measure_spread
from pathlab.study.base.cells import Cell, MeasuredCondition
from pathlab.study.base.selection import LAB_FLAGS, Sample, choose_evenly
from pathlab.study.messages.combination_names import find_naming, name_message_combination
from pathlab.study.messages.message_rates import MESSAGE_SIZE
from pathlab.study.messages.message_setups import MESSAGE_RATE
from pathlab.table_columns import ItemColumn, list_rows
from pathlab.units import NOT_MEASURED, format_bytes, format_frequency, format_rate, format_time

#: Rows of one table; of more sizes than they hold, some are chosen.
ROWS_MAX = 24
EXPLANATION = "Medians of n usable trials; CPU/message: CPU time per message, sender/receiver"
OF_REPLIES = "round trips: of the n trials that kept the offered rate"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MessageRow:
    """One combination with messages: ``usable`` are the trials shown, ``kept`` those that kept their rate.

    Small messages are what hosts carry, not paths: host-limited trials are kept. ``provisional``: every trial
    was lab-limited.
    """

    curve: MessageCurve[Cell]
    size_bytes: int
    offered_messages_per_s: int | None
    usable: Sample
    kept: Sample
    provisional: bool
    name: str = ""


def _format_offered(row: MessageRow) -> str:
    """The offered rate; empty for messages without replies that have none."""
    replies = row.curve.condition.get("reply")
    return name_offered(row.offered_messages_per_s) if replies or row.offered_messages_per_s else ""


def _measure(sample: Sample, column: str) -> Spread:
    return measure_spread(sample.get(column))


def _format_bounds(spread: Spread, formatter: Callable[[float | None], str]) -> str:
    return format_interval(spread.interval, formatter) if spread.interval.decided else ""


def _format_both(first: str, second: str) -> str:
    """``701/861 ns``: the unit once, where both have the same."""
    if first == second == NOT_MEASURED:
        return NOT_MEASURED
    number, _, unit = first.rpartition(" ")
    return f"{number if number and second.endswith(f' {unit}') else first}/{second}"


def _format_rate_interval(row: MessageRow) -> str:
    rates = _measure(row.usable, "messages_per_s")
    return "" if row.provisional else _format_bounds(rates, format_frequency)


def _format_throughput(row: MessageRow) -> str:
    median = _measure(row.usable, "messages_per_s").median
    return format_rate(None if median is None else 8 * row.size_bytes * median)


def _format_p99_interval(row: MessageRow) -> str:
    p99 = _measure(row.kept, "round_trip_p99_ns")
    return "" if row.provisional else _format_bounds(p99, format_time)


def _format_cpu(row: MessageRow) -> str:
    spent = (_measure(row.usable, f"{end}_cpu_ns_per_message").median for end in ("sender", "receiver"))
    return _format_both(*map(format_time, spent))


def _count_trials(row: MessageRow) -> str:
    complete, used = len(row.curve.found.complete), len(row.kept)
    n = f"{used}{PROVISIONAL if row.provisional else ''}"
    return n if used == complete else f"{n} of {complete}"


def _format_messages(row: MessageRow) -> str:
    return format_frequency(_measure(row.usable, "messages_per_s").median)


def _read_trip(name: str) -> Callable[[MessageRow], str]:
    """The median over trials of a quantile of the round trips."""
    return lambda row: format_time(_measure(row.kept, f"round_trip_{name}_ns").median)


_IDENTITY: tuple[ItemColumn[MessageRow], ...] = (
    ItemColumn("Size", constant="messages of {}", read=lambda row: format_bytes(row.size_bytes)),
    ItemColumn("Combination", left=True, wraps=True, constant="{}", read=lambda row: row.name),
    ItemColumn("Offered", constant="offered {}", read=_format_offered),
)
_RATES: tuple[ItemColumn[MessageRow], ...] = (
    ItemColumn("Messages", read=_format_messages),
    ItemColumn("95 % CI", priority=2, read=_format_rate_interval),
    ItemColumn("Throughput", priority=3, read=_format_throughput),
)
_ROUND_TRIPS: tuple[ItemColumn[MessageRow], ...] = (
    ItemColumn("Achieved", priority=3, read=_format_messages),
    ItemColumn("Median", read=_read_trip("median")),
    ItemColumn("p99", read=_read_trip("p99")),
    ItemColumn("95 % CI of p99", priority=4, read=_format_p99_interval),
    ItemColumn("p99.9", priority=2, read=_read_trip("p99_9")),
)
_COST: tuple[ItemColumn[MessageRow], ...] = (
    ItemColumn("CPU/message", priority=5, read=_format_cpu),
    ItemColumn("n", priority=1, constant="n = {}", read=_count_trials),
)
#: Columns of the table without and with replies.
MESSAGE_COLUMNS: Mapping[bool, Sequence[ItemColumn[MessageRow]]] = {
    False: (*_IDENTITY, *_RATES, *_COST),
    True: (*_IDENTITY, *_ROUND_TRIPS, *_COST),
}


def build_messages_table(study: Analyses) -> Iterator[TableGroup]:
    """The tables of each path, without those that the topic of technologies has."""
    for conditions in list_message_paths(study.conditions()):
        shown = [
            condition for condition in conditions if not study.is_condition_of_technologies(condition.key)
        ]
        path_table = list(_build_path_table(shown))
        flags = count_flags(*conditions)
        if path_table or flags:
            yield TableGroup(
                tables=[table for table, _ in path_table],
                flags=flags,
                explanation=explain_messages(shown) if shown else "",
                more=[text for _, more in path_table for text in more],
            )


def _build_path_table(
    conditions: Sequence[MeasuredCondition],
) -> Iterator[tuple[PrintedTable, tuple[str, ...]]]:
    """The tables of one path without and with replies, and what shows the rows left out."""
    for replies, columns in MESSAGE_COLUMNS.items():
        result = [condition for condition in conditions if bool(condition.key.get("reply")) is replies]
        rows = _name_rows([_build_row(item, cell) for item in result for cell in item.all_cells])
        rows.sort(key=_order)
        shown = _choose_rows(rows)
        if shown:
            title = f"{'Round trips' if replies else 'Messages'}: {name_path(result[0].key)}"
            table = PrintedTable(
                title=title,
                columns=columns,
                rows=list_rows(columns, shown),
                styles=["dim" if row.provisional or not len(row.kept) else "" for row in shown],
            )
            analysis = "message_latency" if replies else "message_rates"
            yield table, format_more(len(rows) - len(shown), "row", analysis)


def explain_messages(conditions: Sequence[MeasuredCondition]) -> str:
    """What the columns of the tables of one path mean."""
    replies = f"; {OF_REPLIES}" if any(condition.key.get("reply") for condition in conditions) else ""
    provisional = any(
        _build_row(condition, cell).provisional for condition in conditions for cell in condition.all_cells
    )
    return f"{EXPLANATION}{replies}. {PROVISIONAL_EXPLANATION if provisional else ''}".rstrip()


def _order(row: MessageRow) -> tuple[int, int, str, int]:
    return row.size_bytes, row.curve.streams, row.name, row.offered_messages_per_s or 0


def choose_message_trials(cell: Cell) -> tuple[Sample, bool]:
    """The trials of messages that are shown, and whether they are provisional: all were lab-limited.

    Small messages are what hosts carry, not paths: host-limited trials are kept.
    """
    every = cell.complete
    measured = every.take(~every.is_short & ~np.isnan(every.get("messages_per_s")))
    limited = np.any([every.table.flagged(flag)[measured.places] for flag in LAB_FLAGS], axis=0)
    provisional = bool(len(measured)) and bool(limited.all())
    return (measured if provisional else measured.take(~limited)), provisional


def _build_row(condition: MeasuredCondition, cell: Cell) -> MessageRow:
    key, (usable, provisional) = condition.key, choose_message_trials(cell)
    rate = key.get(MESSAGE_RATE)
    return MessageRow(
        curve=MessageCurve(
            condition=key.without(MESSAGE_SIZE, MESSAGE_RATE),
            streams=cell.streams,
            window_bytes=cell.window_bytes,
            found=cell,
        ),
        size_bytes=int(key.get(MESSAGE_SIZE)),
        offered_messages_per_s=None if rate is None else int(rate),
        usable=usable,
        kept=usable.take(~usable.table.flagged(Flag.RATE_MISSED)[usable.places]),
        provisional=provisional,
    )


def _name_rows(rows: Sequence[MessageRow]) -> list[MessageRow]:
    """The rows with the names that sentences and figures use."""
    if not rows:
        return []
    naming = find_naming(rows[0].usable.table, rows[0].curve.path)
    return [replace(row, name=name_message_combination(row.curve, naming)) for row in rows]


def _choose_rows(rows: Sequence[MessageRow]) -> list[MessageRow]:
    """All rows, or those of some sizes, the smallest and the largest among them."""
    sizes = list(dict.fromkeys(row.size_bytes for row in rows))
    per_size = -(-len(rows) // max(1, len(sizes)))
    chosen = set(choose_evenly(sizes, ROWS_MAX // max(1, per_size)))
    return [row for row in rows if row.size_bytes in chosen][:ROWS_MAX]
