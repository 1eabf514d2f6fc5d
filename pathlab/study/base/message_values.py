"""Measures of each trial of messages: CPU time, round trips, and messages that never returned.

These took longer than all others, so every quantile moves up.
"""

from __future__ import annotations

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.study.base.selection import Sample

#: Shares of round trips above the stored quantiles, by the quantile's name.
TAIL_RATIOS = {"median": 0.5, "p90": 0.1, "p99": 1e-2, "p99_9": 1e-3, "p99_99": 1e-4, "p99_999": 1e-5}
#: Share of missing messages above which there is no p99: it is one of those that never returned.
MISSING_RATIO_MAX = TAIL_RATIOS["p99"]
#: Why a trial with more of them is left out: a stable name.
MESSAGES_MISSING = "messages-missing"


def measure_missing(part: Sample) -> Floats:
    """The share of each trial's messages that never returned; NaN where they were not counted."""
    missing, total = part.get("messages_missing"), part.get("messages_total")
    sent = missing + total
    return np.where(sent > 0, missing / np.where(sent > 0, sent, 1), np.nan)


def pool_missing(part: Sample) -> float | None:
    """The share over all trials; None where they were not counted."""
    missing, total = part.get("messages_missing"), part.get("messages_total")
    known = ~np.isnan(missing + total)
    sent = float((missing + total)[known].sum())
    return float(missing[known].sum()) / sent if sent else None


def read_round_trips_ns(part: Sample, name: str) -> Floats:
    """A quantile (``median``, ``p99`` ...) of each trial over all its messages; NaN where it never returned.

    Notes
    -----
    Of n messages of which a share m is missing, the share (t - m) / (1 - m) of those that returned is above
    the quantile with the share t above it. Between stored quantiles the logarithm of the value is taken as
    linear in that of the share above it; the maximum has 1 / n above it.
    """
    stored = part.get(f"round_trip_{name}_ns")
    missing = measure_missing(part)
    tails = np.array([*TAIL_RATIOS.values()])
    columns = np.stack([part.get(f"round_trip_{item}_ns") for item in TAIL_RATIOS])
    trips, slowest = part.get("round_trips"), part.get("round_trip_max_ns")
    result = stored.copy()
    for index in np.flatnonzero((missing > 0) & ~np.isnan(stored)):
        left = (TAIL_RATIOS[name] - missing[index]) / (1 - missing[index])
        known = columns[:, index] > 0
        above = np.append(tails[known], 1 / max(trips[index], 1.0))
        values = np.append(columns[known, index], slowest[index])
        usable = np.isfinite(values) & np.isfinite(above)
        depth, logs = -np.log(above[usable]), np.log(values[usable])
        result[index] = np.exp(np.interp(-np.log(left), depth, logs)) if left > 0 else np.nan
    return result


def measure_cpu_per_message(part: Sample) -> Floats:
    """CPU time of both ends per message, ns; NaN where that of an end was not measured.

    Where one thread is both ends, the sender's is of both and the receiver has none.
    """
    sender, receiver = (part.get(f"{end}_cpu_ns_per_message") for end in ("sender", "receiver"))
    if np.isnan(sender).all():  # no trial of messages
        return np.full(len(part), np.nan)
    fused = [part.table.conditions[index].get("placement") == "fused" for index in part.places]
    return np.where(fused, sender, sender + receiver)
