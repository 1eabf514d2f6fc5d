"""Mistakes of a campaign, lab or hosts file in words: the key, what is wrong and what was expected."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from pathlab.campaign.file_table import HOST_NAME_EXPECTED
from pathlab.campaign.schema import build_json_schema, describe_value, find_node
from pathlab.campaign.source_text import Finding, Key, format_choice


def translate(
    error: ValidationError, data: Mapping[str, Any], start: Key = (), tables: Sequence[str] | None = None
) -> list[Finding]:
    """Return what the model found in the file ``data``.

    ``start`` is the key of the table that the model read, ``tables`` what the file may hold (None: all that
    a campaign may).
    """
    findings: list[Finding] = []
    for details in error.errors():
        location = (*start, *details["loc"])
        if details["type"] == "extra_forbidden" and len(location) == 1 and tables is not None:
            findings.append((location, _format_unknown(str(location[0]), tables)))
        else:
            finding = _translate(details, location, data)
            findings += [] if finding is None else [finding]
    return findings


_schema = functools.cache(build_json_schema)


def _translate(details: ErrorDetails, location: Key, data: Mapping[str, Any]) -> Finding | None:
    """One error of the model in words; None for an echo of another error."""
    kind, given, context = details["type"], details["input"], details.get("ctx", {})
    key = _written_key(location, data)
    node = find_node(_schema(), key)
    expected = f"expected {describe_value(node)}" if node else "expected another value"
    if location[-1:] == ("[key]",):
        return key, f"is not a host name; expected {HOST_NAME_EXPECTED}"
    if "text" in context:
        text = str(context["text"])
        return key, text if "expected" in text else f"{text}; {expected}"
    if kind == "extra_forbidden":
        table = find_node(_schema(), key[:-1]) or {}
        known = list(table.get("properties", {}))
        inside = _list_tables_with(str(key[-1])) if len(key) == 1 else []
        if inside:
            return key, f"is not a known key here; did you mean {' or '.join(map(repr, inside))}?"
        return key, _format_unknown(str(key[-1]), known)
    if kind == "missing":
        if key[-1] == "transport":  # which follows from an address
            expected = f"expected an address, or transport = {describe_value(node or {})}"
        return key, f"is missing; {expected}"
    if kind in ("too_short", "too_long") and isinstance(given, (list, tuple)):
        if kind == "too_short" and len(given) >= int(context.get("min_length", 0)):
            return None  # its entries were refused one by one
        return key, f"has {len(given)} entries; {expected}"
    return key, f"{_show(given)} does not fit; {expected}"


def _list_tables_with(name: str) -> list[str]:
    """The dotted keys of this name in the tables of a campaign file (`control` has those of `factors`)."""
    tables = [table for table in _schema()["properties"] if table != "control"]
    nodes = {table: find_node(_schema(), (table,)) or {} for table in tables}
    return [f"{table}.{name}" for table, node in nodes.items() if name in node.get("properties", {})]


def _format_unknown(name: str, known: Sequence[str]) -> str:
    return f"is not a known key{format_choice(name, known)}"


def _show(value: Any) -> str:
    if isinstance(value, (Mapping, list, tuple)):
        return "a table" if isinstance(value, Mapping) else "a list"
    return json.dumps(value, ensure_ascii=False, default=str)[:80]


def _written_key(location: Key, data: Any) -> Key:
    """The key as the file has it: without the index of a single level without brackets."""
    key: list[int | str] = []
    place = data
    for step in location:
        if step == "[key]":
            continue
        if isinstance(step, int) and not isinstance(place, (list, tuple)):
            break
        key.append(step)
        try:
            place = place[step]
        except (KeyError, IndexError, TypeError):
            place = None
    return tuple(key)
