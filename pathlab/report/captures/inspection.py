"""Inspected captures as a report: each file with its connections, the figures of one, and the definitions."""

from __future__ import annotations

from collections.abc import Iterator

from pathlab._version import VERSION
from pathlab.report.base.blocks import (
    Block,
    Bullets,
    Facts,
    Fold,
    Notice,
    Paragraph,
    Report,
    Section,
    TableBlock,
)
from pathlab.report.base.tables import build_table
from pathlab.report.captures.inspection_figures import plot_connection
from pathlab.report.captures.inspection_text import (
    CHECK_COLUMNS,
    describe_capture,
    list_connection_facts,
    list_left_out,
    summarize_direction,
)
from pathlab.study.captures.captured_tcp import CapturedConnection
from pathlab.study.captures.inspection import InspectedCapture, Inspection
from pathlab.table_columns import ItemColumn, list_rows, list_table_columns
from pathlab.units import NOT_MEASURED, format_rate, format_time, format_volume

ENDS = ("From", "To")
#: UDP flows in the table, those with most payload.
UDP_FLOWS_SHOWN = 100
DEFINITIONS = (
    "Fast or SACK recovery: SACK blocks above the segment or three duplicate ACKs called for it, or it was "
    "sent again without a pause before that recovery's end (RFC 5681, 6582, 6675, 8985).",
    "Timeout: nothing was sent or acknowledged for a round trip or more, and the first unacked segment "
    "was sent again; with it all that is sent again until the loss is made up (RFC 6298).",
    "Tail-loss probe: the last segment was sent again, once, after a round trip or more (RFC 8985).",
    "Spurious: a D-SACK block says that the bytes had arrived before (RFC 2883, 3708).",
    "Reordered: sent before a packet that was captured earlier, by its IP identification, else by its "
    "timestamp, else because it came sooner than a retransmission could. Its extent is the number of packets "
    "since the first that overtook it (RFC 4737).",
    "RTT by timestamps: from a timestamp to its first echo that acknowledges data (RFC 7323). RTT by ACKs: "
    "from a byte to its first ACK, without what was sent twice (Karn's algorithm, RFC 6298).",
    "In flight: from the highest ACK to the highest byte sent, SACKed bytes included, where it was captured.",
)


def _number_connection(connection: CapturedConnection) -> str:
    number, ordinal = connection.flow.number, connection.ordinal
    return str(number) if ordinal == 1 else f"{number}, use {ordinal}"


def _count_spurious(connection: CapturedConnection) -> str:
    trace = connection.main.trace
    return f"{trace.spurious:,}" if trace.acks_captured else NOT_MEASURED


def _format_trip(connection: CapturedConnection, name: str) -> str:
    """``min_ns`` or ``median_ns`` of the round trips by timestamps, else by ACKs."""
    trace = connection.main.trace
    return format_time(getattr(trace.rtt if trace.rtt.samples else trace.ack_rtt, name))


#: The connections of a capture, on a terminal and on pages.
CONNECTION_COLUMNS: tuple[ItemColumn[CapturedConnection], ...] = (
    ItemColumn("Flow", read=_number_connection),
    ItemColumn("From", left=True, stays=True, read=lambda item: item.main.source),
    ItemColumn("To", priority=1, left=True, stays=True, read=lambda item: item.main.destination),
    ItemColumn("Duration", priority=6, read=lambda item: format_time(item.end_ns - item.start_ns)),
    ItemColumn(
        "Payload",
        priority=3,
        read=lambda item: format_volume(item.main.trace.payload_bytes),
        meaning="all packets, retransmissions as well",
    ),
    ItemColumn(
        "Throughput",
        priority=2,
        read=lambda item: format_rate(item.main.trace.new_bits_per_s),
        meaning="without retransmissions",
    ),
    ItemColumn("Retrans.", read=lambda item: f"{item.main.trace.retransmitted_packets:,}", meaning="packets"),
    ItemColumn("Spurious", priority=5, read=_count_spurious, meaning="by D-SACK"),
    ItemColumn(
        "Reordered",
        priority=2,
        read=lambda item: f"{item.main.trace.reordered:,}",
        meaning="packets, not retransmissions",
    ),
    ItemColumn(
        "RTT min",
        priority=3,
        read=lambda item: _format_trip(item, "min_ns"),
        meaning="from the capture",
    ),
    ItemColumn(
        "RTT median",
        priority=4,
        read=lambda item: _format_trip(item, "median_ns"),
        meaning="from the capture",
    ),
    ItemColumn(
        "In flight max",
        priority=7,
        read=lambda item: format_volume(item.main.trace.flight.in_flight_max_bytes),
    ),
    ItemColumn(
        "Window max",
        priority=8,
        read=lambda item: format_volume(item.main.trace.flight.window_max_bytes),
        meaning="the receiver's",
    ),
)


def build_inspection(inspection: Inspection) -> Report:
    """The report of an inspection; the first section answers, one follows for each capture."""
    notices = tuple(
        Notice(kind=notice.kind, short=notice.text, path=_name_capture(capture))
        for capture in inspection.captures
        for notice in capture.notices
    )
    return Report(
        title=f"Inspection of {inspection.title}",
        facts=(*(str(item.facts.path.name) for item in inspection.captures), f"PathLab {VERSION}"),
        footer=f"Written by PathLab {VERSION}",
        notices=notices,
        recommendations=(),
        opening=Section(
            key="inspection", title="What the packets show", blocks=tuple(_list_answer(inspection))
        ),
        sections=(
            *(_build_capture(item, index) for index, item in enumerate(inspection.captures, start=1)),
            Section(
                key="definitions",
                title="How is it counted?",
                blocks=(Fold(title="Definitions and sources", blocks=(Bullets(items=DEFINITIONS),)),),
            ),
        ),
    )


def _name_capture(capture: InspectedCapture) -> str:
    return f"{capture.end}'s end" if capture.end else capture.facts.path.name


def _list_answer(inspection: Inspection) -> Iterator[Block]:
    for capture in inspection.captures:
        start = f"{_name_capture(capture).capitalize()}: " if capture.end else ""
        if capture.chosen is not None:
            chosen = capture.chosen
            yield Paragraph(text=f"{start}{chosen.name}: {summarize_direction(chosen.main)}", lead=True)
        yield Paragraph(text=f"{start}{describe_capture(capture)}")
    if inspection.checks:
        yield build_table(
            "engine-counters",
            "Sender's capture against the engine's counters",
            CHECK_COLUMNS,
            list_rows(CHECK_COLUMNS, inspection.checks),
            note="Both count the whole trial, all streams. Segments of super-packets are counted by the MSS.",
        )


def _build_capture(capture: InspectedCapture, number: int) -> Section:
    return Section(
        key=f"capture-{number}",
        title=f"Connections at the {capture.end}'s end" if capture.end else "Connections",
        blocks=tuple(_list_capture_blocks(capture, number)),
    )


def _list_capture_blocks(capture: InspectedCapture, number: int) -> Iterator[Block]:
    if not capture.connections:
        yield Paragraph(text="No TCP connection was captured.")
    suffix = "" if number == 1 else f"-{number}"
    if capture.chosen is not None:
        place = _name_capture(capture) if capture.end else ""
        yield Facts(items=tuple(list_connection_facts(capture.chosen)))
        yield from plot_connection(capture.chosen, suffix, place)
    if capture.connections:
        yield build_connections_table(capture, suffix)
    if capture.udp_flows:
        yield build_table(
            f"udp-flows{suffix}",
            "UDP flows",
            list_table_columns(("Flow", "From", "To", "Packets", "Payload", "Duration"), words=ENDS),
            [
                (
                    str(flow.number),
                    str(flow.a),
                    str(flow.b),
                    " + ".join(f"{count:,}" for count in flow.packets if count),
                    format_volume(sum(flow.payload_bytes)),
                    format_time(flow.last_ns - flow.first_ns),
                )
                for flow in capture.udp_flows[:UDP_FLOWS_SHOWN]
            ],
        )


def build_connections_table(capture: InspectedCapture, suffix: str = "") -> TableBlock:
    """The analysed connections, most bytes first."""
    note = "RTT by timestamps, else by ACKs."
    for sentence in list_left_out(capture):
        note += f" {sentence}"
    return build_table(
        f"connections{suffix}",
        "TCP connections",
        CONNECTION_COLUMNS,
        list_rows(CONNECTION_COLUMNS, capture.connections),
        note=note,
    )
