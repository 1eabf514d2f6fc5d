"""Results in memory with the interface of the store, made from a model of a window-limited path.

The model is T = min(streams x window / RTT, line), the queue taking what the line does not, so that every
number that a report should find is known beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pathlab.store.flags import Status
from pathlab.store.records import CampaignRecord, HostRecord, JournalRecord, PlanRecord, TrialRecord
from pathlab.store.results import Results

RATE_BITS_PER_S = 40_000_000
DELAY_NS = 20_000_000
QUEUE_BYTES = 250_000
MTU_BYTES = 1500
GOODPUT_BITS_PER_S = RATE_BITS_PER_S * (MTU_BYTES - 52) / MTU_BYTES
STEADY_NS = 3_000_000_000
INTERVAL_NS = 100_000_000
LAB = {
    "backend": "emu-packet",
    "links": [
        {
            "between": ["west", "east"],
            "rate_bits_per_s": RATE_BITS_PER_S,
            "delay_ns": DELAY_NS,
            "queue_bytes": QUEUE_BYTES,
            "loss_ratio": 0.0,
            "mtu_bytes": MTU_BYTES,
        }
    ],
}


class SyntheticResults:
    """A results file that never was on a disk."""

    def __init__(
        self,
        campaign: CampaignRecord,
        plan: Sequence[PlanRecord],
        trials: Sequence[TrialRecord],
        series: dict[int, dict[str, pd.DataFrame]],
        hosts: Sequence[HostRecord] = (),
        journal: Sequence[JournalRecord] = (),
    ) -> None:
        self.campaign = campaign
        self.records = list(trials)
        self._plan = list(plan)
        self._series = series
        self._hosts = list(hosts)
        self._journal = list(journal)

    def plan(self) -> list[PlanRecord]:
        return self._plan

    def hosts(self) -> list[HostRecord]:
        return self._hosts

    def journal(self) -> list[JournalRecord]:
        return self._journal

    def trials(self) -> pd.DataFrame:
        columns = ["trial_id", *TrialRecord.__dataclass_fields__]
        rows = [{"trial_id": number, **asdict(record)} for number, record in enumerate(self.records, 1)]
        return pd.DataFrame(rows, columns=columns)

    def record(self, trial_id: int) -> TrialRecord:
        return self.records[trial_id - 1]

    def series_kinds(self, trial_id: int) -> tuple[str, ...]:
        return tuple(self._series.get(trial_id, {}))

    def series_tables(self, trial_id: int, columns: Mapping[str, Sequence[str]]) -> dict[str, pa.Table]:
        kept = {kind: frame for kind, frame in self._series.get(trial_id, {}).items() if kind in columns}
        return {
            kind: pa.Table.from_pandas(frame[[name for name in columns[kind] if name in frame]])
            for kind, frame in kept.items()
        }

    def series(self, trial_id: int, kind: str) -> pd.DataFrame:
        return self._series[trial_id][kind]


def write_results(synthetic: SyntheticResults, folder: Path) -> Path:
    """Store them as a run does; failed trials have no series."""
    with Results.create(folder, synthetic.campaign, synthetic.plan()) as results:
        for host in synthetic.hosts():
            results.add_host(host)
        for number, record in enumerate(synthetic.records, 1):
            kinds = synthetic.series_kinds(number) if record.status != Status.FAILED else ()
            tables = {
                kind: pa.Table.from_pandas(synthetic.series(number, kind), preserve_index=False)
                for kind in kinds
            }
            assert results.add_trial(record, tables) == number
    return folder


def make_campaign(**changes: Any) -> CampaignRecord:
    base = CampaignRecord(
        name="quickstart",
        title="Quickstart: streams against windows on an emulated WAN",
        digest="0" * 64,
        text='name = "quickstart"\n',
        model={"name": "quickstart", "order": "random", "cycles": 2},
        seed=20260101,
        created_utc="2026-01-02T03:04:05Z",
        program_version="0.1.0",
        environment={"lab": LAB},
    )
    return replace(base, **changes)


def make_hosts() -> list[HostRecord]:
    facts = {
        "kernel": {"release": "6.1.0-18-amd64", "machine": "x86_64"},
        "cpu": {"model": "Example CPU <4 GHz>", "cores": 2},
        "sysctl": {"net.core.rmem_max": 212992, "net.core.wmem_max": 212992},
        "offloads": None,
    }
    return [
        HostRecord(name="west", recorded_utc="2026-01-02T03:04:05Z", facts=facts),
        HostRecord(name="east", recorded_utc="2026-01-02T03:04:05Z", facts={**facts, "cpu": {"cores": 4}}),
    ]


def make_trial(streams: int, window_bytes: int | None, *, cycle: int, row: int, seed: int = 1) -> TrialRecord:
    """A complete trial of the model, with a little noise from the seed."""
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
    return TrialRecord(
        plan_row=row,
        attempt=1,
        status="complete",
        failed_stage=None,
        failure=None,
        started_utc=f"2026-01-02T03:{4 + row // 6:02d}:{row % 6 * 10:02d}.000+00:00",
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
        **measured,  # type: ignore[arg-type]
    )


def make_series(record: TrialRecord, *, seed: int = 1) -> dict[str, pd.DataFrame]:
    """Interval records at both ends and both sets of probes that agree with the record."""
    rng = np.random.default_rng([seed, record.plan_row, 7])
    assert record.received_steady_bytes is not None
    steps = (record.warmup_ns + record.duration_ns) // INTERVAL_NS
    warm = record.warmup_ns // INTERVAL_NS
    weights = rng.dirichlet(np.full(record.streams, 60.0))
    per_step = record.received_steady_bytes / (steps - warm)
    rows = [
        {
            "index": step,
            "phase": "warmup" if step < warm else "steady",
            "start_ns": step * INTERVAL_NS,
            "end_ns": (step + 1) * INTERVAL_NS,
            "stream": stream,
            "bytes": int(per_step * weights[stream] * (min(1.0, (step + 1) / warm))),
            "rtt_us": 40_300 + 10 * step,
            "unacked_segments": 40,
            "snd_mss_bytes": 1448,
            "total_retrans_segments": (record.retransmitted_segments or 0) // record.streams,
        }
        for step in range(steps)
        for stream in range(record.streams)
    ]
    return {
        "receiver_intervals": pd.DataFrame(rows)[["index", "phase", "start_ns", "end_ns", "stream", "bytes"]],
        "sender_intervals": pd.DataFrame(rows),
        "loaded_probes": _probes(rng, record.loaded_rtt_mean_ns, record.warmup_ns, record.loaded_received),
        "unloaded_probes": _probes(rng, record.unloaded_rtt_mean_ns, 4_500_000_000, record.unloaded_received),
    }


def _probes(
    rng: np.random.Generator, mean_ns: float | None, start_ns: int, received: int | None
) -> pd.DataFrame:
    assert mean_ns is not None
    sent = start_ns + np.arange(20) * 140_000_000
    rtts = mean_ns + rng.normal(0, 4e5, 20)
    frame = pd.DataFrame(
        {
            "sequence": np.arange(20),
            "intended_ns": sent,
            "sent_ns": sent + 12_000,
            "rtt_ns": rtts,
            "stamps": "kernel",
        }
    )
    frame.loc[frame["sequence"] >= (received or 0), "rtt_ns"] = np.nan
    return frame


def make_quickstart(
    *, cycles: int = 2, levels: Sequence[tuple[int, int | None]] | None = None, **campaign: Any
) -> SyntheticResults:
    """The quickstart: 1, 2, 4, 8 streams x 64 and 256 KiB, in an order drawn for each cycle."""
    chosen = levels or [(streams, size * 1024) for streams in (1, 2, 4, 8) for size in (64, 256)]
    rng = np.random.default_rng(11)
    plan: list[PlanRecord] = []
    trials: list[TrialRecord] = []
    for cycle in range(cycles):
        for index in rng.permutation(len(chosen)):
            streams, window = chosen[index]
            row = len(plan)
            plan.append(
                PlanRecord(
                    row=row,
                    cycle=cycle,
                    path_source="west",
                    path_destination="east",
                    settings={"streams": streams, "window_bytes": window, "congestion": "cubic"},
                )
            )
            trials.append(make_trial(streams, window, cycle=cycle, row=row))
    series = {number: make_series(record) for number, record in enumerate(trials, 1)}
    return SyntheticResults(make_campaign(**campaign), plan, trials, series, make_hosts())
