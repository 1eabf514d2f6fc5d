"""What batching of messages gains, from which size on it does not pay, and the delay that it costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.interval import Interval
from pathlab.analysis.estimators.shifts import hodges_lehmann
from pathlab.analysis.verdicts.gain_limit import GainLimit, find_gain_limit
from pathlab.store.flags import Flag
from pathlab.study.base.answer import Answer, Spread, make_cell_answer, measure_spread
from pathlab.study.base.selection import LAB_FLAGS, Rules, Sample, select
from pathlab.study.base.trials import Condition, TrialTable
from pathlab.study.messages.message_rates import (
    MESSAGE_SIZE,
    MESSAGES,
    read_level,
    select_sizes,
    split_sizes,
)

#: What is batched: by the sender, or by the kernel.
BATCH_SETTINGS = ("batch_bytes", "batch_min_delay_ns", "batch_max_delay_ns", "cork")
#: How messages that are not batched are sent: at once, or as Nagle's algorithm has it.
UNBATCHED = "no_delay"
OFFERED = ("reply", "message_rate_per_s")
#: How long a batch waits; nothing waits at full speed, so that trials without an offered rate lack them.
DELAYS = ("batch_min_delay_ns", "batch_max_delay_ns")
Curve = tuple[Condition, int, int | None]  # without the size; streams, window


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeGain:
    """Batched over unbatched messages per second of one size: Hodges-Lehmann ratio of the cycles' pairs.

    ``collect_ns``: the time in which the messages of a call came together, at the rate that was carried.
    """

    size_bytes: int
    pairs: int
    ratio: float | None
    interval: Interval
    collect_ns: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDelay:
    """By how much batching raised the median round trip of one size, at one offered rate; pairs of cycles.

    ``offered_messages_per_s`` None: one message at a time. ``delay_bound_ns``: what its setting allows.
    """

    size_bytes: int
    offered_messages_per_s: int | None
    delay_bound_ns: int | None
    pairs: int
    rise_ns: float | None
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchingGain:
    """One way of batching alongside ``baseline``, the same condition without it.

    ``limit``: from which size on batching does not pay. ``delays``: measured at the lowest offered rate of
    each size; none where no round trips were measured. ``delay_bound_ns``: what the setting allows.
    """

    baseline: Condition
    gains: tuple[SizeGain, ...]
    largest: SizeGain | None
    limit: GainLimit
    delays: tuple[BatchDelay, ...]
    delay_bound_ns: int | None

    @property
    def collect_ns(self) -> float | None:
        """The longest median time in which a call's messages came together; None: it was not measured."""
        return max(
            (time for gain in self.gains if (time := gain.collect_ns.median) is not None), default=None
        )


def is_batched(condition: Condition) -> bool:
    """Whether messages are collected before they are sent, by the sender or by the kernel (TCP_CORK)."""
    return read_level(condition, "batch_bytes") is not None or bool(read_level(condition, "cork"))


def describe_sending(condition: Condition) -> str:
    """How messages that are not batched are sent: TCP with ``no delay`` or as ``Nagle``, else ``at once``."""
    carried = read_level(condition, "transport") in ("tcp", "mptcp")
    if not carried or read_level(condition, "placement") in ("threaded", "fused"):
        return "at once"
    return "no delay" if read_level(condition, UNBATCHED) else "Nagle"


def compare_batching(table: TrialTable) -> tuple[Answer[BatchingGain], ...]:
    """Every cell that batches messages, alongside the one that differs in nothing else.

    The unbatched one may differ in ``no_delay`` as well: where both were measured, there is an answer for
    each, and the one that sends at once comes first. A batched cell without any has no answer.
    """
    curves: dict[Curve, Sample] = {
        (part.condition, streams, window): part for streams, window, part in select_sizes(table, MESSAGES)
    }
    trips = _select_round_trips(table)
    answers = []
    for (condition, streams, window), part in curves.items():
        for plain in _list_baselines((condition, streams, window), curves):
            gains = _measure_gains(part, curves[plain])
            gain = BatchingGain(
                baseline=plain[0],
                gains=gains,
                largest=max(gains, key=lambda item: item.ratio or 0.0, default=None),
                limit=find_gain_limit([gain.size_bytes for gain in gains], [gain.interval for gain in gains]),
                delays=_measure_delays((condition, streams, window), plain, trips),
                delay_bound_ns=condition.get("batch_max_delay_ns"),
            )
            answers.append(make_cell_answer(part, (streams, window), gain))
    return tuple(answers)


def pair_cycles(
    first: Sample, second: Sample, take: Callable[[Sample], Floats]
) -> tuple[Floats, Floats, Sequence[float]]:
    """A figure of both sides in each cycle that has both, in order; the mean where a cycle has several."""
    sides = [_average_cycles(item.cycles, take(item)) for item in (first, second)]
    cycles = sorted(sides[0].keys() & sides[1].keys())
    ours, theirs = (np.array([side[cycle] for cycle in cycles], dtype=np.float64) for side in sides)
    return ours, theirs, cycles


def _average_cycles(cycles: Floats, values: Floats) -> dict[float, float]:
    known = ~np.isnan(values)
    return {
        cycle: float(np.mean(values[known & (cycles == cycle)]))
        for cycle in np.unique(cycles[known]).tolist()
    }


def compare_message_rates(first: Sample, second: Sample) -> tuple[int, float | None, Interval]:
    """Pairs, Hodges-Lehmann ratio of messages per second, and its interval."""
    ours, theirs, cycles = pair_cycles(first, second, MESSAGES.count)
    shift = hodges_lehmann(np.log(ours / theirs), drawn_tests=first.drawn_tests(1))
    ratio = None if shift.shift is None else math.exp(shift.shift)
    return len(cycles), ratio, shift.interval.transform(math.exp)


def _list_baselines(curve: Curve, curves: Iterable[Curve]) -> list[Curve]:
    if not is_batched(curve[0]):
        return []
    settings = (*BATCH_SETTINGS, UNBATCHED)
    wanted = curve[0].without(*settings)
    result = [
        item
        for item in curves
        if item[1:] == curve[1:] and not is_batched(item[0]) and item[0].without(*settings) == wanted
    ]
    return sorted(result, key=lambda item: not read_level(item[0], UNBATCHED))


def _measure_gains(batched: Sample, plain: Sample) -> tuple[SizeGain, ...]:
    beside = dict(split_sizes(plain))
    gains = []
    for size, part in split_sizes(batched):
        if size in beside:
            pairs, ratio, interval = compare_message_rates(part, beside[size])
            gains.append(
                SizeGain(
                    size_bytes=size,
                    pairs=pairs,
                    ratio=ratio,
                    interval=interval,
                    collect_ns=measure_spread(_measure_collection(part)),
                )
            )
    return tuple(gains)


def _measure_collection(part: Sample) -> Floats:
    """The time between two calls of a stream, NaN where the kernel collects the messages or none was sent."""
    calls, messages, rates = part.get("send_calls"), part.get("messages_total"), part.get("messages_per_s")
    known = (calls > 0) & (rates > 0)
    if read_level(part.condition, "batch_bytes") is None:
        known &= False
    return np.where(known, 1e9 * part.streams * messages / np.where(known, calls * rates, 1), np.nan)


def _select_round_trips(table: TrialTable) -> dict[tuple[Curve, int | None], Sample]:
    """The trials that kept their rate of every cell with round trips and offered rate, all sizes together."""
    rules = Rules(
        flags=(*LAB_FLAGS, Flag.RATE_MISSED),
        as_requested=True,
        needed=("round_trip_median_ns",),
        apart=MESSAGE_SIZE,
        messages=True,
    )
    return {
        (
            (sample.condition.without(*OFFERED), streams, window),
            sample.condition.get("message_rate_per_s"),
        ): part
        for sample in select(table, rules)
        if sample.condition.get("reply")
        for streams, window, part in sample.by_cell()
    }


def _measure_delays(
    curve: Curve, plain: Curve, trips: dict[tuple[Curve, int | None], Sample]
) -> tuple[BatchDelay, ...]:
    """The rise of the median round trip of each size at the lowest rate at which both were measured.

    Of several settings of ``DELAYS`` at that rate, the shortest.
    """
    wanted = (curve[0].without(*OFFERED, *DELAYS), *curve[1:])
    beside = (plain[0].without(*OFFERED), *plain[1:])
    measured = [
        ((rate is None, rate or 0, known[0].get("batch_max_delay_ns") or 0), part, dict(split_sizes(other)))
        for (known, rate), part in trips.items()
        if (known[0].without(*DELAYS), *known[1:]) == wanted
        and (other := trips.get((beside, rate))) is not None
    ]
    result: dict[int, BatchDelay] = {}
    for _, batched, unbatched in sorted(measured, key=lambda item: item[0]):
        for size, part in split_sizes(batched):
            if size in unbatched and size not in result:
                result[size] = _measure_delay(size, part, unbatched[size])
    return tuple(result[size] for size in sorted(result))


def _measure_delay(size: int, batched: Sample, plain: Sample) -> BatchDelay:
    ours, theirs, cycles = pair_cycles(batched, plain, lambda item: item.get("round_trip_median_ns"))
    shift = hodges_lehmann(ours - theirs, drawn_tests=batched.drawn_tests(1))
    return BatchDelay(
        size_bytes=size,
        offered_messages_per_s=batched.condition.get("message_rate_per_s"),
        delay_bound_ns=batched.condition.get("batch_max_delay_ns"),
        pairs=len(cycles),
        rise_ns=shift.shift,
        interval=shift.interval,
    )
