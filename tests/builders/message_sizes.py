"""Trials of messages in memory: any settings, sizes and streams, with the rate that a model gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pathlab.store.records import PlanRecord, TrialRecord
from tests.builders.results import SyntheticResults, make_campaign, make_trial

Settings = Mapping[str, Any]
#: What a model says of a trial: columns by name; ``messages_per_s`` at least.
Model = Callable[[Settings], dict[str, Any]]
BATCH = {"batch_bytes": 65536, "batch_max_delay_ns": 800_000}
SIZES = (64, 256, 1024, 4096, 16384)


def make_message_trials(
    curves: Iterable[Settings],
    model: Model,
    *,
    sizes: Sequence[int] = SIZES,
    cycles: int = 8,
    noise: float = 0.01,
    flags: tuple[str, ...] = ("lab",),
) -> SyntheticResults:
    """Every curve and size in every cycle; rates have log-normal noise. ``streams``: 1 where not set."""
    rng = np.random.default_rng(11)
    plan: list[PlanRecord] = []
    trials: list[TrialRecord] = []
    chosen = [{"congestion": "cubic", "streams": 1, **one} for one in curves]
    for cycle in range(cycles):
        for settings in ({**one, "message_bytes": size} for one in chosen for size in sizes):
            row = len(plan)
            planned = {"window_bytes": None, **settings}
            plan.append(
                PlanRecord(row=row, cycle=cycle, path_source="a", path_destination="b", settings=planned)
            )
            record = make_trial(settings["streams"], None, cycle=cycle, row=row)
            found = model(settings)
            rate = found["messages_per_s"] * float(rng.lognormal(0, noise))
            found |= {
                "messages_per_s": rate,
                "throughput_bits_per_s": 8 * settings["message_bytes"] * rate,
                "flags": flags,
                "started_utc": f"2026-01-02T{row // 3600 % 24:02d}:{row // 60 % 60:02d}:{row % 60:02d}+00:00",
            }
            trials.append(replace(record, **found))
    return SyntheticResults(make_campaign(environment={}), plan, trials, {}, ())


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
