"""The series of one trial as its figures draw them: tables over intervals and streams, on one time axis.

Times are in seconds since the sender's go, the receiver's since its first byte. What was not recorded is NaN,
a series that was not kept None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pathlab.analysis.estimators.cells import Floats
from pathlab.store.arrays import holds_numbers, read_floats, read_objects
from pathlab.store.flags import Phase
from pathlab.store.steady import RECEIVER_INTERVALS, SENDER_INTERVALS, find_carried
from pathlab.study.base.trials import StudySource

Columns = Mapping[str, NDArray[Any]]
TENTHS = 10
UPPER_PROBES = 20  # answered ones, for a 95th percentile that is not the maximum


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTable:
    """Intervals of every stream: ``values`` by name, each of shape (intervals, streams)."""

    start_s: Floats
    end_s: Floats
    streams: tuple[int, ...]
    steady: NDArray[np.bool_]  # intervals of the steady window
    values: Mapping[str, Floats]

    def get(self, name: str) -> Floats:
        """A column; all NaN where the series has none of that name."""
        result = self.values.get(name)
        return np.full((len(self.start_s), len(self.streams)), np.nan) if result is None else result

    def only(self, name: str) -> StreamTable:
        """The table with that column alone."""
        return replace(self, values={name: self.get(name)})

    @property
    def rates_bits_per_s(self) -> Floats:
        """What each stream carried in each interval, bit/s."""
        length_s = self.end_s - self.start_s
        length_s = np.where(length_s > 0, length_s, np.nan)
        rates: Floats = self.get("bytes") * 8 / length_s[:, np.newaxis]
        return rates


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeTrace:
    """Probes of one set in order of sending: times and RTTs in ns, NaN for one without an answer.

    ``waited_ns`` of a late one: its RTT is longer, and it is not lost; NaN: lost, or answered.
    """

    sent_ns: Floats
    rtt_ns: Floats
    waited_ns: Floats

    @property
    def is_late(self) -> NDArray[np.bool_]:
        """Which probes have no answer and are not lost."""
        late: NDArray[np.bool_] = np.isnan(self.rtt_ns) & ~np.isnan(self.waited_ns)
        return late

    @property
    def upper_ns(self) -> float | None:
        """95th percentile of the answered and late probes; ``None`` of too few, or not below the waits."""
        late = self.is_late
        times = np.concatenate([self.rtt_ns[~np.isnan(self.rtt_ns)], self.waited_ns[late]])
        if times.size < UPPER_PROBES:
            return None
        upper_ns = float(np.quantile(times, 0.95))
        return upper_ns if not late.any() or upper_ns < self.waited_ns[late].min() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreLoads:
    """How busy each core of a host was: ``busy_percent`` has the shape (readings, cores)."""

    time_s: Floats
    cores: tuple[int, ...]
    busy_percent: Floats


def read_columns(
    source: StudySource, trial_id: int, wanted: Mapping[str, Sequence[str]]
) -> dict[str, Columns]:
    """The columns of those series that the trial kept and that are not empty; numbers are floats."""
    tables = source.series_tables(trial_id, wanted)
    return {
        kind: {name: _read_array(table[name]) for name in wanted[kind] if name in table.column_names}
        for kind, table in tables.items()
        if table.num_rows
    }


def build_stream_table(columns: Columns | None, names: Sequence[str]) -> StreamTable | None:
    """The intervals of ``sender_intervals`` or ``receiver_intervals``; None without them."""
    if columns is None or not {"index", "stream", "start_ns", "end_ns"} <= columns.keys():
        return None
    steps, row = np.unique(columns["index"], return_inverse=True)
    streams, index = np.unique(columns["stream"], return_inverse=True)
    bounds = {name: np.full(len(steps), np.nan) for name in ("start_ns", "end_ns")}
    for name, bound in bounds.items():
        bound[row] = columns[name]
    steady = np.zeros(len(steps), dtype=bool)
    if "phase" in columns:
        steady[row[columns["phase"] == Phase.STEADY]] = True
    values = {}
    for name in names:
        if name in columns:
            values[name] = np.full((len(steps), len(streams)), np.nan)
            values[name][row, index] = columns[name]
    return StreamTable(
        start_s=bounds["start_ns"] / 1e9,
        end_s=bounds["end_ns"] / 1e9,
        streams=tuple(int(stream) for stream in streams),
        steady=steady,
        values=values,
    )


def build_probes(columns: Columns | None) -> ProbeTrace | None:
    """The probes of one set; None without them."""
    if columns is None or not {"sent_ns", "rtt_ns"} <= columns.keys():
        return None
    unknown = np.full(len(columns["rtt_ns"]), np.nan)
    return ProbeTrace(
        sent_ns=columns["sent_ns"], rtt_ns=columns["rtt_ns"], waited_ns=columns.get("waited_ns", unknown)
    )


def build_core_loads(columns: Columns | None) -> CoreLoads | None:
    """What the cores of one host did; None without readings."""
    if columns is None or not {"time_ns", "core", "idle_ratio"} <= columns.keys():
        return None
    known = ~(np.isnan(columns["time_ns"]) | np.isnan(columns["core"]))
    times, row = np.unique(columns["time_ns"][known], return_inverse=True)
    cores, index = np.unique(columns["core"][known], return_inverse=True)
    busy = np.full((len(times), len(cores)), np.nan)
    busy[row, index] = 100 * (1 - columns["idle_ratio"][known])
    return CoreLoads(time_s=times / 1e9, cores=tuple(int(core) for core in cores), busy_percent=busy)


def join_intervals(table: StreamTable, most: int) -> tuple[StreamTable, int]:
    """The table with so many neighbouring intervals joined that at most ``most`` are left, and how many.

    Bytes and counts add up; only columns of such may be in the table.
    """
    every = -(-len(table.start_s) // most)
    if every <= 1:
        return table, 1
    starts = np.arange(0, len(table.start_s), every)
    ends = np.minimum(starts + every, len(table.start_s)) - 1
    joined = StreamTable(
        start_s=table.start_s[starts],
        end_s=table.end_s[ends],
        streams=table.streams,
        steady=table.steady[starts],
        values={name: np.add.reduceat(values, starts, axis=0) for name, values in table.values.items()},
    )
    return joined, every


def sum_retransmits(table: StreamTable) -> int | None:
    """Segments retransmitted in all intervals; None where the sender did not read the counter."""
    counted = count_retransmits(table)
    return None if counted is None else int(np.nansum(counted))


def count_retransmits(table: StreamTable) -> Floats | None:
    """Retransmissions in each interval by all streams; None where the sender did not read the counter."""
    counted = table.get("total_retrans_segments")
    if not np.isfinite(counted).any():
        return None
    steps = np.diff(counted, axis=0, prepend=np.zeros((1, counted.shape[1])))
    known = np.isfinite(steps).any(axis=1)
    again: Floats = np.where(known, np.nansum(np.where(steps >= 0, steps, np.nan), axis=1), np.nan)
    return again


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamBytes:
    """What each stream that has intervals in the steady window carried there, in bytes, by its number.

    ``by_sender``: the sender counted.
    """

    counts: Mapping[int, int]
    by_sender: bool = False


def read_stream_bytes(source: StudySource, trial_id: int) -> StreamBytes | None:
    """What each stream carried in the steady window; None where no end counted it by interval."""
    wanted = ("stream", "bytes", "phase")
    tables = source.series_tables(trial_id, {RECEIVER_INTERVALS: wanted})
    if find_carried(tables) is None:
        tables = source.series_tables(trial_id, {SENDER_INTERVALS: (*wanted, "sent_bytes", "packets")})
    kind = find_carried(tables)
    if kind is None or not {*wanted} <= {*tables[kind].column_names}:
        return None
    columns = {name: _read_array(tables[kind][name]) for name in wanted}
    if (
        kind == SENDER_INTERVALS and "sent_bytes" in tables[kind].column_names
    ):  # bytes are those of the way back
        columns["bytes"] = _read_array(tables[kind]["sent_bytes"])
    steady = columns["phase"] == Phase.STEADY
    streams, place = np.unique(columns["stream"][steady], return_inverse=True)
    counts = np.bincount(place, weights=columns["bytes"][steady], minlength=len(streams))
    return StreamBytes(
        counts={int(stream): int(count) for stream, count in zip(streams, counts, strict=True)},
        by_sender=kind == SENDER_INTERVALS,
    )


def percentile_over_streams(values: Floats, percent: float) -> Floats:
    """A percentile over the streams or cores (columns) at each time (row); NaN where nothing was measured."""
    result = np.full(len(values), np.nan)
    known = np.isfinite(values).any(axis=1)
    result[known] = np.nanpercentile(values[known], percent, axis=1)
    return result


def sum_tenths(rates: Floats) -> Floats:
    """What each tenth of the streams carried together, the slowest first."""
    return np.array([part.sum() for part in np.array_split(np.sort(rates), TENTHS)])


def _read_array(column: pa.ChunkedArray) -> NDArray[Any]:
    return read_floats(column) if holds_numbers(column) else read_objects(column)
