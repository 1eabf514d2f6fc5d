"""The figures of a report, as matplotlib ``Figure`` objects and as inline SVG.

Colours are those of Okabe and Ito (2008), told apart by marker and line style as well, so that a figure also
reads in grey. Nothing here touches pyplot; text and axes take the page's own ink, in light and in dark.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from pathlab.report.source import ResultsSource
from pathlab.report.streams import ProbeTrace, RateTrace, read_probes, read_rate, summarise_streams
from pathlab.report.summary import Cell, LinkTruth, PathSummary, rise_ns
from pathlab.store.records import TrialRecord
from pathlab.units import format_bytes

INK = "#1f2328"  # replaced by the page's own colour in SVG
GRID = "#8b949e"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", INK)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 3)))
HATCHES = ("", "///", "...", "\\\\\\", "xxx", "++", "oo")
STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "hatch.linewidth": 0.6,
    "svg.fonttype": "none",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What a figure's title says besides its subject: where and when it was measured."""

    place: str  # lab or hosts
    date: str

    def title(self, subject: str, path: object) -> str:
        """Two lines: the subject, and the condition."""
        return f"{subject}\n{path} · {self.place} · {self.date}"


def draw_throughput(summary: PathSummary, condition: Condition) -> Figure:
    """Aggregate throughput (Mbit/s) against streams, one line per window through the trials' medians."""
    with mpl.rc_context(STYLE):
        figure, axes = _one_panel()
        _draw_against_streams(
            axes,
            summary,
            lambda r: None if r.throughput_bits_per_s is None else r.throughput_bits_per_s / 1e6,
        )
        if summary.truth is not None:
            line = summary.truth.goodput_bits_per_s / 1e6
            axes.axhline(
                line, color=INK, linewidth=1, linestyle=(0, (2, 3)), label="link less headers (lab's truth)"
            )
        _start_at_zero(axes)
        axes.set_ylabel("Throughput (Mbit/s)")
        axes.set_title(condition.title("Aggregate throughput against streams", summary.path))
        _place_legend(axes)
    return figure


def draw_rise(summary: PathSummary, condition: Condition) -> Figure:
    """DRTT of the averages (ms) against streams, one line per window through the medians of the trials."""

    def rise_ms(record: TrialRecord) -> float | None:
        rise = rise_ns(record.loaded_rtt_mean_ns, record.unloaded_rtt_mean_ns)
        return None if rise is None else rise / 1e6

    with mpl.rc_context(STYLE):
        figure, axes = _one_panel()
        _draw_against_streams(axes, summary, rise_ms)
        axes.axhline(0, color=INK, linewidth=0.8)
        if (full := _queue_delay_ms(summary.truth)) is not None:
            axes.axhline(
                full, color=INK, linewidth=1, linestyle=(0, (2, 3)), label="full queue (lab's truth)"
            )
        axes.set_ylabel("dRTT of the averages (ms)")
        axes.set_title(condition.title("Rise of the round trip under load against streams", summary.path))
        _place_legend(axes)
    return figure


def draw_contributions(results: ResultsSource, cell: Cell, condition: Condition) -> Figure | None:
    """Each stream's share of the throughput (Mbit/s), stacked, one bar per trial; ``None`` without series."""
    bars: list[tuple[str, NDArray[np.float64]]] = []
    for trial in cell.trials:
        streams = summarise_streams(results, trial.trial_id, trial.record.steady_ns)
        carried = [stream.rate_bits_per_s for stream in streams if stream.rate_bits_per_s is not None]
        if carried:
            bars.append((f"{trial.record.cycle + 1}", np.array(carried) / 1e6))
    if not bars:
        return None
    with mpl.rc_context(STYLE):
        figure, axes = _one_panel()
        for position, (_, rates) in enumerate(bars):
            lower = np.concatenate(([0.0], np.cumsum(rates)[:-1]))
            for stream, (rate, below) in enumerate(zip(rates, lower, strict=True)):
                axes.bar(
                    position,
                    rate,
                    bottom=below,
                    width=0.7,
                    color=COLOURS[stream % 6],
                    alpha=0.85,
                    hatch=HATCHES[stream // 6 % len(HATCHES)],
                    edgecolor="white",
                    linewidth=0.6,
                    label=f"stream {stream}" if position == 0 and len(rates) <= 8 else None,
                )
        step = max(1, -(-len(bars) // 20))
        axes.set_xticks(range(0, len(bars), step), [name for name, _ in bars[::step]])
        axes.set_xlim(-0.8, max(len(bars), 4) - 0.2)
        axes.grid(visible=False, axis="x")
        axes.set_xlabel("Cycle")
        axes.set_ylabel("Throughput (Mbit/s)")
        window = "autotuned" if cell.window_asked_bytes is None else format_bytes(cell.window_asked_bytes)
        axes.set_title(
            condition.title(f"What each stream carried: {cell.streams} streams, window {window}", cell.path)
        )
        if len(bars[0][1]) <= 8:
            handles, labels = axes.get_legend_handles_labels()
            axes.legend(handles[::-1], labels[::-1], loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def draw_timeline(
    results: ResultsSource, trial_id: int, record: TrialRecord, condition: Condition
) -> Figure | None:
    """RTT (ms) of every probe and receiver's rate (Mbit/s) over a trial's time (s); ``None`` without both."""
    loaded = read_probes(results, trial_id, "loaded_probes")
    unloaded = read_probes(results, trial_id, "unloaded_probes")
    rate = read_rate(results, trial_id)
    if loaded is None and unloaded is None and rate is None:
        return None
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.6, 4.6), layout="constrained")
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        _draw_probes(upper, loaded, "loaded", COLOURS[1], "o")
        _draw_probes(upper, unloaded, "unloaded", COLOURS[0], "^")
        _draw_rate(lower, rate, record)
        _start_at_zero(upper)
        upper.set_ylabel("RTT (ms)")
        _start_at_zero(lower)
        lower.set_ylabel("Rate (Mbit/s)")
        lower.set_xlabel("Time (s) since the sender's go; the rate: since the receiver's first byte")
        window = "autotuned" if record.window_asked_bytes is None else format_bytes(record.window_asked_bytes)
        subject = f"Trial {trial_id}, cycle {record.cycle + 1}: {record.streams} × {window}"
        upper.set_title(condition.title(subject, f"{record.path_source} → {record.path_destination}"))
        _place_legend(upper)
    return figure


def render_svg(figure: Figure, key: str, description: str) -> str:
    """The figure as an ``<svg>`` element whose ids begin with ``key``; ``description`` is its text label."""
    buffer = io.StringIO()
    with mpl.rc_context({**STYLE, "svg.hashsalt": key}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{key}-', text)
    text = re.sub(r"url\(#", f"url(#{key}-", text)
    text = re.sub(r'href="#', f'href="#{key}-', text)
    text = text.replace(INK, "currentColor")
    # the page sets the width; the view box keeps the proportions
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    label = description.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("<svg", f'<svg role="img" aria-label="{label}"', 1).strip()


def _one_panel() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(7.6, 3.9), layout="constrained")
    return figure, figure.subplots()


def _draw_against_streams(
    axes: Axes, summary: PathSummary, take: Callable[[TrialRecord], float | None]
) -> None:
    """Points per trial, a line through the medians; one colour, marker and dash per window."""
    groups: dict[str, list[Cell]] = {}
    mixed = len({cell.congestion for cell in summary.cells}) > 1
    for cell in sorted(
        summary.cells, key=lambda c: (c.window_asked_bytes or 0, c.congestion or "", c.streams)
    ):
        name = "autotuned" if cell.window_asked_bytes is None else format_bytes(cell.window_asked_bytes)
        groups.setdefault(f"{name}, {cell.congestion}" if mixed else name, []).append(cell)
    levels = sorted({cell.streams for cell in summary.cells})
    for number, (name, cells) in enumerate(groups.items()):
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        # Points of different windows stand side by side, so that equal values do not hide each other.
        shift = 0.008 * max(levels) * (number - (len(groups) - 1) / 2)
        x, middle = [], []
        for cell in cells:
            values = [value for trial in cell.trials if (value := take(trial.record)) is not None]
            if not values:
                continue
            place = cell.streams + shift
            axes.plot(
                [place] * len(values),
                values,
                marker,
                color=colour,
                markersize=5,
                alpha=0.65,
                markeredgewidth=0,
            )
            x.append(place)
            middle.append(float(np.median(values)))
        if x:
            dash = DASHES[number % len(DASHES)]
            axes.plot(
                x,
                middle,
                color=colour,
                linestyle=dash,
                linewidth=1.6,
                marker=marker,
                markersize=6,
                markerfacecolor="none",
                label=f"window {name}",
            )
    axes.set_xticks(levels, [str(streams) for streams in levels])
    axes.set_xlabel("Streams (points: trials; line: median)")
    axes.margins(x=0.06)


def _draw_probes(axes: Axes, trace: ProbeTrace | None, name: str, colour: str, marker: str) -> None:
    if trace is None:
        return
    lost = np.isnan(trace.rtt_ns)
    answered = ~lost
    axes.plot(
        trace.sent_ns[answered] / 1e9,
        trace.rtt_ns[answered] / 1e6,
        marker,
        color=colour,
        markersize=3.5,
        markeredgewidth=0,
        alpha=0.8,
        label=f"{name} ({int(answered.sum())} answered)",
    )
    if lost.any():
        # A lost probe has no RTT: it is marked on the axis, at its time.
        axes.plot(
            trace.sent_ns[lost] / 1e9,
            np.full(int(lost.sum()), 0.02),
            "x",
            color=colour,
            markersize=7,
            markeredgewidth=1.6,
            transform=axes.get_xaxis_transform(),
            clip_on=False,
            label=f"{name}, lost ({int(lost.sum())})",
        )


def _draw_rate(axes: Axes, rate: RateTrace | None, record: TrialRecord) -> None:
    if rate is None:
        return
    axes.step(rate.end_ns / 1e9, rate.bits_per_s / 1e6, where="pre", color=COLOURS[2], linewidth=1.3)
    start, length = record.warmup_ns / 1e9, (record.steady_ns or record.duration_ns) / 1e9
    axes.axvspan(start, start + length, color=GRID, alpha=0.15, linewidth=0)
    axes.annotate(
        "steady window",
        (start, 0),
        xycoords=("data", "axes fraction"),
        xytext=(4, 3),
        textcoords="offset points",
        va="bottom",
        fontsize=8.5,
    )
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4))


def _queue_delay_ms(truth: LinkTruth | None) -> float | None:
    """Time that a full queue takes to empty over the link."""
    if truth is None or not truth.queue_bytes:
        return None
    return truth.queue_bytes * 8e3 / truth.rate_bits_per_s


def _start_at_zero(axes: Axes) -> None:
    """Show zero, and leave room above the highest value."""
    axes.set_ylim(0, 1.08 * max(axes.dataLim.y1, 1e-9) if np.isfinite(axes.dataLim.y1) else 1)


def _place_legend(axes: Axes) -> None:
    handles: Sequence[object] = axes.get_legend_handles_labels()[0]
    if handles:
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
