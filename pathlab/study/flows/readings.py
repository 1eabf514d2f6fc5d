"""From the series of one trial to what a limit is classified by, and what a warm-up is found in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.verdicts.flow_reading import (
    FlowReading,
    StreamReading,
    measure_rate_spread,
    measure_synchrony,
)
from pathlab.analysis.verdicts.host_limits import HostLoad
from pathlab.store.arrays import build_scalar, read_floats
from pathlab.store.flags import Phase
from pathlab.store.steady import SENDER_INTERVALS, find_carried
from pathlab.study.base.links import BottleneckLink
from pathlab.study.base.trials import StudySource

SETTINGS = "settings"
#: Settings by which the sender keeps to a rate.
RATE_SETTINGS = ("pacing_bits_per_s", "rate_cap_bits_per_s")
#: Rates for the spread are taken over spans of a twentieth of the steady window, ...
SPANS = 20
#: ... but of no less than two round trips of the empty path, in which a window comes and goes: what waits in
#: a queue evens it out.
ROUND_TRIPS = 2
#: A sender may be this far ahead of the path with each stream: Linux's largest send buffer, unless it is set.
SEND_BUFFER_BYTES = 4 << 20
#: It writes at least so much at once (iperf3), ...
WRITE_BYTES = 128 << 10
#: ... and its buffer grows to this many congestion windows.
BUFFERED_WINDOWS = 2
#: Intervals whose bytes differ by no more than this factor: not those of slow start.
EVEN_RATIO = 1.5
RECEIVED_COLUMNS = ("start_ns", "end_ns", "bytes")
SENT_COLUMNS = (
    *RECEIVED_COLUMNS,
    "sent_bytes",
    "packets",
    "snd_cwnd_bytes",
    "snd_cwnd_segments",
    "snd_mss_bytes",
)
WORKER_COLUMNS = ("start_ns", "end_ns", "worker", "user_ns", "system_ns", "waiting_ns")
LIMIT_SERIES: Mapping[str, Sequence[str]] = {
    "sender_intervals": (
        *SENT_COLUMNS,
        *("rtt_us", "min_rtt_us", "delivery_rate_app_limited"),
        *("busy_time_us", "rwnd_limited_us", "sndbuf_limited_us"),
        *("bytes_sent", "bytes_retrans", "delivered_segments", "max_pacing_bytes_per_s"),
        *("dsack_dups_segments", "snd_wnd_bytes"),
    ),
    "receiver_intervals": RECEIVED_COLUMNS,
    "sender_workers": WORKER_COLUMNS,
    "receiver_workers": WORKER_COLUMNS,
    SETTINGS: ("name", "requested", "sender"),
}
RATE_SERIES: Mapping[str, Sequence[str]] = {"receiver_intervals": RECEIVED_COLUMNS}
SENT_SERIES: Mapping[str, Sequence[str]] = {"sender_intervals": SENT_COLUMNS}

Flags = NDArray[np.bool_]
_PHASES = {phase: build_scalar(str(phase), pa.string()) for phase in (Phase.STEADY, Phase.DRAIN)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Columns of one series as floats, NaN where null or unknown, and which rows are of which phase."""

    rows: int
    columns: Mapping[str, Floats]
    steady: Flags
    drain: Flags

    def get(self, name: str) -> Floats:
        """A column; all NaN where the series has none of that name."""
        result = self.columns.get(name)
        return np.full(self.rows, np.nan) if result is None else result

    def grid(self, name: str, streams: int) -> Floats:
        """A column as (intervals, streams)."""
        return self.get(name).reshape(-1, streams)

    def steady_intervals(self, streams: int) -> NDArray[np.int64]:
        """Places of the intervals of the steady window."""
        return np.flatnonzero(self.steady.reshape(-1, streams)[:, 0])


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRates:
    """What a flow carried in each record before the drain, all streams together, in order: bytes, lengths.

    ``steady``: the records of the steady window. ``by_sender``: the sender counted, who may be
    ``ahead_bytes`` ahead of the path.
    """

    counts: Floats
    lengths_ns: Floats
    steady: Flags
    by_sender: bool = False
    ahead_bytes: float = 0.0


NO_RATES = FlowRates(counts=np.empty(0), lengths_ns=np.empty(0), steady=np.empty(0, dtype=bool))


class TrialSeries:
    """The series of one trial that limits and warm-ups are read from, each read once.

    Raises StoreError for a damaged one.
    """

    _tables: dict[str, Table]
    _settings: Sequence[Mapping[str, Any]] = ()
    _carried: str | None = None

    def __init__(self, source: StudySource, trial_id: int, kinds: Mapping[str, Sequence[str]]) -> None:
        result = source.series_tables(trial_id, {kind: (*names, "phase") for kind, names in kinds.items()})
        settings = result.pop(SETTINGS, None)
        self._settings = settings.to_pylist() if settings is not None else ()
        self._carried = find_carried(result)
        self._tables = {kind: read_series_table(table, kinds[kind]) for kind, table in result.items()}
        if self.sender_counts:
            self._tables[SENDER_INTERVALS] = _count_sent(self._tables[SENDER_INTERVALS])

    @classmethod
    def empty(cls) -> TrialSeries:
        """No series at all."""
        result = cls.__new__(cls)
        result._tables = {}
        return result

    def table(self, kind: str) -> Table | None:
        """A series; None where the trial kept none, or where it is empty."""
        result = self._tables.get(kind)
        return result if result is not None and result.rows else None

    @property
    def carried(self) -> Table | None:
        """The intervals that count what was carried, the receiver's if there are any; None where none do."""
        return None if self._carried is None else self.table(self._carried)

    @property
    def sender_counts(self) -> bool:
        """Whether ``carried`` is the sender's count."""
        return self._carried == SENDER_INTERVALS

    def find_requested_rate(self) -> float | None:
        """The lowest rate that the sender was set to keep: as it states it, else as it was requested."""
        rates = []
        for line in self._settings:
            if line.get("name") in RATE_SETTINGS:
                stated = _parse_rate(line.get("sender"))
                rates.append(_parse_rate(line.get("requested")) if stated is None else stated)
        return min((rate for rate in rates if rate is not None), default=None)


def _count_sent(sent: Table) -> Table:
    """The sender's intervals with what it sent as ``bytes``, even where it received as well."""
    counted = sent.columns.get("sent_bytes")
    return sent if counted is None else replace(sent, columns={**sent.columns, "bytes": counted})


def read_flow(
    series: TrialSeries, trial: FlowReading, line: BottleneckLink | None, *, reverse: bool
) -> FlowReading:
    """What was seen of a trial in its steady window; a series that it did not keep leaves its figures None.

    ``trial`` has what the trial's own row holds: figures of the flow, the number of streams,
    busy cores; and the hosts' ceiling. ``reverse``: the end that connected receives.

    Counters of ``tcp_info`` are cumulative: differences from the last reading before the steady window to its
    last one are taken. Rates for the spread are of segments that the sender knows delivered, selectively
    acknowledged ones included: bytes that an in-order receiver counts come in lumps after a loss.
    """
    sent, received = series.table("sender_intervals"), series.table("receiver_intervals")
    count, (sender, receiver) = len(trial.streams), trial.hosts
    rates = trial.requested_bits_per_s, series.find_requested_rate(), _read_pacing(sent, count)
    workers = series.table("sender_workers"), series.table("receiver_workers")
    spread, spans, synchrony = _measure_spread(sent, count)
    return replace(
        trial,
        streams=_read_streams(sent, series.carried, count) or trial.streams,
        rate_spread_ratio=spread,
        rate_spans=spans,
        loss_synchrony_ratio=synchrony,
        forward_rise_ns=_measure_forward_rise(sent, received, count, reverse=reverse),
        hosts=(
            read_host_load(sender.busiest_core_ratio, sent, workers[0]),
            read_host_load(receiver.busiest_core_ratio, received, workers[1]),
        ),
        line_bits_per_s=line.data_bits_per_s if line is not None else None,
        requested_bits_per_s=min((rate for rate in rates if rate is not None), default=None),
    )


def read_flow_rates(series: TrialSeries, streams: int) -> FlowRates:
    """What a flow carried in each record; ``NO_RATES`` where no end counted it."""
    table = series.carried
    if table is None or table.rows % streams:
        return NO_RATES
    kept = ~table.drain.reshape(-1, streams)[:, 0]
    lengths = (table.grid("end_ns", streams) - table.grid("start_ns", streams))[:, 0]
    counts = table.grid("bytes", streams).sum(axis=1)
    kept &= np.isfinite(counts) & (lengths > 0) & (counts >= 0)
    return FlowRates(
        counts=counts[kept],
        lengths_ns=lengths[kept],
        steady=table.steady.reshape(-1, streams)[kept, 0],
        by_sender=series.sender_counts,
        ahead_bytes=_bound_ahead(table, streams) if series.sender_counts else 0.0,
    )


def _bound_ahead(sent: Table, streams: int) -> float:
    """How far a sender may be ahead of the path: what the send buffers of its congestion windows hold."""
    windows = np.fmax(sent.get("snd_cwnd_bytes"), sent.get("snd_cwnd_segments") * sent.get("snd_mss_bytes"))
    largest = np.fmax.reduce(windows.reshape(-1, streams), axis=0)
    buffers = np.where(np.isnan(largest), SEND_BUFFER_BYTES, BUFFERED_WINDOWS * largest)
    return float(np.maximum(buffers, WRITE_BYTES).sum())


def find_ceiling(calibrations: Iterable[Any], streams: int) -> float | None:
    """The lowest loopback rate of some hosts at about this many streams, bit/s; None where none is known.

    ``calibrations`` are the hosts' facts of that name; the nearest number of streams, by ratio, is taken.
    """
    ceilings = []
    for known in map(_list_ceilings, calibrations):
        if known:
            nearest = min(known, key=lambda count: abs(np.log(count / streams)))
            ceilings.append(known[nearest])
    return min(ceilings, default=None)


def _list_ceilings(calibration: Any) -> dict[int, float]:
    """Loopback rates, copied, by number of streams, as the host's facts name them: ``8 streams, copy``."""
    rates = calibration.get("loopback_bits_per_s") if isinstance(calibration, Mapping) else None
    result = {}
    for name, rate in (rates or {}).items():
        count, _, transfer = str(name).partition(" ")
        if transfer.endswith(", copy") and count.isdecimal() and int(count) > 0 and rate:
            result[int(count)] = float(rate)
    return result


def _parse_rate(text: Any) -> float | None:
    """A rate in bit/s as a setting states it; None where it states none."""
    try:
        rate = float(text)
    except (TypeError, ValueError):
        return None
    return rate if 0 < rate < np.inf else None


def read_series_table(table: pa.Table, names: Sequence[str]) -> Table:
    """The columns of these names of a stored series."""
    columns = {name: read_floats(table.column(name)) for name in names if name in table.column_names}
    phase = table.column("phase") if "phase" in table.column_names else None
    steady, drain = (_is_phase(phase, scalar, table.num_rows) for scalar in _PHASES.values())
    return Table(rows=table.num_rows, columns=columns, steady=steady, drain=drain)


def _is_phase(phase: pa.ChunkedArray | None, name: pa.Scalar, rows: int) -> Flags:
    if phase is None:
        return np.zeros(rows, dtype=bool)
    result: Flags = read_floats(pc.equal(phase, name)) == 1
    return result


def read_host_load(
    busiest_core_ratio: float | None, intervals: Table | None, workers: Table | None
) -> HostLoad:
    """The load of one end over its steady window, by its intervals and the records of its threads."""
    shares: dict[str, float | None] = {"work": None, "waiting": None}
    if intervals is not None and workers is not None and intervals.steady.any():
        begin = intervals.get("start_ns")[intervals.steady].min()
        stop = intervals.get("end_ns")[intervals.steady].max()
        kept = (workers.get("start_ns") >= begin) & (workers.get("end_ns") <= stop)
        taken = {
            "work": workers.get("user_ns") + workers.get("system_ns"),
            "waiting": workers.get("waiting_ns"),
        }
        shares = {
            name: _find_highest_share(workers.get("worker")[kept], spent[kept], stop - begin)
            for name, spent in taken.items()
        }
    return HostLoad(
        busiest_core_ratio=busiest_core_ratio,
        engine_core_ratio=shares["work"],
        waiting_ratio=shares["waiting"],
    )


def _find_highest_share(workers: Floats, spent_ns: Floats, span_ns: float) -> float | None:
    """The share of the span that one worker spent, the highest of all; None unless every record states it."""
    known = np.isfinite(workers).all() and np.isfinite(spent_ns).all()
    if not spent_ns.size or not known or span_ns <= 0 or workers.min() < 0 or spent_ns.min() < 0:
        return None
    _, numbers = np.unique(workers, return_inverse=True)
    return float(np.bincount(numbers, spent_ns).max() / span_ns)


def _read_streams(sent: Table | None, carried: Table | None, streams: int) -> tuple[StreamReading, ...]:
    rates = _stream_rates(carried, streams)
    steady = sent.steady_intervals(streams) if sent is not None and not sent.rows % streams else np.empty(0)
    if sent is None or steady.size < 2:
        return tuple(StreamReading(rate_bits_per_s=rate) for rate in rates)
    first, last = max(int(steady[0]) - 1, 0), int(steady[-1])
    ends = sent.grid("end_ns", streams)
    span_s = float(ends[last, 0] - ends[first, 0]) / 1e9

    def gain(name: str, scale: float = 1.0) -> list[float | None]:
        values = sent.grid(name, streams)
        return _as_list((values[last] - values[first]) * scale)

    def mean(name: str, scale: float = 1.0) -> list[float | None]:
        values = sent.grid(name, streams)[steady]
        known = np.isfinite(values)
        count = known.sum(axis=0)
        total = np.where(known, values, 0.0).sum(axis=0)
        return _as_list(np.where(count > 0, total / np.where(count > 0, count, 1), np.nan) * scale)

    columns = {
        "rate_bits_per_s": rates or [None] * streams,
        "busy_s": gain("busy_time_us", 1e-6),
        "receiver_limited_s": gain("rwnd_limited_us", 1e-6),
        "buffer_limited_s": gain("sndbuf_limited_us", 1e-6),
        "app_limited_ratio": mean("delivery_rate_app_limited"),
        "sent_bytes": gain("bytes_sent"),
        "retransmitted_bytes": gain("bytes_retrans"),
        "rtt_ns": _as_list(_middle(sent.grid("rtt_us", streams)[steady]) * 1e3),
        "rtt_min_ns": _as_list(np.fmin.reduce(sent.grid("min_rtt_us", streams)[steady], axis=0) * 1e3),
        "segment_bytes": mean("snd_mss_bytes"),
        "spurious_segments": gain("dsack_dups_segments"),
        "offered_bytes": _as_list(_middle(sent.grid("snd_wnd_bytes", streams)[steady])),
        "offered_most_bytes": _as_list(np.fmax.reduce(sent.grid("snd_wnd_bytes", streams), axis=0)),
    }
    return tuple(
        StreamReading(steady_s=span_s, **{name: values[stream] for name, values in columns.items()})
        for stream in range(streams)
    )


def _read_pacing(sent: Table | None, streams: int) -> float | None:
    """The rate that all sockets together are set to keep, as the kernel says; None unless each is."""
    if sent is None or sent.rows % streams or not sent.steady.any():
        return None
    rates = sent.grid("max_pacing_bytes_per_s", streams)[sent.steady_intervals(streams)]
    return _parse_rate(rates.max(axis=0).sum() * 8)  # NaN where one is not bound


def _stream_rates(carried: Table | None, streams: int) -> list[float | None]:
    """Each stream's rate over the steady window; empty where it is not known."""
    if carried is None or carried.rows % streams or not carried.steady.any():
        return []
    steady = carried.steady_intervals(streams)
    counts = carried.grid("bytes", streams)[steady].sum(axis=0)
    span_ns = carried.grid("end_ns", streams)[steady].max() - carried.grid("start_ns", streams)[steady].min()
    return _as_list(counts * 8e9 / span_ns) if span_ns > 0 else []


def _measure_spread(sent: Table | None, streams: int) -> tuple[float | None, int | None, float | None]:
    """Spread of the flow's rates of delivery over spans of the steady window, and the number of spans.

    And how much the streams lost in the same of these spans.
    """
    if sent is None or sent.rows % streams:
        return None, None, None
    steady = sent.steady_intervals(streams)
    delivered = (sent.grid("delivered_segments", streams) * sent.grid("snd_mss_bytes", streams)).sum(axis=1)
    ends = sent.grid("end_ns", streams)[:, 0]
    if steady.size < 2 or not np.isfinite(delivered[steady]).all():
        return None, None, None
    times, totals = ends[steady], delivered[steady]
    least_ns = max((times[-1] - times[0]) / SPANS, ROUND_TRIPS * _find_empty_rtt(sent))
    picks = [0]
    for index in range(1, times.size):
        if times[index] - times[picks[-1]] >= 0.999 * least_ns:
            picks.append(index)
    gains, spans = np.diff(totals[picks]), np.diff(times[picks])
    if not gains.size or (gains < 0).any():
        return None, None, None
    losses = np.diff(sent.grid("bytes_retrans", streams)[steady][picks], axis=0)
    known = np.isfinite(losses).all() and (losses >= 0).all()
    return (
        measure_rate_spread(gains, spans),
        int(gains.size),
        measure_synchrony(losses) if known else None,
    )


def _find_empty_rtt(sent: Table) -> float:
    """The least RTT that a sender's kernel saw, ns; of the smoothed ones where it does not state it."""
    least = [np.fmin.reduce(sent.get(name), initial=np.inf) for name in ("min_rtt_us", "rtt_us")]
    return next((float(item) * 1e3 for item in least if np.isfinite(item)), 0.0)


def _measure_forward_rise(
    sent: Table | None, received: Table | None, streams: int, *, reverse: bool
) -> float | None:
    """How much longer data took to arrive than over the empty path: median over the steady window, ns.

    The time between the sender's count of some bytes and the receiver's count of as many, all streams
    together. Each end counts time from its own start: the receiver's is its first byte, or with ``reverse``
    its "go", a round trip before the first byte. Neither needs the other's clock. It includes what waits for
    a lost segment or for the application to read. None unless both ends counted every interval.
    """
    if sent is None or received is None or sent.rows % streams or received.rows % streams:
        return None
    left = (sent.grid("bytes_sent", streams) - sent.grid("bytes_retrans", streams)).sum(axis=1)
    came = np.cumsum(received.grid("bytes", streams).sum(axis=1))
    times, arrivals = sent.grid("end_ns", streams)[:, 0], received.grid("end_ns", streams)[:, 0]
    steady = received.steady_intervals(streams)
    counts = np.concatenate([left, came, times, arrivals])
    if not steady.size or left.size < 2 or not np.isfinite(counts).all() or (np.diff(left) < 0).any():
        return None
    departures = np.interp(came, np.concatenate([[0.0], left]), np.concatenate([[0.0], times]))
    delays = arrivals - departures - (_find_empty_rtt(sent) if reverse else 0.0)
    # A receiver that was late to note its first byte counts every delay too short, the shortest as well.
    even = _list_even(np.diff(left, prepend=0.0))[np.minimum(np.searchsorted(left, came), left.size - 1)]
    late = min(0.0, float(delays[even].min(initial=0.0)))
    return max(0.0, float(np.median(delays[steady])) - late)


def _list_even(counts: Floats) -> Flags:
    """Which of the counts are like those alongside them: within one, bytes may be taken for evenly spread."""
    most = np.fmax(np.roll(counts, 1), np.roll(counts, -1))
    least = np.fmin(np.roll(counts, 1), np.roll(counts, -1))
    result: Flags = (counts * EVEN_RATIO >= most) & (least * EVEN_RATIO >= counts)
    result[[0, -1]] = False
    return result


def _middle(values: Floats) -> Floats:
    """Median of each column of what was measured, which a few late readings do not move; NaN for none."""
    known = np.isfinite(values).any(axis=0)
    result = np.full(values.shape[1], np.nan)
    result[known] = np.nanmedian(values[:, known], axis=0)
    return result


def _as_list(values: Floats) -> list[float | None]:
    """Figures of 0 or more; what is not finite or went backwards was not measured."""
    return [float(value) if np.isfinite(value) and value >= 0 else None for value in values]
