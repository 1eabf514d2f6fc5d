"""Trial records: with what is given alone, of a model of a window-limited path, failed ones; their series.

The model is T = min(streams x window / RTT, line), the queue taking what the line does not, so that every
number that a report should find is known beforehand.
"""

import dataclasses
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pathlab.engines.spec import TrialSpec
from pathlab.runner.trial.choreography import TrialData
from pathlab.runner.trial.record import Outcome, build_record
from pathlab.runner.trial.series import build_series
from pathlab.store.records import PlanRecord, TrialRecord

RATE_BITS_PER_S = 40_000_000
DELAY_NS = 20_000_000
QUEUE_BYTES = 250_000
MTU_BYTES = 1500
GOODPUT_BITS_PER_S = RATE_BITS_PER_S * (MTU_BYTES - 52) / MTU_BYTES
STEADY_NS = 3_000_000_000
INTERVAL_NS = 100_000_000
START = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
_ALWAYS: dict[str, Any] = {
    "plan_row": 0,
    "attempt": 1,
    "status": "complete",
    "started_utc": "2026-01-05T12:00:00+00:00",
    "cycle": 0,
    "path_source": "a",
    "path_destination": "b",
    "streams": 1,
    "interval_ns": 100_000_000,
    "warmup_ns": 0,
    "duration_ns": 1_000_000_000,
    "flags": (),
}


def make_record(**given: Any) -> TrialRecord:
    """A complete trial from a to b, with what is given."""
    values = {field.name: None for field in dataclasses.fields(TrialRecord)} | _ALWAYS | given
    return TrialRecord(**values)


def record_trial(
    spec: TrialSpec, data: TrialData, series: dict[str, pa.Table] | None = None, **outcome: Any
) -> TrialRecord:
    """What a run stores of these records of engines and agents; ``series``: instead of those they give."""
    started = datetime(2026, 1, 5, tzinfo=UTC)
    ended = Outcome(**{"status": "complete", "attempt": 1, "started": started, **outcome})
    return build_record(spec, data, ended, build_series(data, None, spec) if series is None else series)


def start_of(row: int) -> str:
    """When a trial starts whose predecessors take 10 s each."""
    return (START + timedelta(seconds=10 * row)).isoformat(timespec="milliseconds")


def make_trial(
    streams: int,
    window_bytes: int | None = None,
    *,
    cycle: int = 0,
    row: int = 0,
    seed: int = 1,
    **changes: Any,
) -> TrialRecord:
    """A complete trial of the model, with a little noise from the seed, and what is given."""
    rng = np.random.default_rng([seed, row])
    base_ns = 2 * DELAY_NS
    requested = window_bytes or 4_000_000
    windows = streams * requested * 8 / (base_ns / 1e9)
    rate = min(windows, GOODPUT_BITS_PER_S) * (1 + rng.normal(0, 0.002))
    excess_bytes = max(0.0, streams * requested - GOODPUT_BITS_PER_S / 8 * base_ns / 1e9)
    rise_ns = min(excess_bytes, QUEUE_BYTES) * 8e9 / RATE_BITS_PER_S
    dropped = int(excess_bytes > QUEUE_BYTES) * int(40 + rng.integers(0, 20))
    received = int(rate / 8 * STEADY_NS / 1e9)
    loaded_ns, idle_ns = base_ns + rise_ns + 2e5, base_ns + 3e5
    trial = make_record(
        plan_row=row,
        started_utc=start_of(row),
        cycle=cycle,
        path_source="west",
        path_destination="east",
        source_address="198.18.0.1",
        destination_address="198.18.0.2",
        streams=streams,
        window_requested_bytes=window_bytes,
        window_granted_sender_bytes=None if window_bytes is None else 2 * window_bytes,
        window_granted_receiver_bytes=None if window_bytes is None else 2 * window_bytes,
        window_effective_bytes=rate / 8 / streams * loaded_ns / 1e9,
        window_in_flight_max_bytes=int(requested * 0.98),
        congestion_requested="cubic",
        congestion_sender="cubic",
        congestion_receiver="cubic",
        mss_bytes=1448,
        interval_ns=INTERVAL_NS,
        warmup_ns=500_000_000,
        duration_ns=STEADY_NS,
        steady_ns=STEADY_NS,
        received_steady_bytes=received,
        received_total_bytes=int(received * 1.2),
        sent_total_bytes=int(received * 1.2),
        retransmitted_bytes=dropped * 1448,
        retransmitted_segments=dropped,
        throughput_bits_per_s=rate,
        fairness_jain=1.0 if streams == 1 else 0.97,
        probe_method="icmp-raw",
        probe_stamps="kernel",
        loaded_sent=20,
        loaded_received=20 - int(dropped > 0),
        loaded_rtt_min_ns=loaded_ns - rise_ns / 2,
        loaded_rtt_mean_ns=loaded_ns,
        loaded_rtt_median_ns=loaded_ns + 1e5,
        loaded_rtt_iqr_ns=rise_ns / 4 + 1e5,
        unloaded_sent=20,
        unloaded_received=20,
        unloaded_rtt_min_ns=base_ns + 1e5,
        unloaded_rtt_mean_ns=idle_ns,
        unloaded_rtt_median_ns=idle_ns,
        unloaded_rtt_iqr_ns=1e5,
        sender_cpu_user_s=0.01,
        sender_cpu_system_s=0.05,
        receiver_cpu_user_s=0.01,
        receiver_cpu_system_s=0.08,
        sender_busiest_core_ratio=0.31,
        receiver_busiest_core_ratio=0.36,
        engine_version="0.1.0",
        rejected_connections=0,
        flags=("lab",),
    )
    return replace(trial, **changes)


def measure_row(row: PlanRecord, **changes: Any) -> TrialRecord:
    """A trial of the model for a row of a plan."""
    return make_trial(
        row.settings["streams"],
        row.settings.get("window_bytes"),
        cycle=row.cycle,
        row=row.row,
        **{"path_source": row.path_source, "path_destination": row.path_destination, **changes},
    )


def make_failed(record: TrialRecord, *, stage: str = "connect", reason: str = "refused") -> TrialRecord:
    """The same trial, failed: nothing measured stays in it."""
    measured = {
        name: None
        for name in TrialRecord.__dataclass_fields__
        if name.startswith(("loaded_", "unloaded_", "sender_", "receiver_", "received_", "window_granted"))
    }
    return replace(
        record,
        status="failed",
        failed_stage=stage,
        failure=reason,
        throughput_bits_per_s=None,
        window_effective_bytes=None,
        fairness_jain=None,
        **measured,
    )


def make_series(record: TrialRecord, *, seed: int = 1) -> dict[str, pd.DataFrame]:
    """Interval records at both ends and both sets of probes that agree with the record."""
    rng = np.random.default_rng([seed, record.plan_row, 7])
    steps = (record.warmup_ns + record.duration_ns) // INTERVAL_NS
    warm = record.warmup_ns // INTERVAL_NS
    weights = rng.dirichlet(np.full(record.streams, 60.0))
    per_step = record.received_steady_bytes / (steps - warm)
    step, stream = np.repeat(np.arange(steps), record.streams), np.tile(np.arange(record.streams), steps)
    frame = pd.DataFrame(
        {
            "index": step,
            "phase": np.where(step < warm, "warmup", "steady"),
            "start_ns": step * INTERVAL_NS,
            "end_ns": (step + 1) * INTERVAL_NS,
            "stream": stream,
            "bytes": (per_step * weights[stream] * np.minimum(1.0, (step + 1) / warm)).astype(np.int64),
            "rtt_us": 40_300 + 10 * step,
            "unacked_segments": 40,
            "snd_mss_bytes": 1448,
            "total_retrans_segments": (record.retransmitted_segments or 0) // record.streams,
        }
    )
    return {
        "receiver_intervals": frame[["index", "phase", "start_ns", "end_ns", "stream", "bytes"]],
        "sender_intervals": frame,
        "loaded_probes": _probes(rng, record.loaded_rtt_mean_ns, record.warmup_ns, record.loaded_received),
        "unloaded_probes": _probes(rng, record.unloaded_rtt_mean_ns, 4_500_000_000, record.unloaded_received),
    }


def _probes(
    rng: np.random.Generator, mean_ns: float | None, start_ns: int, received: int | None
) -> pd.DataFrame:
    sent = start_ns + np.arange(20) * 140_000_000
    rtts = mean_ns + rng.normal(0, 4e5, 20)
    rtts[received or 0 :] = np.nan
    return pd.DataFrame(
        {
            "sequence": np.arange(20),
            "intended_ns": sent,
            "sent_ns": sent + 12_000,
            "rtt_ns": rtts,
            "stamps": "kernel",
        }
    )
