"""The tables of the HTML report as text: headings with their explanation, rows of strings."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pathlab.analysis.loss import Loss
from pathlab.report.findings import short_name
from pathlab.report.limits import judge_limit
from pathlab.report.source import StoredTrial, format_utc
from pathlab.report.summary import Cell, PathSummary, Spread, Summary
from pathlab.report.text import format_asked, format_granted, format_range, list_marks
from pathlab.store.records import HostRecord, JournalRecord, PlanRecord
from pathlab.units import NOT_MEASURED, format_bytes, format_rate, format_ratio, format_time


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A column's name and what it means."""

    label: str
    meaning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    """A table ready to print; ``numeric`` tells which columns are set flush right."""

    headings: tuple[Heading, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]


def limit_word(cell: Cell) -> str:
    """What limited a measured cell."""
    return judge_limit(cell).value if cell.complete else NOT_MEASURED


Column = tuple[str, str, Callable[[Cell], str]]

LAB_FLAG = "lab"
CELL_COLUMNS: tuple[Column, ...] = (
    ("Streams × window", "TCP connections of a trial and socket buffer of each", short_name),
    (
        "Asked",
        "socket buffer asked for at both ends, per stream",
        lambda c: format_asked(c.window_asked_bytes),
    ),
    (
        "Granted",
        "as the kernels state it, sender/receiver where they differ; Linux states twice what it gives",
        lambda c: format_granted(c.window_granted_sender_bytes, c.window_granted_receiver_bytes),
    ),
    (
        "Effective",
        "median of throughput per stream × mean loaded RTT",
        lambda c: format_bytes(c.window_effective_bytes.median),
    ),
    (
        "Throughput",
        "median over trials, counted by the receiver",
        lambda c: format_rate(c.throughput_bits_per_s.median),
    ),
    ("min–max, Mbit/s", "over trials", lambda c: format_range(c.throughput_bits_per_s) or NOT_MEASURED),
    (
        "95 % interval",
        "of the median throughput, distribution-free",
        lambda c: format_interval(c.throughput_bits_per_s),
    ),
    (
        "dRTT mean",
        "loaded minus unloaded average RTT, median over trials",
        lambda c: format_time(c.rise_mean_ns.median),
    ),
    (
        "dRTT median",
        "loaded minus unloaded median RTT, median over trials",
        lambda c: format_time(c.rise_median_ns.median),
    ),
    (
        "RTT loaded",
        "median RTT under load, median over trials",
        lambda c: format_time(c.loaded_median_ns.median),
    ),
    (
        "unloaded",
        "median RTT without load, median over trials",
        lambda c: format_time(c.unloaded_median_ns.median),
    ),
    (
        "Loss loaded",
        "probes lost under load, pooled over trials, Wilson 95 % interval",
        lambda c: format_loss(c.loaded_loss),
    ),
    ("unloaded", "probes lost without load", lambda c: format_loss(c.unloaded_loss)),
    ("RV loaded", "rate variability under load", lambda c: format_ratio(c.loaded_variability_ratio.median)),
    (
        "unloaded",
        "rate variability without load",
        lambda c: format_ratio(c.unloaded_variability_ratio.median),
    ),
    ("Jain", "fairness over streams, 1 is equal shares", lambda c: format_number(c.jain_ratio, 3)),
    ("Retransmits", "segments, median over trials", lambda c: format_number(c.retransmitted_segments, 0)),
    (
        "CPU-s/GB sender",
        "engine's CPU seconds per 10⁹ bytes",
        lambda c: format_number(c.sender_cpu_s_per_gbyte, 2),
    ),
    (
        "receiver",
        "engine's CPU seconds per 10⁹ bytes",
        lambda c: format_number(c.receiver_cpu_s_per_gbyte, 2),
    ),
    (
        "Busiest core sender",
        "busy share, softirq included",
        lambda c: format_ratio(c.sender_busiest_core_ratio.median),
    ),
    (
        "receiver",
        "busy share, softirq included",
        lambda c: format_ratio(c.receiver_busiest_core_ratio.median),
    ),
    ("Limited by", "window, path, host, lab or unknown; rules under How it was measured", limit_word),
    ("n", "complete trials", lambda c: str(c.complete)),
    ("failed", "trials that did not complete", lambda c: str(c.failed + c.interrupted)),
    ("Flags", "what is particular about the trials", lambda c: list_marks(c) or NOT_MEASURED),
)


def _label_lab(column: Column) -> Column:
    """CPU figures from a lab say so: its emulators share the cores with the ends."""
    heading, meaning, write = column
    if "CPU" not in meaning and "busy" not in meaning:
        return column
    return f"{heading} (lab)", f"{meaning}; in a lab, whose emulators share the cores", write


def tabulate_cells(path: PathSummary) -> TextTable:
    """One row per cell of a path; congestion control as a column only where it varies."""
    columns = list(CELL_COLUMNS)
    if any(LAB_FLAG in dict(cell.flags) for cell in path.cells):
        columns = [_label_lab(column) for column in columns]
    if len({cell.congestion for cell in path.cells}) > 1:
        columns.insert(1, ("Congestion", "congestion control", lambda c: c.congestion or NOT_MEASURED))
    return _table(
        [Heading(label=label, meaning=meaning) for label, meaning, _ in columns],
        [tuple(take(cell) for _, _, take in columns) for cell in path.cells],
        words={"Streams × window", "Congestion", "Limited by", "Flags"},
    )


def tabulate_plan(plan: Sequence[PlanRecord], trials: Sequence[StoredTrial]) -> TextTable:
    """The plan in its order of execution, with how each row ended."""
    by_row: dict[int, list[str]] = {}
    for trial in trials:
        by_row.setdefault(trial.record.plan_row, []).append(trial.record.status)
    names = sorted({name for row in plan for name in row.settings})
    rows = [
        (
            str(row.row + 1),
            str(row.cycle + 1),
            f"{row.path_source} → {row.path_destination}",
            *(format_setting(name, row.settings.get(name)) for name in names),
            ", then ".join(by_row.get(row.row, ["not measured"])),
        )
        for row in plan
    ]
    headings = ["Order", "Cycle", "Path", *(format_name(name) for name in names), "Outcome"]
    return _table([Heading(label=label) for label in headings], rows, words={"Path", "Outcome", "Congestion"})


def tabulate_failures(summary: Summary) -> TextTable:
    """Trials that did not complete, each with stage and reason."""
    rows = [
        (
            str(trial.trial_id),
            str(trial.record.cycle + 1),
            f"{trial.record.path_source} → {trial.record.path_destination}",
            f"{trial.record.streams} × {format_asked(trial.record.window_asked_bytes)}",
            f"{trial.record.status}, attempt {trial.record.attempt}",
            trial.record.failed_stage or NOT_MEASURED,
            trial.record.failure or "no reason recorded",
        )
        for trial in summary.failures
    ]
    headings = ("Trial", "Cycle", "Path", "Streams × window", "Outcome", "Stage", "Reason")
    return _table([Heading(label=label) for label in headings], rows, words=set(headings[2:]))


def tabulate_hosts(hosts: Sequence[HostRecord]) -> TextTable:
    """Facts against hosts; of a host recorded more than once the last facts."""
    latest = {host.name: flatten_facts(host.facts) for host in hosts}
    names = sorted(latest)
    keys = list(dict.fromkeys(key for name in names for key in latest[name]))
    rows = [(key, *(latest[name].get(key, NOT_MEASURED) for name in names)) for key in keys]
    headings = [Heading(label="Fact"), *(Heading(label=name) for name in names)]
    return _table(headings, rows, words={"Fact", *names})


def tabulate_journal(journal: Sequence[JournalRecord]) -> TextTable:
    """What happened to the run besides its trials, in order of time."""
    rows = [
        (
            format_utc(entry.recorded_utc),
            entry.kind.replace("-", " "),
            NOT_MEASURED if entry.plan_row is None else str(entry.plan_row + 1),
            entry.text,
        )
        for entry in journal
    ]
    headings = ("Time", "What", "Row", "In words")
    return _table([Heading(label=label) for label in headings], rows, words={"Time", "What", "In words"})


def flatten_facts(facts: Any, prefix: str = "") -> dict[str, str]:
    """Nested facts as ``a.b: text``; lists as one line of JSON, unread ones as not measured."""
    if not isinstance(facts, dict):
        return {prefix: _fact_text(facts)}
    found: dict[str, str] = {}
    for key, value in facts.items():
        name = f"{prefix}.{key}" if prefix else str(key)
        if isinstance(value, dict) and value:
            found.update(flatten_facts(value, name))
        else:
            found[name] = _fact_text(value)
    return found


def format_interval(spread: Spread) -> str:
    """The interval of a median rate, or why there is none."""
    interval = spread.interval
    if interval.low is None or interval.high is None:
        return NOT_MEASURED if spread.n == 0 else f"undecided, n={spread.n}"
    return f"{interval.low / 1e6:.4g}–{interval.high / 1e6:.4g} Mbit/s"


def format_loss(loss: Loss) -> str:
    """Loss with its interval in percent: ``5 % (1.4–16.5)``."""
    low, high = loss.interval_ratio.low, loss.interval_ratio.high
    if loss.loss_ratio is None or low is None or high is None:
        return NOT_MEASURED
    return f"{format_ratio(loss.loss_ratio)} ({100 * low:.2g}–{100 * high:.2g})"


def format_number(spread: Spread, places: int) -> str:
    """The median with that many decimals."""
    return NOT_MEASURED if spread.median is None else f"{spread.median:.{places}f}"


def format_name(setting: str) -> str:
    """A setting's name for people: ``window_bytes`` becomes ``Window``."""
    for unit in ("_bytes", "_ns", "_s", "_bits_per_s", "_ratio"):
        setting = setting.removesuffix(unit)
    return setting.replace("_", " ").capitalize()


def format_setting(name: str, value: Any) -> str:
    """A factor level with its unit, as the suffix of its name says."""
    if value is None:
        return "auto" if name == "window_bytes" else "default"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if name.endswith("_bytes"):
            return format_bytes(value)
        if name.endswith("_ns"):
            return format_time(value)
    return str(value)


def _fact_text(value: Any) -> str:
    if value is None or value in ({}, []):
        return NOT_MEASURED
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, list) and all(isinstance(item, (str, int, float)) for item in value):
        return ", ".join(str(item) for item in value)
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _table(headings: Sequence[Heading], rows: Sequence[tuple[str, ...]], *, words: set[str]) -> TextTable:
    return TextTable(
        headings=tuple(headings),
        rows=tuple(rows),
        numeric=tuple(heading.label not in words for heading in headings),
    )
