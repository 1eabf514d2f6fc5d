"""Round trips of messages by size and by offered rate, and the knee of their latency."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.fits.load_knee import LoadKnee, find_load_knee
from pathlab.study.base.answer import Answer, Spread, measure_spread
from pathlab.study.base.message_values import pool_missing, read_round_trips_ns
from pathlab.study.base.selection import collect_sample
from pathlab.study.base.trials import TrialTable
from pathlab.study.messages.message_setups import (
    MessageLoad,
    MessageSetup,
    list_message_loads,
    make_load_answer,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageLatency:
    """Round trips of one load: spreads over trials of each trial's quantiles.

    They are of the trials that kept the offered rate; ``missed`` others did not. Of messages one after the
    other ``offered_messages_per_s`` is None. A quantile that a trial's samples do not carry is left out.
    The share ``missing_ratio`` of the messages never returned; quantiles count them as the slowest.
    """

    setup: MessageSetup
    message_bytes: int
    offered_messages_per_s: int | None
    trials: int
    missed: int
    missing_ratio: float | None
    messages_per_s: Spread
    median_ns: Spread
    p99_ns: Spread
    p99_9_ns: Spread
    max_ns: Spread
    send_late_p99_ns: Spread
    clock_cost_ns: float | None
    record_cost_ns: float | None
    undecided: Undecided | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageKnee:
    """The knee of p99 over the offered rate, of one setup and size."""

    setup: MessageSetup
    message_bytes: int
    knee: LoadKnee


def measure_latencies(table: TrialTable) -> tuple[Answer[MessageLatency], ...]:
    """The latency of every load; one that no trial kept has no quantiles."""
    return tuple(make_load_answer(load, describe_load(load)) for load in list_message_loads(table))


def describe_load(load: MessageLoad) -> MessageLatency:
    """The spreads of one load."""
    kept = load.kept

    def spread(column: str) -> Spread:
        return measure_spread(kept.get(column))

    def spread_trips(name: str) -> Spread:
        """Of no trial where messages that never returned reach the quantile in one."""
        values = read_round_trips_ns(kept, name)
        lost = np.isnan(values) & ~np.isnan(kept.get(f"round_trip_{name}_ns"))
        return measure_spread(np.full(len(kept), np.nan) if lost.any() else values)

    medians = spread_trips("median")
    return MessageLatency(
        setup=load.setup,
        message_bytes=load.size_bytes,
        offered_messages_per_s=load.offered_messages_per_s,
        trials=len(kept),
        missed=len(load.missed),
        missing_ratio=pool_missing(kept),
        messages_per_s=spread("messages_per_s"),
        median_ns=medians,
        p99_ns=spread_trips("p99"),
        p99_9_ns=spread_trips("p99_9"),
        max_ns=spread("round_trip_max_ns"),
        send_late_p99_ns=spread("send_late_p99_ns"),
        clock_cost_ns=spread("clock_cost_ns").median,
        record_cost_ns=spread("record_cost_ns").median,
        undecided=None if medians.n else Undecided.NOT_MEASURED,
    )


def find_message_knees(table: TrialTable) -> tuple[Answer[MessageKnee], ...]:
    """The knee of every setup and size with offered rates; the condition of an answer names no rate."""
    answers = []
    for (setup, size), loads in list_rate_series(table):
        rates, latencies, cycles = (np.concatenate(parts) for parts in zip(*_read_loads(loads), strict=True))
        knee = find_load_knee(rates, latencies, cycles=cycles)
        places = np.concatenate([load.places for load in loads])
        if places.size:
            result = MessageKnee(setup=setup, message_bytes=size, knee=knee)
            answers.append(make_load_answer(loads[0], result, collect_sample(table, places)))
    return tuple(answers)


def list_rate_series(
    table: TrialTable,
) -> Iterator[tuple[tuple[MessageSetup, int], list[MessageLoad]]]:
    """Every setup and size with offered rates, and its loads by ascending rate."""
    series: dict[tuple[MessageSetup, int], list[MessageLoad]] = {}
    for load in list_message_loads(table):
        if load.offered_messages_per_s is not None:
            series.setdefault((load.setup, load.size_bytes), []).append(load)
    yield from series.items()


def _read_loads(loads: list[MessageLoad]) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Rate, p99 and cycle of every trial; NaN where it missed its rate."""
    for load in loads:
        for part in (load.kept, load.missed):
            latencies = read_round_trips_ns(part, "p99")
            if part is load.missed:
                latencies = np.full(len(part), np.nan)
            known = ~np.isnan(latencies) | (part is load.missed)
            rates = np.full(len(part), float(load.offered_messages_per_s or 0))
            yield rates[known], latencies[known], part.cycles[known]
