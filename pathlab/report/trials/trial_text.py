"""A single trial for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rich.console import Console

from pathlab.printed_table import PrintedParagraph, PrintedTable
from pathlab.report.base.names import format_loss, format_utc
from pathlab.report.base.phrases import format_bounded_time
from pathlab.report.base.rate_text import format_steadiness
from pathlab.report.datagrams.datagram_text import is_of_datagrams, list_datagram_facts
from pathlab.store.flags import Flag, Status
from pathlab.store.records import TrialRecord
from pathlab.study.base.selection import DRTT_COLUMNS, DRTT_MEDIAN_COLUMNS
from pathlab.study.base.trials import LINUX_WINDOW_FACTOR, StudySource, join_ends
from pathlab.study.datagrams.datagram_trial import estimate_trial_loss, find_loss_runs, read_histograms
from pathlab.study.flows.steadiness import classify_steadiness
from pathlab.study.flows.streams import (
    find_drtt_bound,
    measure_datagram_loss,
    measure_drtt,
    measure_probe_loss,
    measure_upper_rtt,
    summarise_streams,
)
from pathlab.table_columns import TableColumn
from pathlab.units import (
    NOT_MEASURED,
    format_bytes,
    format_frequency,
    format_rate,
    format_ratio,
    format_time,
    format_window,
)

STREAM_COLUMNS = (
    TableColumn("Stream"),
    TableColumn("Received", priority=2),
    TableColumn("Rate"),
    TableColumn("Share", priority=1),
    TableColumn("Retransmissions", priority=3),
    TableColumn("Last RTT", priority=4),
    TableColumn("Max in flight", priority=5),
)
#: Of the sender's intervals, where the receiver's were not recorded.
SENT_COLUMNS = tuple(
    replace(item, heading="Sent") if item.heading == "Received" else item for item in STREAM_COLUMNS
)
RTT_COLUMNS = (
    TableColumn("RTT", left=True),
    TableColumn("min", priority=2),
    TableColumn("median"),
    TableColumn("mean", priority=3),
    TableColumn("p95", priority=1),
    TableColumn("Loss", priority=1, wraps=True),
)


def render_trial(
    record: TrialRecord,
    results: StudySource | None,
    trial_id: int,
    console: Console,
    direction: str | None = None,
) -> None:
    """Print one trial; without ``results`` its streams and RTT percentiles are left out.

    ``direction`` of the data: as in the plan; None: along the path.
    """
    console.print()
    path = join_ends(record.path_source, record.path_destination, direction)
    console.print(path, style="bold", end="")
    console.print(f"  {format_utc(record.started_utc)}", style="dim")
    if record.status != Status.COMPLETE:
        stage = f" ({record.failed_stage})" if record.failed_stage else ""
        text = f"{record.status}{stage}: {record.failure or 'no reason recorded'}"
        console.print(PrintedParagraph(text, "bold red"))
    if results is not None and (text := describe_rate(record, results, trial_id)):
        console.print(PrintedParagraph(text, "bold"))
    streams = None if results is None else build_streams_table(record, results, trial_id)
    if streams is not None:
        streams.print_to(console)
    console.print()
    for label, text in list_trial_facts(record, results, trial_id):
        console.print(PrintedParagraph(text, mark=f"{label:<18}"))
    console.print()
    if record.probe_method is None and record.loaded_sent is None and record.unloaded_sent is None:
        console.print(PrintedParagraph("RTT: not measured, as no probes were sent."))
    else:
        build_round_trips_table(record, results, trial_id).print_to(console)
    if record.probe_method:
        console.print(PrintedParagraph(describe_probes(record), "dim"))
    if record.flags:
        console.print(PrintedParagraph(f"Flags: {', '.join(record.flags)}", "yellow"))


def describe_rate(record: TrialRecord, results: StudySource, trial_id: int) -> str:
    """The rate of a trial whose mean alone would mislead, as a sentence; empty for others."""
    text = (
        ""
        if record.messages_per_s is not None
        else format_steadiness(classify_steadiness(results, trial_id, record))
    )
    return f"{text}." if text else ""


def list_trial_facts(
    record: TrialRecord, results: StudySource | None, trial_id: int
) -> Iterator[tuple[str, str]]:
    """The facts of a trial, each with its label; without ``results`` those of its series are left out."""
    if is_of_datagrams(record):
        return _list_datagram_facts(record, results, trial_id)
    return _list_facts(record)


def build_streams_table(record: TrialRecord, results: StudySource, trial_id: int) -> PrintedTable | None:
    """Each stream of a trial and all together; None without the receiver's records."""
    streams = summarise_streams(results, trial_id, record.steady_ns)
    if not streams:
        return None
    rows = []
    for stream in streams:
        retransmits = stream.retransmitted_segments
        rows.append(
            (
                str(stream.stream),
                format_bytes(stream.carried_bytes),
                format_rate(stream.rate_bits_per_s),
                format_ratio(stream.share_ratio),
                NOT_MEASURED if retransmits is None else str(retransmits),
                format_time(stream.last_rtt_ns),
                format_bytes(stream.in_flight_max_bytes),
            )
        )
    total = record.retransmitted_segments
    rows.append(
        (
            "all",
            format_bytes(record.received_steady_bytes),
            format_rate(record.throughput_bits_per_s),
            "",
            NOT_MEASURED if total is None else str(total),
            "",
            format_bytes(record.window_in_flight_max_bytes),
        )
    )
    styles = [*[""] * len(streams), "bold"]
    columns = SENT_COLUMNS if streams[0].by_sender else STREAM_COLUMNS
    return PrintedTable(columns=columns, rows=rows, styles=styles, elsewhere="--json")


def _list_facts(record: TrialRecord) -> Iterator[tuple[str, str]]:
    """The facts of a trial, each with its label; fairness where there is more than one stream."""
    steady = format_time(record.steady_ns)
    counted_by = "sender" if Flag.SENDER_COUNTED in record.flags else "receiver"
    yield (
        "Throughput",
        f"{format_rate(record.throughput_bits_per_s)} by the {counted_by}'s count, over {steady}",
    )
    yield from _list_message_facts(record)
    datagrams = measure_datagram_loss(record)
    if datagrams is not None:
        loss = format_loss(datagrams)
        yield ("UDP", f"{loss}; jitter {format_time(record.udp_jitter_ns)} (RFC 3550)")
    if record.undelivered_bytes:
        missing = format_bytes(record.undelivered_bytes)
        yield ("Undelivered", f"{missing} when the drain time was up (the connections were reset)")
    if record.streams > 1:
        jain = NOT_MEASURED if record.fairness_jain is None else f"{record.fairness_jain:.3f}"
        yield ("Fairness", f"{jain} (Jain; 1 is equal shares)")
    granted = record.window_granted_sender_bytes, record.window_granted_receiver_bytes
    least = LINUX_WINDOW_FACTOR * (record.window_requested_bytes or 0)
    short = "; less than requested" if any(size is not None and size < least for size in granted) else ""
    yield ("Window requested", f"{format_window(record.window_requested_bytes)} per stream")
    yield (
        "  granted",
        f"sender {format_bytes(record.window_granted_sender_bytes)}, "
        f"receiver {format_bytes(record.window_granted_receiver_bytes)} "
        f"(Linux reports double the usable size{short})",
    )
    yield (
        "  effective",
        f"{format_bytes(record.window_effective_bytes)} (rate per stream × loaded RTT); "
        f"largest in flight {format_bytes(record.window_in_flight_max_bytes)}",
    )
    requested = record.congestion_requested or "kernel's default"
    used = [name or NOT_MEASURED for name in (record.congestion_sender, record.congestion_receiver)]
    yield ("Congestion", f"sender {used[0]}, receiver {used[1]} (requested: {requested})")
    for end in ("sender", "receiver"):
        yield (f"CPU, {end}", _cpu_text(record, end))
    yield ("dRTT", describe_drtt(record))


def _list_datagram_facts(
    record: TrialRecord, results: StudySource | None, trial_id: int
) -> Iterator[tuple[str, str]]:
    """The facts of a UDP flow; without ``results`` those of its series are left out."""
    loss = None if results is None else estimate_trial_loss(results, trial_id, record)
    runs = None if results is None else find_loss_runs(read_histograms(results, trial_id))
    yield from list_datagram_facts(record, loss, runs)
    for end in ("sender", "receiver"):
        yield (f"CPU, {end}", _cpu_text(record, end))
    yield (
        "Socket buffers",
        f"sender {format_bytes(record.window_granted_sender_bytes)}, "
        f"receiver {format_bytes(record.window_granted_receiver_bytes)} per stream "
        f"(requested {format_window(record.window_requested_bytes)})",
    )
    yield ("dRTT", describe_drtt(record))


def describe_drtt(record: TrialRecord) -> str:
    """DRTT of one trial, and that of the medians; of late probes what they are above."""
    mean, medians = (
        format_bounded_time(measure_drtt(record, columns), find_drtt_bound(record, columns))
        for columns in (DRTT_COLUMNS, DRTT_MEDIAN_COLUMNS)
    )
    return f"{mean} (difference of medians: {medians})"


def _list_message_facts(record: TrialRecord) -> Iterator[tuple[str, str]]:
    """Rate, loss, order and round trips of a trial of messages; nothing of a stream of bytes."""
    if record.messages_per_s is None:
        return
    offered = record.offered_messages_per_s
    asked = "" if offered is None else f" (offered {format_frequency(offered)})"
    missing, late = (
        NOT_MEASURED if count is None else str(count)
        for count in (record.messages_missing, record.messages_out_of_order)
    )
    yield (
        "Messages",
        f"{format_frequency(record.messages_per_s)}{asked}; {missing} missing, {late} reordered",
    )
    if record.round_trips:
        figures = {
            "median": record.round_trip_median_ns,
            "p99": record.round_trip_p99_ns,
            "p99.9": record.round_trip_p99_9_ns,
            "max": record.round_trip_max_ns,
        }
        texts = [f"{name} {format_time(value)}" for name, value in figures.items()]
        yield ("Round trips", f"{', '.join(texts)} ({record.round_trips} messages)")


def _cpu_text(record: TrialRecord, end: str) -> str:
    user_s: float | None = getattr(record, f"{end}_cpu_user_s")
    system_s: float | None = getattr(record, f"{end}_cpu_system_s")
    busiest_ratio: float | None = getattr(record, f"{end}_busiest_core_ratio")
    engine = f"engine {NOT_MEASURED}"
    if user_s is not None and system_s is not None:
        engine = f"engine {user_s:.2f} s user, {system_s:.2f} s kernel"
    shared = "; lab: its emulators share the cores" if Flag.LAB in record.flags else ""
    return f"{engine}; busiest core {format_ratio(busiest_ratio)}{shared}"


def build_round_trips_table(record: TrialRecord, results: StudySource | None, trial_id: int) -> PrintedTable:
    """The probes of a trial under load and without; without ``results`` their percentiles are left out."""
    rows = []
    for name in ("loaded", "unloaded"):
        values = (
            format_bounded_time(
                getattr(record, f"{name}_rtt_{kind}_ns"), getattr(record, f"{name}_rtt_{kind}_above_ns", None)
            )
            for kind in ("min", "median", "mean")
        )
        measured = measure_probe_loss(record, name)
        loss = NOT_MEASURED if measured is None or not measured.sent else format_loss(measured)
        upper_ns = None if results is None else measure_upper_rtt(results, trial_id, f"{name}_probes")
        upper = format_time(upper_ns)
        rows.append((name, *values, upper, loss))
    return PrintedTable(columns=RTT_COLUMNS, rows=rows, elsewhere="--json")


def describe_probes(record: TrialRecord) -> str:
    """What sent the probes of a trial, and where their RTT was taken."""
    return f"probes: {record.probe_method}, stamps: {record.probe_stamps or NOT_MEASURED}"
