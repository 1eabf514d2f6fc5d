"""Tables of a report as text: how one is built, and those of plan, failures, hosts and journal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pathlab.quantities import drop_unit, find_format
from pathlab.report.base.blocks import TableBlock
from pathlab.report.base.names import format_utc
from pathlab.store.flags import Status
from pathlab.store.records import HostRecord, JournalRecord, PlanRecord
from pathlab.study.base.trials import TrialTable, list_values
from pathlab.table_columns import TableColumn, divide_columns, list_table_columns
from pathlab.units import NOT_MEASURED, format_window

#: In a table of fewer rows equal values may be chance, and are compared with each other.
LEAST_ROWS = 3


def build_table(
    name: str,
    title: str,
    columns: Sequence[TableColumn],
    rows: Iterable[tuple[str, ...]],
    *,
    note: str | None = None,
) -> TableBlock:
    """A table that shows no empty columns; what is the same in every row is said once, in its note.

    The first column stays, and so do those that say so.
    """
    texts = list(rows)
    stated = [number for number, column in enumerate(columns) if number and not column.stays]
    kept = set(range(len(columns))).difference(stated)
    places, same_places = divide_columns(columns, texts, stated=stated, kept=kept, least_rows=LEAST_ROWS)
    constants = [(columns[number].heading, texts[0][number]) for number in same_places]
    if constants:
        same = f"The same in every row: {'; '.join(map(' '.join, constants))}."
        note = f"{same} {note}" if note else same
    return TableBlock(
        name=name,
        title=title,
        columns=tuple(columns),
        rows=tuple(texts),
        note=note,
        constants=tuple(constants),
        shown=tuple(places),
    )


def build_plan_table(title: str, plan: Sequence[PlanRecord], trials: TrialTable) -> TableBlock:
    """The plan in its order of execution, with how each row ended."""
    by_row: dict[int, list[str]] = {}
    for number, status in zip(*list_values(trials.frame, ("plan_row", "status")), strict=True):
        by_row.setdefault(number, []).append(status)
    names = sorted({name for row in plan for name in row.settings})
    known: dict[str, tuple[str, ...]] = {}  # rows repeat their settings, and formatting is slow

    def format_settings(settings: Mapping[str, Any]) -> tuple[str, ...]:
        key = repr(settings)
        if key not in known:
            known[key] = tuple(format_setting(name, settings.get(name)) for name in names)
        return known[key]

    rows = [
        (
            str(row.row + 1),
            str(row.cycle + 1),
            f"{row.path_source} → {row.path_destination}",
            *format_settings(row.settings),
            ", then ".join(by_row.get(row.row, ["not measured"])),
        )
        for row in plan
    ]
    headings = ["Order", "Cycle", "Path", *(format_name(name) for name in names), "Outcome"]
    return build_table("plan", title, list_table_columns(headings, {"Path", "Outcome", "Congestion"}), rows)


def build_failures_table(title: str, trials: TrialTable) -> TableBlock:
    """Trials that did not complete, each with stage and reason."""
    names = ("trial_id", "cycle", "path_source", "path_destination", "streams", "window_requested_bytes")
    failed = trials.frame[trials.frame["status"] != Status.COMPLETE]
    columns = list_values(failed, (*names, "status", "attempt", "failed_stage", "failure"))
    rows = [
        (
            str(number),
            str(cycle + 1),
            f"{source} → {destination}",
            f"{streams} × {format_window(window)}",
            f"{status}, attempt {attempt}",
            stage or NOT_MEASURED,
            reason or "no reason recorded",
        )
        for number, cycle, source, destination, streams, window, status, attempt, stage, reason in zip(
            *columns, strict=True
        )
    ]
    headings = ("Trial", "Cycle", "Path", "Streams × window", "Outcome", "Stage", "Reason")
    return build_table("failures", title, list_table_columns(headings, headings[2:]), rows)


def build_hosts_table(title: str, hosts: Sequence[HostRecord]) -> TableBlock:
    """Facts by host; the last ones of a host that was recorded more than once."""
    latest = {host.name: flatten_facts(host.facts) for host in hosts}
    names = sorted(latest)
    keys = list(dict.fromkeys(key for name in names for key in latest[name]))
    rows = [(key, *(latest[name].get(key, NOT_MEASURED) for name in names)) for key in keys]
    return build_table("hosts", title, list_table_columns(["Fact", *names], {"Fact", *names}), rows)


def build_journal_table(title: str, journal: Sequence[JournalRecord]) -> TableBlock:
    """The events of the run besides its trials, in order of time."""
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
    return build_table("journal", title, list_table_columns(headings, {"Time", "What", "In words"}), rows)


def flatten_facts(facts: Any, prefix: str = "") -> dict[str, str]:
    """Nested facts as ``a.b: text``; lists as one line of JSON, unread ones as not measured."""
    if not isinstance(facts, dict):
        return {prefix: _fact_text(facts)}
    result: dict[str, str] = {}
    for key, value in facts.items():
        name = f"{prefix}.{key}" if prefix else str(key)
        if isinstance(value, dict) and value:
            result.update(flatten_facts(value, name))
        else:
            result[name] = _fact_text(value)
    return result


def format_name(setting: str) -> str:
    """A setting's name for people: ``window_bytes`` becomes ``Window``."""
    return drop_unit(setting).replace("_", " ").capitalize()


def format_setting(name: str, value: Any) -> str:
    """A factor level with its unit, as the suffix of its name says."""
    if value is None:
        return "auto" if name == "window_bytes" else "default"
    formatter = find_format(name)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return formatter(value) if formatter and is_number else str(value)


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
