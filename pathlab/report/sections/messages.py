"""Rates against the size of messages, and what a message and a byte of it cost."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from pathlab.analysis.message_cost import MessageCost
from pathlab.report.analyses_rows import describe_message_cost, format_interval
from pathlab.report.analyses_text import MESSAGE_COLUMNS
from pathlab.report.page.model import Block, TableBlock
from pathlab.report.plots.model import Axis, Curve, Layer, Panel, Plot, Rule, Scale
from pathlab.report.sections.drafts import Chapter, Draft, PlotDraft, TextDraft
from pathlab.report.sections.ledgers import build_table, note_doubts
from pathlab.report.sections.phrases import say_reason, say_undecided
from pathlab.report.sections.places import Book, Place, number_places
from pathlab.report.sections.quantities import choose_unit
from pathlab.study.answer import Answer, Spread, measure_spread
from pathlab.units import format_bytes, format_rate, format_time

CURVE_POINTS = 60


Places = tuple[Place, ...]


def _list_groups(book: Book) -> list[Places]:
    """Places that differ in the size of messages alone, by size."""
    groups: dict[Any, list[Place]] = {}
    for place in book.places:
        if place.key.get("message_bytes") is not None and place.parts:
            groups.setdefault(place.key.without("message_bytes"), []).append(place)
    return [tuple(sorted(places, key=_size)) for places in groups.values()]


def _find_cost(book: Book, places: Places) -> Answer[Any]:
    """The answer on these places; every condition with sizes of messages has one."""
    condition = places[0].key.without("message_bytes")
    return next(one for one in book.material.answers("message_cost") if one.condition == condition)


def _size(place: Place) -> int:
    return int(place.key.get("message_bytes"))


def plot_messages(book: Book, places: Places) -> Plot:
    """Rate and messages per second against the size of messages on logarithmic axes, with the fit."""
    found: MessageCost = _find_cost(book, places).result
    sizes = np.array([float(_size(place)) for place in places])
    spreads = [measure_spread(place.sample.rates_bits_per_s) for place in places]
    unit = choose_unit("rate", [spread.median or 0.0 for spread in spreads])
    rates, counts = _draw(sizes, spreads, 1 / unit.size), _draw(sizes, spreads, 1 / (8 * sizes))
    above: list[Layer] = [rates]
    below: list[Layer] = [counts]
    if found.message_ns is not None and found.rate_bits_per_s is not None:
        across = np.geomspace(sizes.min(), sizes.max(), CURVE_POINTS)
        time_s = found.message_ns / 1e9 + 8 * across / found.rate_bits_per_s
        above.append(_fit(across, 8 * across / time_s / unit.size))
        below.append(_fit(across, 1 / time_s))
    if found.half_size_bytes is not None:
        ends = found.half_size_interval_bytes.low, found.half_size_interval_bytes.high
        half = Rule(name="half size", value=found.half_size_bytes, vertical=True, low=ends[0], high=ends[1])
        above.append(half)
    axis = Axis(label="Message", unit="bytes", scale=Scale.LOG2)
    return Plot(
        name=f"messages-{number_places(places)}",
        title="Throughput against the size of messages",
        condition=places[0].title_without("message"),
        sentence=" ".join(part for part in (_say_cost(found), say_undecided(spreads, "size")) if part),
        panels=(
            Panel(x=axis, y=Axis(label="Throughput", unit=unit.unit, scale=Scale.LOG10), layers=tuple(above)),
            Panel(x=axis, y=Axis(label="Messages", unit="1/s", scale=Scale.LOG10), layers=tuple(below)),
        ),
        shared_x=True,
    )


def _draw(sizes: np.ndarray, spreads: list[Spread], factor: np.ndarray | float) -> Curve:
    rows = [(one.median, one.interval.low, one.interval.high) for one in spreads]
    table = np.array([[np.nan if end is None else end for end in row] for row in rows])
    table *= np.broadcast_to(np.asarray(factor, dtype=np.float64), sizes.shape)[:, None]
    return Curve(name="median", x=sizes, y=table[:, 0], low=table[:, 1], high=table[:, 2])


def _fit(x: np.ndarray, y: np.ndarray) -> Curve:
    return Curve(name="a + m / r", x=x, y=y, slot=1, markers=False)


def _say_cost(found: MessageCost) -> str:
    if found.message_ns is None:
        return f"What a message costs is undecided ({say_reason(found.undecided)})."
    interval = format_interval(found.message_interval_ns, format_time)
    text = f"A message costs {format_time(found.message_ns)} ({interval})"
    if found.rate_bits_per_s is None:
        return f"{text}; the rate of its bytes is undecided."
    text += f", its bytes go at {format_rate(found.rate_bits_per_s)}"
    if found.half_size_bytes is None:
        return f"{text}; the half size is undecided."
    low = format_interval(found.half_size_interval_bytes, format_bytes)
    return f"{text}; half of that rate is reached at {format_bytes(found.half_size_bytes)} ({low})."


def _tell_costs(book: Book, places: Places) -> Iterator[Block]:
    answer = _find_cost(book, places)
    yield TableBlock(
        name=f"message-cost-table-{number_places(places)}",
        title=f"Cost of a message: {places[0].name_without('message')}",
        table=build_table(MESSAGE_COLUMNS, [describe_message_cost(answer.result)]),
        note=note_doubts([answer]),
    )


def _outline(book: Book) -> Iterator[Draft]:
    for places in _list_groups(book):
        name = f"messages-{number_places(places)}"
        yield PlotDraft(name=name, build=partial(plot_messages, book, places))
        yield TextDraft(build=partial(_tell_costs, book, places))


def _find_gap(book: Book) -> str | None:
    return None if _list_groups(book) else "the plan sets no sizes of messages"


CHAPTER = Chapter(key="message-size", title="Size of messages", find_gap=_find_gap, outline=_outline)
