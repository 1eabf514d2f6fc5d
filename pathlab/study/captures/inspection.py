"""Captures of a trial, or any capture file: flows, the connections with most bytes, and what is amiss.

A trial's captures are compared with the engine's own counters.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pathlab.captures.capture import Capture, read_capture
from pathlab.captures.flow_table import CapturedFlow
from pathlab.captures.links import LINK_NAMES
from pathlab.errors import StoreError, UsageError
from pathlab.store.location import locate_database
from pathlab.store.records import TrialRecord
from pathlab.study.captures.capture_notices import (
    INCOMPLETE_KINDS,
    CaptureNotice,
    list_capture_notices,
    list_end_notices,
)
from pathlab.study.captures.captured_tcp import CapturedConnection, CapturedDirection, study_connections

if TYPE_CHECKING:  # large to import, and a capture alone does without
    from pathlab.study.base.trials import StudySource

#: TCP flows that are analysed, those with most bytes.
ANALYSED_FLOWS = 32
#: Connections of one flow that are analysed, where its ports are used again and again.
ANALYSED_USES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureFacts:
    """A file in numbers. ``dropped_packets``: by the capture's counters, None: it has none."""

    path: Path
    form: str
    link_names: tuple[str, ...]
    packets: int
    tcp_packets: int
    tcp_flows: int
    udp_flows: int
    start_ns: int | None
    end_ns: int | None
    dropped_packets: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectedCapture:
    """One file: ``end`` "sender" or "receiver" of a trial, "" for a file alone.

    ``flows``: all. ``connections``: those analysed, most bytes first. ``chosen``: the one that is shown in
    full, None: there is no TCP connection. ``left_out``: TCP flows that were not analysed. ``left_out_uses``:
    connections that were not, as the same ports had been used by ``ANALYSED_USES`` before them.
    """

    end: str
    facts: CaptureFacts
    flows: tuple[CapturedFlow, ...]
    connections: tuple[CapturedConnection, ...]
    chosen: CapturedConnection | None
    left_out: int
    left_out_uses: int
    notices: tuple[CaptureNotice, ...]

    @property
    def is_complete(self) -> bool:
        """Whether all packets of the file were analysed, and it lacks none as far as it says."""
        kinds = {notice.kind for notice in self.notices}
        return not (self.left_out or self.left_out_uses or kinds & INCOMPLETE_KINDS)

    @property
    def udp_flows(self) -> tuple[CapturedFlow, ...]:
        """The flows of UDP, most payload first."""
        flows = (flow for flow in self.flows if flow.protocol == "UDP")
        return tuple(sorted(flows, key=lambda flow: -sum(flow.payload_bytes)))


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterCheck:
    """A number of the engine alongside that of the sender's capture; None: not known."""

    name: str
    unit: str
    counted: float | None
    captured: float | None

    @property
    def difference(self) -> float | None:
        """Captured less counted."""
        if self.counted is None or self.captured is None:
            return None
        return self.captured - self.counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """The captures of a trial (``trial_id``), or a file (None)."""

    title: str
    trial_id: int | None
    captures: tuple[InspectedCapture, ...]
    checks: tuple[CounterCheck, ...] = ()


def inspect_file(
    path: Path, *, flow: int | None = None, window_s: tuple[float, float] | None = None
) -> Inspection:
    """Inspect one capture file; ``flow``: the number of the flow to show, None: that with most bytes.

    Raises StoreError for a file that cannot be read, and UsageError for a flow that is not there.
    """
    result = _inspect(read_capture(path), "", flow, window_s)
    return Inspection(title=path.name, trial_id=None, captures=(result,))


def inspect_trial(
    results: Path, trial_id: int, *, flow: int | None = None, window_s: tuple[float, float] | None = None
) -> Inspection:
    """Inspect the captures of a trial, the sender's first, and compare them with the engine's counters.

    ``flow``: a flow of the sender's capture; the receiver's is found by its addresses. Raises StoreError
    where the trial has no capture, and UsageError where there is no such trial or flow.
    """
    # large to import, and a capture alone does without
    from pathlab.store.capture_files import ENDS, locate_capture
    from pathlab.study.analyses import StudiedResults

    database = locate_database(results)
    with StudiedResults.open(database) as stored:
        record = stored.record(trial_id)
        least_rtt_ns = _read_least_rtt(stored, trial_id)
    places = [(end, locate_capture(database.parent, trial_id, end)) for end in ENDS]
    there = [(end, place) for end, place in places if place.is_file()]
    reasons = {end: getattr(record, f"capture_{end}_missing") for end in ENDS}
    for end, place in places:
        if getattr(record, f"capture_{end}_sha256") is not None and not place.is_file():
            reasons[end] = f"'{place.name}' was deleted"
    if not there:
        why = "; ".join(f"{end}: {reason}" for end, reason in reasons.items() if reason is not None)
        raise StoreError(
            f"trial {trial_id} of '{results}' has no capture" + (f" ({why})" if why else ""),
            hint="measure it again; `pathlab doctor` says where packet headers can be recorded"
            if why
            else 'record packet headers with the next run: [trial] capture = "headers"',
        )
    recorded = [end for end, _ in there]
    captures: list[InspectedCapture] = []
    for end, place in there:
        number = flow
        capture = read_capture(place)
        if captures and captures[0].chosen is not None:
            number = _find_same_flow(capture.flows, captures[0].chosen.flow)
        result = _inspect(capture, end, number, window_s)
        captures.append(replace(result, notices=(*list_end_notices(end, reasons, recorded), *result.notices)))
        del capture  # before the next one is read
    return Inspection(
        title=f"Trial {trial_id}",
        trial_id=trial_id,
        captures=tuple(captures),
        checks=tuple(_check_counters(record, least_rtt_ns, captures)),
    )


def _inspect(
    capture: Capture, end: str, number: int | None, window_s: tuple[float, float] | None
) -> InspectedCapture:
    streams = [flow for flow in capture.flows if flow.protocol == "TCP"]
    chosen_flow = None if number is None else _find_flow(capture, number)
    largest = sorted(streams, key=lambda flow: (-sum(flow.payload_bytes), flow.number))
    analysed = largest[:ANALYSED_FLOWS]
    if chosen_flow is not None and chosen_flow not in analysed:
        analysed.append(chosen_flow)
    shown = chosen_flow or (largest[0] if largest else None)
    connections: list[CapturedConnection] = []
    left_out_uses = 0
    for flow in analysed:
        result, more = study_connections(capture, flow, ANALYSED_USES, window_s if flow is shown else None)
        connections += result
        left_out_uses += more
    connections.sort(key=lambda item: -item.main.trace.payload_bytes)
    chosen = next((connection for connection in connections if connection.flow is shown), None)
    return InspectedCapture(
        end=end,
        facts=_describe_capture(capture),
        flows=capture.flows,
        connections=tuple(connections),
        chosen=chosen,
        left_out=len(streams) - len(analysed),
        left_out_uses=left_out_uses,
        notices=tuple(list_capture_notices(capture, chosen)),
    )


def _find_flow(capture: Capture, number: int) -> CapturedFlow:
    hint = "leave --flow out: the table numbers the flows"
    if not 1 <= number <= len(capture.flows):
        raise UsageError(f"there is no flow {number}: '{capture.path}' has {len(capture.flows)}", hint=hint)
    flow = capture.flows[number - 1]
    if flow.protocol != "TCP":
        raise UsageError(f"flow {number} of '{capture.path}' is {flow.protocol}, not TCP", hint=hint)
    return flow


def _find_same_flow(flows: Sequence[CapturedFlow], wanted: CapturedFlow) -> int | None:
    """The flow between the same endpoints, in either direction; None where it was not captured."""
    ends = {str(wanted.a), str(wanted.b)}
    same = (flow.number for flow in flows if flow.protocol == "TCP" and {str(flow.a), str(flow.b)} == ends)
    return next(same, None)


def _describe_capture(capture: Capture) -> CaptureFacts:
    flows = capture.flows
    types = [interface.link_type for interface in capture.notes.interfaces]
    return CaptureFacts(
        path=capture.path,
        form=capture.notes.form,
        link_names=tuple(dict.fromkeys(LINK_NAMES.get(number, f"link type {number}") for number in types)),
        packets=capture.notes.records,
        tcp_packets=len(capture.columns["numbers"]),
        tcp_flows=sum(flow.protocol == "TCP" for flow in flows),
        udp_flows=sum(flow.protocol == "UDP" for flow in flows),
        start_ns=min((flow.first_ns for flow in flows), default=None),
        end_ns=max((flow.last_ns for flow in flows), default=None),
        dropped_packets=capture.notes.dropped_packets,
    )


def _read_least_rtt(stored: StudySource, trial_id: int) -> float | None:
    """The kernel's shortest RTT of any stream, ns; None where the sender did not read it."""
    from pathlab.study.base.trial_series import read_columns

    columns = read_columns(stored, trial_id, {"sender_intervals": ("min_rtt_us",)})
    values = columns.get("sender_intervals", {}).get("min_rtt_us")
    if values is None:
        return None
    known = [float(value) for value in values if value is not None and value == value and value > 0]
    return min(known) * 1e3 if known else None


def _check_counters(
    record: TrialRecord, least_rtt_ns: float | None, captures: Sequence[InspectedCapture]
) -> Iterator[CounterCheck]:
    """The engine's numbers alongside those of the sender's capture; one that lacks packets has no counts."""
    sender = next((capture for capture in captures if capture.end == "sender"), None)
    if sender is None:
        return
    directions = [_find_sent(connection, record) for connection in sender.connections]
    traces = [direction.trace for direction in directions if direction is not None]
    segments = [trace.retransmitted_segments for trace in traces]
    known = bool(traces) and len(traces) == len(directions) and sender.is_complete
    rtts = [trace.rtt.min_ns for trace in traces if trace.rtt.min_ns is not None]
    counted = [segment for segment in segments if segment is not None]
    yield CounterCheck(
        name="Retransmitted segments",
        unit="",
        counted=record.retransmitted_segments,
        captured=sum(counted) if known and len(counted) == len(segments) else None,
    )
    yield CounterCheck(
        name="Retransmitted bytes",
        unit="byte",
        counted=record.retransmitted_bytes,
        captured=sum(trace.retransmitted_bytes for trace in traces) if known else None,
    )
    yield CounterCheck(name="RTT, minimum", unit="ns", counted=least_rtt_ns, captured=min(rtts, default=None))


def _find_sent(connection: CapturedConnection, record: TrialRecord) -> CapturedDirection | None:
    """The data that the sender's counters are of; None: not known, as on one host with itself.

    Of a trial in both directions these are the data along the path, which may be fewer than those against it.
    """
    if record.received_reverse_steady_bytes is None:
        return connection.main
    along = [
        direction
        for direction, end in zip(connection.directions, (connection.flow.b, connection.flow.a), strict=True)
        if _is_same_address(end.address, record.destination_address or None)
    ]
    return along[0] if len(along) == 1 else None


def _is_same_address(address: str, other: str | None) -> bool:
    return other is not None and ipaddress.ip_address(address) == ipaddress.ip_address(other)
