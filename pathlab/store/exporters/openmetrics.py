"""Figures of complete trials as OpenMetrics text, in base units (seconds, bytes, ratios)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prometheus_client.core import GaugeMetricFamily, Metric, Timestamp
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from pathlab.store.exporting import ChosenTrial, ExportFormat, Selection, open_target
from pathlab.store.records import TrialRecord
from pathlab.store.schema import column_types

LABELS = (
    "campaign",
    "trial",
    "cycle",
    "source",
    "destination",
    "streams",
    "window_bytes",
    "congestion",
    "setting",
    "program",
    "flags",
)
_LEFT_OUT = {"plan_row", "attempt", "cycle", "streams", "interval_ns", "warmup_ns", "duration_ns"}


def _format_setting(settings: Mapping[str, Any]) -> str:
    """Every other setting of the plan row, so that different tests have different labels."""
    others = {name: level for name, level in settings.items() if name not in LABELS and level is not None}
    return ",".join(f"{name}={level}" for name, level in sorted(others.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unit:
    """A unit of OpenMetrics: the ending of names, and what a stored value is divided by."""

    ending: str
    divisor: float = 1.0


_UNITS: Mapping[str, _Unit] = {
    "_bits_per_s": _Unit(ending="bits_per_second"),
    "_ns": _Unit(ending="seconds", divisor=1e9),
    "_s": _Unit(ending="seconds"),
    "_bytes": _Unit(ending="bytes"),
    "_ratio": _Unit(ending="ratio"),
}


def export_openmetrics(selection: Selection, out: Path) -> None:
    """Write the file ``out``: one gauge per measured column, one sample per complete trial.

    Each sample bears the time at which its trial was begun, which Prometheus' backfill reads; the text-file
    collector of node_exporter wants none: ``timestamps=False``.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Trials(selection))
    with open_target(out, folder=False) as fresh:
        fresh.write_bytes(generate_latest(registry))  # type: ignore[no-untyped-call]


class _Trials(Collector):
    def __init__(self, selection: Selection) -> None:
        self._selection = selection

    def collect(self) -> Iterator[Metric]:
        """One family per column, samples in the order of the trials."""
        trials = sorted(self._selection.complete(), key=lambda trial: trial.trial_id)
        for name, held in column_types(TrialRecord).items():
            if held.base not in (int, float) or name in _LEFT_OUT:
                continue
            measured = [(trial, getattr(trial.record, name)) for trial in trials]
            measured = [(trial, value) for trial, value in measured if value is not None]
            if measured:
                yield self._build_family(name, measured)

    def _build_family(self, name: str, measured: list[tuple[ChosenTrial, float]]) -> Metric:
        ending, unit = next(
            ((ending, unit) for ending, unit in _UNITS.items() if name.endswith(ending)), ("", None)
        )
        stem = f"pathlab_{name.removesuffix(ending)}"
        full = f"{stem}_{unit.ending}" if unit else stem
        family = GaugeMetricFamily(
            full, column_types(TrialRecord)[name].meaning, labels=LABELS, unit=unit.ending if unit else ""
        )
        for trial, value in measured:
            family.add_metric(
                self._labels(trial), value / unit.divisor if unit else value, timestamp=self._stamp(trial)
            )
        return family

    def _labels(self, trial: ChosenTrial) -> list[str]:
        record = trial.record
        window = record.window_requested_bytes
        return [
            self._selection.results.campaign.name,
            str(trial.trial_id),
            str(record.cycle),
            record.path_source,
            record.path_destination,
            str(record.streams),
            "auto" if window is None else str(window),
            record.congestion_requested or record.congestion_sender or "",
            _format_setting(trial.settings),
            trial.origin.program if trial.origin else "pathlab",
            ",".join(record.flags),
        ]

    def _stamp(self, trial: ChosenTrial) -> Timestamp | None:
        if not self._selection.with_timestamps:
            return None
        started = trial.started
        return Timestamp(int(started.timestamp()), started.microsecond * 1000)


FORMAT = ExportFormat(export=export_openmetrics, is_folder=False, ending=".openmetrics.txt")
