"""The only parser and printer of units: bytes, rates, times, ratios.

``parse_*`` turns what a person wrote into an integer (bytes, bit/s, ns) or a ratio; ``format_exact_*``
writes a value exactly, so that ``parse_x(format_exact_x(v)) == v``; every other ``format_*`` writes it for
reading, with three significant digits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

from pathlab.errors import UsageError

NOT_MEASURED = "–"
SECOND_NS = 10**9
DAY_NS = 86_400 * SECOND_NS
LARGEST = 2**63 - 1  # what a column of the store holds

_NUMBER = r"(\d+(?:\.\d+)?|\.\d+)"
_QUANTITY = re.compile(rf"\s*{_NUMBER}\s*([^\s\d.+-][^\s\d]*)?\s*")
_TIME_PART = re.compile(rf"\s*{_NUMBER}\s*([A-Za-zµμ]+)\s*")

_BINARY = {"K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
_DECIMAL = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}

#: Units of numbers for reading, from small to large, and how much of the stored unit each is.
SHOWN_RATES: Mapping[str, int] = {"bit/s": 1, **{f"{letter}bit/s": size for letter, size in _DECIMAL.items()}}
SHOWN_VOLUMES: Mapping[str, int] = {"B": 1, **{f"{letter}B": size for letter, size in _DECIMAL.items()}}
SHOWN_TIMES: Mapping[str, int] = {"ns": 1, "µs": 10**3, "ms": 10**6, "s": 10**9}

BYTE_UNITS: Mapping[str, int] = {
    "": 1,
    "B": 1,
    # a bare letter means what network tools mean by it in a window: a power of two
    **dict(_BINARY),
    **{letter.lower(): size for letter, size in _BINARY.items()},
    **{f"{letter}i": size for letter, size in _BINARY.items()},
    **{f"{letter}iB": size for letter, size in _BINARY.items()},
    **{f"{letter}B": size for letter, size in _DECIMAL.items()},
}
RATE_UNITS: Mapping[str, int] = {
    f"{letter}{ending}": size
    for letter, size in {"": 1, **_DECIMAL, "K": 10**3}.items()
    for ending in ("", "bit/s", "bit", "bps")
}
FREQUENCY_UNITS: Mapping[str, int] = {
    f"{letter}{ending}": size
    for letter, size in {"": 1, **_DECIMAL, "K": 10**3}.items()
    for ending in ("", "/s")
}
TIME_UNITS: Mapping[str, int] = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
}
WAIT_UNITS: Mapping[str, int] = {**TIME_UNITS, "m": TIME_UNITS["min"]}

BYTES_EXPECTED = 'expected a size such as "64KiB" or "256K" (1024 each), "250kB" (1000 each) or 65536'
RATE_EXPECTED = 'expected a rate such as "40Mbit/s", "1Gbit/s" or "40M" (decimal, bits)'
FREQUENCY_EXPECTED = 'expected a number per second such as "5000", "5k" or "1M" (decimal)'
TIME_EXPECTED = 'expected a time with its unit (ns, us, ms, s, min, h) such as "100ms", "2s" or "1.5s"'
RATIO_EXPECTED = 'expected a share such as "0.1%" or 0.001, from 0 to 100 %'


def parse_bytes(text: str | int) -> int:
    """Return a number of bytes. Raises UsageError for anything that is not a whole, non-negative size.

    ``K``, ``M``, ``G`` and ``KiB`` … are powers of 1024, ``kB``, ``MB`` … powers of 1000; ``KB`` is refused
    because it is used for both.
    """
    if isinstance(text, str) and re.search(r"\d\s*KB\s*$", text):
        raise _wrong(text, "is ambiguous: 'KB' is 1000 bytes to some and 1024 to others", BYTES_EXPECTED)
    return _parse_whole(text, "a size", BYTE_UNITS, BYTES_EXPECTED)


def parse_rate_bits_per_s(text: str | int) -> int:
    """Return a rate in bit/s (decimal prefixes). Raises UsageError."""
    return _parse_whole(text, "a rate", RATE_UNITS, RATE_EXPECTED)


def parse_frequency_per_s(text: str | int) -> int:
    """Return a whole number per second (decimal prefixes), such as of messages. Raises UsageError."""
    return _parse_whole(text, "a number per second", FREQUENCY_UNITS, FREQUENCY_EXPECTED)


def parse_age_ns(text: str) -> int:
    """As ``parse_time_ns``; ``d`` means days, which only ages have."""
    if text.endswith("d") and text[:-1].isdecimal() and len(text) < 7:
        return int(text[:-1]) * DAY_NS
    return parse_time_ns(text)


def parse_wait_ns(text: str) -> int:
    """As ``parse_time_ns``; a bare number is seconds, and ``m`` minutes: nobody waits some milliseconds."""
    return parse_time_ns(text, bare_unit="s", units=WAIT_UNITS)


def parse_time_ns(
    text: str | int | float, *, bare_unit: str | None = None, units: Mapping[str, int] = TIME_UNITS
) -> int:
    """Return a time in integer nanoseconds; parts may be added up, as in ``1min 30s``. Raises UsageError.

    A number without a unit is refused unless ``bare_unit`` says which one it has (``--time 10`` is seconds).
    """
    if isinstance(text, bool) or not isinstance(text, (str, int, float)):
        raise _wrong(text, "is not a time", TIME_EXPECTED)
    written = text.strip() if isinstance(text, str) else _plain(text)
    if re.fullmatch(_NUMBER, written):
        if bare_unit is None:
            raise _wrong(text, "is not a time: its unit is missing", TIME_EXPECTED)
        written += bare_unit
    total = Fraction(0)
    position = 0
    while position < len(written):
        part = _TIME_PART.match(written, position)
        if part is None:
            raise _wrong(text, "is not a time", TIME_EXPECTED)
        number, unit = part.groups()
        if unit == "m" and unit not in units:
            raise _wrong(text, "is ambiguous: 'm' may be minutes or milliseconds", TIME_EXPECTED)
        if unit not in units:
            raise _wrong(text, f"is not a time: unknown unit '{unit}'", TIME_EXPECTED)
        total += Fraction(number) * units[unit]
        position = part.end()
    if not written:
        raise _wrong(text, "is not a time", TIME_EXPECTED)
    return _whole(text, total, "nanoseconds", TIME_EXPECTED)


def parse_ratio(text: str | int | float) -> float:
    """Return a ratio from 0 to 1, from ``"0.1%"`` or a plain number. Raises UsageError."""
    if isinstance(text, bool) or not isinstance(text, (str, int, float)):
        raise _wrong(text, "is not a share", RATIO_EXPECTED)
    written = text.strip() if isinstance(text, str) else repr(text)
    number, percent = (written[:-1].rstrip(), True) if written.endswith("%") else (written, False)
    if not re.fullmatch(rf"{_NUMBER}(?:e[+-]?\d{{1,3}})?", number):
        raise _wrong(text, "is not a share", RATIO_EXPECTED)
    value = Fraction(number) / (100 if percent else 1)
    if value > 1:
        raise _wrong(text, "is more than the whole (100 %)", RATIO_EXPECTED)
    return float(value)


def format_exact_bytes(size_bytes: int) -> str:
    """Write a size exactly, in the largest unit that leaves a whole number: ``64KiB``, ``250kB``."""
    units = ("GiB", "GB", "MiB", "MB", "KiB", "kB", "B")
    return _format_exact(size_bytes, {unit: BYTE_UNITS[unit] for unit in units})


def format_exact_rate(bits_per_s: int) -> str:
    """Write a rate exactly: ``40Mbit/s``, ``1500kbit/s``."""
    units = ("Gbit/s", "Mbit/s", "kbit/s", "bit/s")
    return _format_exact(bits_per_s, {unit: RATE_UNITS[unit] for unit in units})


def format_exact_time(time_ns: int) -> str:
    """Write a time exactly: ``100ms``, ``2s``, ``1500ms``."""
    return _format_exact(time_ns, {unit: TIME_UNITS[unit] for unit in ("h", "min", "s", "ms", "us", "ns")})


def format_exact_ratio(ratio: float) -> str:
    """Write a ratio exactly, in percent: ``0.1%``."""
    percent = Decimal(repr(ratio)) * 100
    return f"{_trim(f'{percent:f}')}%"


def format_bytes(size_bytes: float | None) -> str:
    """Write a size for reading: ``64 KiB`` or ``250 kB`` when it is exact, else decimal, ``12.3 MB``."""
    if size_bytes is None or not math.isfinite(size_bytes):
        return NOT_MEASURED
    if size_bytes == int(size_bytes) and size_bytes:
        for unit in ("GB", "GiB", "MB", "MiB", "kB", "KiB"):  # 256000 is 256 kB rather than 250 KiB
            count = _exact(size_bytes) / BYTE_UNITS[unit]
            if count.denominator == 1 and count < 10_000:
                return f"{_sign(size_bytes)}{int(count)} {unit}"
        if abs(size_bytes) < 10_000:
            return f"{int(size_bytes)} B"
    return format_volume(size_bytes)


def format_window(window_bytes: int | None) -> str:
    """A requested window: its size, or ``auto`` where the kernel chooses it."""
    return "auto" if window_bytes is None else format_bytes(window_bytes)


def format_volume(size_bytes: float | None) -> str:
    """Write an amount of data, which nobody chose as a size, in decimal units: ``1.92 MB``."""
    return _format(size_bytes, SHOWN_VOLUMES)


def format_rate(bits_per_s: float | None) -> str:
    """Write a rate for reading: ``38.6 Mbit/s``. ``None`` is printed as not measured."""
    return _format(bits_per_s, SHOWN_RATES)


def format_frequency(count_per_s: float | None) -> str:
    """Write a number per second for reading: ``1.25 M/s``, ``950 /s``."""
    return _format(count_per_s, {"/s": 1, **{f"{letter}/s": size for letter, size in _DECIMAL.items()}})


def format_time(time_ns: float | None) -> str:
    """Write a time for reading: ``40.1 ms``, and from two minutes on ``4 min 10 s`` or ``2 h 5 min``."""
    if time_ns is not None and math.isfinite(time_ns) and abs(time_ns) >= 120 * 10**9:
        seconds = round(abs(time_ns) / 10**9)
        if seconds < 3600:
            large, small, names = *divmod(seconds, 60), ("min", "s")
        else:
            large, small, names = *divmod(round(seconds / 60), 60), ("h", "min")
        rest = f" {small} {names[1]}" if small else ""
        return f"{_sign(time_ns)}{large} {names[0]}{rest}"
    return _format(time_ns, SHOWN_TIMES)


def format_ratio(ratio: float | None) -> str:
    """Write a ratio for reading, in percent: ``0.123 %``, ``52.1 %``."""
    if ratio is None or not math.isfinite(ratio):
        return NOT_MEASURED
    return f"{_sign(ratio)}{_three_digits(_exact(ratio) * 100)} %"


def format_beside(value: float, marks: Sequence[float], *, digits: int = 3, kind: str = "g") -> str:
    """Write a number with as many digits as keep it on its side of every mark: 1.0004 is not 1 alongside 1.

    ``kind`` "g": significant digits, at least ``digits`` of them; "f": decimals. A value that differs from a
    mark by rounding alone is written as the mark.
    """
    value = next((mark for mark in marks if math.isclose(value, mark, rel_tol=1e-9)), value)
    texts = (f"{value:.{places}{kind}}" for places in range(digits, 17))
    apart = [mark for mark in marks if mark != value]
    kept = (text for text in texts if all((float(text) - mark) * (value - mark) > 0 for mark in apart))
    return next(kept, f"{value:.{digits}{kind}}")


def format_r_squared(r_squared_ratio: float | None) -> str:
    """Write a share of variance with three digits, rounded down: only a perfect fit is ``1.000``."""
    if r_squared_ratio is None or not math.isfinite(r_squared_ratio):
        return NOT_MEASURED
    return f"{math.floor(r_squared_ratio * 1000 + 1e-6) / 1000:.3f}"  # an ulp below 1 is 1


def _wrong(text: object, what: str, expected: str) -> UsageError:
    return UsageError(f"'{text}' {what}", hint=expected)


def _plain(number: float) -> str:
    """The number as digits, never in scientific notation."""
    return format(Decimal(repr(number)), "f")


def _parse_whole(text: object, noun: str, units: Mapping[str, int], expected: str) -> int:
    if isinstance(text, bool) or not isinstance(text, (str, int)):
        raise _wrong(text, f"is not {noun}", expected)
    match = _QUANTITY.fullmatch(str(text))
    if match is None:
        raise _wrong(text, f"is not {noun}", expected)
    number, unit = match.group(1), match.group(2) or ""
    if unit not in units:
        raise _wrong(text, f"is not {noun}: unknown unit '{unit}'", expected)
    whole = "bytes" if units is BYTE_UNITS else "bit/s" if units is RATE_UNITS else "one per second"
    return _whole(text, Fraction(number) * units[unit], whole, expected)


def _whole(text: object, value: Fraction, noun: str, expected: str) -> int:
    if value.denominator != 1:
        raise _wrong(text, f"is not a whole number of {noun}", expected)
    if value > LARGEST:
        raise _wrong(text, "is too large", expected)
    return int(value)


def _format_exact(value: int, units: Mapping[str, int]) -> str:
    """``units`` from large to small; the first that divides the value without rest is used."""
    if value < 0:
        raise _wrong(value, "is negative", "expected 0 or more")
    fitting = (unit for unit, size in units.items() if value and value % size == 0)
    unit = next(fitting, list(units)[-1])
    return f"{value // units[unit]}{unit}"


def _format(value: float | None, units: Mapping[str, int]) -> str:
    """``units`` from small to large."""
    if value is None or not math.isfinite(value):
        return NOT_MEASURED
    magnitude = _exact(value)
    names = list(units)
    chosen = max((i for i, name in enumerate(names) if magnitude >= units[name]), default=0)
    digits = _three_digits(magnitude / units[names[chosen]])
    if float(digits) >= 1000 and chosen + 1 < len(names):  # 999.96 of one unit rounds up to 1 of the next
        chosen += 1
        digits = _three_digits(magnitude / units[names[chosen]])
    return f"{_sign(value)}{digits} {names[chosen]}"


def _exact(value: float) -> Fraction:
    """The magnitude as its shortest decimal digits say, so that 0.1 is a tenth."""
    return Fraction(abs(value)) if isinstance(value, int) else Fraction(repr(abs(float(value))))


def _three_digits(number: Fraction) -> str:
    """Three significant digits; zeros at the end stand only where the digits were rounded."""
    if number == 0:
        return "0"
    places = max(0, 2 - math.floor(math.log10(number)))
    rounded = Decimal(round(number * 10**places)).scaleb(-places)
    if places and rounded >= 10 ** (3 - places):  # 9.999 became 10.00: one digit too many
        rounded = rounded.quantize(Decimal(1).scaleb(1 - places))
    text = f"{rounded:f}"
    return _trim(text) if Fraction(rounded) == number else text


def _trim(digits: str) -> str:
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _sign(value: float) -> str:
    return "-" if value < 0 else ""
