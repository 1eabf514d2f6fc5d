"""Levels of a factor as a campaign file writes them: one, a list of them, or a range."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, ValidationInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from pathlab import units
from pathlab.errors import UsageError

RANGE_EXPECTED = 'expected a range such as "1..64 step x2" or "0..10 step 2"'
RANGE_PATTERN = r"^[^.]+(\.\d+[^.]*)?\.\..+$"
LEVELS_MAX = 10_000
_RANGE = re.compile(r"\s*(.+?)\s*\.\.\s*(.+?)\s*(?:\s+step\s+(x\s*)?(.+?)\s*)?")

Level = TypeVar("Level")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How the numbers of a range are read, and how each of its levels is then written."""

    parse: Callable[[Any], int]
    spell: Callable[[int], Any]


def _parse_count(text: Any) -> int:
    if not re.fullmatch(r"\d{1,9}", str(text)):
        raise UsageError(f"'{text}' is not a whole number")
    return int(text)


_COUNT = Scale(parse=_parse_count, spell=int)
_BYTES = Scale(parse=units.parse_bytes, spell=units.format_exact_bytes)
_TIME = Scale(parse=units.parse_time_ns, spell=units.format_exact_time)
_RATE = Scale(parse=units.parse_rate_bits_per_s, spell=units.format_exact_rate)
#: The factors, by the file's keys, whose levels may be given as a range.
SCALES: Mapping[str, Scale] = {
    "streams": _COUNT,
    "window": _BYTES,
    "window_sender": _BYTES,
    "window_receiver": _BYTES,
    "duration": _TIME,
    "warmup": _TIME,
    "message": _BYTES,
    "pacing": _RATE,
    "mss": _BYTES,
    "dscp": _COUNT,
    "workers": _COUNT,
}


def is_range(value: Any) -> bool:
    """Whether a value of the file is meant as a range."""
    return isinstance(value, str) and ".." in value


def expand_range(text: str, scale: Scale) -> list[Any]:
    """Return the levels of ``"1..64 step x2"`` or ``"0..10 step 2"``, both ends included where they are met.

    Without a step it is 1. Raises UsageError naming what is wrong.
    """
    found = _RANGE.fullmatch(text)
    if found is None:
        raise UsageError(f"'{text}' is no range; {RANGE_EXPECTED}")
    first, last = (_number(scale, found.group(part), text) for part in (1, 2))
    times, written_step = found.group(3) is not None, found.group(4) or "1"
    step = _number(_COUNT if times else scale, written_step, text)
    if last < first:
        raise UsageError(f"'{text}' ends below its start; {RANGE_EXPECTED}")
    if step < (2 if times else 1) or (times and first == 0):
        raise UsageError(f"'{text}' does not grow; {RANGE_EXPECTED}")
    value = first
    levels: list[Any] = []
    while value <= last:
        if len(levels) == LEVELS_MAX:
            raise UsageError(f"'{text}' has more than {LEVELS_MAX} levels; expected a larger step")
        levels.append(scale.spell(value))
        value = value * step if times else value + step
    return levels


def list_levels(key: str, value: Any) -> list[Any]:
    """Return the levels that a factor of the file has, ranges expanded, as they would be written one by one.

    Raises UsageError for a range that cannot be read.
    """
    if is_range(value) and key in SCALES:
        return expand_range(value, SCALES[key])
    return list(value) if isinstance(value, (list, tuple)) else [value]


def try_levels(key: str, value: Any) -> list[Any]:
    """Return the levels as ``list_levels`` does, or none where they are malformed: the model says so."""
    try:
        return list_levels(key, value)
    except UsageError:
        return []


def _number(scale: Scale, written: str, text: str) -> int:
    try:
        return scale.parse(written)
    except UsageError as error:
        raise UsageError(f"'{text}' is no range: {error.message}; {RANGE_EXPECTED}") from error


def _read_levels(value: Any, info: ValidationInfo) -> Any:
    key = FILE_KEYS.get(str(info.field_name), str(info.field_name))
    try:
        return tuple(list_levels(key, value))
    except UsageError as error:
        raise PydanticCustomError("range", "{text}", {"text": error.message}) from error


#: Attribute to the key of the file, where the two differ.
FILE_KEYS: Mapping[str, str] = {
    "window_bytes": "window",
    "window_sender_bytes": "window_sender",
    "window_receiver_bytes": "window_receiver",
    "duration_ns": "duration",
    "warmup_ns": "warmup",
    "message_bytes": "message",
    "pacing_bits_per_s": "pacing",
    "mss_bytes": "mss",
    "worker_threads": "workers",
}


class AllowLevels:
    """In the schema a factor is one level, or a list of them; numbers may be a range in quotes as well."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        levels = handler(schema)
        choices = [levels["items"], levels]
        if levels["items"].get("type") == "integer":
            choices.insert(1, {"type": "string", "pattern": RANGE_PATTERN})
        return {"anyOf": choices}


Levels = Annotated[tuple[Level, ...], Field(min_length=1), AllowLevels(), BeforeValidator(_read_levels)]
