"""A sentence for each figure, made from the numbers that it shows."""

from __future__ import annotations

from pathlab.report.findings import short_name
from pathlab.report.summary import Cell, PathSummary, rise_ns
from pathlab.store.records import TrialRecord
from pathlab.units import format_rate, format_ratio, format_time


def describe_throughput(path: PathSummary) -> str:
    """From which to which throughput the cells reach."""
    rated = [
        (c.throughput_bits_per_s.median, c) for c in path.cells if c.throughput_bits_per_s.median is not None
    ]
    if not rated:
        return "No throughput was measured on this path."
    least, most = min(rated, key=lambda pair: pair[0]), max(rated, key=lambda pair: pair[0])
    return (
        f"Median throughput runs from {format_rate(least[0])} ({short_name(least[1])}) to "
        f"{format_rate(most[0])} ({short_name(most[1])})."
    )


def describe_rise(path: PathSummary) -> str:
    """From which to which rise the cells reach."""
    rises = [(cell.rise_mean_ns.median, cell) for cell in path.cells if cell.rise_mean_ns.median is not None]
    if not rises:
        return "The rise of the RTT was not measured: loaded or unloaded probes are missing."
    least, most = min(rises, key=lambda pair: pair[0]), max(rises, key=lambda pair: pair[0])
    return (
        f"The average RTT rises under load by {format_time(least[0])} "
        f"({short_name(least[1])}) to {format_time(most[0])} ({short_name(most[1])})."
    )


def describe_contributions(cell: Cell) -> str:
    """How evenly the streams of a cell shared."""
    jain, rate = cell.jain_ratio, cell.throughput_bits_per_s
    text = f"{short_name(cell)}: median {format_rate(rate.median)} over {rate.n} trial{'s' * (rate.n != 1)}"
    if jain.median is None or cell.streams == 1:
        return f"{text}."
    least = 1 / cell.streams
    return f"{text}; Jain's index {jain.median:.3f} (1: equal shares, {least:.3g}: all to one stream)."


def describe_timeline(record: TrialRecord) -> str:
    """RTT and loss of one trial."""
    loaded, unloaded = record.loaded_rtt_mean_ns, record.unloaded_rtt_mean_ns
    text = f"{format_rate(record.throughput_bits_per_s)} in the steady window"
    rise = rise_ns(loaded, unloaded)
    if rise is not None:
        text += (
            f"; average RTT {format_time(loaded)} loaded, {format_time(unloaded)} unloaded "
            f"(rise {format_time(rise)})"
        )
    if record.loaded_sent and record.loaded_received is not None:
        lost = record.loaded_sent - record.loaded_received
        text += (
            f"; {lost} of {record.loaded_sent} loaded probes lost ({format_ratio(lost / record.loaded_sent)})"
        )
    return f"{text}."
