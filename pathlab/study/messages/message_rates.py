"""Messages and writes by their size: how many a second are carried, and the cost of one and of a byte."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.fits.message_cost import MessageCost, fit_cycles
from pathlab.campaign.factor import Level
from pathlab.campaign.factors import find_default
from pathlab.study.base.answer import Answer, Spread, make_cell_answer, measure_spread
from pathlab.study.base.selection import NOT_MEASURED, NOT_POSITIVE, VOID_FLAGS, Rules, Sample, select
from pathlab.study.base.trials import Condition, TrialTable

MESSAGE_SIZE, WRITE_SIZE = "message_bytes", "write_bytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeFactor:
    """A setting of the plan that is the size of what is carried, such as a message.

    ``needed`` is the column of which ``count`` makes how many were carried per second. ``takes`` says which
    conditions show what can be carried: not those at an offered rate.
    """

    setting: str
    noun: str
    needed: str
    count: Callable[[Sample], Floats]
    takes: Callable[[Condition], bool]


MESSAGES = SizeFactor(
    setting=MESSAGE_SIZE,
    noun="message",
    needed="messages_per_s",
    count=lambda sample: sample.get("messages_per_s"),
    takes=lambda condition: not condition.get("reply") and condition.get("message_rate_per_s") is None,
)
WRITES = SizeFactor(
    setting=WRITE_SIZE,
    noun="write",
    needed="throughput_bits_per_s",
    count=lambda sample: sample.rates_bits_per_s / 8 / sample.read_setting(WRITE_SIZE),
    takes=lambda condition: condition.get(MESSAGE_SIZE) is None,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRate:
    """Messages of one size, all streams together.

    ``throughput_bits_per_s`` is that of the messages' own bytes. ``messages_per_call``: how many the sender
    handed over in one call. ``missing`` and ``out_of_order`` are sums over the trials.
    """

    size_bytes: int
    messages_per_s: Spread
    throughput_bits_per_s: Spread
    sender_cpu_ns_per_message: Spread
    receiver_cpu_ns_per_message: Spread
    messages_per_call: Spread
    missing: int | None
    out_of_order: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FastestCurve:
    """The curve that carries most at one size, and the next one (None: there is no other), by their names.

    ``ratio`` is that of their medians. ``apart``: the intervals of both do not overlap.
    """

    size_bytes: int
    name: str
    next_name: str | None = None
    ratio: float | None = None
    apart: bool = False


def read_level(condition: Condition, name: str) -> Level:
    """The level of a factor, by attribute; its default where the plan does not set it."""
    level: Level = condition.get(name)
    return find_default(name) if level is None else level


def select_sizes(table: TrialTable, factor: SizeFactor) -> Iterator[tuple[int, int | None, Sample]]:
    """Streams, window and trials of every cell, all sizes of a factor together.

    Small messages are what hosts carry, not paths: host-limited trials are kept.
    """
    rules = Rules(
        flags=VOID_FLAGS,
        as_requested=True,
        needed=(factor.needed,),
        apart=factor.setting,
        messages=factor is MESSAGES,
    )
    for every in select(table, rules):
        if factor.takes(every.condition):
            sized = every.exclude(
                ~(every.read_setting(factor.setting) > 0), f"{factor.setting}: {NOT_MEASURED}"
            )
            yield from sized.exclude(~(factor.count(sized) > 0), f"{factor.needed}: {NOT_POSITIVE}").by_cell()


def split_sizes(sample: Sample, setting: str = MESSAGE_SIZE) -> Iterator[tuple[int, Sample]]:
    """The trials of each size, ascending."""
    sizes = sample.read_setting(setting)
    for size in np.unique(sizes[~np.isnan(sizes)]):
        yield int(size), sample.take(sizes == size)


def measure_counts(sample: Sample, factor: SizeFactor) -> dict[int, Spread]:
    """How many were carried per second at each size, ascending."""
    return {size: measure_spread(factor.count(part)) for size, part in split_sizes(sample, factor.setting)}


def find_fastest(counted: Mapping[str, Mapping[int, Spread]]) -> tuple[FastestCurve, ...]:
    """The curve with the highest median at each size that one of them has, ascending; the first of equals."""
    result = []
    for size in sorted({size for spreads in counted.values() for size in spreads}):
        known = {name: spreads[size] for name, spreads in counted.items() if size in spreads}
        first, *others = sorted(known, key=lambda name: -(known[name].median or 0.0))
        best, beside = known[first], known[others[0]] if others else None
        if beside is None or not beside.median or best.median is None:
            result.append(FastestCurve(size_bytes=size, name=first))
            continue
        result.append(
            FastestCurve(
                size_bytes=size,
                name=first,
                next_name=others[0],
                ratio=best.median / beside.median,
                apart=beside.interval.lies_below(best.interval),
            )
        )
    return tuple(result)


def fit_size_costs(table: TrialTable, factor: SizeFactor) -> tuple[Answer[MessageCost], ...]:
    """The cost of one and of a byte in each cell whose plan sets the factor.

    The time of one is that of the whole flow, so that streams and windows have costs of their own. Results
    without sizes give no answer.
    """
    return tuple(
        make_cell_answer(
            part,
            (streams, window),
            fit_cycles(part.read_setting(factor.setting), 1e9 / factor.count(part), part.cycles),
        )
        for streams, window, part in select_sizes(table, factor)
    )


def measure_message_rates(table: TrialTable) -> tuple[Answer[MessageRate], ...]:
    """What every cell carried of each size of messages; the condition of an answer does not name the size."""
    return tuple(
        make_cell_answer(part, (streams, window), _measure_rate(size, part))
        for streams, window, every in select_sizes(table, MESSAGES)
        for size, part in split_sizes(every)
    )


def _measure_rate(size_bytes: int, part: Sample) -> MessageRate:
    rates, calls = part.get("messages_per_s"), part.get("send_calls")
    per_call = np.where(calls > 0, part.get("messages_total") / np.where(calls > 0, calls, 1), np.nan)
    return MessageRate(
        size_bytes=size_bytes,
        messages_per_s=measure_spread(rates),
        throughput_bits_per_s=measure_spread(8 * size_bytes * rates),
        sender_cpu_ns_per_message=measure_spread(part.get("sender_cpu_ns_per_message")),
        receiver_cpu_ns_per_message=measure_spread(part.get("receiver_cpu_ns_per_message")),
        messages_per_call=measure_spread(per_call),
        missing=_add(part.get("messages_missing")),
        out_of_order=_add(part.get("messages_out_of_order")),
    )


def _add(counts: Floats) -> int | None:
    return None if np.isnan(counts).all() else int(np.nansum(counts))
