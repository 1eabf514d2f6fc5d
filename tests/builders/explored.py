"""Results for the explorer's tests: several paths, and trials that failed, carry flags or do not count.

``make_explored`` holds few trials with all their series; ``write_many`` stores as many rows as requested,
without series, in a few transactions; ``write_long`` stores a trial with a long series.
"""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa

from pathlab.store.records import PlanRecord, TrialRecord
from pathlab.store.results import Results
from pathlab.store.schema import PLAN, TRIAL, to_row
from tests.builders.results import (
    Settings,
    SyntheticResults,
    make_campaign,
    make_hosts,
    plan_cycles,
    run_plan,
)
from tests.builders.trials import make_failed, make_series, measure_row, start_of

#: Texts that would run, or break out of their place, in a page that did not escape them.
MARKUP = "<img src=x onerror=\"window.hit=1\"> & </script><script>window.hit=2</script> 'q' %2C,\u202e$x$"
DESTINATIONS = ("east", "south")
STREAMS, WINDOWS = (1, 2, 4, 8), (64 * 1024, 256 * 1024)
ROWS_AT_ONCE = 5_000


def make_explored(
    *,
    cycles: int = 8,
    destinations: Sequence[str] = DESTINATIONS,
    streams: Sequence[int] = STREAMS,
    windows: Sequence[int | None] = WINDOWS,
    speed: float = 1.0,
    hostile: bool = False,
    series: bool = True,
    seed: int = 1,
    **campaign: Any,
) -> SyntheticResults:
    """Every path with every combination once in each cycle, in an order drawn for it.

    Of each 24 trials the 6th failed, the 12th was interrupted, the 18th is lab-limited (it does not count)
    and the 24th is flagged, and counts. The second path has half the rate of the first, all rates are times
    ``speed``. ``hostile``: title, failures and the last destination hold markup. ``series``: with those of
    every complete trial.
    """
    if hostile:
        destinations = (*destinations[:-1], f"{destinations[-1]}{MARKUP}")
        campaign.setdefault("title", f"Trials of {MARKUP}")
    cells = _list_cells(destinations, streams, windows)
    return run_plan(
        plan_cycles(cells, cycles, np.random.default_rng(seed).permutation),
        lambda row: _vary(_measure(row, destinations, speed, seed), hostile=hostile),
        lambda one: make_series(one, seed=seed) if series and one.received_steady_bytes is not None else {},
        make_hosts(),
        **campaign,
    )


def write_many(folder: Path, trials: int, *, seed: int = 1) -> Path:
    """Store that many trials of two paths; rates scatter by 2 %, and one in 24 each fails or is flagged."""
    rng = np.random.default_rng(seed)
    cells = _list_cells(DESTINATIONS, STREAMS, WINDOWS)
    samples: dict[tuple[str, int, int | None], TrialRecord] = {}
    with Results.create(folder, make_campaign(title=f"{trials} trials of two paths"), ()) as results:
        chunk: list[tuple[dict[str, Any], dict[str, Any]]] = []
        for row in itertools.islice(plan_cycles(cells, -(-trials // len(cells)), rng.permutation), trials):
            key = (row.path_destination, row.settings["streams"], row.settings["window_bytes"])
            if key not in samples:
                samples[key] = _measure(row, DESTINATIONS, 1.0, seed)
            chunk.append((to_row(row), to_row(_scatter(samples[key], row, rng))))
            if len(chunk) == ROWS_AT_ONCE:
                _store(results, chunk)
                chunk = []
        if chunk:
            _store(results, chunk)
    return folder


def _list_cells(
    destinations: Sequence[str], streams: Sequence[int], windows: Sequence[int | None]
) -> list[Settings]:
    return [
        {"path_destination": to, "streams": number, "window_bytes": window}
        for to in destinations
        for number in streams
        for window in windows
    ]


def _measure(row: PlanRecord, destinations: Sequence[str], speed: float, seed: int) -> TrialRecord:
    trial = measure_row(row, seed=seed)
    share = speed / (1 + list(destinations).index(row.path_destination))
    return replace(
        trial,
        throughput_bits_per_s=trial.throughput_bits_per_s * share,
        received_steady_bytes=int(trial.received_steady_bytes * share),
    )


def _vary(trial: TrialRecord, *, hostile: bool = False) -> TrialRecord:
    """The trial, or what a failure, an interruption or a flag makes of it, by its place in the plan."""
    match trial.plan_row % 24:
        case 5:
            return make_failed(trial, reason=MARKUP if hostile else "connection refused")
        case 11:
            return replace(make_failed(trial, stage="engine", reason="stopped"), status="interrupted")
        case 17:
            return replace(trial, flags=("lab", "lab-limited"))
        case 23:
            return replace(trial, flags=("lab", "busy-core"))
    return trial


def _scatter(sample: TrialRecord, row: PlanRecord, rng: np.random.Generator) -> TrialRecord:
    return _vary(
        replace(
            sample,
            plan_row=row.row,
            cycle=row.cycle,
            started_utc=start_of(row.row),
            throughput_bits_per_s=sample.throughput_bits_per_s * float(rng.lognormal(0, 0.02)),
            loaded_rtt_mean_ns=sample.loaded_rtt_mean_ns * float(rng.lognormal(0, 0.01)),
        )
    )


def _store(results: Results, chunk: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    with results.writing("trials") as connection:
        connection.execute(sa.insert(PLAN), [planned for planned, _ in chunk])
        connection.execute(sa.insert(TRIAL), [trial for _, trial in chunk])


def write_long(folder: Path, points: int, *, seed: int = 1) -> Path:
    """Store one trial whose probes under load are that many."""
    rng = np.random.default_rng(seed)
    synthetic = make_explored(cycles=1, destinations=DESTINATIONS[:1], streams=(4,), windows=(65536,))
    sent_ns = np.arange(points, dtype=np.int64) * 10_000
    table = pa.table(
        {
            "sequence": np.arange(points),
            "intended_ns": sent_ns,
            "sent_ns": sent_ns + 12_000,
            "rtt_ns": 4e7 + rng.gamma(2, 2e5, points) + 5e6 * np.sin(np.arange(points) / 20_000),
            "stamps": pa.array(np.full(points, "kernel")).dictionary_encode(),
        }
    )
    series = {"loaded_probes": table}
    with Results.create(
        folder, make_campaign(title=f"A trial of {points} probes"), synthetic.plan()
    ) as results:
        results.add_trial(synthetic.records[0], series)
    return folder
