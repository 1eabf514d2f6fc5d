"""Mistakes of a campaign, lab or hosts file in words: the key, what is wrong and what was expected."""

from __future__ import annotations

import functools
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from pathlab.campaign.file_table import HOST_NAME_EXPECTED
from pathlab.campaign.schema import build_json_schema, describe_value, find_node
from pathlab.campaign.source_text import Finding, Key, list_names, suggest_name
from pathlab.errors import CampaignError

TEXT_MAX_BYTES = 4 * 1024**2
#: What checks a file of each kind again.
CHECKS = {
    "campaign": "pathlab plan",
    "lab": "pathlab lab show FILE",
    "hosts file": "pathlab hosts check --hosts FILE",
}


def refuse(kind: str, label: str | Path, mistakes: Sequence[str]) -> CampaignError:
    """Return the error that names every mistake of a file once; ``kind`` is one of ``CHECKS``."""
    found = tuple(dict.fromkeys(mistakes))
    count = f"1 mistake: {found[0]}" if len(found) == 1 else f"{len(found)} mistakes"
    hint = f"Correct the file and check it with: {CHECKS[kind]}"
    return CampaignError(f"{kind} '{label}' has {count}", mistakes=found, hint=hint)


def read_toml_text(kind: str, label: str, hint: str) -> str:
    """Return the text of a file. Raises CampaignError where it is out of reach, too large or not UTF-8."""
    try:
        with Path(label).open("rb") as file:
            content = file.read(TEXT_MAX_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        text = f"{kind.removesuffix(' file')} file '{label}' cannot be read: {reason}"
        raise CampaignError(text, hint=hint) from error
    if len(content) > TEXT_MAX_BYTES:
        raise CampaignError(f"'{label}' is larger than 4 MiB", hint="name a TOML file of a few lines")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        mistake = f"{label}:line {line}: is not UTF-8; expected a TOML file in UTF-8"
        raise refuse(kind, label, [mistake]) from error


def parse_toml(kind: str, label: str | Path, text: str) -> dict[str, Any]:
    """Return the tables of a file. Raises CampaignError with the line and column of what is not TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise refuse(kind, label, [f"{label}:{_format_syntax_error(str(error), text)}"]) from error


def _format_syntax_error(message: str, text: str) -> str:
    found = re.search(r"^(.*) \(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    if found is None:
        return f"line 1: {message}; expected TOML"
    line = found.group(2) or str(text.count("\n") + 1)
    column = f", column {found.group(3)}" if found.group(3) else ""
    return f"line {line}{column}: {found.group(1)[:1].lower()}{found.group(1)[1:]}; expected TOML"


def format_finding(label: str | Path, finding: Finding) -> str:
    """Write a finding behind the name of its file: ``FILE:KEY: WHAT; expected ...``."""
    key, what = finding
    return f"{label}:{'.'.join(map(str, key))}: {what}"


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


def _format_unknown(name: str, known: Sequence[str]) -> str:
    return f"is not a known key{suggest_name(name, known)}; expected one of {list_names(known)}"


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
