"""The packed table: its bytes, what is read back, and how far rounded numbers are off."""

import json
import struct
from collections.abc import Callable

import numpy as np
import pytest

from pathlab import __version__
from pathlab.report.explorer.packed_arrays import (
    PackedArray,
    pack_codes,
    pack_exact,
    pack_rounded,
    pack_times,
    pack_whole,
)
from pathlab.report.explorer.packing import pack_column, pack_table, pack_trials
from tests.builders.packed import SampleTrials, read_array, read_header, read_table
from tests.builders.tables import MadeColumn, MadeSource

STREAMS = MadeColumn(name="streams", log_suggested=True)
RATE = MadeColumn(name="rate", label="Throughput", unit="Mbit/s", role="measured")
MEDIUM = MadeColumn(name="medium", kind="category", role="condition")
STARTED = MadeColumn(name="started_utc", kind="time", role="identity")
FLAGS = MadeColumn(name="flags", kind="flags", role="identity")


def make_trials() -> SampleTrials:
    return SampleTrials(
        columns=(STREAMS, RATE, MEDIUM, STARTED, FLAGS),
        values={
            "streams": [1, 2, 4],
            "rate": [38.61234567, float("nan"), 940.25],
            "medium": ["wire", None, "air"],
            "started_utc": [1764000000.125, 1764000060.5, float("nan")],
        },
        bits=[0, 1 << 1, (1 << 40) | 1],
        excluded=[-1, 0, -1],
    )


def test_the_bytes_of_a_table_are_those_described() -> None:
    column = MadeColumn(name="n", label="N")
    trials = SampleTrials(
        columns=(column,), values={"n": [1.0, float("nan")]}, sources=(), flags=(), reasons=()
    )
    described = {"type": "u8", "missing": 255, "count": 2}
    header = {
        "version": 1,
        "program": __version__,
        "trials": 2,
        "sources": [],
        "columns": [
            {
                "name": "n",
                "label": "N",
                "unit": "",
                "role": "factor",
                "kind": "number",
                "logSuggested": False,
                "meaning": "",
                "levelCount": 0,
                "missingLabel": "not set",
                "array": {**described, "offset": 0},
            }
        ],
        "flags": [],
        "flagBits": {
            "low": {"type": "u32", "offset": 8, "count": 2, "shuffled": True},
            "high": {"type": "u32", "offset": 16, "count": 2, "shuffled": True},
        },
        "reasons": [],
        "reasonCodes": {**described, "offset": 24},
    }
    table = pack_table(trials, {"n": pack_column(trials, column, exact=False)}, {}, whole_paths=False)
    (length,) = struct.unpack("<I", table[:4])
    text = table[4 : 4 + length]
    assert json.loads(text) == header
    assert text.rstrip(b" ") + b" " * (-(len(text.rstrip(b" ")) + 4) % 8) == text
    assert table[4 + length :] == b"\x01\xff" + bytes(6) + bytes(16) + b"\xff\xff" + bytes(6)


def test_a_served_table_has_exact_values_flags_and_reasons() -> None:
    trials = make_trials()
    table = pack_trials(trials, live=True)
    header, body = read_header(table)
    found = read_table(table)
    assert (header["trials"], header["live"], header["control"]) == (3, True, False)
    for name in ("streams", "rate", "started_utc"):
        np.testing.assert_array_equal(found[name], trials.values[name])
    assert header["columns"][2]["levels"] == ["air", "wire"]
    np.testing.assert_array_equal(found["medium"], [1, np.nan, 0])
    assert header["columns"][4]["kind"] == "flags"
    assert "array" not in header["columns"][4]
    bits = {name: read_array(body, one).astype(np.uint64) for name, one in header["flagBits"].items()}
    np.testing.assert_array_equal(bits["low"] | bits["high"] << np.uint64(32), trials.flag_bits)
    np.testing.assert_array_equal(read_array(body, header["reasonCodes"]), [np.nan, 0, np.nan])


def test_a_table_without_trials_is_read() -> None:
    trials = SampleTrials(
        columns=(STREAMS, MEDIUM, STARTED), values={"streams": [], "medium": [], "started_utc": []}
    )
    for exact in (True, False):
        arrays = {column.name: pack_column(trials, column, exact=exact) for column in trials.columns}
        found = read_table(pack_table(trials, arrays, {}, whole_paths=False))
        assert [(name, len(values)) for name, values in found.items()] == [
            *(("streams", 0), ("medium", 0), ("started_utc", 0))
        ]


def test_an_export_has_the_chosen_columns_and_no_path_of_its_owner() -> None:
    trials = make_trials()
    table = pack_table(trials, {"rate": pack_column(trials, RATE, exact=False)}, {}, whole_paths=False)
    exported, served = read_header(table)[0], read_header(pack_trials(trials))[0]
    assert [one["name"] for one in exported["columns"]] == ["rate", "flags"]
    assert exported["sources"][0]["path"] == "campaign"
    assert served["sources"][0]["path"] == "/home/someone/results/campaign"


def test_markup_in_titles_is_kept_as_text() -> None:
    title = '</script><script>alert(1)</script> \u2028 "quoted"'
    trials = SampleTrials(
        columns=(STREAMS,), values={"streams": [1]}, sources=(MadeSource(label="A", title=title),)
    )
    assert read_header(pack_trials(trials))[0]["sources"][0]["title"] == title


def read_back(packed: PackedArray) -> np.ndarray:
    return read_array(packed.content, packed.describe(0))


@pytest.mark.parametrize("count", [1, 2, 254, 255, 256, 65_534, 65_535, 65_536])
def test_codes_take_the_smallest_type_that_has_room_for_a_missing_one(count: int) -> None:
    codes = np.arange(-1, count, dtype=np.int32)
    packed = pack_codes(codes)
    np.testing.assert_array_equal(read_back(packed), np.where(codes < 0, np.nan, codes))
    assert packed.type == ("u8" if count <= 255 else "u16" if count <= 65_535 else "u32")


@pytest.mark.parametrize("exponent", [-30, -9, -3, 0, 3, 9, 30])
@pytest.mark.parametrize("sign", [1, -1])
def test_rounded_numbers_keep_four_digits(exponent: int, sign: int) -> None:
    values = sign * np.random.default_rng(7).uniform(1, 10, 20_000) * 10.0**exponent
    packed = pack_rounded(values)
    assert (packed.type, packed.shuffled) == ("f32", True)
    error = np.abs(read_back(packed) / values - 1)
    assert 0 < error.max() < 0.5e-4  # half a unit of the fourth digit of 9.999


def test_rounded_numbers_keep_zero_gaps_and_infinity() -> None:
    values = np.array([0.0, np.nan, np.inf, -np.inf, -2.5, 0.001])
    found = read_back(pack_rounded(values))
    np.testing.assert_array_equal(found[:5], values[:5])
    assert found[5] == pytest.approx(0.001, rel=0.5e-4)


NAN = float("nan")


@pytest.mark.parametrize(
    ("pack", "values", "kind"),
    [
        (pack_rounded, [0, 1, 2, NAN, 254], "u8"),
        (pack_rounded, [0, 255], "u16"),
        (pack_rounded, [1, 65_534, NAN], "u16"),
        (pack_rounded, [NAN], "u8"),
        (pack_rounded, [], "u8"),
        (pack_rounded, [1e300, 1.0], "f64"),
        (pack_rounded, [1e-300, 1.0], "f64"),
        (pack_whole, [262_144, NAN, 65_536], "u32"),
        (pack_whole, [0, 254], "u8"),
        (pack_whole, [0.1234567, 3], "f64"),
        (pack_whole, [-1, 5], "f64"),
        (pack_whole, [2.0**32, 1], "f64"),
        (pack_whole, [float("inf"), 1], "f64"),
        (pack_whole, [], "u8"),
        (pack_times, [NAN, NAN], "u8"),
        (pack_times, [0.0, 1e15], "f64"),  # beyond every step
        (pack_exact, [1.5, NAN], "f64"),
    ],
)
def test_levels_small_integers_and_extreme_numbers_are_exact(
    pack: Callable[[np.ndarray], PackedArray], values: list[float], kind: str
) -> None:
    packed = pack(np.array(values, dtype=np.float64))
    assert packed.type == kind
    np.testing.assert_array_equal(read_back(packed), values)


@pytest.mark.parametrize(
    ("span_s", "step_s"), [(0, 0.001), (4e6, 0.001), (5e6, 0.01), (4e9, 1.0), (1e13, 3600)]
)
def test_times_keep_the_shortest_step_that_covers_their_range(span_s: float, step_s: float) -> None:
    values = np.append(1764000000.25 + np.linspace(0, span_s, 1000), np.nan)
    packed = pack_times(values)
    assert (packed.base, packed.scale) == (1764000000.0, step_s)
    np.testing.assert_allclose(read_back(packed), values, rtol=0, atol=step_s / 2 * 1.001 + 1e-6)


@pytest.mark.parametrize("role", ["factor", "condition", "identity", "measured"])
def test_only_measures_are_rounded(role: str) -> None:
    values = [262_144.0, 1234567.0, NAN]
    column = MadeColumn(name="n", role=role)
    trials = SampleTrials(columns=(column,), values={"n": values})
    found = read_back(pack_column(trials, column, exact=False))
    assert (found[:2] == values[:2]).all() == (role != "measured")
    np.testing.assert_allclose(found, values, rtol=0.5e-4)


def test_exact_numbers_are_little_endian_floats() -> None:
    assert pack_exact(np.array([1.5, NAN])).content[:8] == struct.pack("<d", 1.5)
