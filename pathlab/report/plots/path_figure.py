"""A path as a figure: capacity of each hop, and the way latency adds up along them."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from pathlab.discover.path import PathReport
from pathlab.discover.text import NO_ANSWER
from pathlab.errors import UsageError
from pathlab.report.plots.style import COLOURS, INK, STYLE
from pathlab.units import format_rate

FORMATS = ("svg", "png", "pdf")
RESOLUTION_DPI = 150


def draw_path(report: PathReport) -> Figure:
    """Over the hops: capacity (Mbit/s, logarithmic, 95 %), below it RTT and one-way latency to here (ms)."""
    hops = report.route.hops
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(max(6.4, 1.1 * len(hops) + 2.2), 6.0), layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True)
        _draw_capacity(above, report)
        _draw_latency(below, report)
        shown = report.target if report.target == report.address else f"{report.target} ({report.address})"
        above.set_title(
            f"Capacity and latency along the path\n{report.source} → {shown} · {report.started_utc}"
        )
        labels = [f"{hop.hop}\n{'/'.join(hop.addresses[:2]) or NO_ANSWER}" for hop in hops]
        below.set_xticks(range(1, len(hops) + 1), labels, rotation=30 if len(hops) > 6 else 0, fontsize=8)
        below.set_xlim(0.4, len(hops) + 0.6)
        below.set_xlabel("Hop and the address that answers")
    return figure


def check_figure_file(file: Path) -> None:
    """UsageError for another ending or a folder that is not there; to be asked before a minute of probing."""
    if file.suffix.lower().removeprefix(".") not in FORMATS:
        endings = ", ".join(f".{one}" for one in FORMATS)
        raise UsageError(f"--figure: '{file}' does not end in {endings}", hint="name a file such as path.svg")
    if not file.absolute().parent.is_dir():
        raise UsageError(f"--figure: there is no folder '{file.parent}'", hint="name a folder that exists")


def save_path_figure(report: PathReport, file: Path) -> None:
    """Write the figure; its ending says how. UsageError for a file that ``check_figure_file`` refuses."""
    check_figure_file(file)
    try:
        draw_path(report).savefig(file, dpi=RESOLUTION_DPI)
    except OSError as error:
        raise UsageError(
            f"--figure: cannot write '{file}': {error.strerror or error}",
            hint="name a file that may be written",
        ) from error


def _draw_capacity(axes: Axes, report: PathReport) -> None:
    axes.set_ylabel("Capacity (Mbit/s)")
    hops = report.capacity.hops if report.capacity is not None else ()
    drawn = False
    for hop in hops:
        estimate, interval = hop.estimate, hop.estimate.capacity_interval
        if (
            estimate.capacity_bits_per_s is not None
            and interval.low is not None
            and interval.high is not None
        ):
            value = estimate.capacity_bits_per_s / 1e6
            errors = [[value - interval.low / 1e6], [interval.high / 1e6 - value]]
            axes.errorbar(
                hop.hop, value, yerr=errors, fmt="s", color=COLOURS[0], markersize=7, capsize=5, linewidth=1.6
            )
            axes.annotate(
                format_rate(estimate.capacity_bits_per_s),
                (hop.hop, interval.high / 1e6),
                xytext=(0, 4),
                textcoords="offset points",
                ha="center",
            )
            drawn = True
        elif estimate.at_least_bits_per_s is not None:
            # A bound and no estimate: an arrow upwards from it.
            low = estimate.at_least_bits_per_s / 1e6
            axes.plot(hop.hop, low, "^", color=INK, markerfacecolor="none", markersize=9)
            axes.annotate(
                f"undecided\n≥ {format_rate(estimate.at_least_bits_per_s)}",
                (hop.hop, low),
                xytext=(0, 8),
                textcoords="offset points",
                ha="center",
                fontsize=8,
            )
            drawn = True
    if drawn:
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        axes.set_ylim(low / 1.5, high * 2)
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(lambda value, _place: f"{value:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.annotate("not measured", (0.5, 0.5), xycoords="axes fraction", ha="center")


def _draw_latency(axes: Axes, report: PathReport) -> None:
    axes.set_ylabel("Time (ms)")
    answered = [hop for hop in report.route.hops if hop.rtt_median_ns is not None]
    numbers = [hop.hop for hop in answered]
    lowest = np.array([hop.rtt_min_ns or 0 for hop in answered]) / 1e6
    median = np.array([hop.rtt_median_ns or 0 for hop in answered]) / 1e6
    axes.plot(numbers, median, "s--", color=COLOURS[1], label="RTT, median")
    axes.plot(numbers, lowest, "o-", color=COLOURS[0], label="RTT, minimum")
    if report.capacity is not None:
        sums_ns = report.capacity.latencies_to_hops_ns
        latency = np.array(list(sums_ns.values())) / 1e6
        axes.plot(list(sums_ns), latency, "^:", color=COLOURS[2], label="one-way latency to here")
    axes.set_ylim(0, 1.1 * max(axes.dataLim.y1, 1e-6) if answered else 1)
    if answered:
        axes.legend(loc="upper left")
