"""Quantities of a campaign file: a unit, bounds, and the words for what was expected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from pathlab import units
from pathlab.errors import UsageError

STORED = {"stored": True}  # validation context: numbers are already in the unit that the name says


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """How one quantity is written and between which bounds; ``word`` stands for "not set" (None)."""

    parse: Callable[[Any], float]
    spell: Callable[[Any], str]
    expected: str
    least: float
    most: float
    bounds: str
    word: str | None = None
    kinds: tuple[str, ...] = ("string",)

    @classmethod
    def time(cls, least_ns: int, most_ns: int) -> Quantity:
        bounds = f"from {units.format_exact_time(least_ns)} to {units.format_exact_time(most_ns)}"
        return cls(
            parse=units.parse_time_ns,
            spell=units.format_exact_time,
            expected=units.TIME_EXPECTED,
            least=least_ns,
            most=most_ns,
            bounds=bounds,
        )

    @classmethod
    def bytes(cls, least: int, most: int, *, word: str | None = None) -> Quantity:
        return cls(
            parse=units.parse_bytes,
            spell=units.format_exact_bytes,
            expected=units.BYTES_EXPECTED + (f', or "{word}"' if word else ""),
            least=least,
            most=most,
            bounds=f"from {units.format_exact_bytes(least)} to {units.format_exact_bytes(most)}",
            word=word,
            kinds=("string", "integer"),
        )

    @classmethod
    def rate(cls, least_bits_per_s: int, most_bits_per_s: int, *, word: str | None = None) -> Quantity:
        return cls(
            parse=units.parse_rate_bits_per_s,
            spell=units.format_exact_rate,
            expected=units.RATE_EXPECTED + (f', or "{word}"' if word else ""),
            least=least_bits_per_s,
            most=most_bits_per_s,
            bounds=f"from {units.format_exact_rate(least_bits_per_s)} "
            f"to {units.format_exact_rate(most_bits_per_s)}",
            word=word,
        )

    @classmethod
    def ratio(cls) -> Quantity:
        return cls(
            parse=units.parse_ratio,
            spell=units.format_exact_ratio,
            expected=units.RATIO_EXPECTED,
            least=0,
            most=1,
            bounds="",
            kinds=("string", "number"),
        )

    def describe(self, value: Any) -> str:
        """Write a value of the model as a file would, exactly."""
        return self.spell(value) if value is not None else self.word or "none"

    def read(self, value: Any, info: ValidationInfo) -> float | None:
        """Read one value as it stands in a file, or in the stored form when the context says so."""
        if info.context == STORED and (value is None or type(value) in (int, float)):
            return None if value is None else float(value) if isinstance(value, float) else int(value)
        if self.word is not None and value == self.word:
            return None
        if type(value) is int and "integer" not in self.kinds and "number" not in self.kinds:
            raise PydanticCustomError("unit", "{text}", {"text": f"{value} has no unit; {self.expected}"})
        try:
            number = self.parse(value)
        except UsageError as error:
            text = f"{error.message}; {self.expected}"
            raise PydanticCustomError("unit", "{text}", {"text": text}) from error
        if not self.least <= number <= self.most:
            text = f"'{value}' is out of range; expected a value {self.bounds}"
            raise PydanticCustomError("unit", "{text}", {"text": text})
        return number

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        kind: Any = self.kinds[0] if len(self.kinds) == 1 else list(self.kinds)
        comment = f"{self.expected}; {self.bounds}" if self.bounds else self.expected
        return {"type": kind, "$comment": comment.removeprefix("expected ")}
