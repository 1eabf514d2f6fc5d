"""Tables with a row for each combination: what it carried, what it was granted and cost, and UDP's losses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pathlab.report.base.answer_table import Row, format_cell, format_value
from pathlab.report.base.answer_tables import LONG_ROWS
from pathlab.report.base.blocks import Block
from pathlab.report.base.lazy import LazyBlock, LazyFold, lazy_text
from pathlab.report.base.names import format_granted, format_short_loss
from pathlab.report.base.phrases import format_bounded_time
from pathlab.report.base.rate_text import format_median
from pathlab.report.base.tables import build_table
from pathlab.report.base.trial_flags import PROVISIONAL, PROVISIONAL_EXPLANATION, RUN_FLAGS
from pathlab.study.base.answer import Answer, make_cell_answer
from pathlab.study.base.cells import Cell, MeasuredCondition
from pathlab.study.base.registry import AnswerColumn
from pathlab.study.flows.costs import CellFigures, describe_cell
from pathlab.study.measures import list_measures
from pathlab.table_columns import TableColumn
from pathlab.units import NOT_MEASURED, format_window


@dataclass(frozen=True, slots=True, kw_only=True)
class CellTable:
    """A table: ``list_cells`` gives the trials of each row; ``folded``: shown on demand, however short.

    The columns name fields of ``CellFigures``.
    """

    name: str
    title: str
    columns: tuple[AnswerColumn, ...]
    list_cells: Callable[[MeasuredCondition], Iterator[Cell]]
    note: str | None = None
    folded: bool = False


def _list_flags(answer: Answer[CellFigures]) -> str:
    counts = [
        f"{flag.trials} × {flag.reason}" for flag in answer.result.flags if flag.reason not in RUN_FLAGS
    ]
    return ", ".join(counts) or NOT_MEASURED


def _list_granted(answer: Answer[CellFigures]) -> str:
    figures = answer.result
    return format_granted(
        figures.window_granted_sender_bytes.least, figures.window_granted_receiver_bytes.least
    )


def _count(field: str) -> Callable[[Answer[CellFigures]], str]:
    """A count of datagrams with separators of thousands."""

    def read(answer: Answer[CellFigures]) -> str:
        loss = answer.result.udp_loss
        return NOT_MEASURED if loss.loss_ratio is None else f"{getattr(loss, field):,}"

    return read


def _format_rise(answer: Answer[CellFigures]) -> str:
    spread = answer.result.drtt_ns
    return format_bounded_time(spread.median, spread.above_ns)


def _choose_cells(condition: MeasuredCondition) -> Iterator[Cell]:
    """The usable trials of each combination; provisional or all complete ones where none is usable."""
    provisional = (replace(cell, sample=cell.shown) for cell in condition.all_cells if cell.is_provisional)
    every = (*condition.every_cell, *condition.cells, *provisional)
    chosen = {(cell.streams, cell.window_bytes): cell for cell in every}
    return (chosen[levels] for levels in condition.levels)


def _join_cells(condition: MeasuredCondition) -> Iterator[Cell]:
    """All complete trials of each combination."""
    return (replace(cell, sample=cell.complete) for cell in condition.all_cells if len(cell.complete))


def _build_columns(*columns: tuple[str, str | Callable[[Answer[Any]], str], str]) -> tuple[AnswerColumn, ...]:
    """Columns from heading, source and meaning."""
    return tuple(AnswerColumn(heading, source, meaning=meaning) for heading, source, meaning in columns)


def _format_rate(answer: Answer[CellFigures]) -> str:
    return format_median(answer.result.throughput_bits_per_s)


def _find_interval(answer: Answer[CellFigures]) -> str:
    spread = answer.result.throughput_bits_per_s
    return format_value(spread.interval if not spread.modes else None, "bit/s")


USED = "selection.used"
RATE_COLUMNS = _build_columns(
    ("n", USED, "usable trials"),
    ("Throughput", _format_rate, "median of the aggregate; of several levels each"),
    ("95 % CI", _find_interval, "of the median throughput, distribution-free; none of several levels"),
    ("IQR", "throughput_bits_per_s.quartile_range", "inter-quartile range of the aggregate over trials"),
    ("RTT loaded, min", "loaded_rtt_min_ns.least", "least probe under load"),
    ("RTT loaded, avg", "loaded_rtt_pooled_mean_ns", "mean of all probes under load"),
    ("RTT unloaded, min", "unloaded_rtt_min_ns.least", "least probe without load"),
    ("RTT unloaded, avg", "unloaded_rtt_pooled_mean_ns", "mean of all probes without load"),
    ("dRTT avg", _format_rise, "loaded minus unloaded average, median over trials"),
    ("dRTT of medians", "drtt_median_ns.median", "loaded minus unloaded median, median over trials"),
    ("Loss loaded", "loaded_loss.loss_ratio", "of all probes under load"),
    ("Loss unloaded", "unloaded_loss.loss_ratio", "of all probes without load"),
    ("RV loaded", "loaded_variability_ratio.median", "1 - min / mean of RTTs, median over trials"),
    ("RV unloaded", "unloaded_variability_ratio.median", "the same without load"),
)
GRANT_COLUMNS = _build_columns(
    ("n", USED, "complete trials"),
    ("granted", _list_granted, "sender/receiver where they differ"),
    ("effective", "window_effective_bytes.median", "median over trials"),
    ("in flight", "window_in_flight_max_bytes.most", "the most that one stream had unacknowledged"),
    *((measure.heading, measure.cell_path, measure.note) for measure in list_measures("costs")),
    ("flags", _list_flags, "flags of the trials"),
)
UDP_COLUMNS = _build_columns(
    ("n", USED, "usable trials"),
    ("throughput", _format_rate, "median, received; of several levels each"),
    ("sent", _count("sent"), "datagrams in the steady windows, by the sender's count"),
    ("lost", _count("lost"), "missing sequence numbers, by the receiver's count"),
    ("loss", lambda answer: format_short_loss(answer.result.udp_loss), "with 95 % CI over trials"),
    (
        "jitter",
        "udp_jitter_ns.median",
        "RFC 3550, at the end of the steady window, median over trials",
    ),
)


RATES = CellTable(
    name="windows-streams", title="Windows and streams", columns=RATE_COLUMNS, list_cells=_choose_cells
)
GRANTS = CellTable(
    name="windows-granted",
    title="Windows requested, granted and used, and what trials cost",
    columns=GRANT_COLUMNS,
    list_cells=_join_cells,
    note=(
        "All complete trials of a combination, excluded ones too. Granted: the least, as the kernels report "
        "it; Linux reports double the usable size. Effective: throughput per stream × mean loaded RTT."
    ),
    folded=True,
)
UDP = CellTable(
    name="udp-loss",
    title="UDP: loss and jitter",
    columns=UDP_COLUMNS,
    list_cells=lambda condition: iter(condition.every_cell),
    note=(
        "All trials of a combination together. The interval takes losses to be independent; bursts make the "
        "true one wider."
    ),
)


def list_cell_table_blocks(table: CellTable, conditions: Sequence[MeasuredCondition]) -> Iterator[LazyBlock]:
    """One table where it stays short, else one for each condition, long ones on demand."""
    short = sum(len(condition.levels) for condition in conditions) <= LONG_ROWS
    groups = [conditions] if short else [(condition,) for condition in conditions]
    for chosen in filter(None, groups):
        where = f": {chosen[0].name}" if len(chosen) == 1 else ""
        title, rows = f"{table.title}{where}", sum(len(condition.levels) for condition in chosen)
        suffix = "" if short else f"-{chosen[0].number}"
        block = lazy_text(_build_table, table, chosen, title, suffix)
        heading = f"{title} ({rows} rows)" if rows > LONG_ROWS else title
        fold = LazyFold(title=heading, blocks=(block,), detail=table.folded)
        yield fold if table.folded or rows > LONG_ROWS else block


def _build_table(
    table: CellTable, conditions: Sequence[MeasuredCondition], title: str, suffix: str
) -> Iterator[Block]:
    """The table of these conditions; the first column names them where they are several."""
    several = len(conditions) > 1
    is_provisional = table is RATES and any(condition.has_provisional for condition in conditions)
    rows = [
        (condition.name,) * several + row for condition in conditions for row in _list_rows(table, condition)
    ]
    columns = [
        *[TableColumn("path", left=True, meaning="source, destination and setting")] * several,
        TableColumn("Window", left=not several, meaning="requested, per stream"),
        TableColumn("Streams", meaning="connections of a trial"),
        *table.columns,
    ]
    yield build_table(
        f"{table.name}{suffix}",
        title,
        columns,
        rows,
        note=PROVISIONAL_EXPLANATION if is_provisional else table.note,
    )


def _list_rows(table: CellTable, condition: MeasuredCondition) -> Iterator[Row]:
    """A row for each combination; of excluded trials it shows what was measured and why they are."""
    for cell in table.list_cells(condition):
        levels = (cell.streams, cell.window_bytes)
        answer = make_cell_answer(cell.sample, levels, describe_cell(cell.sample))
        texts = {column: format_cell(column, answer) for column in table.columns}
        exclusions = condition.count_exclusions(cell)
        if table is RATES and sum(exclusion.trials for exclusion in exclusions) == len(cell.complete):
            reasons = ", ".join(f"{exclusion.trials} {exclusion.reason}" for exclusion in exclusions)
            marked = f"{len(cell.sample)}{PROVISIONAL}" if cell.is_provisional else f"0 usable ({reasons})"
            texts[RATE_COLUMNS[0]], texts[RATE_COLUMNS[2]] = marked, NOT_MEASURED
        yield (format_window(cell.window_bytes), str(cell.streams), *texts.values())
