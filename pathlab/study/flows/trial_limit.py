"""What limited a single trial, from its row and its series, without the libraries of analyses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts.flow_reading import FlowReading, StreamReading, estimate_windows_rate
from pathlab.analysis.verdicts.host_limits import HostLoad
from pathlab.analysis.verdicts.limits import Limit, LimitVerdict, classify_limits
from pathlab.store.arrays import read_floats
from pathlab.store.flags import Flag
from pathlab.store.records import TrialRecord
from pathlab.study.base.links import Traffic, find_narrowest_link
from pathlab.study.base.trials import StudySource
from pathlab.study.flows.readings import LIMIT_SERIES, TrialSeries, find_ceiling, read_flow

#: Probes that a program stamped, not the kernel.
USER_STAMPS = "user"
GROWN = ("snd_wnd_bytes", "snd_cwnd_segments", "snd_mss_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleLimit:
    """The verdict on the flow of a trial and the figures alongside it; None where one was not measured.

    ``windows_bits_per_s`` is what the requested windows carry over ``windows_rtt_ns``. Ratios are medians of
    streams: of time held by the receiver's window, by a full send buffer, without data to send, and of bytes
    sent again. ``loss_ratio`` is the share of all data that was lost, as far as it was retransmitted and
    DSACK does not explain it. ``smoothed_rtt_ns`` is that of TCP. ``offered_bytes`` and ``congestion_bytes``
    are the largest windows of a stream, the receiver's and the congestion window; ``offered_usual_bytes`` is
    the receiver's median one in the steady window.
    """

    verdict: LimitVerdict
    reading: FlowReading
    windows_bits_per_s: float | None
    windows_rtt_ns: float | None
    receiver_held_ratio: float | None
    buffer_full_ratio: float | None
    idle_ratio: float | None
    resent_ratio: float | None
    loss_ratio: float | None
    smoothed_rtt_ns: float | None
    offered_bytes: float | None
    congestion_bytes: float | None
    offered_usual_bytes: float | None

    def find(self, name: str) -> float | None:
        """A figure of the evidence by its name; None where it is not there or was not measured."""
        return next((item.value for item in self.verdict.evidence if item.name == name), None)

    def met(self, name: str) -> bool:
        """Whether a figure of the evidence meets its threshold."""
        return any(item.met for item in self.verdict.evidence if item.name == name)

    @property
    def held_ratio(self) -> float | None:
        """The share of time in which the window that is the limit held the flow."""
        ratios = {
            Limit.RECEIVER_WINDOW: self.receiver_held_ratio,
            Limit.SEND_BUFFER: self.buffer_full_ratio,
        }
        return ratios.get(self.verdict.limit) if self.verdict.limit is not None else None


def classify_record(source: StudySource, trial_id: int, record: TrialRecord, *, reverse: bool) -> SingleLimit:
    """The limit of one trial by ``limits.classify_limits``; ``reverse``: its data went against the path.

    Raises StoreError for a damaged series.
    """
    offered, congestion = _find_largest_windows(source, trial_id)
    reading = _read_flow(source, trial_id, record, reverse=reverse)
    limit = describe_limit(reading, offered_bytes=offered, congestion_bytes=congestion)
    if Flag.HOST_STALLED in record.flags:
        return replace(limit, verdict=replace(limit.verdict, limit=None, undecided=Undecided.STALLED))
    return limit


def describe_limit(
    reading: FlowReading, *, offered_bytes: float | None = None, congestion_bytes: float | None = None
) -> SingleLimit:
    """The limit of a flow that was read, with the figures alongside it."""
    streams = reading.streams
    rtt_ns = reading.rtt_unloaded_ns or reading.rtt_loaded_ns
    busy = [_divide(stream.busy_s, stream.steady_s) for stream in streams]
    return SingleLimit(
        verdict=classify_limits(reading).flow,
        reading=reading,
        windows_bits_per_s=estimate_windows_rate(len(streams), reading.window_requested_bytes, rtt_ns),
        windows_rtt_ns=rtt_ns,
        receiver_held_ratio=_find_median(
            _divide(stream.receiver_limited_s, stream.steady_s) for stream in streams
        ),
        buffer_full_ratio=_find_median(
            _divide(stream.buffer_limited_s, stream.steady_s) for stream in streams
        ),
        idle_ratio=_find_median(None if share is None else max(0.0, 1 - share) for share in busy),
        resent_ratio=_find_median(
            _divide(stream.retransmitted_bytes, stream.sent_bytes) for stream in streams
        ),
        loss_ratio=reading.loss_ratio,
        smoothed_rtt_ns=_find_median(stream.rtt_ns for stream in streams),
        offered_bytes=offered_bytes,
        congestion_bytes=congestion_bytes,
        offered_usual_bytes=_find_median(stream.offered_bytes for stream in streams),
    )


def _read_flow(source: StudySource, trial_id: int, record: TrialRecord, *, reverse: bool) -> FlowReading:
    sender, receiver = (record.path_source, record.path_destination)[:: -1 if reverse else 1]
    standing = None
    if record.loaded_rtt_min_ns is not None and record.unloaded_rtt_min_ns is not None:
        standing = max(record.loaded_rtt_min_ns - record.unloaded_rtt_min_ns, 0.0)
    cores = record.sender_busiest_core_ratio, record.receiver_busiest_core_ratio
    facts = [host.facts.get("calibration") for host in source.hosts() if host.name in (sender, receiver)]
    figures = FlowReading(
        streams=(StreamReading(),) * record.streams,
        throughput_bits_per_s=record.throughput_bits_per_s,
        window_requested_bytes=record.window_requested_bytes or None,
        rtt_loaded_ns=record.loaded_rtt_median_ns or record.loaded_rtt_median_above_ns,
        rtt_unloaded_ns=record.unloaded_rtt_median_ns,
        rtt_standing_ns=standing,
        hosts=tuple(HostLoad(busiest_core_ratio=ratio) for ratio in cores),
        ceiling_bits_per_s=find_ceiling(facts, record.streams),
        kernel_stamps=None if record.probe_stamps is None else record.probe_stamps != USER_STAMPS,
        congestion=record.congestion_sender,
    )
    traffic = Traffic.of(
        [record.destination_address], [record.mss_bytes], datagram_bytes=[record.datagram_bytes]
    )
    line = find_narrowest_link(source.campaign.environment, sender, receiver, traffic)
    return read_flow(TrialSeries(source, trial_id, LIMIT_SERIES), figures, line, reverse=reverse)


def _find_largest_windows(source: StudySource, trial_id: int) -> tuple[float | None, float | None]:
    """The largest window of a stream that the receiver offered, and that congestion control reached."""
    table = source.series_tables(trial_id, {"sender_intervals": GROWN}).get("sender_intervals")
    if table is None or not {*GROWN} <= {*table.column_names}:
        return None, None
    offered, segments, sizes = (read_floats(table.column(name)) for name in GROWN)
    result = [values[np.isfinite(values)] for values in (offered, segments * sizes)]
    largest = [float(values.max()) if values.size else None for values in result]
    return largest[0], largest[1]


def _divide(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _find_median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
