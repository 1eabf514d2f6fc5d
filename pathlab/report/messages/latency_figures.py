"""Figures of the latency of messages: over size and offered rate, its tail, the front of rate and p99."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pathlab.analysis.estimators.tails import SUPPORT_SAMPLES, Tail
from pathlab.analysis.fits.load_knee import KNEE_FACTOR
from pathlab.quantities import UNITS, DisplayUnit
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import Drawing, draw_panel
from pathlab.report.base.phrases import format_count, format_few_trials, format_in_brackets
from pathlab.report.base.points import draw_spreads, name_trials
from pathlab.report.base.quantities import choose_unit
from pathlab.report.plots.model import Area, Axis, Curve, Layer, Panel, Points, Scale
from pathlab.report.plots.style import INK_SLOT
from pathlab.store.flags import Flag
from pathlab.study.base.answer import Answer, Spread
from pathlab.study.base.trials import Condition
from pathlab.study.messages.message_latency import MessageKnee, MessageLatency
from pathlab.study.messages.message_setups import MessageLoad, list_message_loads
from pathlab.units import format_bytes, format_frequency

Answers = Sequence[Answer[Any]]
#: Shares of the samples that an axis of a tail marks.
TAIL_TICKS = {0.5: "median", 0.1: "p90", 0.01: "p99", 1e-3: "p99.9", 1e-4: "p99.99", 1e-5: "p99.999"}
SIZE_AXIS = Axis(label="Message", unit="bytes", scale=Scale.LOG2)


def build_rate_axis(rates: Sequence[float]) -> Axis:
    """The axis of offered rates, marked at each of them."""
    ticks = tuple(sorted({float(rate) for rate in rates}))
    return Axis(
        label="Offered rate",
        scale=Scale.LOG10,
        ticks=ticks,
        tick_labels=tuple(map(format_frequency, ticks)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyQuantity:
    """A quantile of round trips: its name, how it is read, and its column of trials."""

    label: str
    read: Callable[[MessageLatency], Spread]
    column: str


QUANTITIES = (
    LatencyQuantity(label="Median", read=lambda item: item.median_ns, column="round_trip_median_ns"),
    LatencyQuantity(label="p99", read=lambda item: item.p99_ns, column="round_trip_p99_ns"),
    LatencyQuantity(label="p99.9", read=lambda item: item.p99_9_ns, column="round_trip_p99_9_ns"),
)


def draw_latency_by_size(answers: Answers, setups: Sequence[str], rate: int | None) -> Drawing:
    """Median, p99 and p99.9 over the size of messages at one offered rate, a curve for each setup."""
    chosen = [answer.result for answer in answers if answer.result.offered_messages_per_s == rate]
    return Drawing(
        sentences=(_describe_missed(chosen), _describe_few(chosen, "size")),
        panels=tuple(_draw_panels(chosen, setups, SIZE_AXIS, "message_bytes")),
        empty="no trial kept the offered rate",
    )


def draw_latency_by_rate(
    inputs: ReportInputs, answers: Answers, knees: Answers, setups: Sequence[str], size: int
) -> Drawing:
    """Median, p99 and p99.9 over the offered rate for one size, the knee marked.

    Open markers: trials that missed their rate, at the rate that they achieved.
    """
    chosen = [
        answer.result
        for answer in answers
        if answer.result.message_bytes == size and answer.result.offered_messages_per_s is not None
    ]
    result = [knee.result for knee in knees if knee.result.message_bytes == size]
    condition = answers[0].condition
    every = list_message_loads(inputs.study.study_table()) if any(item.missed for item in chosen) else ()
    loads = [
        load for load in every if load.shared == condition and load.size_bytes == size and len(load.missed)
    ]
    panels = []
    axis = build_rate_axis([item.offered_messages_per_s for item in chosen])
    for quantity, panel in zip(
        QUANTITIES, _draw_panels(chosen, setups, axis, "offered_messages_per_s"), strict=False
    ):
        unit = _find_unit(panel)
        missed = _draw_missed(loads, setups, quantity, unit)
        rings = _draw_knees(result, chosen, setups, quantity, unit)
        panels.append(replace(panel, layers=(*panel.layers, *missed, *rings)))
    return Drawing(
        sentences=(
            *_describe_knees([item for item in result if item.setup.name in setups]),
            _describe_missed(chosen),
            "Open markers without a line: trials that missed the offered rate, at the rate they achieved."
            if loads
            else "",
            _describe_few(chosen, "offered rate"),
        ),
        panels=tuple(panels),
        empty="no trial kept an offered rate",
    )


def _draw_panels(
    chosen: Sequence[MessageLatency], setups: Sequence[str], axis: Axis, across: str
) -> Iterator[Panel]:
    """A panel for each quantile that was measured, a curve for each setup."""
    for quantity in QUANTITIES:
        medians = [quantity.read(item).median for item in chosen]
        if all(median is None for median in medians):
            continue
        unit = choose_unit("ns", [median or 0.0 for median in medians])
        layers: list[Layer] = []
        for slot, name in enumerate(setups):
            own = [item for item in chosen if item.setup.name == name and quantity.read(item).n]
            if own:
                x = np.array([getattr(item, across) for item in own], dtype=np.float64)
                layers.append(draw_spreads(name, x, [quantity.read(item) for item in own], unit.size, slot))
        y = Axis(label="Round trip", unit=unit.unit, scale=Scale.LOG10)
        yield Panel(x=axis, y=y, layers=tuple(layers), title=quantity.label)


def _find_unit(panel: Panel) -> DisplayUnit:
    return UNITS["ns"].find_axis_unit(panel.y.unit or "µs")


def _draw_missed(
    loads: Sequence[MessageLoad], setups: Sequence[str], quantity: LatencyQuantity, unit: DisplayUnit
) -> Iterator[Layer]:
    """Trials that missed their rate, at the rate that they achieved."""
    for slot, name in enumerate(setups):
        own = [load for load in loads if load.setup.name == name]
        if not own:
            continue
        texts = [
            f"{text}, {format_frequency(load.offered_messages_per_s)} offered"
            for load in own
            for text in name_trials(load.missed, np.arange(len(load.missed)))
        ]
        yield Points(
            name=f"{name}, {Flag.RATE_MISSED}",
            x=np.concatenate([load.missed.get("messages_per_s") for load in own]),
            y=np.concatenate([load.missed.get(quantity.column) for load in own]) / unit.size,
            slot=slot,
            hover=tuple(texts),
            hollow=True,
        )


def _draw_knees(
    knees: Sequence[MessageKnee],
    chosen: Sequence[MessageLatency],
    setups: Sequence[str],
    quantity: LatencyQuantity,
    unit: DisplayUnit,
) -> Iterator[Layer]:
    """A ring around the knee of each setup that has one."""
    levels = {(item.setup.name, item.offered_messages_per_s): quantity.read(item).median for item in chosen}
    for knee in knees:
        rate = knee.knee.rate_per_s
        median = None if rate is None else levels.get((knee.setup.name, int(rate)))
        if knee.setup.name not in setups or knee.knee.undecided or rate is None or median is None:
            continue
        yield Points(
            name=f"knee of {knee.setup.name}",
            x=np.array([rate]),
            y=np.array([median / unit.size]),
            slot=INK_SLOT,
            legend=False,
            callout="knee",
        )


def _describe_knees(knees: Sequence[MessageKnee]) -> Iterator[str]:
    """Where the knees are, and what a knee is."""
    shown = []
    for result in knees:
        knee = result.knee
        if knee.undecided is None and knee.rate_per_s is not None:
            interval = format_in_brackets(knee.interval, format_frequency)
            shown.append(f"{result.setup.name} {format_frequency(knee.rate_per_s)}{interval}")
        elif knee.rate_per_s is not None:
            shown.append(f"{result.setup.name} none up to {format_frequency(knee.rate_per_s)}")
    if shown:
        yield (
            f"Knee, the highest offered rate with a p99 of at most {KNEE_FACTOR:g} times that at the lowest "
            f"rates: {'; '.join(shown)}."
        )


def _describe_missed(chosen: Sequence[MessageLatency]) -> str:
    missed = sum(item.missed for item in chosen)
    if not missed:
        return ""
    return f"{format_count(missed, 'trial')} that missed the offered rate left out of the curves."


def _describe_few(chosen: Sequence[MessageLatency], noun: str) -> str:
    return format_few_trials([item.p99_ns for item in chosen], noun)


def find_tails(
    inputs: ReportInputs, condition: Condition, setups: Sequence[str], size: int, rate: int | None
) -> Mapping[str, Tail]:
    """The tail of each setup with messages of one size at one offered rate."""
    tails = {
        answer.result.setup.name: answer.result.tail
        for answer in inputs.answers("message_tails")
        if answer.condition == condition
        and (answer.result.message_bytes, answer.result.offered_messages_per_s) == (size, rate)
    }
    return {name: tails[name] for name in setups if name in tails}


def draw_tails(find: Callable[[], Mapping[str, Tail]], setups: Sequence[str]) -> Drawing:
    """The share of round trips above each duration (CCDF), a curve for each setup with its interval."""
    result = {name: tail for name, tail in find().items() if tail.values}
    if not result:
        return Drawing(empty="no histogram of round trips was stored")
    unit = choose_unit("ns", [tail.values[-1] for tail in result.values()])
    layers: list[Layer] = []
    for name, tail in result.items():
        slot = setups.index(name)
        x, above = np.array(tail.values) / unit.size, np.array(tail.above_ratio)
        low, high = np.array(tail.low_ratio), np.array(tail.high_ratio)
        if np.isfinite(low).any():
            layers.append(Area(name=f"{name}, 95 % CI", x=x, low=low, high=high, slot=slot, legend=False))
        layers.append(Curve(name=name, x=x, y=above, slot=slot, markers=False))
    least = min(tail.above_ratio[-1] for tail in result.values())
    ticks = {share: text for share, text in TAIL_TICKS.items() if share >= least / 10 or share >= 0.1}
    counted = int(np.array([tail.n for tail in result.values()]).max())
    return draw_panel(
        Axis(label="Round trip", unit=unit.unit, scale=Scale.LOG10),
        Axis(
            label="Share of round trips above",
            scale=Scale.LOG10,
            ticks=tuple(ticks),
            tick_labels=tuple(f"{share:g} ({text})" for share, text in ticks.items()),
        ),
        layers,
        f"Of up to {format_count(counted, 'round trip')}; a curve ends where {SUPPORT_SAMPLES} are left.",
        "Shaded: 95 % CI over trials." if any(isinstance(layer, Area) for layer in layers) else "",
    )


def draw_front(answers: Answers, fronts: Answers, setups: Sequence[str], size: int) -> Drawing:
    """The p99 of every load that kept its rate over the offered rate, and the front: what no other beats."""
    chosen = [
        answer.result
        for answer in answers
        if answer.result.message_bytes == size and answer.result.offered_messages_per_s is not None
    ]
    front = [item.result for item in fronts if item.result.message_bytes == size]
    spreads = [item.figures.p99_ns.median or 0.0 for item in front]
    unit = choose_unit("ns", [item.p99_ns.median or 0.0 for item in chosen])
    layers: list[Layer] = []
    for slot, name in enumerate(setups):
        own = [item for item in chosen if item.setup.name == name and item.p99_ns.n]
        if own:
            x = np.array([item.offered_messages_per_s for item in own], dtype=np.float64)
            layers.append(draw_spreads(name, x, [item.p99_ns for item in own], unit.size, slot))
    layers.append(
        Curve(
            name="front",
            x=np.array([item.figures.offered_messages_per_s for item in front], dtype=np.float64),
            y=np.array(spreads) / unit.size,
            slot=INK_SLOT,
            markers=False,
            solid=True,
        )
    )
    names = dict.fromkeys(item.setup.name for item in front)
    return draw_panel(
        build_rate_axis([item.offered_messages_per_s for item in chosen]),
        Axis(label="p99 of round trips", unit=unit.unit, scale=Scale.LOG10),
        layers,
        f"Best p99 at each rate: {'; '.join(names)}.",
        _describe_missed(chosen),
        f"Messages of {format_bytes(size)}.",
    )
