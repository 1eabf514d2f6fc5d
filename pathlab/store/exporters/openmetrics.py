"""Figures of complete trials as OpenMetrics 1.0 text, in base units (seconds, bytes, ratios)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    "_per_s": _Unit(ending="per_second"),
    "_ns_per_message": _Unit(ending="seconds_per_message", divisor=1e9),
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
    trials = sorted(selection.complete(), key=lambda trial: trial.trial_id)
    lines = [
        line
        for name, held in column_types(TrialRecord).items()
        if held.base in (int, float) and name not in _LEFT_OUT
        for line in _format_family(selection, name, held.meaning, trials)
    ]
    with open_target(out, folder=False) as fresh:
        fresh.write_text("\n".join([*lines, "# EOF", ""]), encoding="utf-8", newline="\n")


def _format_family(
    selection: Selection, column: str, meaning: str, trials: list[ChosenTrial]
) -> Iterator[str]:
    """The lines of a column: what it is, then its value in each trial that measured it; none without any."""
    values = [(trial, getattr(trial.record, column)) for trial in trials]
    measured = [(trial, value) for trial, value in values if value is not None]
    if not measured:
        return
    ending = next((ending for ending in _UNITS if column.endswith(ending)), "")
    unit = _UNITS.get(ending)
    name = f"pathlab_{column.removesuffix(ending)}" + (f"_{unit.ending}" if unit else "")
    yield f"# HELP {name} {_escape_text(meaning)}"
    yield f"# TYPE {name} gauge"
    if unit:
        yield f"# UNIT {name} {unit.ending}"
    for trial, value in measured:
        labels = zip(LABELS, _list_labels(selection, trial), strict=True)
        shown = ",".join(f'{label}="{_escape_text(text)}"' for label, text in labels)
        stamp = f" {trial.started.timestamp():.6f}" if selection.with_timestamps else ""
        yield f"{name}{{{shown}}} {value / unit.divisor if unit else value!r}{stamp}"


def _escape_text(text: str) -> str:
    """Text as a label's value or a help text has it."""
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _list_labels(selection: Selection, trial: ChosenTrial) -> list[str]:
    """The values of ``LABELS``."""
    record = trial.record
    window = record.window_requested_bytes
    return [
        selection.results.campaign.name,
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


FORMAT = ExportFormat(export=export_openmetrics, is_folder=False, ending=".openmetrics.txt")
