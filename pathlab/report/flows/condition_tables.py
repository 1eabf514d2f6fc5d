"""Conditions for a terminal: a table with a row for each combination of streams and window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pathlab.printed_table import PrintedTable
from pathlab.report.base.names import format_granted
from pathlab.report.base.phrases import format_bounded_time
from pathlab.report.base.rate_text import format_median
from pathlab.report.base.summary import TableGroup
from pathlab.report.base.trial_flags import PROVISIONAL, PROVISIONAL_EXPLANATION, count_flags
from pathlab.study.analyses import Analyses
from pathlab.study.base.cells import Cell, MeasuredCondition
from pathlab.study.flows.costs import CellFigures, describe_cell
from pathlab.table_columns import ItemColumn, list_rows
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


@dataclass(frozen=True, slots=True)
class _CellRow:
    """One combination with the figures of its trials; ``is_udp``: it has no figures of TCP."""

    cell: Cell
    figures: CellFigures
    is_udp: bool

    @property
    def granted(self) -> str:
        return format_granted(*map(self.cell.complete.find_least_granted, ENDS))

    @property
    def effective(self) -> str:
        return "" if self.is_udp else format_bytes(self.figures.window_effective_bytes.median)

    @property
    def drtt(self) -> str:
        return format_bounded_time(self.figures.drtt_ns.median, self.figures.drtt_ns.above_ns)

    @property
    def retransmitted(self) -> str:
        segments = self.figures.retransmitted_segments.median
        return "" if self.is_udp else NOT_MEASURED if segments is None else f"{segments:.0f}"

    @property
    def trials(self) -> str:
        """The trials that are shown, of all complete ones; provisional ones are marked."""
        if self.cell.is_provisional:
            return f"{len(self.cell.shown)}{PROVISIONAL}"
        kept, complete = len(self.cell.sample), len(self.cell.unreplaced)
        return str(complete) if kept == complete else f"{kept} of {complete}"


CELL_COLUMNS: tuple[ItemColumn[_CellRow], ...] = (
    ItemColumn("Streams", read=lambda row: str(row.cell.streams)),
    ItemColumn("Window", constant="Window {}", read=lambda row: format_window(row.cell.window_bytes)),
    ItemColumn("Granted", priority=6, constant="granted {}", read=lambda row: row.granted),
    ItemColumn("Effective", priority=7, read=lambda row: row.effective),
    ItemColumn("Throughput", read=lambda row: format_median(row.figures.throughput_bits_per_s)),
    ItemColumn("UDP loss", priority=2, read=lambda row: format_ratio(row.figures.udp_loss.loss_ratio)),
    ItemColumn("Jitter", priority=5, read=lambda row: format_time(row.figures.udp_jitter_ns.median)),
    ItemColumn("dRTT", priority=1, read=lambda row: row.drtt),
    ItemColumn(
        "Loss",
        priority=3,
        constant="probe loss under load {}",
        read=lambda row: format_ratio(row.figures.loaded_loss.loss_ratio),
    ),
    ItemColumn("Retr.", priority=4, constant="{} retransmissions", read=lambda row: row.retransmitted),
    ItemColumn("n", constant="n = {}", read=lambda row: row.trials),
)


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
    rows = (_CellRow(cell, describe_cell(cell.shown), condition.key.is_udp) for cell in cells)
    return PrintedTable(
        title=condition.name,
        columns=CELL_COLUMNS,
        rows=list_rows(CELL_COLUMNS, rows),
        styles=["" if len(cell.shown) else "dim" for cell in cells],
    )
