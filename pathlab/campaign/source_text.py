"""A campaign file as it is written: raw tables, read as far as they can be, and words for what is wrong."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pathlab.errors import UsageError

Key = tuple[str | int, ...]
Finding = tuple[Key, str]


def suggest_name(wrong: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for the nearest known name, or an empty text."""
    nearest = difflib.get_close_matches(wrong, list(known), n=1)
    return f"; did you mean '{nearest[0]}'?" if nearest else ""


def format_choice(wrong: str, known: Sequence[str], number: str = "one") -> str:
    """``; did you mean 'x'? Expected one of 'x', 'y'``, or without a near name ``; expected one of …``."""
    near = suggest_name(wrong, known)
    return f"{near or ';'} {'E' if near else 'e'}xpected {number} of {list_names(known)}"


def list_names(names: Iterable[str]) -> str:
    """Return the names quoted and joined by commas."""
    return ", ".join(f"'{name}'" for name in names)


def read_table(data: Any, key: str) -> Mapping[str, Any]:
    """Return a table of the file, empty where there is none."""
    value = data.get(key) if isinstance(data, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def read_rows(data: Any, key: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the tables of a list of tables with their numbers."""
    value = data.get(key) if isinstance(data, Mapping) else None
    for index, row in enumerate(value if isinstance(value, Sequence) and not isinstance(value, str) else ()):
        if isinstance(row, Mapping):
            yield index, row


def read_names(table: Mapping[str, Any], key: str) -> list[str]:
    """Return the names in a list of a table; what is no name is left out."""
    names = table.get(key)
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def list_path_hosts(path: Mapping[str, Any]) -> list[tuple[Key, Any]]:
    """Return key and name of source, destination and sinks of a path, as written."""
    sinks = path.get("sinks")
    further = enumerate(sinks if isinstance(sinks, list) else ())
    ends: list[tuple[Key, Any]] = [((key,), path.get(key)) for key in ("source", "destination")]
    return [*ends, *((("sinks", number), name) for number, name in further)]


def read_quantity(parse: Callable[[Any], int], value: Any) -> int | None:
    """Return the value in its unit, or None where it cannot be read."""
    try:
        return parse(value)
    except UsageError:
        return None
