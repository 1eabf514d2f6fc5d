"""Tables with a row for each combination: what it carried, what it was granted and cost, and UDP's losses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.report.answer_table import Row, format_value
from pathlab.report.blocks import Block, TableBlock
from pathlab.report.names import format_granted, format_short_loss
from pathlab.report.sections.answer_tables import LONG_ROWS, build_table, format_note
from pathlab.report.sections.lazy import LazyBlock, LazyFold, lazy_text
from pathlab.report.text import RUN_FLAGS
from pathlab.study.answer import Answer, measure_spread
from pathlab.study.cells import Cell, MeasuredCondition
from pathlab.study.selection import Sample, name_exclusions
from pathlab.units import NOT_MEASURED, format_window

Read = Callable[[Sample], Any]


@dataclass(frozen=True, slots=True)
class CellColumn:
    """A column: its heading, what it means, and how the value is read from a combination's trials."""

    label: str
    meaning: str
    read: Read
    unit: str = ""
    of_usable: bool = False  # not given where no trial is usable


@dataclass(frozen=True, slots=True, kw_only=True)
class CellTable:
    """A table: ``list_cells`` gives the trials of each row; ``folded``: shown on demand, however short."""

    name: str
    title: str
    columns: tuple[CellColumn, ...]
    list_cells: Callable[[MeasuredCondition], Iterator[Cell]]
    note: str | None = None
    folded: bool = False


def _median(take: Callable[[Sample], Floats]) -> Read:
    return lambda sample: measure_spread(take(sample)).median


def _median_of(name: str) -> Read:
    return _median(lambda sample: sample.get(name))


def _pooled_loss(probes: str) -> Read:
    return lambda sample: sample.pool_loss(probes).loss_ratio


def _least_of(name: str) -> Read:
    return lambda sample: measure_spread(sample.get(name)).least


def _list_flags(sample: Sample) -> str:
    counts = [f"{count} × {flag}" for flag, count in sample.count_flags().items() if flag not in RUN_FLAGS]
    return ", ".join(counts) or NOT_MEASURED


def _choose_cells(condition: MeasuredCondition) -> Iterator[Cell]:
    """The usable trials of each combination; all complete ones where none is usable."""
    chosen = {(cell.streams, cell.window_bytes): cell for cell in (*condition.every_cell, *condition.cells)}
    return (chosen[levels] for levels in condition.levels)


def _join_cells(condition: MeasuredCondition) -> Iterator[Cell]:
    """All complete trials of each combination."""
    for streams, window, sample in condition.complete.by_cell():
        yield Cell(streams=streams, window_bytes=window, sample=sample, complete=sample)


RATE_COLUMNS = (
    CellColumn("n", "usable trials", len),
    CellColumn("Throughput", "median of the aggregate", _median(lambda one: one.rates_bits_per_s), "bit/s"),
    CellColumn(
        "95 % CI",
        "of that median, distribution-free",
        lambda sample: measure_spread(sample.rates_bits_per_s).interval,
        "bit/s",
        of_usable=True,
    ),
    CellColumn(
        "IQR",
        "inter-quartile range of the aggregate over trials",
        lambda sample: measure_spread(sample.rates_bits_per_s).quartile_range,
        "bit/s",
    ),
    CellColumn("RTT loaded, min", "least probe under load", _least_of("loaded_rtt_min_ns"), "ns"),
    CellColumn("avg", "mean of all probes under load", lambda one: one.pool_rtt_mean("loaded"), "ns"),
    CellColumn("RTT unloaded, min", "least probe without load", _least_of("unloaded_rtt_min_ns"), "ns"),
    CellColumn("avg", "mean of all probes without load", lambda one: one.pool_rtt_mean("unloaded"), "ns"),
    CellColumn(
        "dRTT avg",
        "loaded minus unloaded average, median over trials",
        _median(lambda one: one.rise_ns),
        "ns",
    ),
    CellColumn("dRTT median", "the same of the medians", _median(lambda one: one.rise_median_ns), "ns"),
    CellColumn("Loss loaded", "of all probes under load", _pooled_loss("loaded"), "ratio"),
    CellColumn("unloaded", "of all probes without load", _pooled_loss("unloaded"), "ratio"),
    CellColumn(
        "RV loaded",
        "1 - min / mean of RTTs, median over trials",
        _median(lambda one: one.measure_variability("loaded")),
        "ratio",
    ),
    CellColumn(
        "unloaded", "the same without load", _median(lambda one: one.measure_variability("unloaded")), "ratio"
    ),
)
ENGINE = "of the engine, median"
BUSY = "busy share, softirq included, median"
GRANT_COLUMNS = (
    CellColumn("n", "complete trials", len),
    CellColumn(
        "granted",
        "sender/receiver where they differ",
        lambda sample: format_granted(*map(sample.find_least_granted, ("sender", "receiver"))),
    ),
    CellColumn("effective", "median over trials", _median_of("window_effective_bytes"), "byte"),
    CellColumn(
        "in flight",
        "the most that one stream had unacknowledged",
        lambda sample: measure_spread(sample.get("window_in_flight_max_bytes")).most,
        "byte",
    ),
    CellColumn("retransmits", "segments, median over trials", _median_of("retransmitted_segments")),
    CellColumn("Jain", "fairness over streams, median", _median_of("fairness_jain")),
    CellColumn("CPU-s/GB sender", ENGINE, _median(lambda one: one.measure_cpu_cost("sender"))),
    CellColumn("receiver", ENGINE, _median(lambda one: one.measure_cpu_cost("receiver"))),
    CellColumn("busiest core sender", BUSY, _median_of("sender_busiest_core_ratio"), "ratio"),
    CellColumn("receiver", BUSY, _median_of("receiver_busiest_core_ratio"), "ratio"),
    CellColumn("flags", "flags of the trials", _list_flags),
)
UDP_COLUMNS = (
    CellColumn("n", "usable trials", len),
    CellColumn("throughput", "median, received", _median(lambda one: one.rates_bits_per_s), "bit/s"),
    CellColumn(
        "sent",
        "datagrams in the steady windows, by the sender's count",
        lambda one: _count(one, one.pool_datagram_loss().sent),
    ),
    CellColumn(
        "lost",
        "missing sequence numbers, by the receiver's count",
        lambda one: _count(one, one.pool_datagram_loss().lost),
    ),
    CellColumn("loss", "with 95 % CI (Wilson)", lambda one: format_short_loss(one.pool_datagram_loss())),
    CellColumn(
        "jitter",
        "RFC 3550, at the end of the steady window, median over trials",
        _median_of("udp_jitter_ns"),
        "ns",
    ),
)


def _count(sample: Sample, count: int) -> str:
    return NOT_MEASURED if sample.pool_datagram_loss().loss_ratio is None else f"{count:,}"


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


def outline_table(table: CellTable, conditions: Sequence[MeasuredCondition]) -> Iterator[LazyBlock]:
    """One table where it stays short, else one for each condition, long ones on demand."""
    short = sum(len(condition.levels) for condition in conditions) <= LONG_ROWS
    groups = [conditions] if short else [(condition,) for condition in conditions]
    for chosen in filter(None, groups):
        where = f": {chosen[0].name}" if len(chosen) == 1 else ""
        title, rows = f"{table.title}{where}", sum(len(condition.levels) for condition in chosen)
        suffix = "" if short else f"-{chosen[0].number}"
        block = lazy_text(_build_table, table, chosen, title, suffix)
        fold = LazyFold(title=f"{title} ({rows} rows)" if rows > LONG_ROWS else title, blocks=(block,))
        yield fold if table.folded or rows > LONG_ROWS else block


def _build_table(
    table: CellTable, conditions: Sequence[MeasuredCondition], title: str, suffix: str
) -> Iterator[Block]:
    """The table of these conditions; the first column names them where they are several."""
    several = len(conditions) > 1
    rows = [
        (condition.name,) * several + row for condition in conditions for row in _list_rows(table, condition)
    ]
    labels = ["path"] * several + ["Window", "Streams", *(column.label for column in table.columns)]
    meanings = ["source, destination and setting"] * several
    meanings += ["requested, per stream", "connections of a trial", *(one.meaning for one in table.columns)]
    answers = [Answer(condition=one.key, selection=one.sample.selection, result=None) for one in conditions]
    yield TableBlock(
        name=f"{table.name}{suffix}",
        title=title,
        table=build_table(labels, rows, meanings),
        note=table.note or format_note(answers),
    )


def _list_rows(table: CellTable, condition: MeasuredCondition) -> Iterator[Row]:
    """A row for each combination; of excluded trials it shows what was seen, and why it does not count."""
    for cell in table.list_cells(condition):
        excluded = table is RATES and not np.isin(cell.sample.places, condition.sample.places).any()
        values = [
            None if excluded and column.of_usable else column.read(cell.sample) for column in table.columns
        ]
        told = [format_value(value, one.unit) for value, one in zip(values, table.columns, strict=True)]
        if excluded:
            counts = Counter(name_exclusions(cell.sample).tolist())
            told[0] = f"0 usable ({', '.join(f'{count} {reason}' for reason, count in counts.items())})"
        yield (format_window(cell.window_bytes), str(cell.streams), *told)
