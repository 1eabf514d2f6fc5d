"""Series with a histogram in each row, of an interval: round trips of messages, and of very many probes."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pathlab.store.arrays import build_scalar, read_floats
from pathlab.store.flags import Phase
from pathlab.store.hdr_histogram import ExactFigures, Histogram, HistogramError
from pathlab.store.steady import LOADED_PROBES, SeriesSource, read_window, select_inside

ROUND_TRIPS = "round_trips"
PROBE_HISTOGRAMS: Mapping[str, str] = {
    LOADED_PROBES: "loaded_probe_histograms",
    "unloaded_probes": "unloaded_probe_histograms",
}
_COLUMNS = ("start_ns", "end_ns", "count", "min_ns", "max_ns", "mean_ns", "histogram")


def sum_histograms(table: pa.Table) -> Histogram:
    """The histogram of all rows; exact where the rows state minimum, maximum and mean alongside it.

    Raises HistogramError for damaged ones, and where the rows count other numbers of values.
    """
    filled = table.filter(pc.greater(table["count"], build_scalar(0, pa.int64())))
    encoded = filled["histogram"].to_pylist()
    if None in encoded:
        raise HistogramError("is not there, although values were counted")
    return Histogram.decode_sum(encoded, _add_figures(filled))


def read_round_trips(source: SeriesSource, trial_id: int) -> Histogram | None:
    """The round trips of the messages that were due in the steady window, over all streams.

    None where the trial kept none. Raises StoreError when damaged.
    """
    table = source.series_tables(trial_id, {ROUND_TRIPS: ("phase", *_COLUMNS)}).get(ROUND_TRIPS)
    return None if table is None else sum_histograms(select_phase(table, Phase.STEADY))


def read_probe_histograms(source: SeriesSource, trial_id: int, kind: str) -> pa.Table | None:
    """The rows that stand for the probes of ``kind``: of loaded ones those wholly inside the steady window.

    None where the trial kept none. Raises StoreError when damaged.
    """
    wanted = PROBE_HISTOGRAMS[kind]
    table = source.series_tables(trial_id, {wanted: ("sent", "lost", "waited_ns", *_COLUMNS)}).get(wanted)
    if table is None or kind != LOADED_PROBES:
        return table
    return select_inside(table, read_window(source, trial_id))


def measure_probe_histograms(intervals: pa.Table, load: str) -> dict[str, float | None]:
    """What ``pathlab.store.steady.measure_probes`` gives, from the intervals; quartiles are rounded up.

    Raises StoreError when damaged.
    """
    sent, unanswered = (intervals[name].to_pylist() for name in ("sent", "lost"))
    waits_ns = intervals["waited_ns"].to_pylist() if "waited_ns" in intervals.column_names else []
    waited = [(wait, n) for wait, n in zip(waits_ns, unanswered, strict=False) if wait is not None and n]
    late = sum(n for _, n in waited)
    histogram = sum_histograms(intervals)
    exact, received = histogram.exact, sum(sent) - sum(unanswered)
    # Below the shortest wait for a late probe every round trip is known.
    bound_ns = min((wait for wait, _ in waited), default=None)
    low, median, high = (_find_quantile(histogram, ratio, late, bound_ns) for ratio in (0.25, 0.5, 0.75))
    mean_ns = None if exact is None else exact.mean_ns
    total_ns = (mean_ns or 0.0) * received + sum(wait * n for wait, n in waited)
    return {
        f"{load}_sent": sum(sent) or None,
        f"{load}_received": received if sum(sent) else None,
        f"{load}_late": late if sum(sent) else None,
        f"{load}_rtt_min_ns": None if exact is None else exact.min_ns,
        f"{load}_rtt_mean_ns": None if late else mean_ns,
        f"{load}_rtt_median_ns": median,
        f"{load}_rtt_iqr_ns": None if low is None or high is None else high - low,
        f"{load}_rtt_mean_above_ns": total_ns / (received + late) if late else None,
        f"{load}_rtt_median_above_ns": bound_ns if median is None else None,
    }


def _find_quantile(histogram: Histogram, ratio: float, late: int, bound_ns: int | None) -> int | None:
    """The quantile of the answered and the late ones, which took longer than ``bound_ns``.

    None where it is not below that time.
    """
    if bound_ns is None:
        return histogram.quantile_ns(ratio)
    if not histogram.count:
        return None
    result = histogram.quantile_ns(min(1.0, ratio * (histogram.count + late) / histogram.count))
    return result if result is not None and result < bound_ns else None


def select_phase(table: pa.Table, phase: Phase) -> pa.Table:
    """The rows of that phase."""
    return table.filter(pc.equal(table["phase"].cast(pa.string()), build_scalar(phase, pa.string())))


def find_histogram_fault(table: pa.Table) -> str | None:
    """What is wrong with the histograms of a series; None where nothing is."""
    if not table.num_rows or not {"count", "histogram"} <= {*table.column_names}:
        return None
    try:
        sum_histograms(table)
    except HistogramError as error:
        return error.message
    return None


def _add_figures(rows: pa.Table) -> ExactFigures | None:
    """The figures of all rows; None where a row does not state them."""
    columns = [rows[name] for name in ("min_ns", "max_ns", "mean_ns") if name in rows.column_names]
    whole = [column for column in columns[:2] if pa.types.is_integer(column.type)]
    if not rows.num_rows or len(columns) < 3 or len(whole) < 2 or any(item.null_count for item in columns):
        return None
    mean_ns = float(np.average(read_floats(columns[2]), weights=read_floats(rows["count"])))
    count, least, most = (
        result.as_py() for result in (pc.sum(rows["count"]), pc.min(whole[0]), pc.max(whole[1]))
    )
    return ExactFigures(count, least, most, mean_ns) if math.isfinite(mean_ns) else None
