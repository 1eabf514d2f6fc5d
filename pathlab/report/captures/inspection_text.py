"""What an inspection says of a connection: its numbers with labels, and sentences."""

from __future__ import annotations

from collections.abc import Iterator

from pathlab.analysis.packets.connection import DirectionTrace
from pathlab.analysis.packets.handshake import CapturePosition
from pathlab.analysis.packets.retransmissions import Cause
from pathlab.captures.tcp_options import SynOptions
from pathlab.report.base.phrases import format_count
from pathlab.study.captures.captured_tcp import CapturedConnection, CapturedDirection
from pathlab.study.captures.inspection import CounterCheck, InspectedCapture
from pathlab.table_columns import ItemColumn
from pathlab.units import NOT_MEASURED, format_bytes, format_rate, format_ratio, format_time, format_volume

#: Causes in the words of their sources.
CAUSES = {
    Cause.FAST: "fast or SACK recovery",
    Cause.TIMEOUT: "timeout",
    Cause.TAIL_PROBE: "tail-loss probe",
    Cause.UNEXPLAINED: "unexplained",
    Cause.UNKNOWN: "cause not known",
}
POSITIONS = {
    CapturePosition.NEAR_SENDER: "near the sender",
    CapturePosition.NEAR_RECEIVER: "near the receiver",
    CapturePosition.BETWEEN: "between the ends",
    CapturePosition.UNKNOWN: NOT_MEASURED,
}


def _format_value(value: float | None, unit: str) -> str:
    if value is None:
        return NOT_MEASURED
    return format_time(value) if unit == "ns" else f"{value:,.0f}"


#: The engine's counters and those of the sender's capture.
CHECK_COLUMNS: tuple[ItemColumn[CounterCheck], ...] = (
    ItemColumn("Number", left=True, read=lambda check: check.name),
    ItemColumn("Engine", read=lambda check: _format_value(check.counted, check.unit)),
    ItemColumn("Sender's capture", read=lambda check: _format_value(check.captured, check.unit)),
    ItemColumn("Difference", read=lambda check: _format_value(check.difference, check.unit)),
)


def describe_capture(capture: InspectedCapture) -> str:
    """The file in a sentence."""
    facts = capture.facts
    parts = [f"{facts.packets:,} packets"]
    if facts.start_ns is not None and facts.end_ns is not None:
        parts[0] += f" in {format_time(facts.end_ns - facts.start_ns)}"
    flows = [
        format_count(count, f"{name} flow")
        for name, count in (("TCP", facts.tcp_flows), ("UDP", facts.udp_flows))
        if count
    ]
    if flows:
        parts.append(" and ".join(flows))
    parts.append(f"{facts.form}, {', '.join(facts.link_names) or 'no interface'}")
    if facts.dropped_packets == 0:
        parts.append("no packet lost by the capture")
    return f"{'; '.join(parts)}."


def list_left_out(capture: InspectedCapture) -> Iterator[str]:
    """What of a capture was not analysed, in sentences."""
    if capture.left_out:
        yield f"{capture.left_out:,} smaller TCP flows are not analysed; --flow N shows one."
    if capture.left_out_uses:
        yield (
            f"{format_count(capture.left_out_uses, 'later connection')} of the same addresses and ports "
            "are not analysed."
        )


def describe_retransmissions(trace: DirectionTrace) -> str:
    """The retransmissions by cause: ``12 (10 fast or SACK recovery, 2 timeout)``."""
    causes = [f"{count:,} {CAUSES[cause]}" for cause, count in trace.retransmitted.items() if count]
    return f"{trace.retransmitted_packets:,} ({', '.join(causes)})" if causes else "none"


def list_connection_facts(connection: CapturedConnection) -> Iterator[tuple[str, str]]:
    """Labels and values of a connection: its opening, and the direction of most bytes."""
    main, opening = connection.main, connection.opening
    trace = main.trace
    yield "Duration", format_time(connection.end_ns - connection.start_ns)
    yield "Captured", POSITIONS[main.position]
    yield "Handshake RTT", format_time(opening.whole_rtt_ns)
    for name, direction in (("sender", main), ("receiver", connection.other)):
        yield f"Options, {name}", describe_offer(direction.offer)
    yield "ECN", {None: NOT_MEASURED, True: "negotiated", False: "not negotiated"}[opening.ecn]
    yield "Payload", f"{format_volume(trace.payload_bytes)} in {trace.data_packets:,} packets"
    yield "Throughput", f"{format_rate(trace.new_bits_per_s)} without retransmissions"
    if trace.unacked_bytes:
        yield "Not acknowledged", describe_unacknowledged(connection.main)
    yield "Retransmissions", describe_retransmissions(trace)
    if trace.retransmitted_packets:
        yield "Retransmitted", _describe_amount(trace)
        yield "Spurious", _describe_spurious(trace)
    if trace.lost_before_capture:
        yield "Lost before the capture", f"{trace.lost_before_capture:,} of the retransmissions"
    yield "Reordered", _describe_reordering(trace)
    if trace.duplicates:
        yield "Duplicated packets", f"{trace.duplicates:,}"
    if trace.probes:
        yield "Probes", f"{trace.probes:,} (keep-alive, or of a closed window)"
    yield "Duplicate ACKs", f"{trace.duplicate_acks:,} of {trace.acks:,} ACKs" if trace.acks else NOT_MEASURED
    yield from _list_rtts(trace)
    yield from _list_windows(trace)
    if trace.ecn_marked:
        yield "ECN marks", f"{trace.ecn_marked:,} packets"


def describe_unacknowledged(direction: CapturedDirection) -> str:
    """What was never acknowledged, and where packets of the MSS died silently, what shows why."""
    trace = direction.trace
    text = f"{format_volume(trace.unacked_bytes)} of {format_volume(trace.new_bytes)}, in no throughput"
    if 2 * trace.unacked_bytes < trace.new_bytes or not trace.retransmitted.get(Cause.TIMEOUT):
        return text
    address = direction.destination.rpartition(":")[0].strip("[]")
    return f"{text}; `pathlab path {address}` shows whether the path drops large packets (MTU)"


def describe_offer(offer: SynOptions | None) -> str:
    """The options of a SYN."""
    if offer is None:
        return "SYN not captured"
    names = (
        ("SACK", offer.sack_permitted),
        ("timestamps", offer.timestamps),
        ("MPTCP", offer.mptcp),
        ("fast open", offer.fast_open),
    )
    parts = [f"MSS {format_bytes(offer.mss_bytes)}" if offer.mss_bytes is not None else "no MSS"]
    parts.append("no window scale" if offer.window_scale is None else f"window scale {offer.window_scale}")
    parts += [name for name, offered in names if offered]
    return ", ".join(parts) + ("" if offer.complete else ", cut")


def summarize_direction(direction: CapturedDirection) -> str:
    """The answer about a direction in a sentence."""
    trace = direction.trace
    parts = [f"{format_volume(trace.payload_bytes)} at {format_rate(trace.new_bits_per_s)}"]
    if trace.rtt.min_ns is not None or trace.ack_rtt.min_ns is not None:
        rtt = trace.rtt if trace.rtt.min_ns is not None else trace.ack_rtt
        parts.append(f"RTT {format_time(rtt.min_ns)} at least, median {format_time(rtt.median_ns)}")
    parts.append(f"retransmissions: {describe_retransmissions(trace)}")
    parts.append(f"reordered: {_describe_reordering(trace)}")
    return f"{'; '.join(parts)}."


def _describe_amount(trace: DirectionTrace) -> str:
    share = trace.retransmitted_bytes / trace.payload_bytes if trace.payload_bytes else None
    text = f"{format_volume(trace.retransmitted_bytes)} ({format_ratio(share)} of the payload)"
    if trace.retransmitted_segments is not None:
        text += f", {format_count(trace.retransmitted_segments, 'segment')} of the MSS"
    return text


def _describe_spurious(trace: DirectionTrace) -> str:
    if not trace.acks_captured:
        return NOT_MEASURED
    text = f"{trace.spurious:,} by D-SACK"
    if trace.unmatched_dsack_blocks:
        text += (
            f"; {format_count(trace.unmatched_dsack_blocks, 'D-SACK block')} of no captured retransmission"
        )
    return text


def _describe_reordering(trace: DirectionTrace) -> str:
    if not trace.reordered:
        return "none"
    late = format_time(trace.late_time_max_ns)
    extent = format_count(trace.reorder_extent_max, "packet")
    return f"{trace.reordered:,}, extent up to {extent}, late by up to {late}"


def _list_rtts(trace: DirectionTrace) -> Iterator[tuple[str, str]]:
    for name, rtt in (("RTT by timestamps", trace.rtt), ("RTT by ACKs", trace.ack_rtt)):
        if rtt.samples:
            numbers = ", ".join(
                f"{label} {format_time(value)}"
                for label, value in (("min", rtt.min_ns), ("median", rtt.median_ns), ("p99", rtt.p99_ns))
            )
            yield name, f"{numbers} (n={rtt.samples:,})"
        else:
            yield name, NOT_MEASURED


def _list_windows(trace: DirectionTrace) -> Iterator[tuple[str, str]]:
    flight = trace.flight
    if flight.in_flight_max_bytes is None:
        yield "In flight", NOT_MEASURED
        return
    median, most = format_volume(flight.in_flight_median_bytes), format_volume(flight.in_flight_max_bytes)
    yield "In flight", f"median {median}, maximum {most}"
    if flight.window_max_bytes is None:
        yield "Receiver's window", NOT_MEASURED
    else:
        low, high = format_volume(flight.window_min_bytes), format_volume(flight.window_max_bytes)
        full = format_ratio(flight.full_ratio)
        yield "Receiver's window", f"{low} to {high}; 90 % or more of it in flight for {full} of the packets"
    zero = trace.zero_windows
    if zero.count:
        yield "Zero windows", f"{zero.count:,}, {format_time(zero.duration_ns)} in all"
