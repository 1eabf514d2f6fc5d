"""UDP: datagrams sent and lost, and their jitter, for each combination that was measured with UDP."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pathlab.report.answer_table import Row
from pathlab.report.blocks import Block, TableBlock
from pathlab.report.inputs import ReportInputs
from pathlab.report.names import format_short_loss
from pathlab.report.sections.answer_tables import build_table
from pathlab.report.sections.lazy import LazyBlock, lazy_text
from pathlab.study.answer import measure_spread
from pathlab.study.cells import MeasuredCondition
from pathlab.units import NOT_MEASURED, format_rate, format_time, format_window

TITLE = "UDP: loss and jitter"
COLUMNS = (
    ("streams", ""),
    ("buffer", "socket buffer requested, per stream"),
    ("n", "trials that count"),
    ("throughput", "median, received"),
    ("sent", "datagrams in the steady windows, by the sender's count"),
    ("lost", "missing sequence numbers, by the receiver's count"),
    ("loss", "with 95 % CI (Wilson)"),
    ("jitter", "RFC 3550, at the end of the steady window, median over trials"),
)
NOTE = (
    "All trials of a combination together. The interval takes losses to be independent; bursts make the true "
    "one wider."
)


def outline_datagrams(inputs: ReportInputs) -> Iterator[LazyBlock]:
    """The table of all conditions measured with UDP; nothing where there is none."""
    conditions = [condition for condition in inputs.conditions if condition.key.is_udp]
    if conditions:
        yield lazy_text(_tell_datagrams, conditions)


def _tell_datagrams(conditions: Sequence[MeasuredCondition]) -> Iterator[Block]:
    rows = [(condition.name, *row) for condition in conditions for row in _list_rows(condition)]
    labels, meanings = zip(("path", "source, destination and setting"), *COLUMNS, strict=True)
    yield TableBlock(name="udp-loss", title=TITLE, table=build_table(labels, rows, meanings), note=NOTE)


def _list_rows(condition: MeasuredCondition) -> Iterator[Row]:
    for cell in condition.every_cell:
        sample = cell.sample
        loss = sample.pool_datagram_loss()
        known = loss.loss_ratio is not None
        yield (
            str(cell.streams),
            format_window(cell.window_bytes),
            str(len(sample)),
            format_rate(measure_spread(sample.rates_bits_per_s).median),
            f"{loss.sent:,}" if known else NOT_MEASURED,
            f"{loss.lost:,}" if known else NOT_MEASURED,
            format_short_loss(loss),
            format_time(measure_spread(sample.get("udp_jitter_ns")).median),
        )
