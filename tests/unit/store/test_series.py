"""Series as bytes."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.errors import StoreError, UsageError
from pathlab.store.records import SERIES_KINDS
from pathlab.store.series import (
    base_kind,
    decode_schema,
    decode_series,
    encode_arrow,
    encode_series,
    find_base,
)
from tests.unit.store.series_samples import make_intervals, make_raw
from tests.unit.store.store_samples import make_probes

EXTREMES = st.sampled_from([-(2**63), 2**63 - 1, -1, 0, 1, 2**32, -(2**31)])
NUMBERS = st.none() | EXTREMES | st.integers(-(2**63), 2**63 - 1)
RATIOS = st.none() | st.floats(allow_nan=False)
TEXTS = st.none() | st.text(max_size=5)
RAW = "sender_tcp_info_raw"
GOLDEN_DATA = Path(__file__).parents[2] / "data"


@st.composite
def draw_tables(draw: st.DrawFn) -> pa.Table:
    """A table with every type of column, in groups of rows, of several chunks and cut out of a longer one."""
    streams, intervals = draw(st.integers(1, 4)), draw(st.integers(0, 5))
    rows = streams * intervals

    def column(values: st.SearchStrategy[object]) -> list[object]:
        return draw(st.lists(values, min_size=rows, max_size=rows))

    step = draw(EXTREMES)
    table = pa.table(
        {
            "index": pa.array([at // streams for at in range(rows)], pa.int64()),
            "n": pa.array(column(NUMBERS), pa.int64()),
            "line": pa.array([(at * step + 2**63) % 2**64 - 2**63 for at in range(rows)], pa.int64()),
            "small": pa.array(column(st.none() | st.integers(-(2**31), 2**31 - 1)), pa.int32()),
            "r": pa.array(column(RATIOS), pa.float64()),
            "b": pa.array(column(st.none() | st.booleans()), pa.bool_()),
            "t": pa.array(column(TEXTS), pa.string()),
            "bytes": pa.array(column(st.none() | st.binary(max_size=9)), pa.binary()),
            "phase": pa.array(column(TEXTS), pa.string()).dictionary_encode(),
            "texts": pa.array(column(st.none() | st.lists(TEXTS, max_size=3)), pa.list_(pa.string())),
        }
    )
    cut = draw(st.integers(0, rows))
    whole = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    return whole.slice(draw(st.integers(0, rows)))


@settings(deadline=None, max_examples=40)
@given(table=draw_tables())
def test_every_type_comes_back_packed(table: pa.Table) -> None:
    blob = encode_series("sender_cpu", table)
    assert blob.startswith(b"PLSC\x01")
    read = decode_series("sender_cpu", blob)
    read.validate(full=True)
    assert read.schema == table.schema == decode_schema("sender_cpu", blob)
    assert read.equals(table)
    assert decode_series("sender_cpu", encode_arrow(table)).equals(table)


@settings(deadline=None, max_examples=40)
@given(table=draw_tables(), data=st.data())
def test_columns_are_read_alone(table: pa.Table, data: st.DataObject) -> None:
    wanted = data.draw(st.sets(st.sampled_from(table.column_names), min_size=1))
    names = [name for name in table.column_names if name in wanted]
    blob = encode_series("sender_cpu", table)
    assert decode_series("sender_cpu", blob, [*wanted, "unknown"]).equals(table.select(names))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.binary(min_size=8, max_size=8), min_size=1, max_size=20))
def test_floats_keep_their_bits(patterns: list[bytes]) -> None:
    bits = pa.py_buffer(b"".join(patterns))
    table = pa.table({"r": pa.Array.from_buffers(pa.float64(), len(patterns), [None, bits])})
    read = decode_series("sender_cpu", encode_series("sender_cpu", table))
    assert read["r"].chunk(0).buffers()[1].to_pybytes()[: bits.size] == bits.to_pybytes()


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("streams", "intervals", "rest"), [(4, 50, 4), (1, 1, 0), (3, 2, 1), (2, 1, 2)])
def test_raw_structs_come_back_with_what_the_intervals_say(
    order: str, streams: int, intervals: int, rest: int
) -> None:
    base = make_intervals(streams, intervals)
    raw = make_raw(base, order, rest)
    blob = encode_series(RAW, raw, base)
    assert decode_series(RAW, blob, base=base).equals(raw)
    alone = encode_series(RAW, raw)
    assert find_base(RAW, alone) is None
    assert decode_series(RAW, alone).equals(raw)


@pytest.mark.parametrize("order", ["<", ">"])
def test_what_the_intervals_say_is_not_stored_twice(order: str) -> None:
    complete = make_intervals(4, 100).set_column(5, "rtt_us", [random.Random(2).choices(range(2**32), k=400)])
    raw = make_raw(complete, order)
    blob = encode_series(RAW, raw, complete)
    assert find_base(RAW, blob) == base_kind(RAW) == "sender_intervals"
    assert len(blob) < len(encode_series(RAW, raw)) - 4 * 400  # the round trips, four bytes each
    assert decode_series(RAW, blob, ["stream"]).equals(raw.select(["stream"]))  # alone
    with pytest.raises(StoreError, match="series 'sender_tcp_info_raw' is damaged"):
        decode_series(RAW, blob)


def test_raw_structs_are_not_made_of_other_intervals() -> None:
    base = make_intervals(4, 100)
    blob = encode_series(RAW, make_raw(base), base)
    other = base.set_column(4, "bytes_sent", [[number + 1 for number in base["bytes_sent"].to_pylist()]])
    for wrong in (other, base.slice(4), make_intervals(4, 200)):
        with pytest.raises(StoreError, match="series 'sender_tcp_info_raw' is damaged"):
            decode_series(RAW, blob, base=wrong)


@pytest.mark.parametrize("wrong", ["shifted", "longer", "without streams"])
def test_readings_that_do_not_match_are_not_referred_to(wrong: str) -> None:
    base = make_intervals(4, 20)
    raw = make_raw(base)
    others = {
        "shifted": base.slice(1),
        "longer": make_intervals(4, 21),
        "without streams": base.drop_columns(["stream"]),
    }
    blob = encode_series(RAW, raw, others[wrong])
    assert find_base(RAW, blob) is None
    assert decode_series(RAW, blob).equals(raw)


def make_golden() -> pa.Table:
    """A table in whose packed form there are links, choices, planes, nulls, texts and words."""
    rows = range(24)
    return pa.table(
        {
            "index": [at // 2 for at in rows],
            "start_ns": [at // 2 * 100 + at // 7 for at in rows],
            "end_ns": [(at // 2 + 1) * 100 + (at + 2) // 7 for at in rows],
            "rtt_ns": pa.array([None if at % 5 == 1 else 2**40 - at**3 for at in rows], pa.int64()),
            "extreme": [(-1) ** at * (2**63 - 1) for at in rows],
            "ratio": [(0.5, 0.25, 0.1)[at * at % 3] for at in rows],
            "busy": pa.array([None if at == 3 else at % 4 == 0 for at in rows], pa.bool_()),
            "phase": pa.array(["warmup"] * 8 + ["steady"] * 15 + [None]).dictionary_encode(),
            "text": pa.array(["µ", None, "ab", ""] * 6, pa.string()),
            "texts": pa.array([["a", None], None, []] * 8, pa.list_(pa.string())),
            "struct": pa.array([struct.pack("<IQ", at, at * at * 977) for at in rows], pa.binary()),
        }
    )


def test_golden_bytes() -> None:
    """Bytes that were written once and have to be read for ever, whatever is written now."""
    table, base, raw = make_golden(), make_intervals(2, 20), make_raw(make_intervals(2, 20))
    golden = (GOLDEN_DATA / "series-packed-1.bin").read_bytes()
    golden_raw = (GOLDEN_DATA / "series-raw-packed-1.bin").read_bytes()
    assert decode_series("sender_intervals", golden).equals(table)
    assert decode_series(RAW, golden_raw, base=base).equals(raw)
    assert find_base(RAW, golden_raw) == "sender_intervals"


def test_other_types_are_kept_as_arrow_streams() -> None:
    table = pa.table({"stamps": pa.nulls(3), "small": pa.array([1, 2, 3], pa.int8())})
    blob = encode_series("loaded_probes", table)
    assert not blob.startswith(b"PLSC")
    assert decode_series("loaded_probes", blob).equals(table)
    assert decode_schema("loaded_probes", blob) == table.schema
    noted = make_probes().replace_schema_metadata({"note": "kept"})
    read = decode_series("loaded_probes", encode_series("loaded_probes", noted))
    assert read.schema.equals(noted.schema, check_metadata=True)


def test_long_series_are_compressed() -> None:
    table = pa.table({"n": pa.array(range(200_000), pa.int64()), "phase": pa.array(["steady"] * 200_000)})
    blob = encode_series("receiver_intervals", table)
    assert decode_series("receiver_intervals", blob).equals(table)
    assert len(blob) < table.nbytes / 3000


@pytest.mark.parametrize("kind", SERIES_KINDS)
def test_every_documented_kind_is_taken(kind: str) -> None:
    assert decode_series(kind, encode_series(kind, make_probes())).num_rows == 3


def test_other_kinds_and_other_things_are_refused() -> None:
    with pytest.raises(UsageError, match="'loaded_probe' is no kind of series; did you mean 'loaded_probes'"):
        encode_series("loaded_probe", make_probes())
    with pytest.raises(UsageError, match="'sender_cpu' is not an Arrow table"):
        encode_series("sender_cpu", [1, 2])


@pytest.mark.parametrize("encode", [encode_arrow, lambda table: encode_series("loaded_probes", table)])
@pytest.mark.parametrize("keep_ratio", [0.0, 0.02, 0.1, 0.3, 0.6, 0.9])
def test_a_cut_blob_is_named(encode: object, keep_ratio: float) -> None:
    assert callable(encode)
    blob = encode(make_probes())
    with pytest.raises(StoreError, match="series 'loaded_probes' is damaged"):
        decode_series("loaded_probes", blob[: int(len(blob) * keep_ratio)])


@settings(deadline=None, max_examples=40)
@given(table=draw_tables(), data=st.data())
def test_changed_bytes_are_read_or_named(table: pa.Table, data: st.DataObject) -> None:
    """Nothing else than a table or a StoreError comes of bytes that somebody has changed."""
    blob = bytearray(encode_series("sender_cpu", table))
    for _ in range(data.draw(st.integers(1, 3))):
        blob[data.draw(st.integers(0, len(blob) - 1))] = data.draw(st.integers(0, 255))
    blob += data.draw(st.binary(max_size=3))
    try:
        read = decode_series("sender_cpu", bytes(blob))
    except StoreError:
        return
    assert len({len(column) for column in read.columns}) <= 1
