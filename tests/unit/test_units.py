"""Units: what people write, what is printed, and that both agree."""

import re
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pathlab import units
from pathlab.errors import UsageError

WHOLE = st.integers(0, units.LARGEST)


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("64KiB", 65_536),
        ("256K", 262_144),
        ("64k", 65_536),
        ("1MiB", 1_048_576),
        ("1.5 MiB", 1_572_864),
        ("2Gi", 2_147_483_648),
        ("250kB", 250_000),
        ("1MB", 1_000_000),
        ("56B", 56),
        ("0", 0),
        (1448, 1448),
    ],
)
def test_bytes_are_read(text: str | int, size_bytes: int) -> None:
    assert units.parse_bytes(text) == size_bytes


@pytest.mark.parametrize(
    ("text", "bits_per_s"),
    [
        ("40Mbit/s", 40_000_000),
        ("1Gbit/s", 1_000_000_000),
        ("40M", 40_000_000),
        ("1.5 Gbps", 1_500_000_000),
        ("9600", 9600),
        ("64kbit", 64_000),
        ("64Kbit/s", 64_000),
    ],
)
def test_rates_are_decimal(text: str, bits_per_s: int) -> None:
    assert units.parse_rate_bits_per_s(text) == bits_per_s


@pytest.mark.parametrize(
    ("text", "time_ns"),
    [
        ("100ms", 100_000_000),
        ("2s", 2_000_000_000),
        ("20us", 20_000),
        ("20µs", 20_000),
        ("1.5s", 1_500_000_000),
        ("7ns", 7),
        ("1min 30s", 90_000_000_000),
        ("1min30s", 90_000_000_000),
        ("2h", 7_200_000_000_000),
        (" 0s ", 0),
    ],
)
def test_times_are_read(text: str, time_ns: int) -> None:
    assert units.parse_time_ns(text) == time_ns


def test_a_bare_time_needs_to_be_allowed() -> None:
    assert units.parse_time_ns("2.5", bare_unit="s") == 2_500_000_000
    assert units.parse_time_ns(10, bare_unit="s") == 10_000_000_000
    with pytest.raises(UsageError, match="'10' is not a time: its unit is missing") as caught:
        units.parse_time_ns("10")
    assert '"100ms"' in str(caught.value.hint)


@pytest.mark.parametrize(
    ("text", "ratio"), [("0.1%", 0.001), (0.001, 0.001), ("100 %", 1.0), (0, 0.0), ("0.5", 0.5), (1e-7, 1e-7)]
)
def test_ratios_are_read(text: str | float, ratio: float) -> None:
    assert units.parse_ratio(text) == ratio


@pytest.mark.parametrize(
    ("parse", "text", "what"),
    [
        (units.parse_bytes, "64KB", "ambiguous"),
        (units.parse_bytes, "64kb", "unknown unit 'kb'"),
        (units.parse_bytes, "", "is not a size"),
        (units.parse_bytes, "-1", "is not a size"),
        (units.parse_bytes, "0.5", "is not a whole number of bytes"),
        (units.parse_bytes, "9999999999G", "too large"),
        (units.parse_bytes, True, "is not a size"),
        (units.parse_bytes, "1e3", "is not a size"),
        (units.parse_rate_bits_per_s, "5MB/s", "unknown unit 'MB/s'"),
        (units.parse_rate_bits_per_s, "fast", "is not a rate"),
        (units.parse_rate_bits_per_s, "10 20", "is not a rate"),
        (units.parse_time_ns, "5m", "minutes or milliseconds"),
        (units.parse_time_ns, "", "is not a time"),
        (units.parse_time_ns, "0.1ns", "is not a whole number of nanoseconds"),
        (units.parse_time_ns, "1s-2s", "is not a time"),
        (units.parse_time_ns, "3 parsec", "unknown unit 'parsec'"),
        (units.parse_time_ns, None, "is not a time"),
        (units.parse_ratio, "101%", "more than the whole"),
        (units.parse_ratio, 1.01, "more than the whole"),
        (units.parse_ratio, float("nan"), "is not a share"),
        (units.parse_ratio, "-1%", "is not a share"),
    ],
)
def test_a_mistake_names_the_text_and_an_example(
    parse: Callable[[object], float], text: object, what: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(what)) as caught:
        parse(text)
    assert f"'{text}'" in caught.value.message
    assert str(caught.value.hint).startswith("expected ")
    assert '"' in str(caught.value.hint)


@given(WHOLE)
def test_spelled_numbers_read_back(number: int) -> None:
    assert units.parse_bytes(units.format_exact_bytes(number)) == number
    assert units.parse_rate_bits_per_s(units.format_exact_rate(number)) == number
    assert units.parse_time_ns(units.format_exact_time(number)) == number


@given(st.floats(0, 1))
@example(5e-324)
def test_spelled_ratios_read_back(ratio: float) -> None:
    assert units.parse_ratio(units.format_exact_ratio(ratio)) == ratio


@given(st.integers(1, 10**15))
@example(999_950_000)
@example(999_999_999)
def test_printed_rates_are_true_to_three_digits(bits_per_s: int) -> None:
    shown = units.format_rate(bits_per_s)
    assert shown.count(" ") == 1
    number, unit = shown.split(" ")
    assert abs(float(number) * units.RATE_UNITS.get(unit, 10**12) - bits_per_s) <= 0.005 * bits_per_s
    assert float(number) < 1000 or unit == "Tbit/s"


@given(time_ns=st.integers(1, 10**17), size_bytes=st.integers(1, 10**13))
def test_printed_times_and_sizes_are_nearly_true(time_ns: int, size_bytes: int) -> None:
    assert abs(units.parse_time_ns(units.format_time(time_ns)) - time_ns) <= 0.01 * time_ns
    assert abs(units.parse_bytes(units.format_bytes(size_bytes)) - size_bytes) <= 0.005 * size_bytes


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (units.format_rate(38_612_345), "38.6 Mbit/s"),
        (units.format_rate(40_000_000), "40 Mbit/s"),
        (units.format_rate(40_012_345.5), "40.0 Mbit/s"),
        (units.format_rate(999_960_000), "1.00 Gbit/s"),
        (units.format_rate(9.999), "10.0 bit/s"),
        (units.format_rate(0), "0 bit/s"),
        (units.format_rate(None), units.NOT_MEASURED),
        (units.format_bytes(65_536), "64 KiB"),
        (units.format_bytes(250_000), "250 kB"),
        (units.format_bytes(256_000), "256 kB"),
        (units.format_r_squared(0.99996), "0.999"),
        (units.format_r_squared(1.0), "1.000"),
        (units.format_r_squared(None), "–"),
        (units.format_bytes(1500), "1500 B"),
        (units.format_volume(1_920_000), "1.92 MB"),
        (units.format_volume(65_536), "65.5 kB"),
        (units.format_volume(None), units.NOT_MEASURED),
        (units.format_bytes(12_345_678), "12.3 MB"),
        (units.format_bytes(None), units.NOT_MEASURED),
        (units.format_time(40.1e6), "40.1 ms"),
        (units.format_time(-1_500_000), "-1.5 ms"),
        (units.format_time(20_000), "20 µs"),
        (units.format_time(250e9), "4 min 10 s"),
        (units.format_time(7500e9), "2 h 5 min"),
        (units.format_time(float("nan")), units.NOT_MEASURED),
        (units.format_ratio(0.1), "10 %"),
        (units.format_ratio(0.00123456), "0.123 %"),
        (units.format_ratio(None), units.NOT_MEASURED),
    ],
)
def test_what_people_read(shown: str, expected: str) -> None:
    assert shown == expected


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (1.0004, "g", "1.0004"),
        (1.004, "g", "1.004"),
        (1.0496, "g", "1.0496"),
        (0.9997, "f", "0.9997"),
        (1.05 * (1 + 1e-15), "f", "1.050"),
        (1.0, "f", "1.000"),
        (1.23456, "f", "1.235"),
        (0.5, "g", "0.5"),
    ],
)
def test_a_number_is_written_on_its_side_of_every_mark(value: float, kind: str, text: str) -> None:
    assert units.format_beside(value, (1 / 1.05, 1.0, 1.05), kind=kind) == text


@given(st.floats(0.9, 1.1))
def test_no_rounding_moves_a_number_across_a_mark(value: float) -> None:
    marks = (1 / 1.05, 1.0, 1.05)
    for kind in ("f", "g"):
        written = float(units.format_beside(value, marks, kind=kind))
        for mark in marks:
            assert (written > mark) == (value > mark) or abs(value - mark) < 1e-8
