"""Numbers and times of a view as text: numbers as browsers write them, times to the microsecond in UTC."""

from __future__ import annotations

import datetime
import math
import re

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_INSTANT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?)?(Z|[+-]\d\d:\d\d)?", re.ASCII
)
_EPOCH = datetime.datetime(1970, 1, 1)
#: The first and the last moment that has a year of four digits, in microseconds since 1970.
_FIRST_US, _LAST_US = -62_135_596_800_000_000, 253_402_300_799_999_999
#: From here on, and below, a number has an exponent.
_LARGE_DIGITS, _SMALL_DIGITS = 21, -6


def format_exact_number(value: float) -> str:
    """The shortest text that reads back as the number, in the form of ECMAScript's Number.toString.

    Source: ECMA-262, Number::toString. Not for what is not finite.
    """
    if value == 0:
        return "0"
    mantissa, _, exponent = f"{abs(float(value))!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if len(digits) <= point <= _LARGE_DIGITS:
        text = digits + "0" * (point - len(digits))
    elif 0 < point <= _LARGE_DIGITS:
        text = f"{digits[:point]}.{digits[point:]}"
    elif _SMALL_DIGITS < point <= 0:
        text = f"0.{'0' * -point}{digits}"
    else:
        shown = f"{digits[0]}.{digits[1:]}" if digits[1:] else digits
        text = f"{shown}e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return f"-{text}" if value < 0 else text


def parse_exact_number(text: str) -> float | None:
    """A decimal number; None for any other text and for one that no float holds."""
    if _NUMBER.fullmatch(text) is None or not text.isascii():
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def parse_instant(text: str) -> float | None:
    """A time of ISO 8601 as seconds since 1970, UTC where it does not say; None for any other text.

    ``2026-11-21``, ``2026-11-21T05:03``, ``2026-11-21T05:03:05.25Z``, ``2026-11-21T07:03:05+02:00``.
    """
    match = _INSTANT.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(group or 0) for group in match.groups()[:6])
    micros = int((match[7] or "").ljust(6, "0"))
    try:
        moment = datetime.datetime(year, month, day, hour, minute, second, micros)
    except ValueError:
        return None
    offset = match[8] or "Z"
    minutes = 0 if offset == "Z" else int(offset[1:3]) * 60 + int(offset[4:])
    if offset != "Z" and (int(offset[1:3]) > 23 or int(offset[4:]) > 59):
        return None
    whole = (moment - _EPOCH) // datetime.timedelta(microseconds=1)
    total = whole + (minutes if offset[0] == "-" else -minutes) * 60_000_000
    return total / 1e6 if _FIRST_US <= total <= _LAST_US else None


def format_instant(seconds: float) -> str:
    """Seconds since 1970 as ISO 8601 in UTC, to the nearest microsecond; within the years 1 to 9999.

    From 1834 to 2105 it reads back; a float of more seconds does not hold every microsecond.
    """
    micros = seconds * 1e6
    whole = math.floor(micros)
    total = min(max(whole + (micros - whole >= 0.5), _FIRST_US), _LAST_US)
    moment = _EPOCH + datetime.timedelta(microseconds=total)
    text = moment.isoformat(timespec="seconds")
    fraction = f"{moment.microsecond:06d}".rstrip("0")
    return f"{text}.{fraction}Z" if fraction else f"{text}Z"
