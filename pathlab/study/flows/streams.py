"""What each stream of one trial did, from its series; every column is ``None`` where nothing was recorded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.loss import Loss, probe_loss
from pathlab.store.arrays import read_floats
from pathlab.store.interval_histograms import read_probe_histograms, sum_histograms
from pathlab.store.records import TrialRecord
from pathlab.store.steady import LOADED_PROBES, read_probes
from pathlab.study.base.selection import DRTT_COLUMNS, name_bound
from pathlab.study.base.trial_series import Columns, ProbeTrace, build_probes, read_columns, read_stream_bytes
from pathlab.study.base.trials import StudySource, keep_possible

_TCP = ("total_retrans_segments", "rtt_us", "unacked_segments", "snd_mss_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSummary:
    """One stream in the steady window; TCP figures are the sender's, over the whole trial.

    ``carried_bytes`` are those received; sent where ``by_sender``.
    """

    stream: int
    carried_bytes: int
    rate_bits_per_s: float | None
    share_ratio: float | None
    retransmitted_segments: int | None
    last_rtt_ns: float | None
    in_flight_max_bytes: int | None
    by_sender: bool = False


def summarise_streams(
    results: StudySource, trial_id: int, steady_ns: int | None
) -> tuple[StreamSummary, ...]:
    """Every stream of a trial in order of its number; empty where no end counted what it carried."""
    carried = read_stream_bytes(results, trial_id)
    if carried is None:
        return ()
    total = sum(carried.counts.values())
    sent = read_columns(results, trial_id, {"sender_intervals": ("stream", *_TCP)}).get("sender_intervals")
    result = []
    for stream, count in carried.counts.items():
        retransmitted, last_rtt_ns, in_flight = _tcp_figures(sent, stream)
        result.append(
            StreamSummary(
                stream=stream,
                carried_bytes=count,
                rate_bits_per_s=count * 8e9 / steady_ns if steady_ns else None,
                share_ratio=count / total if total else None,
                retransmitted_segments=retransmitted,
                last_rtt_ns=last_rtt_ns,
                in_flight_max_bytes=in_flight,
                by_sender=carried.by_sender,
            )
        )
    return tuple(result)


def measure_drtt(record: TrialRecord, columns: tuple[str, str] = DRTT_COLUMNS) -> float | None:
    """DRTT of one trial, ns; None unless both round trips were measured."""
    loaded: float | None = getattr(record, columns[0])
    unloaded: float | None = getattr(record, columns[1])
    return None if loaded is None or unloaded is None else loaded - unloaded


def find_drtt_bound(record: TrialRecord, columns: tuple[str, str] = DRTT_COLUMNS) -> float | None:
    """What dRTT of one trial is above where loaded probes are late, ns; else None."""
    return measure_drtt(record, (name_bound(columns[0]), columns[1]))


def measure_probe_loss(record: TrialRecord, probes: str) -> Loss | None:
    """Loss of the ``loaded`` or ``unloaded`` probes of one trial; None where they were not counted."""
    sent: int | None = getattr(record, f"{probes}_sent")
    received: int | None = getattr(record, f"{probes}_received")
    late: int | None = getattr(record, f"{probes}_late")
    return None if sent is None or received is None else probe_loss(sent, received + (late or 0))


def measure_datagram_loss(record: TrialRecord) -> Loss | None:
    """Loss of UDP's datagrams in one trial; None where they were not counted."""
    sent, lost = record.udp_sent_packets, record.udp_lost_packets
    return None if sent is None or lost is None else probe_loss(sent, sent - lost)


def read_probe_trace(results: StudySource, trial_id: int, kind: str) -> ProbeTrace | None:
    """The probes of ``loaded_probes`` or ``unloaded_probes``; ``None`` when there are none.

    Of the loaded ones those that left in the steady window, as in the trial's columns.
    """
    table = read_probes(results, trial_id, kind)
    if table is None:
        return None
    return build_probes({name: read_floats(table[name]) for name in table.column_names})


def read_rtt_course(results: StudySource, trial_id: int) -> tuple[Floats, Floats]:
    """Times and RTTs of the loaded probes of the steady window, ns; NaN for a lost one.

    Where histograms were kept instead of probes: the middle of each interval, and its mean.
    """
    trace = read_probe_trace(results, trial_id, LOADED_PROBES)
    if trace is not None:
        return trace.sent_ns, trace.rtt_ns
    rows = read_probe_histograms(results, trial_id, LOADED_PROBES)
    if rows is None:
        return np.empty(0), np.empty(0)
    begin_ns, end_ns, mean_ns = (read_floats(rows[name]) for name in ("start_ns", "end_ns", "mean_ns"))
    return (begin_ns + end_ns) / 2, mean_ns


def measure_upper_rtt(results: StudySource, trial_id: int, kind: str) -> float | None:
    """95th percentile of the answered probes of that kind, ns; None of too few."""
    trace = read_probe_trace(results, trial_id, kind)
    if trace is not None:
        return trace.upper_ns
    rows = read_probe_histograms(results, trial_id, kind)
    if rows is None or ("waited_ns" in rows.column_names and rows["waited_ns"].null_count < rows.num_rows):
        return None  # the slowest are not known
    return sum_histograms(rows).stated_quantile_ns(0.95)


def _tcp_figures(sent: Columns | None, stream: int) -> tuple[int | None, float | None, int | None]:
    """Retransmitted segments and smoothed RTT (ns) last seen, and the most bytes in flight."""
    if sent is None or "stream" not in sent:
        return None, None, None
    rows = sent["stream"] == stream
    none = np.full(np.count_nonzero(rows), np.nan)
    retransmits, rtts, unacked, segment = (
        keep_possible(sent[name][rows]) if name in sent else none for name in _TCP
    )
    retransmitted, rtt_us, in_flight = _measured(retransmits), _measured(rtts), _measured(unacked * segment)
    return (
        int(retransmitted[-1]) if retransmitted.size else None,
        float(rtt_us[-1]) * 1000 if rtt_us.size else None,
        int(in_flight.max()) if in_flight.size else None,
    )


def _measured(values: Floats) -> Floats:
    return values[~np.isnan(values)]
