"""The steady window of a trial by its series, and which probes left inside it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from pathlab.analysis.estimators.fairness import jain_index
from pathlab.analysis.estimators.margins import MARGIN_RATIO
from pathlab.analysis.estimators.quantiles import quartiles
from pathlab.store.arrays import build_scalar
from pathlab.store.flags import Phase

#: A busy machine's scheduler alone is late by so much now and then.
LEAST_STALL_NS = 100_000_000
SENDER_INTERVALS, RECEIVER_INTERVALS = "sender_intervals", "receiver_intervals"
LOADED_PROBES = "loaded_probes"
STEADY_COLUMNS = ("steady_ns", "received_steady_bytes", "throughput_bits_per_s", "fairness_jain")


def find_stall_limit_ns(interval_ns: int, duration_ns: int | None) -> int:
    """The longest time that a program of a trial may not run.

    It is an interval, or ``MARGIN_RATIO`` of the steady window where that is less, but at least
    ``LEAST_STALL_NS``. ``duration_ns``: of the steady window; None where it ended by an amount.
    """
    shares_ns = [interval_ns, *([] if not duration_ns else [round(MARGIN_RATIO * duration_ns)])]
    return max(LEAST_STALL_NS, min(shares_ns))


class SeriesSource(Protocol):
    """The part of ``pathlab.store.results.Results`` that is read here."""

    def series_tables(self, trial_id: int, columns: Mapping[str, Sequence[str]]) -> dict[str, pa.Table]: ...


def find_carried(tables: Mapping[str, pa.Table]) -> str | None:
    """The series of a trial that counts what was carried: the receiver's, else the sender's, else None.

    Files of iperf3 have those of the end that wrote them. The sender's count of datagrams is none: it has
    what was offered. To be recognised, such a series needs its column ``packets``.
    """
    received, sent = tables.get(RECEIVER_INTERVALS), tables.get(SENDER_INTERVALS)
    if received is not None and received.num_rows:
        return RECEIVER_INTERVALS
    if sent is None or "bytes" not in sent.column_names or sent["bytes"].null_count == sent.num_rows:
        return None
    offered = "packets" in sent.column_names and sent["packets"].null_count < sent.num_rows
    return None if offered else SENDER_INTERVALS


def read_window(source: SeriesSource, trial_id: int, kind: str = SENDER_INTERVALS) -> tuple[int, int] | None:
    """Begin and end of the steady window by one end's intervals, ns on the clock of that series.

    None where the trial kept no such series, or it names no steady interval. Raises StoreError when damaged.
    """
    table = source.series_tables(trial_id, {kind: ("phase", "start_ns", "end_ns")}).get(kind)
    if table is None or "phase" not in table.column_names:
        return None
    steady = table.filter(pc.equal(table["phase"].cast(pa.string()), build_scalar(Phase.STEADY, pa.string())))
    if not steady.num_rows:
        return None
    return int(pc.min(steady["start_ns"]).as_py()), int(pc.max(steady["end_ns"]).as_py())


def select_steady(probes: pa.Table, window: tuple[int, int] | None) -> pa.Table:
    """The loaded probes that left inside the window, which are those that a trial's columns count.

    All of them where the window is not known: importers keep no others. Loaded probes count their time from
    the sender's "go", as the sender's intervals do.
    """
    if window is None:
        return probes
    sent = probes["sent_ns"]
    begin_ns, end_ns = (build_scalar(edge, pa.int64()) for edge in window)
    return probes.filter(pc.and_(pc.greater_equal(sent, begin_ns), pc.less(sent, end_ns)))


def select_inside(intervals: pa.Table, window: tuple[int, int] | None) -> pa.Table:
    """The intervals that are wholly inside the window; all of them where it is not known."""
    if window is None:
        return intervals
    begin_ns, end_ns = (build_scalar(edge, pa.int64()) for edge in window)
    inside = pc.and_(
        pc.greater_equal(intervals["start_ns"], begin_ns), pc.less_equal(intervals["end_ns"], end_ns)
    )
    return intervals.filter(inside)


def read_probes(source: SeriesSource, trial_id: int, kind: str) -> pa.Table | None:
    """``sent_ns``, ``rtt_ns`` and, where known, ``waited_ns`` of a series of probes.

    Of the loaded ones those of the steady window.

    None where the trial kept no such series. Raises StoreError when damaged.
    """
    table = source.series_tables(trial_id, {kind: ("sent_ns", "rtt_ns", "waited_ns")}).get(kind)
    if table is None or kind != LOADED_PROBES:
        return table
    return select_steady(table, read_window(source, trial_id))


def measure_probes(
    rtts_ns: Sequence[float | None],
    load: str,
    *,
    waits_ns: Sequence[int | None] = (),
    keeps_lost: bool = True,
) -> dict[str, Any]:
    """A record's columns ``loaded_…`` or ``unloaded_…`` from RTTs (None: lost), ``load`` being that word.

    ``waits_ns``: of a probe without an answer that is late, not lost, how long it was waited for; its RTT is
    longer. Where only answered probes are kept, how many were sent is not known.
    """
    answered = [float(rtt_ns) for rtt_ns in rtts_ns if rtt_ns is not None]
    waited = [float(wait_ns) for wait_ns in waits_ns if wait_ns is not None]
    # Late ones at their least possible RTT: what is below all of these is exact, the rest a lower bound.
    ordered = sorted([*answered, *waited])
    spread, bound_ns = quartiles(ordered), min(waited, default=math.inf)
    median_known = bool(ordered) and ordered[len(ordered) // 2] < bound_ns
    iqr_known = bool(ordered) and ordered[-(-3 * (len(ordered) - 1) // 4)] < bound_ns
    return {
        f"{load}_sent": len(rtts_ns) or None if keeps_lost else None,
        f"{load}_received": len(answered) if rtts_ns else None,
        f"{load}_late": len(waited) if rtts_ns and keeps_lost else None,
        f"{load}_rtt_min_ns": min(answered, default=None),
        f"{load}_rtt_mean_ns": sum(answered) / len(answered) if answered and not waited else None,
        f"{load}_rtt_median_ns": spread.median if median_known else None,
        f"{load}_rtt_iqr_ns": spread.iqr if iqr_known else None,
        f"{load}_rtt_mean_above_ns": sum(ordered) / len(ordered) if waited else None,
        f"{load}_rtt_median_above_ns": spread.median if waited and not median_known else None,
    }


def measure_steady(shares: Sequence[int], length_ns: int) -> dict[str, Any]:
    """A record's columns of what the receiver counted in the steady window, from the bytes of each stream."""
    rate_bits_per_s = sum(shares) * 8e9 / length_ns if length_ns > 0 else None
    values = (length_ns, sum(shares), rate_bits_per_s, measure_fairness(shares))
    return dict(zip(STEADY_COLUMNS, values, strict=True))


def measure_fairness(shares: Sequence[int | None]) -> float | None:
    """Jain's index, or None where a stream's share is not known."""
    known = [share for share in shares if share is not None and share >= 0]
    return jain_index(known) if len(known) == len(shares) else None
