"""How long all analyses of a results file take, how much memory, and how both grow with the trials.

``python benchmarks/analysis.py --help`` says how; README.md alongside it says what the columns mean.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from outcome import echo

from pathlab.store.records import CampaignRecord, PlanRecord, TrialRecord
from pathlab.store.results import Results
from pathlab.store.schema import PLAN, SERIES, TRIAL, to_row
from pathlab.store.series import encode_series
from pathlab.study.analyses import StudiedResults
from pathlab.study.base.registry import ANALYSES
from pathlab.study.document import encode

TARGET_S, TARGET_BYTES, TARGET_TRIALS = 20.0, 10**9, 20_000
MEMORY_TRIALS = 100_000  # from here on time has no target, only memory
STREAMS = (1, 20, 5, 12, 8, 10, 4, 11, 3, 7, 15, 9, 2, 6)
WINDOWS = tuple(size * 1024 for size in (8, 16, 32, 55, 64, 128, 256))
CELLS = len(STREAMS) * len(WINDOWS)
RTT_NS, LINE_BITS_PER_S, STEADY_NS, INTERVAL_NS = 160_000_000, 30_000_000, 20_000_000_000, 100_000_000
CHUNK = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A results file: a number of paths, each with every cell in a number of cycles."""

    paths: int
    cycles: int

    @property
    def trials(self) -> int:
        """Trials in the file."""
        return self.paths * self.cycles * CELLS


def make_base() -> dict[str, Any]:
    """The row that all trials share, without the figures that vary."""
    empty: dict[str, Any] = {field.name: None for field in fields(TrialRecord)}
    record = TrialRecord(
        **{
            **empty,
            "plan_row": 0,
            "attempt": 1,
            "status": "complete",
            "started_utc": "2026-01-01T00:00:00+00:00",
            "cycle": 0,
            "path_source": "a",
            "path_destination": "b",
            "streams": 1,
            "congestion_requested": "reno",
            "congestion_sender": "reno",
            "interval_ns": INTERVAL_NS,
            "warmup_ns": 2_000_000_000,
            "duration_ns": STEADY_NS,
            "steady_ns": STEADY_NS,
            "retransmitted_bytes": 0,
            "retransmitted_segments": 0,
            "loaded_sent": 20,
            "loaded_received": 20,
            "unloaded_sent": 20,
            "unloaded_received": 20,
            "engine_version": "0.1.0",
            "flags": (),
        }
    )
    return to_row(record)


def draw_rows(shape: Shape, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """One row per trial of a window-limited path with a queue, in the order of its cycles."""
    base, row = make_base(), 0
    levels = [(streams, window) for streams in STREAMS for window in WINDOWS]
    for cycle in range(shape.cycles):
        for path in range(shape.paths):
            for at in rng.permutation(CELLS):
                streams, window = levels[at]
                limited = streams * window * 8e9 / RTT_NS
                rate = (limited**-6 + LINE_BITS_PER_S**-6) ** (-1 / 6) * rng.lognormal(0, 0.05)
                rise = max(0.0, streams * window * 8e9 / LINE_BITS_PER_S - RTT_NS) * 0.2
                loaded = RTT_NS + min(rise, 80e6) + rng.gamma(4, 5e4)
                carried = int(rate * 22 / 8)
                yield base | {
                    "plan_row": row,
                    "started_utc": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(1.7e9 + 40 * row)),
                    "cycle": cycle,
                    "path_destination": f"b{path}",
                    "streams": streams,
                    "window_requested_bytes": window,
                    "window_granted_sender_bytes": 2 * window,
                    "window_granted_receiver_bytes": 2 * window,
                    "received_steady_bytes": int(rate * 20 / 8),
                    "received_total_bytes": carried,
                    "sent_total_bytes": carried,
                    "throughput_bits_per_s": rate,
                    "fairness_jain": float(1 - rng.gamma(2, 0.01)) if streams > 1 else 1.0,
                    "loaded_rtt_min_ns": RTT_NS + 1e5,
                    "loaded_rtt_mean_ns": loaded,
                    "loaded_rtt_median_ns": loaded * 0.999,
                    "unloaded_rtt_min_ns": RTT_NS + 5e4,
                    "unloaded_rtt_mean_ns": RTT_NS + rng.gamma(4, 3e4),
                    "unloaded_rtt_median_ns": RTT_NS + 1e5,
                    **{
                        f"{end}_cpu_{part}_s": share * rate / 1e9 * rng.lognormal(0, 0.1)
                        for end in ("sender", "receiver")
                        for part, share in (("user", 2.0), ("system", 9.0))
                    },
                    "sender_busiest_core_ratio": 0.2,
                    "receiver_busiest_core_ratio": 0.3,
                }
                row += 1


def make_series(streams: int, window: int) -> dict[str, tuple[bytes, int]]:
    """Interval records of both ends and the workers' CPU, as a window-limited flow writes them."""
    steps = (STEADY_NS + 2_000_000_000) // INTERVAL_NS
    index = np.repeat(np.arange(steps), streams)
    per_step = int(min(window * INTERVAL_NS / RTT_NS, LINE_BITS_PER_S / 8 / 10 / streams))
    common = {
        "index": index,
        "phase": pa.array(np.where(index < 20, "warmup", "steady")).dictionary_encode(),
        "start_ns": index * INTERVAL_NS,
        "end_ns": (index + 1) * INTERVAL_NS,
        "stream": np.tile(np.arange(streams), steps),
        "bytes": np.full(index.size, per_step),
    }
    counted = (index + 1) * INTERVAL_NS // 1000
    info = {
        "rtt_us": np.full(index.size, RTT_NS // 1000 + 300),
        "min_rtt_us": np.full(index.size, RTT_NS // 1000),
        "snd_mss_bytes": np.full(index.size, 1448),
        "delivery_rate_app_limited": np.zeros(index.size, dtype=np.int64),
        "busy_time_us": counted,
        "rwnd_limited_us": counted * 9 // 10,
        "sndbuf_limited_us": np.zeros(index.size, dtype=np.int64),
        "bytes_sent": (index + 1) * per_step,
        "bytes_retrans": np.zeros(index.size, dtype=np.int64),
        "delivered_segments": (index + 1) * per_step // 1448,
    }
    rest = {f"spare_{number}": (index * 7 + number) for number in range(12)}
    steps_once = np.arange(steps)
    workers = {
        "index": steps_once,
        "start_ns": steps_once * INTERVAL_NS,
        "end_ns": (steps_once + 1) * INTERVAL_NS,
        "worker": np.zeros(steps, dtype=np.int64),
        "user_ns": np.full(steps, 10**6),
        "system_ns": np.full(steps, 5 * 10**6),
        "waiting_ns": np.full(steps, 10**5),
    }
    names = ["streams", "congestion", "pacing_bits_per_s", "rate_cap_bits_per_s"]
    state = [str(streams), "reno", None, None]
    settings = {"name": names, "requested": state, "sender": state, "receiver": state}
    tables = {
        **dict.fromkeys(("sender_intervals", "receiver_intervals"), common | info | rest),
        **dict.fromkeys(("sender_workers", "receiver_workers"), workers),
        "settings": settings,
    }
    return {
        kind: (encode_series(kind, pa.table(table)), len(next(iter(table.values()))))
        for kind, table in tables.items()
    }


def build_file(folder: Path, shape: Shape, seed: int) -> None:
    """A results file of that shape, with series for every trial, written in few transactions."""
    rng = np.random.default_rng(seed)
    campaign = CampaignRecord(
        name="benchmark",
        title="Synthetic trials",
        digest="0" * 64,
        text="",
        model={},
        seed=seed,
        created_utc="2026-01-01T00:00:00+00:00",
        program_version="0.1.0",
        environment={"lab": None, "fallback": None},
    )
    with Results.create(folder, campaign, ()) as results:
        database = results.path
    series = {(streams, window): make_series(streams, window) for streams in STREAMS for window in WINDOWS}
    plan = PlanRecord(row=0, cycle=0, path_source="a", path_destination="b", settings={})
    engine = sa.create_engine(f"sqlite:///{database}")
    chunk: list[dict[str, Any]] = []
    number = 0
    for row in draw_rows(shape, rng):
        chunk.append(row)
        if len(chunk) == CHUNK:
            number = store_chunk(engine, chunk, series, plan, number)
            chunk = []
    if chunk:
        store_chunk(engine, chunk, series, plan, number)
    engine.dispose()


def store_chunk(
    engine: sa.Engine, chunk: Sequence[dict[str, Any]], series: Any, plan: PlanRecord, number: int
) -> int:
    """Store some trials with plan rows and series; the number of the last one."""
    planned, blobs = [], []
    for offset, row in enumerate(chunk, start=1):
        settings = {
            "streams": row["streams"],
            "window_bytes": row["window_requested_bytes"],
            "congestion": "reno",
        }
        planned.append(
            to_row(
                replace(
                    plan,
                    row=row["plan_row"],
                    cycle=row["cycle"],
                    path_destination=row["path_destination"],
                    settings=settings,
                )
            )
        )
        for kind, (blob, rows) in series[row["streams"], row["window_requested_bytes"]].items():
            digest = hashlib.sha256(blob).hexdigest()
            blobs.append(
                {"trial_id": number + offset, "kind": kind, "rows": rows, "sha256": digest, "blob": blob}
            )
    with engine.begin() as connection:
        connection.execute(sa.insert(PLAN), planned)
        connection.execute(sa.insert(TRIAL), list(chunk))
        connection.execute(sa.insert(SERIES), blobs)
    return number + len(chunk)


def measure(folder: Path) -> dict[str, Any]:
    """Every analysis of a file, timed one by one in this process; seconds, and its peak memory in bytes."""
    spent: dict[str, float] = {}
    begin = time.perf_counter()
    with StudiedResults.open(folder) as results:
        results.study_table()
        spent["reading"] = time.perf_counter() - begin
        for name, analyse in ANALYSES.items():
            before = time.perf_counter()
            encode(analyse(results))
            spent[name] = time.perf_counter() - before
    total, worked = time.perf_counter() - begin, time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"total_s": total, "cpu_s": worked, "peak_bytes": peak, "analyses_s": spent}


def measure_apart(folder: Path) -> dict[str, Any]:
    """As ``measure``, in a process of its own, so that the peak is that of the analyses."""
    done = subprocess.run(
        [sys.executable, __file__, "--measure", str(folder)], check=True, capture_output=True, text=True
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def report(shape: Shape, result: dict[str, Any], *, details: bool) -> None:
    """One line for a file, and one for each analysis if requested."""
    total, peak = result["total_s"], result["peak_bytes"]
    per_trial = 1e3 * total / shape.trials
    verdict = ""
    if shape.trials <= MEMORY_TRIALS:
        quick = total < TARGET_S or shape.trials > TARGET_TRIALS
        verdict = "within" if quick and peak < TARGET_BYTES else "BEYOND"
    echo(
        f"{shape.trials:8d} {shape.paths:6d} {shape.cycles:7d} {total:8.2f} {result['cpu_s']:8.2f} "
        f"{per_trial:10.3f} {peak / 1e6:8.0f}  {verdict}"
    )
    if details:
        for name, seconds in sorted(result["analyses_s"].items(), key=lambda item: -item[1]):
            echo(f"{'':10}{name:22}{seconds:8.2f} s")


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="benchmarks/analysis.py", description=__doc__)
    parser.add_argument(
        "--shape",
        action="append",
        metavar="PATHSxCYCLES",
        help="a file, 98 cells a path and cycle; repeatable (default 1x10, 1x50, 1x200, 8x25, 1x1000)",
    )
    parser.add_argument("--details", action="store_true", help="the time of each analysis as well")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all figures, as JSON")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Build and measure the requested files."""
    options = parse_arguments(arguments)
    if options.measure:
        echo(json.dumps(measure(options.measure)))
        return 0
    stored: list[dict[str, Any]] = []
    echo(f"{'trials':>8} {'paths':>6} {'cycles':>7} {'s':>8} {'CPU-s':>8} {'ms/trial':>10} {'peak MB':>8}")
    for text in options.shape or ("1x10", "1x50", "1x200", "8x25", "1x1000"):
        paths, _, cycles = text.partition("x")
        shape = Shape(paths=int(paths), cycles=int(cycles))
        with tempfile.TemporaryDirectory(prefix="pathlab-benchmark-") as folder:
            build_file(Path(folder), shape, seed=7)
            apart = measure_apart(Path(folder))
        report(shape, apart, details=options.details)
        stored.append({"paths": shape.paths, "cycles": shape.cycles, "trials": shape.trials, **apart})
    echo(
        f"target: {TARGET_TRIALS} trials in less than {TARGET_S:.0f} s; {MEMORY_TRIALS} in less than "
        f"{TARGET_BYTES / 1e6:.0f} MB"
    )
    if options.json:
        options.json.write_text(json.dumps(stored, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
