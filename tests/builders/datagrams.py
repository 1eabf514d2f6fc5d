"""UDP flows in memory: any settings, counts that a model gives, histograms where it gives some."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from pathlab.store.records import PlanRecord, TrialRecord
from tests.builders.results import Settings, SyntheticResults, plan_cycles, run_plan
from tests.builders.trials import measure_row

Model = Callable[[Settings, np.random.Generator], dict[str, Any]]
SECONDS = 10
SIZE_BYTES = 1000


def make_udp_trials(
    flows: Iterable[Settings],
    model: Model,
    *,
    cycles: int = 8,
    flags: tuple[str, ...] = ("lab",),
    bins: Mapping[str, Iterable[tuple[int, int, int]]] | None = None,
    environment: dict[str, Any] | None = None,
) -> SyntheticResults:
    """Every flow in every cycle. ``bins``: the histograms of each trial, by metric."""
    rng = np.random.default_rng(20)
    rows = [
        {"metric": metric, "low": low, "high": high, "count": count}
        for metric, found in (bins or {}).items()
        for low, high, count in found
    ]

    def measure(row: PlanRecord) -> TrialRecord:
        found = model(row.settings, rng)
        rate = found["udp_received_packets_per_s"] * SIZE_BYTES * 8
        always: dict[str, Any] = {
            "udp_jitter_ns": 2e4,
            "udp_duplicate_packets": 0,
            "datagram_bytes": SIZE_BYTES,
        }
        always |= dict.fromkeys(("mss_bytes", "congestion_sender", "congestion_receiver"))
        return measure_row(row, **{**always, **found, "throughput_bits_per_s": rate, "flags": flags})

    cells = [{"congestion": None, "transport": "udp", **one} for one in flows]
    observe = (lambda _: {"datagram_histograms": pd.DataFrame(rows)}) if rows else None
    return run_plan(plan_cycles(cells, cycles), measure, observe, environment=environment or {})


def carry_flow(settings: Settings, rng: np.random.Generator) -> dict[str, Any]:
    """A path that drops what is above 5,000 packets/s, and a host that drops 0.5 % of what arrives.

    A tenth of a percent is reordered. GSO makes a datagram cost the sender half.
    """
    offered = (settings.get("pacing_bits_per_s") or 0) / 8 / SIZE_BYTES or None
    sent_per_s = (offered or 20_000.0) * float(rng.normal(1, 0.0005))
    sent = round(sent_per_s * SECONDS)
    path = max(0, sent - 5_000 * SECONDS)
    host = int(rng.binomial(sent - path, 0.005))
    received = sent - path - host
    return {
        "udp_sent_packets": sent,
        "udp_received_packets": received,
        "udp_lost_packets": path + host,
        "udp_lost_host_packets": host,
        "udp_lost_path_packets": path,
        "udp_reordered_packets": received // 1000,
        "udp_n_reordered_3_packets": received // 5000,
        "udp_reorder_extent_max_packets": 7,
        "udp_late_time_max_ns": 90_000,
        "udp_refused_packets": 0,
        "udp_offered_packets_per_s": offered,
        "udp_sent_packets_per_s": sent / SECONDS,
        "udp_received_packets_per_s": received / SECONDS,
        "udp_pacing_error_median_ns": None if offered is None else 2_000.0,
        "udp_pacing_error_p99_ns": None if offered is None else 80_000.0,
        "sender_cpu_ns_per_packet": (600.0 if settings.get("gso") else 1200.0)
        * float(rng.lognormal(0, 0.01)),
        "receiver_cpu_ns_per_packet": 900.0 * float(rng.lognormal(0, 0.01)),
    }
