"""Results for a terminal: the cells of a path, and a single trial. Fits 80 columns."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pathlab.report.names import format_granted, format_loss, format_utc
from pathlab.store.flags import Flag, Status
from pathlab.store.records import TrialRecord
from pathlab.study.answer import Spread
from pathlab.study.cells import Cell, MeasuredCondition
from pathlab.study.costs import describe_cell
from pathlab.study.selection import DRTT_MEDIAN_COLUMNS
from pathlab.study.streams import (
    measure_datagram_loss,
    measure_drtt,
    measure_probe_loss,
    read_probe_trace,
    summarise_streams,
)
from pathlab.study.trials import LINUX_WINDOW_FACTOR, StudySource
from pathlab.units import NOT_MEASURED, format_bytes, format_rate, format_ratio, format_time, format_window

RUN_FLAGS = (Flag.LAB, Flag.LOOPBACK_FALLBACK)  # true of the whole run, so not repeated in each row

ENDS = ("sender", "receiver")
OF_TCP = ("Effective", "Retr.")  # which UDP does not have
OF_UDP = ("UDP loss", "Jitter")
HEADINGS = (
    *("Str.", "Window", "Granted", "Effective", "Throughput", "Mbit/s", "dRTT", "Loss", "Retr.", "n"),
    *OF_UDP,
)


def render_trial(record: TrialRecord, results: StudySource | None, trial_id: int, console: Console) -> None:
    """Print one trial; without ``results`` its streams and RTT percentiles are left out."""
    console.print()
    console.print(f"{record.path_source} → {record.path_destination}", style="bold", end="")
    console.print(f"  {format_utc(record.started_utc)}", style="dim")
    if record.status != Status.COMPLETE:
        stage = f" ({record.failed_stage})" if record.failed_stage else ""
        console.print(
            Text(f"{record.status}{stage}: {record.failure or 'no reason recorded'}", style="bold red")
        )
    if results is not None:
        _print_streams(record, results, trial_id, console)
    console.print(_trial_facts(record))
    console.print(_rtt_table(record, results, trial_id))
    if record.flags:
        console.print(Text(f"Flags: {', '.join(record.flags)}", style="yellow"))


def _format_extremes(spread: Spread) -> str:
    """Extremes of the rates of a cell in Mbit/s, empty for a single trial."""
    if spread.n < 2 or spread.least is None or spread.most is None:
        return ""
    return f"{spread.least / 1e6:.3g}–{spread.most / 1e6:.3g}"


def list_flags(cell: Cell) -> str:
    """Failed trials of a cell, and flags other than those of the whole run."""
    flags = [
        f"{name}{f' ×{count}' if count > 1 else ''}"
        for name, count in cell.complete.count_flags().items()
        if name not in RUN_FLAGS
    ]
    if cell.failed:
        flags.append(f"{cell.failed} failed")
    return ", ".join(flags)


def tabulate_cells(condition: MeasuredCondition, *, wide: bool) -> Table:
    """The cells of a condition, one a row; ``wide``: with the extremes of the rates and the flags."""
    table = Table(
        title=Text(condition.name),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    cells = sorted(condition.all_cells, key=lambda cell: cell.streams)
    flagged = wide and any(map(list_flags, cells))
    hidden = (*(() if wide else ("Mbit/s",)), *(OF_TCP if condition.key.is_udp else OF_UDP))
    headings = [name for name in HEADINGS if name not in hidden]
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    if flagged:
        table.add_column("Flags", overflow="fold")
    for cell in cells:
        found, complete = describe_cell(cell.sample), len(cell.complete)
        retransmits, kept = found.retransmitted_segments.median, len(cell.sample)
        texts = (
            str(cell.streams),
            format_window(cell.window_bytes),
            format_granted(*map(cell.complete.find_least_granted, ENDS)),
            format_bytes(found.window_effective_bytes.median),
            format_rate(found.throughput_bits_per_s.median),
            _format_extremes(found.throughput_bits_per_s),
            format_time(found.drtt_ns.median),
            format_ratio(found.loaded_loss.loss_ratio),
            NOT_MEASURED if retransmits is None else f"{retransmits:.0f}",
            str(complete) if kept == complete else f"{kept} of {complete}",
            format_ratio(found.udp_loss.loss_ratio),
            format_time(found.udp_jitter_ns.median),
        )
        row = [text for name, text in zip(HEADINGS, texts, strict=True) if name in headings]
        row += [list_flags(cell)] if flagged else []
        table.add_row(*row, style=None if complete else "dim")
    return table


def _print_streams(record: TrialRecord, results: StudySource, trial_id: int, console: Console) -> None:
    streams = summarise_streams(results, trial_id, record.steady_ns)
    if not streams:
        return
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("Stream", "Received", "Rate", "Share", "Retransmits", "Last RTT", "Max in flight"):
        table.add_column(heading, justify="right", no_wrap=True)
    for stream in streams:
        retransmits = stream.retransmitted_segments
        table.add_row(
            str(stream.stream),
            format_bytes(stream.received_bytes),
            format_rate(stream.rate_bits_per_s),
            format_ratio(stream.share_ratio),
            NOT_MEASURED if retransmits is None else str(retransmits),
            format_time(stream.last_rtt_ns),
            format_bytes(stream.in_flight_max_bytes),
        )
    total = record.retransmitted_segments
    table.add_section()
    table.add_row(
        "all",
        format_bytes(record.received_steady_bytes),
        format_rate(record.throughput_bits_per_s),
        "",
        NOT_MEASURED if total is None else str(total),
        "",
        format_bytes(record.window_in_flight_max_bytes),
        style="bold",
    )
    console.print(table)


def _trial_facts(record: TrialRecord) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    jain = NOT_MEASURED if record.fairness_jain is None else f"{record.fairness_jain:.3f}"
    steady = format_time(record.steady_ns)
    table.add_row(
        "Throughput", f"{format_rate(record.throughput_bits_per_s)} by the receiver's count, over {steady}"
    )
    datagrams = measure_datagram_loss(record)
    if datagrams is not None:
        loss = format_loss(datagrams)
        table.add_row("UDP", f"{loss}; jitter {format_time(record.udp_jitter_ns)} (RFC 3550)")
    if record.undelivered_bytes:
        missing = format_bytes(record.undelivered_bytes)
        table.add_row("Undelivered", f"{missing} when the drain time was up (the connections were reset)")
    table.add_row("Fairness", f"{jain} (Jain; 1 is equal shares)")
    granted = record.window_granted_sender_bytes, record.window_granted_receiver_bytes
    least = LINUX_WINDOW_FACTOR * (record.window_requested_bytes or 0)
    short = "; less than requested" if any(size is not None and size < least for size in granted) else ""
    table.add_row("Window requested", f"{format_window(record.window_requested_bytes)} per stream")
    table.add_row(
        "  granted",
        f"sender {format_bytes(record.window_granted_sender_bytes)}, "
        f"receiver {format_bytes(record.window_granted_receiver_bytes)} "
        f"(Linux reports double the usable size{short})",
    )
    table.add_row(
        "  effective",
        f"{format_bytes(record.window_effective_bytes)} (rate per stream × loaded RTT); "
        f"largest in flight {format_bytes(record.window_in_flight_max_bytes)}",
    )
    requested = record.congestion_requested or "kernel's default"
    used = [name or NOT_MEASURED for name in (record.congestion_sender, record.congestion_receiver)]
    table.add_row("Congestion", f"sender {used[0]}, receiver {used[1]} (requested: {requested})")
    for end in ("sender", "receiver"):
        table.add_row(f"CPU, {end}", _cpu_text(record, end))
    medians = measure_drtt(record, DRTT_MEDIAN_COLUMNS)
    table.add_row(
        "dRTT", f"{format_time(measure_drtt(record))} (difference of medians {format_time(medians)})"
    )
    return table


def _cpu_text(record: TrialRecord, end: str) -> str:
    user_s: float | None = getattr(record, f"{end}_cpu_user_s")
    system_s: float | None = getattr(record, f"{end}_cpu_system_s")
    busiest_ratio: float | None = getattr(record, f"{end}_busiest_core_ratio")
    engine = f"engine {NOT_MEASURED}"
    if user_s is not None and system_s is not None:
        engine = f"engine {user_s:.2f} s user, {system_s:.2f} s kernel"
    shared = "; lab: its emulators share the cores" if Flag.LAB in record.flags else ""
    return f"{engine}; busiest core {format_ratio(busiest_ratio)}{shared}"


def _rtt_table(record: TrialRecord, results: StudySource | None, trial_id: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("RTT", "min", "median", "mean", "p95", "Loss"):
        table.add_column(heading, justify="left" if heading in ("RTT", "Loss") else "right", no_wrap=True)
    rows = (
        ("loaded", record.loaded_rtt_min_ns, record.loaded_rtt_median_ns, record.loaded_rtt_mean_ns),
        ("unloaded", record.unloaded_rtt_min_ns, record.unloaded_rtt_median_ns, record.unloaded_rtt_mean_ns),
    )
    for name, *values in rows:
        measured = measure_probe_loss(record, name)
        loss = NOT_MEASURED if measured is None or not measured.sent else format_loss(measured)
        trace = None if results is None else read_probe_trace(results, trial_id, f"{name}_probes")
        upper = NOT_MEASURED if trace is None else format_time(trace.upper_ns)
        table.add_row(name, *(format_time(value) for value in values), upper, loss)
    if record.probe_method:
        table.caption = f"probes: {record.probe_method}, stamps: {record.probe_stamps or NOT_MEASURED}"
        table.caption_justify = "left"
    return table
