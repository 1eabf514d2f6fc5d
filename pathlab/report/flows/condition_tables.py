"""Conditions for a terminal: a table with a row for each combination of streams and window."""

from __future__ import annotations

from collections.abc import Iterator

from pathlab.printed_table import PrintedTable
from pathlab.report.base.names import format_granted
from pathlab.report.base.phrases import format_bounded_time
from pathlab.report.base.rate_text import format_median
from pathlab.report.base.summary import TableGroup
from pathlab.report.base.trial_flags import PROVISIONAL, PROVISIONAL_EXPLANATION, count_flags
from pathlab.study.analyses import Analyses
from pathlab.study.base.cells import Cell, MeasuredCondition
from pathlab.study.flows.costs import describe_cell
from pathlab.table_columns import TableColumn
from pathlab.units import (
    NOT_MEASURED,
    format_bytes,
    format_ratio,
    format_time,
    format_window,
)

ENDS = ("sender", "receiver")
EXPLANATION = (
    "Medians of n usable trials; dRTT: RTT increase under load; "
    "Granted: Linux reports double the usable size."
)
CELL_COLUMNS = (
    TableColumn("Streams"),
    TableColumn("Window", constant="Window {}"),
    TableColumn("Granted", priority=6, constant="granted {}"),
    TableColumn("Effective", priority=7),
    TableColumn("Throughput"),
    TableColumn("UDP loss", priority=2),
    TableColumn("Jitter", priority=5),
    TableColumn("dRTT", priority=1),
    TableColumn("Loss", priority=3, constant="probe loss under load {}"),
    TableColumn("Retr.", priority=4, constant="{} retransmissions"),
    TableColumn("n", constant="n = {}"),
)
#: What UDP does not have.
OF_TCP = ("Effective", "Retr.")


def build_conditions_table(study: Analyses) -> Iterator[TableGroup]:
    """A table for each condition of streams and windows; the last explains the columns of all."""
    shown = {datagram.condition for datagram in study.datagrams()}
    conditions = [
        item for item in study.conditions() if not item.key.is_of_messages and item.key not in shown
    ]
    provisional = any(condition.has_provisional for condition in conditions)
    note = " ".join(filter(None, (EXPLANATION, PROVISIONAL_EXPLANATION * provisional)))
    for condition in conditions:
        yield TableGroup(
            tables=[build_cells_table(condition)],
            flags=count_flags(condition),
            explanation=note if condition is conditions[-1] else "",
        )


def build_cells_table(condition: MeasuredCondition) -> PrintedTable:
    """The cells of a condition, one a row; provisional ones are marked in the last column."""
    cells = sorted(condition.all_cells, key=lambda cell: cell.streams)
    return PrintedTable(
        title=condition.name,
        columns=CELL_COLUMNS,
        rows=[_describe_cell(cell, is_udp=condition.key.is_udp) for cell in cells],
        styles=["" if len(cell.shown) else "dim" for cell in cells],
    )


def _describe_cell(cell: Cell, *, is_udp: bool) -> list[str]:
    result = describe_cell(cell.shown)
    retransmits, kept, complete = result.retransmitted_segments.median, len(cell.sample), len(cell.unreplaced)
    used = str(complete) if kept == complete else f"{kept} of {complete}"
    texts = (
        str(cell.streams),
        format_window(cell.window_bytes),
        format_granted(*map(cell.complete.find_least_granted, ENDS)),
        format_bytes(result.window_effective_bytes.median),
        format_median(result.throughput_bits_per_s),
        format_ratio(result.udp_loss.loss_ratio),
        format_time(result.udp_jitter_ns.median),
        format_bounded_time(result.drtt_ns.median, result.drtt_ns.above_ns),
        format_ratio(result.loaded_loss.loss_ratio),
        NOT_MEASURED if retransmits is None else f"{retransmits:.0f}",
        f"{len(cell.shown)}{PROVISIONAL}" if cell.is_provisional else used,
    )
    return [
        "" if is_udp and column.heading in OF_TCP else text
        for column, text in zip(CELL_COLUMNS, texts, strict=True)
    ]
