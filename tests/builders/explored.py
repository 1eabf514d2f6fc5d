"""Results for the explorer's tests: several paths, and trials that failed, carry flags or do not count.

``make_explored`` holds few trials with all their series; ``write_many`` stores as many rows as requested,
without series, in a few transactions; ``write_long`` stores a trial with a long series.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa

from pathlab.store.records import PlanRecord, TrialRecord
from pathlab.store.results import Results
from pathlab.store.schema import PLAN, TRIAL, to_row
from tests.builders.results import (
    SyntheticResults,
    make_campaign,
    make_failed,
    make_hosts,
    make_series,
    make_trial,
)

#: Texts that would run, or break out of their place, in a page that did not escape them.
MARKUP = "<img src=x onerror=\"window.hit=1\"> & </script><script>window.hit=2</script> 'q' %2C,\u202e$x$"
DESTINATIONS = ("east", "south")
STREAMS, WINDOWS = (1, 2, 4, 8), (64 * 1024, 256 * 1024)
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TRIAL_S, ROWS_AT_ONCE = 10, 5_000


def make_explored(
    *,
    cycles: int = 8,
    destinations: Sequence[str] = DESTINATIONS,
    streams: Sequence[int] = STREAMS,
    windows: Sequence[int | None] = WINDOWS,
    speed: float = 1.0,
    hostile: bool = False,
    seed: int = 1,
    **campaign: Any,
) -> SyntheticResults:
    """Every path with every combination once in each cycle, in an order drawn for it.

    Of each 24 trials the 6th failed, the 12th was interrupted, the 18th is lab-limited (it does not count)
    and the 24th is flagged, and counts. The second path has half the rate of the first, all rates are times
    ``speed``. ``hostile``: title, failures and the last destination hold markup.
    """
    if hostile:
        destinations = (*destinations[:-1], f"{destinations[-1]}{MARKUP}")
        campaign.setdefault("title", f"Trials of {MARKUP}")
    rng = np.random.default_rng(seed)
    plan: list[PlanRecord] = []
    trials: list[TrialRecord] = []
    for settings in _list_settings(cycles, destinations, streams, windows, rng):
        row = replace(settings, row=len(plan))
        plan.append(row)
        trials.append(_vary(_measure(row, destinations, speed, seed), hostile=hostile))
    series = {
        number: make_series(record, seed=seed)
        for number, record in enumerate(trials, 1)
        if record.received_steady_bytes is not None
    }
    return SyntheticResults(make_campaign(**campaign), plan, trials, series, make_hosts())


def write_many(folder: Path, trials: int, *, seed: int = 1) -> Path:
    """Store that many trials of two paths; rates scatter by 2 %, and one in 24 each fails or is flagged."""
    rng = np.random.default_rng(seed)
    cells = len(DESTINATIONS) * len(STREAMS) * len(WINDOWS)
    cycles = -(-trials // cells)
    samples: dict[tuple[str, int, int | None], TrialRecord] = {}
    with Results.create(folder, make_campaign(title=f"{trials} trials of two paths"), ()) as results:
        chunk: list[tuple[dict[str, Any], dict[str, Any]]] = []
        for number, given in enumerate(_list_settings(cycles, DESTINATIONS, STREAMS, WINDOWS, rng)):
            if number == trials:
                break
            row = replace(given, row=number)
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


def _list_settings(
    cycles: int,
    destinations: Sequence[str],
    streams: Sequence[int],
    windows: Sequence[int | None],
    rng: np.random.Generator,
) -> Iterator[PlanRecord]:
    cells = [(to, number, window) for to in destinations for number in streams for window in windows]
    for cycle in range(cycles):
        for place in rng.permutation(len(cells)):
            to, number, window = cells[place]
            yield PlanRecord(
                row=0,
                cycle=cycle,
                path_source="west",
                path_destination=to,
                settings={"streams": number, "window_bytes": window, "congestion": "cubic"},
            )


def _measure(row: PlanRecord, destinations: Sequence[str], speed: float, seed: int) -> TrialRecord:
    trial = make_trial(
        row.settings["streams"], row.settings["window_bytes"], cycle=row.cycle, row=row.row, seed=seed
    )
    share = speed / (1 + list(destinations).index(row.path_destination))
    assert trial.throughput_bits_per_s is not None
    assert trial.received_steady_bytes is not None
    return replace(
        trial,
        started_utc=_start(row.row),
        path_destination=row.path_destination,
        throughput_bits_per_s=trial.throughput_bits_per_s * share,
        received_steady_bytes=int(trial.received_steady_bytes * share),
    )


def _start(row: int) -> str:
    return (START + timedelta(seconds=TRIAL_S * row)).isoformat(timespec="milliseconds")


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
    assert sample.throughput_bits_per_s is not None
    assert sample.loaded_rtt_mean_ns is not None
    return _vary(
        replace(
            sample,
            plan_row=row.row,
            cycle=row.cycle,
            started_utc=_start(row.row),
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
