"""Results of messages in memory, from a model of queues: every latency and knee is known beforehand.

The median of a setup is ``base_ns / (1 - rate / capacity)``, its p99 three times that. A setup that is
offered more than its capacity misses the rate.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from pathlab.store.hdr_histogram import Histogram, HistogramLayout
from pathlab.store.records import PlanRecord, TrialRecord
from tests.builders.results import Settings, SyntheticResults, join_results, make_hosts, plan_cycles, run_plan
from tests.builders.sweeps import make_sweep
from tests.builders.trials import measure_row

RATES = (1_000, 5_000, 20_000, 50_000, 100_000, 200_000)
SIZES = (64, 1024)
P99_FACTOR = 3.0
#: Of logarithms, so that p99 is that many times the median.
SIGMA = math.log(P99_FACTOR) / 2.3263
ROUND_TRIPS_STORED = 4000


@dataclass(frozen=True)
class Setup:
    """How messages travel, and the model's figures of it."""

    settings: Settings = field(default_factory=dict)
    base_ns: float = 10_000.0
    capacity_per_s: float = 120_000.0
    cpu_ns: float = 2_000.0


TCP = Setup()
BATCHED = Setup({"batch_bytes": 8192}, base_ns=20_000.0, capacity_per_s=900_000.0, cpu_ns=900.0)
SHARED = Setup({"transport": "shared-memory"}, base_ns=2_000.0, capacity_per_s=600_000.0, cpu_ns=1_500.0)
SETUPS = (TCP, BATCHED, SHARED)


def measure_message(
    setup: Setup, row: PlanRecord, *, noise_ratio: float = 0.02, **changes: Any
) -> TrialRecord:
    """A complete trial of the model; without a rate: one message after the other."""
    size_bytes, rate_per_s = row.settings["message_bytes"], row.settings.get("message_rate_per_s")
    rng = np.random.default_rng([7, row.row])
    factor = float(np.exp(rng.normal(0, noise_ratio)))
    load = 0.0 if rate_per_s is None else rate_per_s / setup.capacity_per_s
    median = (setup.base_ns + size_bytes) * factor / max(1 - load, 0.01)
    achieved = 1e9 / median if rate_per_s is None else min(rate_per_s, setup.capacity_per_s)
    missed = rate_per_s is not None and achieved < 0.99 * rate_per_s
    seconds = 3
    spent = setup.cpu_ns * float(np.exp(rng.normal(0, noise_ratio)))
    trial = measure_row(
        row,
        throughput_bits_per_s=achieved * size_bytes * 8,
        messages_per_s=achieved,
        offered_messages_per_s=rate_per_s,
        messages_total=int(achieved * seconds),
        messages_missing=0,
        messages_out_of_order=0,
        round_trips=int(achieved * seconds),
        round_trip_min_ns=median / 2,
        round_trip_mean_ns=median * 1.2,
        round_trip_median_ns=median,
        round_trip_p90_ns=median * 2,
        round_trip_p99_ns=median * P99_FACTOR,
        round_trip_p99_9_ns=median * 5,
        round_trip_max_ns=median * 20,
        send_late_median_ns=50.0,
        send_late_p99_ns=900.0,
        send_late_max_ns=40_000.0,
        sender_cpu_ns_per_message=spent * 0.6,
        receiver_cpu_ns_per_message=spent * 0.4,
        clock_cost_ns=22.0,
        record_cost_ns=9.5,
        flags=("rate-missed",) if missed else (),
    )
    return replace(trial, **changes)


def make_round_trips(record: TrialRecord, *, samples: int = ROUND_TRIPS_STORED) -> pd.DataFrame:
    """The series of a trial: an interval of the warm-up, ten times as slow, and two of the steady window."""
    rng = np.random.default_rng([8, record.plan_row])
    rows = []
    for step, (phase, factor) in enumerate((("warmup", 10.0), ("steady", 1.0), ("steady", 1.0))):
        median = (record.round_trip_median_ns or 0.0) * factor
        values = np.exp(rng.normal(np.log(median), SIGMA, samples // 2)).astype(np.int64)
        found = Histogram.count_values(values, HistogramLayout())
        rows.append(
            {
                "phase": phase,
                "start_ns": step * 10**9,
                "end_ns": (step + 1) * 10**9,
                "stream": 0,
                "count": values.size,
                "min_ns": int(values.min()),
                "max_ns": int(values.max()),
                "mean_ns": float(values.mean()),
                "histogram": found.encode(),
            }
        )
    return pd.DataFrame(rows)


def make_message_results(
    setups: Sequence[Setup] = SETUPS,
    *,
    sizes: Sequence[int] = SIZES,
    rates: Sequence[int | None] = (None, *RATES),
    cycles: int = 8,
    noise_ratio: float = 0.02,
    histograms: bool = False,
) -> SyntheticResults:
    """Every setup with every size at every rate, once in each cycle."""
    cells = [
        (setup, {"message_bytes": size, "reply": True, **pace, **setup.settings})
        for setup in setups
        for size in sizes
        for pace in ({} if rate is None else {"message_rate_per_s": rate} for rate in rates)
    ]

    def measure(row: PlanRecord) -> TrialRecord:
        return measure_message(cells[row.row % len(cells)][0], row, noise_ratio=noise_ratio)

    return run_plan(
        plan_cycles([settings for _, settings in cells], cycles),
        measure,
        (lambda one: {"round_trips": make_round_trips(one)}) if histograms else None,
        make_hosts(),
        **{"name": "relay-latency", "title": "Latency of messages", "environment": {}},
    )


#: What a model says of a trial: columns by name; ``messages_per_s`` at least.
Model = Callable[[Settings], dict[str, Any]]
BATCH = {"batch_bytes": 65536, "batch_max_delay_ns": 800_000}
WRITE_SIZES = (64, 256, 1024, 4096, 16384)


def make_message_trials(
    curves: Iterable[Settings],
    model: Model,
    *,
    sizes: Sequence[int] = WRITE_SIZES,
    cycles: int = 8,
    noise: float = 0.01,
    flags: tuple[str, ...] = ("lab",),
) -> SyntheticResults:
    """Every curve and size in every cycle; rates have log-normal noise. ``streams``: 1 where not set."""
    rng = np.random.default_rng(11)

    def measure(row: PlanRecord) -> TrialRecord:
        found = model(row.settings)
        rate = found["messages_per_s"] * float(rng.lognormal(0, noise))
        carried = 8 * row.settings["message_bytes"] * rate
        own = {"messages_per_s": rate, "throughput_bits_per_s": carried, "flags": flags}
        return measure_row(row, **{**found, **own})

    cells = [{**one, "message_bytes": size} for one in curves for size in sizes]
    return run_plan(plan_cycles(cells, cycles), measure, environment={})


def carry(settings: Settings) -> dict[str, Any]:
    """2 µs a message and 8 Gbit/s of bytes; a batch shares the 2 µs, up to 16 messages, and pays 400 ns each.

    So batching gains 2064 / 589 = 3.5 at 64 bytes; the messages of a batch of 64 KiB are counted as well.
    """
    size = settings["message_bytes"]
    batched = settings.get("batch_bytes") is not None
    share = min(16, max(1, 65536 // size)) if batched else 1
    own_ns = 2000 / share + (400 if batched else 0)
    rate = 1e9 / (own_ns + size)
    return {
        "messages_per_s": rate,
        "messages_total": round(4 * rate),
        "send_calls": round(4 * rate / (65536 / size if batched else 1)),
        "messages_missing": 0,
        "messages_out_of_order": 0,
        "sender_cpu_ns_per_message": own_ns,
        "receiver_cpu_ns_per_message": 500.0,
    }


def make_writes(share: float, levels: Sequence[tuple[int, int | None]]) -> SyntheticResults:
    """Writes of every size; each stream carries that share of what 2 µs and 1 ns a byte allow."""

    def measure(size: int) -> SyntheticResults:
        def change(record: TrialRecord) -> TrialRecord:
            return replace(record, throughput_bits_per_s=share * record.streams * size * 8e9 / (2000 + size))

        return make_sweep(2, levels=levels, change=change, settings={"write_bytes": size})

    return join_results([measure(size) for size in WRITE_SIZES])
