"""What the series of one trial say in a few rows: settings that were granted, TCP_INFO, cores, route."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.campaign.factors import find_default, format_level
from pathlab.store.records import TrialRecord
from pathlab.study.base.trial_series import StreamTable, build_stream_table, read_columns
from pathlab.study.base.trials import StudySource

US, MSS = 1e-6, "snd_mss_bytes"
#: Figures of TCP_INFO over the steady window, by the column that they are read from. Those of the first kind
#: are states: all readings of all streams. Those of the second count from the connection's begin: what
#: each stream gained. Those of the third are times, given as shares of the window.
STATES: Mapping[str, tuple[str, float]] = {
    "rtt_us": ("rtt_ns", 1e3),
    "rttvar_us": ("rttvar_ns", 1e3),
    "min_rtt_us": ("min_rtt_ns", 1e3),
    "snd_cwnd_segments": ("snd_cwnd_bytes", np.nan),  # times the segment size
    "snd_cwnd_bytes": ("snd_cwnd_bytes", 1.0),
    "snd_wnd_bytes": ("snd_wnd_bytes", 1.0),
    "unacked_segments": ("in_flight_bytes", np.nan),
    "delivery_rate_bytes_per_s": ("delivery_rate_bits_per_s", 8.0),
    MSS: (MSS, 1.0),
    "pmtu_bytes": ("pmtu_bytes", 1.0),
}
GAINS = ("total_retrans_segments", "reord_seen_events", "dsack_dups_segments")
SHARES: Mapping[str, str] = {
    "busy_time_us": "busy_ratio",
    "rwnd_limited_us": "receiver_limited_ratio",
    "sndbuf_limited_us": "buffer_limited_ratio",
}
CPU_COLUMNS = ("time_ns", "span_ns", "core", "idle_ratio", "softirq_ratio", "steal_ratio")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingReading:
    """A setting as the plan has it (None: left to the system), and as the ends state or use it.

    ``sender`` and ``receiver`` are what the ends granted, numbers where they are numbers (None: not stated).
    """

    name: str
    requested: Any
    is_planned: bool
    sender: Any
    receiver: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpReading:
    """A figure of TCP_INFO over the steady window: its range and median over readings or streams."""

    name: str
    least: float
    median: float
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreReading:
    """How busy a core was in the steady window, on average and at most; shares of it (None: unknown)."""

    end: str
    core: int
    mean_ratio: float
    most_ratio: float
    softirq_ratio: float | None
    steal_ratio: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteHop:
    """A hop of the route before the trial; without addresses: silent."""

    hop: int
    addresses: tuple[str, ...]


def read_grants(
    source: StudySource, trial_id: int, record: TrialRecord, planned: Sequence[tuple[str, Any]]
) -> tuple[SettingReading, ...]:
    """Every setting that the plan names or an end states, the plan's first. Raises StoreError."""
    wanted = dict(planned)
    stated = dict.fromkeys(wanted, (None, None))
    requested: dict[str, Any] = {}
    for name, asked, sender, receiver in _read_stated(source, trial_id):
        if name in wanted or (sender, receiver) != (None, None) or not _is_default(name, asked):
            stated[name] = (sender, receiver)
            requested[name] = asked
    for name, ends in _list_recorded(record).items():
        if name in stated or ends != (None, None):
            stated[name] = ends
    return tuple(
        SettingReading(
            name=name,
            requested=wanted.get(name, requested.get(name)),
            is_planned=name in wanted,
            sender=sender,
            receiver=receiver,
        )
        for name, (sender, receiver) in stated.items()
    )


def _is_default(name: str, asked: Any) -> bool:
    """Whether a stated request is what a campaign without the factor has."""
    return asked is None or format_level(name, asked) == format_level(name, find_default(name))


def _list_recorded(record: TrialRecord) -> dict[str, tuple[Any, Any]]:
    """What the trial's own columns say of the grants."""
    return {
        "window_bytes": (record.window_granted_sender_bytes, record.window_granted_receiver_bytes),
        "congestion": (record.congestion_sender, record.congestion_receiver),
    }


def _read_stated(source: StudySource, trial_id: int) -> Iterator[tuple[str, Any, Any, Any]]:
    names = ("name", "requested", "sender", "receiver")
    columns = read_columns(source, trial_id, {"settings": names}).get("settings", {})
    if {*names} <= columns.keys():
        for name, *levels in zip(*(columns[item] for item in names), strict=True):
            yield str(name), *(_parse_level(level) for level in levels)


def _parse_level(text: Any) -> Any:
    """A stated level; whole numbers as such."""
    return int(text) if isinstance(text, str) and text.isascii() and text.isdecimal() else text


def summarise_tcp(source: StudySource, trial_id: int) -> tuple[TcpReading, ...]:
    """The sender's TCP_INFO over the steady window; empty where it was not read. Raises StoreError."""
    names = (*STATES, *GAINS, *SHARES)
    kept = ("index", "stream", "start_ns", "end_ns", "phase", *names)
    columns = read_columns(source, trial_id, {"sender_intervals": kept}).get("sender_intervals")
    table = build_stream_table(columns, names)
    if table is None or not table.steady.any():
        return ()
    result = [_summarise(name, values) for name, values in _list_tcp(table)]
    return tuple(item for item in result if item is not None)


def _list_tcp(table: StreamTable) -> Iterator[tuple[str, Floats]]:
    steady = np.flatnonzero(table.steady)
    segments = table.get(MSS)
    for column, (name, factor) in STATES.items():
        values = table.get(column) * (segments if np.isnan(factor) else factor)
        if np.isfinite(values).any():
            yield name, values[steady]
    first, last = max(int(steady[0]) - 1, 0), int(steady[-1])
    span_us = float(table.end_s[last] - table.end_s[first]) / US
    if last == first or span_us <= 0:
        return
    for column in GAINS:
        yield column, table.get(column)[last] - table.get(column)[first]
    for column, name in SHARES.items():
        yield name, (table.get(column)[last] - table.get(column)[first]) / span_us


def _summarise(name: str, values: Floats) -> TcpReading | None:
    """The range of what was read; a counter that went backwards was not."""
    known = values[np.isfinite(values) & (values >= 0)]
    if not known.size:
        return None
    return TcpReading(
        name=name, least=float(known.min()), median=float(np.median(known)), most=float(known.max())
    )


def summarise_cores(source: StudySource, trial_id: int, record: TrialRecord) -> tuple[CoreReading, ...]:
    """Every core of both ends in the steady window, of each end the busiest first. Raises StoreError."""
    kinds = {f"{end}_cpu": CPU_COLUMNS for end in ("sender", "receiver")}
    columns = read_columns(source, trial_id, kinds)
    window_ns = (record.warmup_ns, record.warmup_ns + (record.steady_ns or 0))
    return tuple(
        core
        for end in ("sender", "receiver")
        if f"{end}_cpu" in columns
        for core in _list_cores(end, columns[f"{end}_cpu"], window_ns)
    )


def _list_cores(end: str, columns: Mapping[str, Any], window_ns: tuple[int, int]) -> list[CoreReading]:
    if not {"time_ns", "core", "idle_ratio"} <= columns.keys():
        return []
    begin_ns, stop_ns = window_ns
    time_ns = columns["time_ns"]
    spans = columns.get("span_ns", np.zeros(len(time_ns)))
    inside = (time_ns - spans >= begin_ns) & (time_ns <= stop_ns) & np.isfinite(columns["idle_ratio"])
    if not inside.any():
        return []
    weights = np.where(spans[inside] > 0, spans[inside], 1.0)
    result = []
    for core in np.unique(columns["core"][inside]):
        own = columns["core"][inside] == core
        busy = 1 - columns["idle_ratio"][inside][own]
        shares = [_average(columns, name, inside, own, weights) for name in CPU_COLUMNS[-2:]]
        result.append(
            CoreReading(
                end=end,
                core=int(core),
                mean_ratio=float(np.average(busy, weights=weights[own])),
                most_ratio=float(busy.max()),
                softirq_ratio=shares[0],
                steal_ratio=shares[1],
            )
        )
    return sorted(result, key=lambda item: -item.mean_ratio)


def _average(columns: Mapping[str, Any], name: str, inside: Any, own: Any, weights: Floats) -> float | None:
    if name not in columns:
        return None
    values = columns[name][inside][own]
    known = np.isfinite(values)
    return float(np.average(values[known], weights=weights[own][known])) if known.any() else None


def read_route(source: StudySource, trial_id: int) -> tuple[RouteHop, ...]:
    """The hops of the route that was read before the trial; empty: none was read. Raises StoreError."""
    columns = read_columns(source, trial_id, {"route": ("hop", "address")}).get("route", {})
    if not {"hop", "address"} <= columns.keys():
        return ()
    hops: dict[int, list[str]] = {}
    for hop, address in zip(columns["hop"], columns["address"], strict=True):
        if np.isfinite(hop):
            known = hops.setdefault(int(hop), [])
            if isinstance(address, str):
                known.append(address)
    return tuple(RouteHop(hop=hop, addresses=tuple(known)) for hop, known in sorted(hops.items()))
