"""Quantities of a campaign file: a unit, bounds, and the words for what was expected."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from pathlab import units
from pathlab.errors import UsageError

HOUR_NS = 3600 * units.SECOND_NS
#: Code points by name: RFC 2474, 2597, 3246, 5865, 8622, and QBSS as Internet2 defined it.
DSCP_NAMES: Mapping[str, int] = {
    "LE": 1,
    "QBSS": 8,
    **{f"CS{number}": 8 * number for number in range(8)},
    **{f"AF{group}{drop}": 8 * group + 2 * drop for group in range(1, 5) for drop in range(1, 4)},
    "EF": 46,
    "VA": 44,
}
#: ECN bits by name, without their parentheses (RFC 3168, section 5).
ECN_NAMES: Mapping[str, int] = {"NOT-ECT": 0, "ECT1": 1, "ECT0": 2, "CE": 3}


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
    """The pydantic type of a number: its unit and limits; ``unset`` is the word for "not set" (None).

    ``names`` are numbers that may be given by name; ``words`` say what is expected where the limits do not.
    """

    unit: Unit
    least: int = 0
    most: int | None = None  # None: the unit's own
    unset: str | None = None
    names: Mapping[str, int] = field(default_factory=dict, hash=False)
    words: str = ""

    @property
    def expected(self) -> str:
        """What a file may say, in words."""
        return self.unit.expected + (f', or "{self.unset}"' if self.unset else "")

    def _prepare(self, value: Any) -> Any:
        """None for the word; the number of a name, and of digits in quotes where names are."""
        if self.unset is not None and value == self.unset:
            return None
        if self.names and isinstance(value, str):
            return self.names.get(value.upper(), int(value) if value.isdecimal() else value)
        return value

    def _read(self, value: Any) -> float:
        if type(value) is int and not self.unit.bare:
            raise PydanticCustomError("unit", "{text}", {"text": f"{value} has no unit; {self.expected}"})
        try:
            number: float = self.unit.parse(value)
        except UsageError as error:
            text = f"{error.message}; {self.expected}"
            raise PydanticCustomError("unit", "{text}", {"text": text}) from error
        if self.most is not None and not self.least <= number <= self.most:
            text = f"'{value}' is out of range; expected a value {self._range}"
            raise PydanticCustomError("unit", "{text}", {"text": text})
        return number

    @property
    def _range(self) -> str:
        return f"from {self.unit.format_exact(self.least)} to {self.unit.format_exact(self.most)}"

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        number: CoreSchema = core_schema.no_info_plain_validator_function(self._read)
        if self.unit is COUNT:
            number = core_schema.int_schema(strict=True, ge=self.least, le=self.most)
        if self.unset is None:
            return number
        return core_schema.no_info_before_validator_function(
            self._prepare, core_schema.nullable_schema(number)
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        if self.unit is COUNT and self.unset is None:
            return {"type": "integer", "minimum": self.least, "maximum": self.most}
        if self.unit is COUNT:
            words = self.words or f'a whole number {self._range}, or "{self.unset}"'
            return {"type": ["integer", "string"], "$comment": words}
        limits = "" if self.most is None else f"; {self._range}"
        kind: Any = ["string", *self.unit.bare] if self.unit.bare else "string"
        return {"type": kind, "$comment": self.expected.removeprefix("expected ") + limits}


@dataclass(frozen=True, slots=True)
class Name:
    """The pydantic type of a text of a certain form; ``unset`` is the word for "not set" (None)."""

    pattern: str
    words: str  # what is expected
    unset: str | None = None
    check: Callable[[str], None] | None = None  # raises PydanticCustomError

    def _prepare(self, value: Any) -> Any:
        if not isinstance(value, str):
            raise PydanticCustomError("name", "{text}", {"text": f"'{value}' is not a name in quotes"})
        return None if value == self.unset else value

    def _check(self, value: str | None) -> str | None:
        if self.check is not None and value is not None:
            self.check(value)
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        text = core_schema.nullable_schema(core_schema.str_schema(pattern=self.pattern))
        checked = core_schema.no_info_after_validator_function(self._check, text)
        return core_schema.no_info_before_validator_function(self._prepare, checked)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"type": "string", "$comment": self.words}
