"""Levels of a factor as a campaign file writes them: one, a list of them, or a range."""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, ValidationInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from pathlab.campaign.engine_names import list_engines
from pathlab.campaign.factors import FACTORS, FACTORS_BY_KEY
from pathlab.campaign.quantities import COUNT, Unit
from pathlab.campaign.technologies import TECHNOLOGIES, list_technologies
from pathlab.errors import UsageError

RANGE_EXPECTED = 'expected a range such as "1..64 step x2" or "0..10 step 2"'
RANGE_PATTERN = r"^[^.]+(\.\d+[^.]*)?\.\..+$"
LEVELS_MAX = 10_000
ENGINE = "engine"
_RANGE = re.compile(r"\s*(.+?)\s*\.\.\s*(.+?)\s*(?:\s+step\s+(x\s*)?(.+?)\s*)?")

Level = TypeVar("Level")


def expand_range(text: str, unit: Unit) -> list[Any]:
    """Return the levels of ``"1..64 step x2"`` or ``"0..10 step 2"``, both ends included where they are met.

    Without a step it is 1. Raises UsageError naming what is wrong.
    """
    match = _RANGE.fullmatch(text)
    if match is None:
        raise UsageError(f"'{text}' is not a range; {RANGE_EXPECTED}")
    first, last = (_number(unit, match.group(part), text) for part in (1, 2))
    times, written_step = match.group(3) is not None, match.group(4) or "1"
    step = _number(COUNT if times else unit, written_step, text)
    if last < first:
        raise UsageError(f"'{text}' ends below its start; {RANGE_EXPECTED}")
    if step < (2 if times else 1) or (times and first == 0):
        raise UsageError(f"'{text}' does not grow; {RANGE_EXPECTED}")
    value = first
    levels: list[Any] = []
    while value <= last:
        if len(levels) == LEVELS_MAX:
            raise UsageError(f"'{text}' has more than {LEVELS_MAX} levels; expected a larger step")
        levels.append(unit.format_exact(value))
        value = value * step if times else value + step
    return levels


def list_levels(key: str, value: Any) -> list[Any]:
    """Return the levels that a factor of the file has, ranges expanded, as they would be written one by one.

    Raises UsageError for a range that cannot be read.
    """
    factor = FACTORS_BY_KEY.get(key)
    if factor is not None and factor.unit is not None and isinstance(value, str) and ".." in value:
        return expand_range(value, factor.unit)
    levels = list(value) if isinstance(value, (list, tuple)) else [value]
    return _expand_technologies(levels) if key == ENGINE else levels


def _expand_technologies(levels: list[Any]) -> list[Any]:
    """``technologies`` as all those that the list does not name."""
    others = [name for name in list_technologies() if name not in levels]
    return [other for level in levels for other in (others if level == TECHNOLOGIES else [level])]


def try_levels(key: str, value: Any) -> list[Any]:
    """Return the levels as ``list_levels`` does, or none where they are malformed: the model says so."""
    try:
        return list_levels(key, value)
    except UsageError:
        return []


def _number(unit: Unit, written: str, text: str) -> int:
    try:
        number: int = unit.parse(written)
    except UsageError as error:
        raise UsageError(f"'{text}' is not a range: {error.message}; {RANGE_EXPECTED}") from error
    return number


def _read_levels(value: Any, info: ValidationInfo) -> Any:
    try:
        return tuple(list_levels(FACTORS[str(info.field_name)].key, value))
    except UsageError as error:
        raise PydanticCustomError("range", "{text}", {"text": error.message}) from error


class AllowLevels:
    """In the schema a factor is one level, or a list of them; numbers may be a range in quotes as well."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        levels = handler(schema)
        if levels["items"].get("enum") == [*list_engines()]:
            items = {**levels["items"], "enum": [*list_engines(), TECHNOLOGIES]}
            levels = {**levels, "items": items}
        choices = [levels["items"], levels]
        if levels["items"].get("type") == "integer":
            choices.insert(1, {"type": "string", "pattern": RANGE_PATTERN})
        return {"anyOf": choices}


def wrap_text(value: Any) -> Any:
    """A text where a list of texts is meant."""
    return (value,) if isinstance(value, str) else value


Levels = Annotated[tuple[Level, ...], Field(min_length=1), AllowLevels(), BeforeValidator(_read_levels)]
