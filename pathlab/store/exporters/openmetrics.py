"""Figures of usable trials as OpenMetrics 1.0 text, in base units: a series for each path and setting."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pathlab.quantities import find_unit
from pathlab.store.exporting import ChosenTrial, ExportFormat, Selection, open_target
from pathlab.store.records import TrialRecord
from pathlab.store.schema import column_types
from pathlab.store.usable import is_usable

LABELS = (
    "campaign",
    "source",
    "destination",
    "streams",
    "window_bytes",
    "congestion",
    "setting",
    "program",
)
CONGESTION = LABELS.index("congestion")
_LEFT_OUT = {"plan_row", "attempt", "cycle", "streams", "interval_ns", "warmup_ns", "duration_ns"}


Labels = tuple[str, ...]
Series = Mapping[Labels, list[ChosenTrial]]


def _format_setting(settings: Mapping[str, Any]) -> str:
    """Every other setting of the plan row, so that different tests have different labels."""
    own = {*LABELS, "cycle", "trial", "flags"}
    others = {name: level for name, level in settings.items() if name not in own and level is not None}
    return ",".join(f"{name}={level}" for name, level in sorted(others.items()))


def export_openmetrics(selection: Selection, out: Path) -> None:
    """Write the file ``out``: one gauge per measured column, one series per path and setting.

    Labels name no trial, so that a series goes on from run to run. With time stamps, which Prometheus'
    backfill reads, each usable trial is a point of its series, at the time at which it was begun; of several
    that begin at one time the last one. Without, as the text-file collector of node_exporter wants it, a
    series has one value: the median over its usable trials; their number, that of the others, and the time
    of the last one are gauges of their own.
    """
    series = _group_series(selection)
    usable = {
        labels: [trial for trial in trials if is_usable(trial.record)] for labels, trials in series.items()
    }
    lines = [] if selection.with_timestamps else list(_format_counts(series, usable))
    lines += [
        line
        for name, held in column_types(TrialRecord).items()
        if held.base in (int, float) and name not in _LEFT_OUT
        for line in _format_family(name, held.meaning, usable, with_timestamps=selection.with_timestamps)
    ]
    with open_target(out, folder=False) as fresh:
        fresh.write_text("\n".join([*lines, "# EOF", ""]), encoding="utf-8", newline="\n")


def _group_series(selection: Selection) -> dict[Labels, list[ChosenTrial]]:
    """The trials of each series, in the order in which they were begun.

    One that failed before its congestion control was known belongs to the series that is like it besides.
    """
    result: dict[Labels, list[ChosenTrial]] = {}
    named: dict[Labels, str] = {}
    ordered = sorted(selection.trials, key=lambda trial: (trial.started, trial.trial_id))
    every = [(_list_labels(selection, trial), trial) for trial in ordered]
    for labels, _ in every:
        if labels[CONGESTION]:
            named.setdefault((*labels[:CONGESTION], *labels[CONGESTION + 1 :]), labels[CONGESTION])
    for labels, trial in every:
        rest = (*labels[:CONGESTION], *labels[CONGESTION + 1 :])
        congestion = labels[CONGESTION] or named.get(rest, "")
        whole = (*labels[:CONGESTION], congestion, *labels[CONGESTION + 1 :])
        result.setdefault(whole, []).append(trial)
    return result


def _format_counts(series: Series, usable: Series) -> Iterator[str]:
    """How many trials of each series count and how many do not, and when the last one began."""
    yield from _format_head("pathlab_usable_trials", "trials that the medians are over", None)
    yield from (_format_point("pathlab_usable_trials", labels, len(usable[labels])) for labels in series)
    yield from _format_head("pathlab_unusable_trials", "trials in no median: failed or flagged", None)
    yield from (
        _format_point("pathlab_unusable_trials", labels, len(trials) - len(usable[labels]))
        for labels, trials in series.items()
    )
    name = "pathlab_last_usable_trial_timestamp_seconds"
    yield from _format_head(name, "start of the last usable trial since 1970", "seconds")
    yield from (
        _format_point(name, labels, trials[-1].started.timestamp())
        for labels, trials in usable.items()
        if trials
    )


def _format_head(name: str, meaning: str, unit: str | None) -> Iterator[str]:
    yield f"# HELP {name} {_escape_text(meaning)}"
    yield f"# TYPE {name} gauge"
    if unit:
        yield f"# UNIT {name} {unit}"


def _format_point(name: str, labels: Labels, value: float, stamp_s: float | None = None) -> str:
    shown = ",".join(f'{label}="{_escape_text(text)}"' for label, text in zip(LABELS, labels, strict=True))
    return f"{name}{{{shown}}} {value!r}" + ("" if stamp_s is None else f" {stamp_s:.6f}")


def _format_family(column: str, meaning: str, series: Series, *, with_timestamps: bool) -> Iterator[str]:
    """The lines of a column: what it is, then the points of each series; none where nothing was measured."""
    unit = find_unit(column)
    written = unit.openmetrics if unit else ""
    size = unit.openmetrics_size if unit else 1.0
    name = f"pathlab_{column}"
    if unit and written:
        name = f"{name.removesuffix(unit.suffix + unit.after)}_{written}"
    points: list[str] = []
    for labels, trials in series.items():
        measured = {  # by time stamp: points of one series have times of their own
            trial.started.timestamp() if with_timestamps else float(number): value
            for number, trial in enumerate(trials)
            if (value := getattr(trial.record, column)) is not None
        }
        if measured and not with_timestamps:
            middle = statistics.median(measured.values())
            points.append(_format_point(name, labels, middle / size if written else middle))
        elif measured:
            points += [
                _format_point(name, labels, value / size if written else value, stamp_s)
                for stamp_s, value in measured.items()
            ]
    if points:
        yield from _format_head(name, meaning, written or None)
        yield from points


def _escape_text(text: str) -> str:
    """Text as a label's value or a help text has it."""
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _list_labels(selection: Selection, trial: ChosenTrial) -> Labels:
    """The values of ``LABELS``."""
    record = trial.record
    window = record.window_requested_bytes
    return (
        selection.results.campaign.name,
        record.path_source,
        record.path_destination,
        str(record.streams),
        "auto" if window is None else str(window),
        record.congestion_requested or record.congestion_sender or "",
        _format_setting(trial.settings),
        trial.origin.program if trial.origin else "pathlab",
    )


FORMAT = ExportFormat(export=export_openmetrics, is_folder=False, ending=".openmetrics.txt", usable=True)
