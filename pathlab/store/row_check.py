"""Rows as SQLite gives them, held against their records: SQLite itself lets any value stand in any column."""

from __future__ import annotations

import datetime
import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pathlab.errors import StoreError, UsageError
from pathlab.quantities import find_unit
from pathlab.store.flags import Status
from pathlab.store.schema import (
    DEPTH_MAX,
    TABLES,
    Record,
    Unreadable,
    column_types,
    from_row,
    is_deeper,
    read_back,
    to_row,
)

_WORDS: Mapping[type, str] = {
    int: "a whole number",
    float: "a number",
    str: "text",
    dict: "a JSON object",
    tuple: "a JSON list of texts",
    bytes: "bytes",
    type(None): "nothing",
}


#: Counts of a trial, and those that cannot exceed them together.
_PARTS: Mapping[str, tuple[str, ...]] = {
    "loaded_sent": ("loaded_received", "loaded_late"),
    "unloaded_sent": ("unloaded_received", "unloaded_late"),
    "udp_sent_packets": ("udp_lost_packets",),
}


def name_damage(path: Path, fault: str) -> StoreError:
    """The error for a fault of a file that SQLite reads without a complaint."""
    return StoreError(
        f"results file '{path}' is damaged: {fault}",
        hint=f"pathlab results check {path.parent} names every fault; restore the file from a copy",
    )


def build_row(record: Any) -> dict[str, Any]:
    """A record as column values that ``to_row`` makes and every reader takes.

    Raises UsageError, naming the column, also for what ``results check`` would call a fault: a negative
    count, no time, JSON or text that cannot be read back, more received than sent.
    """
    row = to_row(record)
    kind = type(record)
    for name, column_type in column_types(kind).items():
        value = row[name]
        back = value if value is None else read_back(value, column_type.base)
        reason = back.reason if isinstance(back, Unreadable) else _check_value(name, value)
        if reason is not None:
            raise UsageError(
                f"column '{name}' of {kind.__name__} {reason}", hint="give a value that can be measured"
            )
    for name, reason in _list_contradictions(row):
        raise UsageError(
            f"column '{name}' of {kind.__name__} {reason}", hint="count duplicates and late answers apart"
        )
    return row


def read_records(record: type[Record], rows: Sequence[sa.Row[Any]], path: Path) -> list[Record]:
    """The records that rows of one table hold. Raises StoreError naming table, row and column."""
    check_rows(record, rows, path)
    return [from_row(record, row._mapping) for row in rows]


def check_rows(record: type, rows: Sequence[sa.Row[Any]], path: Path) -> None:
    """Raise StoreError, naming table, row and column: a value of another type, or counts that cannot be."""
    for fault in list_type_faults(record, rows):
        raise name_damage(path, fault)
    for fault in _list_count_faults(record, rows):
        raise name_damage(path, fault)


def list_type_faults(record: type, rows: Sequence[sa.Row[Any]]) -> Iterator[str]:
    """Each value of another type than the record has: its table, row and column, and what it is."""
    if not rows:
        return
    types = column_types(record)
    for name, values in zip(rows[0]._fields, zip(*rows, strict=True), strict=True):
        if name not in types and name != _find_key(record):
            continue  # of another table
        base = types[name].base if name in types else int
        allowed = {base, *((int,) if base is float else ())} | (
            {type(None)} if name in types and types[name].nullable else set()
        )
        endless = base is float and (math.inf in values or -math.inf in values)
        if not endless and allowed.issuperset(map(type, values)):
            continue
        for row, value in zip(rows, values, strict=True):
            if type(value) not in allowed or value in (math.inf, -math.inf):
                yield f"{_name_place(record, row, name)} {_describe(value)}, not {_WORDS[base]}"


def has_contradictions(columns: Mapping[str, Sequence[Any]]) -> bool:
    """Whether a count of a trial is below the sum of its parts; ``columns`` are those of trials, by name."""
    for name, parts in _PARTS.items():
        for total, first, *others in zip(columns[name], *(columns[part] for part in parts), strict=True):
            if total is not None and first is not None and first + sum(filter(None, others)) > total:
                return True
    return False


def list_value_faults(record: type, rows: Sequence[sa.Row[Any]]) -> Iterator[str]:
    """Each value that no program writes although its type is right: times, counts, states, settings."""
    names = tuple(column_types(record))
    for row in rows:
        for name in names:
            if (reason := _check_value(name, row._mapping[name])) is not None:
                yield f"{_name_place(record, row, name)} {reason}"
    yield from _list_count_faults(record, rows)


def _list_count_faults(record: type, rows: Iterable[sa.Row[Any]]) -> Iterator[str]:
    if _PARTS.keys().isdisjoint(column_types(record)):
        return
    for row in rows:
        for name, reason in _list_contradictions(row._mapping):
            yield f"{_name_place(record, row, name)} {reason}"


def _list_contradictions(row: Mapping[str, Any] | sa.RowMapping) -> Iterator[tuple[str, str]]:
    """Each count that is below the sum of its parts, where all are known: its column, and why."""
    for name, parts in _PARTS.items():
        total, counts = row.get(name), [row.get(part) for part in parts]
        if total is None or counts[0] is None:
            continue
        if (least := sum(count or 0 for count in counts)) > total:
            yield name, f"holds {total}, which is less than {' + '.join(parts)} = {least}"


def _check_value(name: str, value: Any) -> str | None:
    if name.endswith("_utc"):
        return None if _is_time(value) else "holds no time"
    if isinstance(value, (int, float)) and value < 0:
        return f"holds {value:g}, which no count, time or rate is"
    if name == "status" and value not in set(Status):
        return "holds no status of a trial"
    if name == "settings":
        return _check_settings(value)
    if name == "environment":
        return _check_environment(value)
    if name == "text":
        return _check_campaign_text(value)
    return None


def _check_settings(settings: Mapping[str, Any]) -> str | None:
    streams = settings.get("streams", 1)
    if type(streams) is not int or streams < 0:  # none: imported probes without traffic
        return "holds no number of streams"
    if any(isinstance(level, (dict, list)) for level in settings.values()):
        return "holds a level that is none"
    return _check_quantities(settings)


def _check_campaign_text(text: str) -> str | None:
    """Any text may stand there but one that no reader of TOML ends with."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
    except (RecursionError, ValueError):
        return "is nested too deeply, or has a number of too many digits"
    return "is nested too deeply" if is_deeper(tables, DEPTH_MAX) else None


def _check_quantities(values: Mapping[str, Any]) -> str | None:
    for name, value in values.items():
        unit = find_unit(name) if value is not None else None
        if (
            unit is not None
            and unit.is_quantity
            and (type(value) not in (int, float) or not 0 <= value < math.inf)
        ):
            return f"holds no number under '{name}'"
    return None


def _check_environment(environment: Mapping[str, Any]) -> str | None:
    lab, fallback = environment.get("lab"), environment.get("fallback")
    if not isinstance(fallback, (str, type(None))):
        return "holds no reason under 'fallback'"
    if lab is None:
        return None
    links = lab.get("links", []) if isinstance(lab, dict) else None
    if not isinstance(links, list) or not all(isinstance(link, dict) for link in links):
        return "holds no links under 'lab'"
    return next(filter(None, map(_check_link, links)), None)


def _check_link(link: Mapping[str, Any]) -> str | None:
    """A link of a lab; what is given in each direction stands in tables of its own."""
    ends = link.get("between", ["", ""])
    if not isinstance(ends, list) or [type(end) for end in ends] != [str, str]:
        return "holds a link that is not between two nodes"
    ways = [link, *(part for part in link.values() if isinstance(part, dict))]
    return next(filter(None, map(_check_quantities, ways)), None)


def _is_time(value: str) -> bool:
    try:
        datetime.datetime.fromisoformat(value).astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        return False
    return True


def _find_key(record: type) -> str | None:
    """The column by which a message names a row."""
    return next((column.name for column in TABLES[record].primary_key), None)


def _name_place(record: type, row: sa.Row[Any], column: str) -> str:
    table, key = TABLES[record].name, _find_key(record)
    number = row._mapping.get(key) if key else None
    where = f", {key} {number}" if isinstance(number, int) else ""
    return f"table '{table}'{where}, column '{column}'"


def _describe(value: Any) -> str:
    if isinstance(value, Unreadable):
        return value.reason
    if isinstance(value, float) and math.isinf(value):
        return "is infinite"
    return f"holds {_WORDS.get(type(value), 'another value')}"
