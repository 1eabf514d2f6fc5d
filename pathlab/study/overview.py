"""The combinations of a results file: how many trials each has, and what it carried."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pathlab.analysis.estimators.quantiles import quartiles
from pathlab.errors import StoreError
from pathlab.store.flags import Status
from pathlab.store.overview import stream_outcomes
from pathlab.store.results import Results
from pathlab.study.selection import is_counted


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinationSummary:
    """One combination on one path; ``counted`` trials make the median (None: none counts)."""

    path_source: str
    path_destination: str
    streams: int
    window_requested_bytes: int | None
    settings: Mapping[str, Any]  # of its plan rows
    complete: int
    not_complete: int
    counted: int
    median_bits_per_s: float | None


def summarise_combinations(results: Results) -> tuple[CombinationSummary, ...]:
    """Every combination by path, streams and window. Trials are streamed: only their rates are held.

    Raises StoreError where the file is damaged.
    """
    rates: dict[tuple[Any, ...], list[float]] = {}
    complete: dict[tuple[Any, ...], int] = {}
    trials: dict[tuple[Any, ...], int] = {}
    for trial in stream_outcomes(results):
        window = float("inf") if trial.window_requested_bytes is None else trial.window_requested_bytes
        key = (trial.path_source, trial.path_destination, trial.streams, window, trial.settings or "{}")
        trials[key] = trials.get(key, 0) + 1
        complete[key] = complete.get(key, 0) + (trial.status == Status.COMPLETE)
        counted = rates.setdefault(key, [])
        if trial.throughput_bits_per_s is not None and is_counted(trial):
            counted.append(trial.throughput_bits_per_s)
    return tuple(
        CombinationSummary(
            path_source=key[0],
            path_destination=key[1],
            streams=key[2],
            window_requested_bytes=None if key[3] == float("inf") else key[3],
            settings=_read_settings(results, key[4]),
            complete=complete[key],
            not_complete=trials[key] - complete[key],
            counted=len(rates[key]),
            median_bits_per_s=quartiles(rates[key]).median,
        )
        for key in sorted(trials)
    )


def _read_settings(results: Results, text: str) -> Mapping[str, Any]:
    try:
        settings: Mapping[str, Any] = json.loads(text)
    except ValueError as error:
        raise StoreError(
            f"the settings of a plan row in '{results.path}' are damaged",
            hint=f"pathlab results check {results.folder} names every fault.",
        ) from error
    return settings
