"""What each stream of a combination carried, one bar for each of its trials."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from pathlab.report.inputs import ReportInputs
from pathlab.report.names import short_name
from pathlab.report.plots.model import Axis, Bars, Numbers, Panel
from pathlab.report.sections.lazy import Drawing, LazyPlot
from pathlab.report.sections.quantities import choose_unit
from pathlab.report.sections.trial_series import read_columns
from pathlab.report.source import ResultsSource, StoredTrial
from pathlab.report.summary import Cell, PathSummary
from pathlab.store.flags import Flag
from pathlab.store.records import TrialRecord
from pathlab.store.steady import STEADY
from pathlab.study.selection import choose_evenly
from pathlab.units import format_bytes, format_rate

CYCLES_MAX = 40  # bars of a figure
NAMED_STREAMS_MAX, TENTHS = 16, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class PathSection:
    """One path's combinations: ``number`` from 1, as in the names of its figures."""

    number: int
    path: PathSummary


def draft_contributions(inputs: ReportInputs, section: PathSection, cell: Cell) -> LazyPlot:
    """The figure of one combination, to be made."""
    first = cell.trials[0].record
    return LazyPlot(
        name=name_contributions(section, cell),
        title=f"What each stream carried: {short_name(cell)}",
        condition=f"{cell.path} · {name_place(inputs, first)} · {first.started_utc[:10]}",
        draw=partial(plot_contributions, inputs, cell),
    )


def plot_contributions(inputs: ReportInputs, cell: Cell) -> Drawing:
    """Each stream's share of the throughput, one above the other, a bar for each trial."""
    chosen = choose_evenly(cell.trials, CYCLES_MAX)
    bars = [
        (trial.record, rates) for trial in chosen if (rates := _read_shares(inputs.source, trial)) is not None
    ]
    return Drawing(
        said=(_describe_shares(cell, len(chosen)),),
        panels=(_stack_shares(bars),) if bars else (),
        empty="no trial of this combination kept what each stream carried",
    )


def name_contributions(section: PathSection, cell: Cell) -> str:
    """``contributions-1-8-64KiB``; a number more where a path has that combination more than once."""
    size = cell.window_requested_bytes
    window = "auto" if size is None else format_bytes(size).replace(" ", "").replace(".", "-")
    alike = [
        other
        for other in section.path.cells
        if (other.streams, other.window_requested_bytes) == (cell.streams, cell.window_requested_bytes)
    ]
    suffix = f"-{alike.index(cell) + 1}" if len(alike) > 1 else ""
    return f"contributions-{section.number}-{cell.streams}-{window}{suffix}"


def name_place(inputs: ReportInputs, record: TrialRecord) -> str:
    """Where a trial was measured, or by which other program; a fallback is said as loudly as everywhere."""
    if Flag.IMPORTED in record.flags:
        return f"imported, {record.engine_version}" if record.engine_version else "imported"
    environment = inputs.source.campaign.environment
    if environment.get("fallback"):
        return "LOOPBACK FALLBACK"
    lab = environment.get("lab")
    if isinstance(lab, dict):
        return f"lab, {lab['backend']}" if lab.get("backend") else "lab"
    return "real path"


def _describe_shares(cell: Cell, drawn: int) -> str:
    jain, rate = cell.jain_ratio, cell.throughput_bits_per_s
    text = f"{short_name(cell)}: median {format_rate(rate.median)} over {rate.n} trial{'s' * (rate.n != 1)}"
    if jain.median is not None:
        least = 1 / cell.streams
        text += f"; Jain's index {jain.median:.3f} (1: equal shares, {least:.3g}: all to one stream)"
    if drawn < len(cell.trials):
        text += f"; {drawn} of {len(cell.trials)} trials are drawn, evenly over time"
    return f"{text}."


def _read_shares(source: ResultsSource, trial: StoredTrial) -> Numbers | None:
    """What each stream carried in the steady window, bit/s, by its number; None without the series."""
    steady_ns = trial.record.steady_ns
    found = read_columns(source, trial.trial_id, {"receiver_intervals": ("stream", "bytes", "phase")})
    columns = found.get("receiver_intervals")
    if columns is None or not steady_ns or not {"stream", "bytes", "phase"} <= columns.keys():
        return None
    _, place = np.unique(columns["stream"], return_inverse=True)
    steady = columns["phase"] == STEADY
    counted = np.bincount(place[steady], weights=columns["bytes"][steady], minlength=int(place.max()) + 1)
    rates: Numbers = counted * 8e9 / steady_ns
    return rates


def _stack_shares(bars: list[tuple[TrialRecord, Numbers]]) -> Panel:
    """One layer for each stream; of very many, one for each tenth of them, from those that carried least."""
    most = max(len(rates) for _, rates in bars)
    noun = "stream"
    size = choose_unit("rate", [float(rates.sum()) for _, rates in bars])
    stacks = [rates / size.size for _, rates in bars]
    if most > NAMED_STREAMS_MAX:
        noun = "tenth"
        stacks = [
            np.array([part.sum() for part in np.array_split(np.sort(rates), TENTHS)]) for rates in stacks
        ]
    height = np.full((len(bars), max(len(stack) for stack in stacks)), np.nan)
    for place, stack in enumerate(stacks):
        height[place, : len(stack)] = stack
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
    ticks = tuple(float(place) for place in x)
    labels = tuple(str(record.cycle + 1) for record, _ in bars)
    across = Axis(label="Cycle", ticks=ticks, tick_labels=labels)
    unit = "Throughput" if noun == "stream" else "Throughput by tenths of the streams, slowest at the bottom"
    return Panel(x=across, y=Axis(label=unit, unit=size.unit, from_zero=True), layers=layers)
