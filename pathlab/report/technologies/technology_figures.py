"""Figures of round trips by technology: ranges, overheads, load against none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts.two_samples import MINIMUM_TRIALS
from pathlab.report.base.lazy import Drawing
from pathlab.report.base.phrases import format_count, format_factor, format_interval
from pathlab.report.base.quantities import choose_unit
from pathlab.report.plots.model import (
    ROW_SHARE,
    Axis,
    Curve,
    Layer,
    Panel,
    Points,
    Rule,
    Scale,
    build_row_axis,
)
from pathlab.report.technologies.load_text import describe_weak_loads
from pathlab.report.technologies.technology_text import TechnologySetting, format_overhead
from pathlab.study.comparison.rows import ChangeVerdict
from pathlab.study.technologies.background import LOADED, LoadedRoundTrips, name_level
from pathlab.study.technologies.technology_overhead import TechnologyOverhead
from pathlab.units import format_time


def draw_ranges(setting: TechnologySetting, size_bytes: int) -> Drawing:
    """From the least round trip to the longest of each technology, with mean, median and p99."""
    rows = [
        round_trip
        for round_trip in setting.list_round_trips(size_bytes)
        if round_trip.median_ns.median is not None
    ]
    if not rows:
        return Drawing(empty="no trial kept the offered rate")
    axis = build_row_axis("Technology", [row.technology for row in rows])
    y = np.array(axis.ticks)
    p99 = [
        quantile.value if quantile else None for quantile in (row.tail.find_quantile(0.99) for row in rows)
    ]
    unit = choose_unit(
        "ns", [value or row.median_ns.median or 0.0 for row, value in zip(rows, p99, strict=True)]
    )
    marked = {
        "mean": [row.mean_ns for row in rows],
        "median": [row.median_ns.median for row in rows],
        "p99": p99,
    }
    ends = [[row.least_ns, row.most_ns, None] for row in rows]
    layers: list[Layer] = [
        Curve(
            name="minimum to maximum",
            x=np.array(ends, dtype=np.float64).ravel() / unit.size,
            y=np.repeat(y, 3),
            markers=False,
            solid=True,
        )
    ]
    for slot, (name, values) in enumerate(marked.items()):
        layers.append(
            Points(
                name=name,
                x=np.array(values, dtype=np.float64) / unit.size,
                y=y,
                slot=slot,
                hover=tuple(
                    f"{row.technology}: {name} {format_time(value)}"
                    for row, value in zip(rows, values, strict=True)
                ),
            )
        )
    trips, trials = sum(row.round_trips for row in rows), int(np.array([row.trials for row in rows]).max())
    return Drawing(
        sentences=(
            f"Up to {format_count(trials, 'trial')} each, {trips:,} round trips in all. Minimum and maximum "
            "are of all of them; in median, mean and p99 each trial has the same weight.",
        ),
        panels=(
            Panel(
                x=Axis(label="Round trip", unit=unit.unit, scale=Scale.LOG10), y=axis, layers=tuple(layers)
            ),
        ),
    )


def draw_overheads(setting: TechnologySetting, size_bytes: int) -> Drawing:
    """The factor of the median of each technology over the transport beneath, with its interval."""
    rows = setting.list_overheads(size_bytes)
    names = [f"{row.technology} / {row.beneath}" for row in rows]
    axis = build_row_axis("Technology / transport", names)
    y = np.array(axis.ticks)
    ends = [[row.median.interval_ratio.low, row.median.interval_ratio.high, None] for row in rows]
    layers: list[Layer] = [
        Rule(name="as fast as the transport", value=1.0, vertical=True),
        Curve(
            name="95 % CI",
            x=np.array(ends, dtype=np.float64).ravel(),
            y=np.repeat(y, 3),
            markers=False,
            solid=True,
        ),
    ]
    for slot, (name, shifts) in enumerate(
        (("median", [row.median for row in rows]), ("p99", [row.p99 for row in rows]))
    ):
        layers.append(
            Points(
                name=f"factor of {name}",
                x=np.array([shift.ratio for shift in shifts], dtype=np.float64),
                y=y,
                slot=slot,
                hollow=slot > 0,
                hover=tuple(
                    f"{text}: {name} {format_overhead(shift)}"
                    for text, shift in zip(names, shifts, strict=True)
                ),
            )
        )
    return Drawing(
        sentences=(
            "In pairs of a cycle. Both factors are over the transport with the least median, whose p99 is "
            "not always the least.",
            *_count_pairs(rows),
        ),
        panels=(
            Panel(x=Axis(label="Factor over the transport", scale=Scale.LOG10), y=axis, layers=tuple(layers)),
        ),
    )


def _count_pairs(rows: Sequence[TechnologyOverhead]) -> Iterator[str]:
    """Why factors have no interval, where that is for few cycles."""
    shifts = [row.median for row in rows]
    if few := sorted({shift.first_n for shift in shifts if shift.undecided is Undecided.TOO_FEW_SAMPLES}):
        counts = " or ".join([*map(str, few[:-1]), format_count(few[-1], "cycle")])
        yield f"Without an interval: {counts}, {MINIMUM_TRIALS} needed."


def draw_loads(rows: Sequence[LoadedRoundTrips]) -> Drawing:
    """The factor of each level of load for each technology; open markers: undecided."""
    names = list(dict.fromkeys(row.technology for row in rows))
    levels = list(dict.fromkeys(row.ratio.level for row in rows))
    axis = build_row_axis("Technology", names)
    heights = dict(zip(names, axis.ticks or (), strict=True))
    layers: list[Layer] = [Rule(name=f"as with {LOADED[rows[0].factor][1]}", value=1.0, vertical=True)]
    for slot, level in enumerate(levels):
        shift = ROW_SHARE * (0.5 - (slot + 0.5) / len(levels))
        layers += _draw_level(slot, [row for row in rows if row.ratio.level == level], shift, heights)
    return Drawing(
        sentences=(
            "Factors in pairs of a cycle; lines: 95 % CI, corrected for all rows of a metric (Holm).",
            "Open markers: undecided."
            if any(row.ratio.verdict is ChangeVerdict.UNDECIDED for row in rows)
            else "",
            describe_weak_loads(rows),
        ),
        panels=(Panel(x=Axis(label="Factor", scale=Scale.LOG10), y=axis, layers=tuple(layers)),),
    )


def _draw_level(
    slot: int, rows: Sequence[LoadedRoundTrips], shift: float, heights: dict[str, float]
) -> Iterator[Layer]:
    """The interval of each technology, and points that are open where nothing is decided."""
    name = name_level(rows[0].factor, rows[0].ratio.level)
    y = np.array([heights[row.technology] + shift for row in rows])
    ends = [[row.ratio.interval.low, row.ratio.interval.high, None] for row in rows]
    yield Curve(
        name=f"{name}, 95 % CI",
        x=np.array(ends, dtype=np.float64).ravel(),
        y=np.repeat(y, 3),
        slot=slot,
        markers=False,
        solid=True,
        legend=False,
    )
    undecided = np.array([row.ratio.verdict is ChangeVerdict.UNDECIDED for row in rows])
    for hollow in (False, True):
        chosen = [row for row, open_mark in zip(rows, undecided, strict=True) if open_mark == hollow]
        if chosen:
            yield Points(
                name=name if not hollow else f"{name}, undecided",
                x=np.array([item.ratio.ratio for item in chosen], dtype=np.float64),
                y=y[undecided == hollow],
                slot=slot,
                hollow=hollow,
                legend=not hollow or bool(undecided.all()),
                hover=tuple(_describe_point(item) for item in chosen),
            )


def _describe_point(trips: LoadedRoundTrips) -> str:
    interval = format_interval(trips.ratio.interval, format_factor)
    return f"{trips.technology}: {format_factor(trips.ratio.ratio)} × ({interval}), {trips.ratio.verdict}"
