"""Levels and numbers as texts that the browser writes alike (``labels.js``)."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Protocol

from pathlab.units import format_bytes

BYTES = "B"
_SIX_DIGITS = Context(prec=6, rounding=ROUND_HALF_UP)


class LevelColumnLike(Protocol):
    """What of a column its levels' texts depend on."""

    @property
    def unit(self) -> str: ...
    @property
    def kind(self) -> str: ...


def format_explored_level(column: LevelColumnLike, value: str | float | int | bool) -> str:
    """A level with its unit: ``64 KiB``, ``40 ms``, ``yes``, ``2026-11-21 05:03:05 UTC``."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if column.kind == "time":
        return f"{datetime.fromtimestamp(math.floor(value), UTC):%Y-%m-%d %H:%M:%S} UTC"
    if column.unit == BYTES:
        return format_bytes(float(value))
    return f"{format_short_number(value)} {column.unit}" if column.unit else format_short_number(value)


def format_short_number(value: float) -> str:
    """Six significant digits of the shortest decimal that is this number, without zeros at the end."""
    if value == 0:
        return "0"
    rounded = _SIX_DIGITS.create_decimal(repr(float(value)))
    if float(value).is_integer() and abs(value) < 1e15:
        rounded = Decimal(int(value))
    if not 1e-6 <= abs(value) < 1e15:
        digits, exponent = f"{rounded:e}".split("e")
        return f"{_trim(digits)}e{int(exponent):+d}"
    return _trim(f"{rounded:f}")


def _trim(digits: str) -> str:
    return digits.rstrip("0").rstrip(".") if "." in digits else digits
