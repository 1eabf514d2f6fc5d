"""The series of a UDP flow: datagrams of each interval and stream, and histograms of loss and order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from pathlab.engines.base import Record, first
from pathlab.store.arrays import convert_rows
from pathlab.store.series_columns import SERIES

COUNTS = ("sent", "refused", "received", "lost", "duplicate", "reordered", "jitter_ns")
#: Histograms whose bins are single values, with the count of what is beyond them.
DENSITIES = {"reorder_density": "displaced_beyond", "buffer_density": "occupied_beyond"}


def build_datagram_table(records: Sequence[Record]) -> pa.Table | None:
    """What one end stated of each interval and stream; None of other flows."""
    rows = list(_list_rows(records))
    return convert_rows(rows, SERIES["datagrams"].schema) if rows else None


def _list_rows(records: Sequence[Record]) -> Iterator[Record]:
    for record in records:
        counts = record.get("datagrams") if record.get("type") == "interval" else None
        if not counts:
            continue
        interval = {name: record[name] for name in ("index", "phase", "start_ns", "end_ns")}
        given = {name: counts[name] for name in COUNTS if counts.get(name)}
        for stream in range(max(map(len, given.values()), default=0)):
            yield {**interval, "stream": stream, **{name: values[stream] for name, values in given.items()}}


def build_histogram_table(records: Sequence[Record]) -> pa.Table | None:
    """The histograms that the receiving end stated of all streams together; None without any."""
    histograms = ((first(records, "result") or {}).get("datagrams") or {}).get("histograms")
    if not histograms:
        return None
    rows = [row for metric in histograms for row in _list_bins(metric, histograms)]
    return convert_rows(rows, SERIES["datagram_histograms"].schema) if rows else None


def _list_bins(metric: str, histograms: Record) -> Iterator[Record]:
    """The bins of one histogram; what is beyond the bins of a density has a metric of its own."""
    if metric in DENSITIES.values():
        bins = [(0, 0, histograms[metric])] if histograms[metric] else []
    elif metric in DENSITIES:
        bins = [(value, value, count) for value, count in histograms[metric]]
    else:
        bins = [(low, high, count) for low, high, count in histograms[metric]]
    for low, high, count in bins:
        yield {"metric": metric, "low": low, "high": high, "count": count}
