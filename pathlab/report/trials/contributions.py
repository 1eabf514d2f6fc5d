"""The throughput of each stream of a combination, a bar for each trial."""

from __future__ import annotations

from functools import partial

import numpy as np

from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import Drawing, LazyPlot
from pathlab.report.base.phrases import format_count
from pathlab.report.base.quantities import choose_unit
from pathlab.report.plots.model import Axis, Bars, Numbers, Panel
from pathlab.study.base.cells import Cell, MeasuredCondition
from pathlab.study.base.selection import choose_evenly
from pathlab.study.base.trial_series import read_stream_bytes, sum_tenths
from pathlab.study.flows.costs import describe_cell
from pathlab.units import format_rate, format_window

CYCLES_MAX = 40  # bars of a figure
NAMED_STREAMS_MAX = 16
SENT = " What each stream carried is the sender's count: the receiver's intervals were not recorded."


def list_contribution_blocks(inputs: ReportInputs, condition: MeasuredCondition, cell: Cell) -> LazyPlot:
    """The figure of one combination, to be made: named ``contributions-1-8-64KiB``."""
    window = format_window(cell.window_bytes).replace(" ", "").replace(".", "-")
    return LazyPlot(
        name=f"contributions-{condition.number}-{cell.streams}-{window}",
        title=f"What each stream carried: {cell.name}",
        condition=condition.title,
        draw=partial(plot_contributions, inputs, cell),
    )


def plot_contributions(inputs: ReportInputs, cell: Cell) -> Drawing:
    """Each stream's share of the throughput, one above the other, a bar for each trial."""
    trials = cell.complete
    ids, cycles, steady_ns = trials.get("trial_id"), trials.cycles, trials.get("steady_ns")
    chosen = choose_evenly(range(len(trials)), CYCLES_MAX)
    bars = [
        (
            int(cycles[at]) + 1,
            np.array(list(carried.counts.values())) * 8e9 / steady_ns[at],
            carried.by_sender,
        )
        for at in chosen
        if steady_ns[at] > 0 and (carried := read_stream_bytes(inputs.source, int(ids[at])))
    ]
    return Drawing(
        sentences=(_describe_shares(cell, len(chosen), by_sender=any(bar[2] for bar in bars)),),
        panels=(_stack_shares([bar[:2] for bar in bars]),) if bars else (),
        empty="no trial of this combination kept what each stream carried",
    )


def _describe_shares(cell: Cell, drawn: int, *, by_sender: bool) -> str:
    figures = describe_cell(cell.sample)
    rate, jain = figures.throughput_bits_per_s, figures.fairness_jain
    text = f"{cell.name}: median {format_rate(rate.median)} over {format_count(rate.n, 'trial')}"
    if jain.median is not None:
        least = cell.fairness_min_ratio
        text += f"; Jain's index {jain.median:.3f} (1: equal shares, {least:.3g}: all to one stream)"
    if drawn < len(cell.complete):
        text += f"; {drawn} of {len(cell.complete)} trials are drawn, evenly over time"
    return f"{text}.{SENT if by_sender else ''}"


def _stack_shares(bars: list[tuple[int, Numbers]]) -> Panel:
    """One layer for each stream; for very many one for each tenth of them, the slowest first."""
    most = max(len(rates) for _, rates in bars)
    noun = "stream"
    size = choose_unit("bit/s", [float(rates.sum()) for _, rates in bars])
    stacks = [rates / size.size for _, rates in bars]
    if most > NAMED_STREAMS_MAX:
        noun = "tenth"
        stacks = [sum_tenths(rates) for rates in stacks]
    height = np.full((len(bars), max(len(stack) for stack in stacks)), np.nan)
    for index, stack in enumerate(stacks):
        height[index, : len(stack)] = stack
    bottom = np.cumsum(np.nan_to_num(height), axis=1) - np.nan_to_num(height)
    x = np.arange(1.0, len(bars) + 1)
    layers = tuple(
        Bars(
            name=f"{noun} {number + (noun == 'tenth')}",
            x=x,
            height=height[:, number],
            bottom=bottom[:, number],
            slot=number,
        )
        for number in range(height.shape[1])
    )
    ticks = tuple(float(index) for index in x)
    labels = tuple(str(cycle) for cycle, _ in bars)
    across = Axis(label="Cycle", ticks=ticks, tick_labels=labels)
    unit = "Throughput" if noun == "stream" else "Throughput by tenths of the streams, slowest at the bottom"
    return Panel(x=across, y=Axis(label=unit, unit=size.unit, from_zero=True), layers=layers)
