"""Quantities of a campaign file: a unit, bounds, and the words for what was expected."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from pathlab import units
from pathlab.errors import UsageError

HOUR_NS = 3600 * units.SECOND_NS


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """How numbers of one kind are read, written exactly (so that they read back) and written for reading."""

    parse: Callable[[Any], Any]
    format_exact: Callable[[Any], Any]
    format: Callable[[Any], str]
    expected: str
    bare: tuple[str, ...] = ()  # types of JSON that a number without a unit may have


def _parse_count(text: Any) -> int:
    if not re.fullmatch(r"\d{1,9}", str(text)):
        raise UsageError(f"'{text}' is not a whole number")
    return int(text)


COUNT = Unit(parse=_parse_count, format_exact=int, format=str, expected="expected a whole number")
BYTES = Unit(
    parse=units.parse_bytes,
    format_exact=units.format_exact_bytes,
    format=units.format_bytes,
    expected=units.BYTES_EXPECTED,
    bare=("integer",),
)
RATE = Unit(
    parse=units.parse_rate_bits_per_s,
    format_exact=units.format_exact_rate,
    format=units.format_rate,
    expected=units.RATE_EXPECTED,
)
TIME = Unit(
    parse=units.parse_time_ns,
    format_exact=units.format_exact_time,
    format=units.format_time,
    expected=units.TIME_EXPECTED,
)
RATIO = Unit(
    parse=units.parse_ratio,
    format_exact=units.format_exact_ratio,
    format=units.format_ratio,
    expected=units.RATIO_EXPECTED,
    bare=("number",),
)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The pydantic type of a quantity: its unit and limits; ``unset`` is the word for "not set" (None)."""

    unit: Unit
    least: int = 0
    most: int | None = None  # None: the unit's own
    unset: str | None = None

    def read(self, value: Any) -> float | None:
        """Read one value of a campaign file."""
        if self.unset is not None and value == self.unset:
            return None
        if type(value) is int and not self.unit.bare:
            raise PydanticCustomError("unit", "{text}", {"text": f"{value} has no unit; {self._expected}"})
        try:
            number: float = self.unit.parse(value)
        except UsageError as error:
            text = f"{error.message}; {self._expected}"
            raise PydanticCustomError("unit", "{text}", {"text": text}) from error
        if self.most is not None and not self.least <= number <= self.most:
            text = f"'{value}' is out of range; expected a value {self._range}"
            raise PydanticCustomError("unit", "{text}", {"text": text})
        return number

    @property
    def _expected(self) -> str:
        return self.unit.expected + (f', or "{self.unset}"' if self.unset else "")

    @property
    def _range(self) -> str:
        return f"from {self.unit.format_exact(self.least)} to {self.unit.format_exact(self.most)}"

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        words = [
            self.unit.expected.removeprefix("expected "),
            *([f'or "{self.unset}"'] if self.unset else ()),
        ]
        comment = "; ".join([", ".join(words), *([self._range] if self.most is not None else ())])
        kind: Any = ["string", *self.unit.bare] if self.unit.bare else "string"
        return {"type": kind, "$comment": comment}
