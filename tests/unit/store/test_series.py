"""Series as bytes."""

import random
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.errors import StoreError
from pathlab.store import series
from pathlab.store.series import decode_schema, decode_series, encode_series
from pathlab.store.series_columns import SERIES_KINDS
from tests.builders.series import make_intervals, make_probes, make_raw

EXTREMES = st.sampled_from([-(2**63), 2**63 - 1, -1, 0, 1, 2**32, -(2**31)])
NUMBERS = st.none() | EXTREMES | st.integers(-(2**63), 2**63 - 1)
RATIOS = st.none() | st.floats(allow_nan=False)
TEXTS = st.none() | st.text(max_size=5)
RAW = "sender_tcp_info_raw"


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


def flatten(table: pa.Table) -> pa.Table:
    """The table as it comes back: texts without a dictionary."""
    kinds = [f.type.value_type if pa.types.is_dictionary(f.type) else f.type for f in table.schema]
    return table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))


@settings(deadline=None, max_examples=40)
@given(table=draw_tables())
def test_every_type_comes_back(table: pa.Table) -> None:
    blob = encode_series("sender_cpu", table)
    read = decode_series("sender_cpu", blob)
    read.validate(full=True)
    assert read.schema == flatten(table).schema == decode_schema("sender_cpu", blob)
    assert read.equals(flatten(table))


@settings(deadline=None, max_examples=40)
@given(table=draw_tables(), data=st.data())
def test_columns_are_read_alone(table: pa.Table, data: st.DataObject) -> None:
    wanted = data.draw(st.sets(st.sampled_from(table.column_names), min_size=1))
    names = [name for name in table.column_names if name in wanted]
    blob = encode_series("sender_cpu", table)
    assert decode_series("sender_cpu", blob, [*wanted, "unknown"]).equals(flatten(table.select(names)))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.binary(min_size=8, max_size=8), min_size=1, max_size=20))
def test_floats_keep_their_bits(patterns: list[bytes]) -> None:
    bits = pa.py_buffer(b"".join(patterns))
    table = pa.table({"r": pa.Array.from_buffers(pa.float64(), len(patterns), [None, bits])})
    read = decode_series("sender_cpu", encode_series("sender_cpu", table))
    assert read["r"].chunk(0).buffers()[1].to_pybytes()[: bits.size] == bits.to_pybytes()


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("streams", "intervals", "rest"), [(4, 50, 4), (1, 1, 0), (3, 2, 1), (2, 1, 2)])
def test_raw_structs_come_back(order: str, streams: int, intervals: int, rest: int) -> None:
    raw = make_raw(make_intervals(streams, intervals), order, rest)
    blob = encode_series(RAW, raw)
    assert decode_series(RAW, blob).equals(raw)
    assert decode_series(RAW, blob, ["tcp_info"]).equals(raw.select(["tcp_info"]))
    cut = pa.concat_tables([raw.slice(0, 1), raw.slice(1)]).slice(1)
    assert decode_series(RAW, encode_series(RAW, cut)).equals(cut)


def test_structs_are_stored_as_changes() -> None:
    draw = random.Random(3)
    base = [draw.randrange(2**32) for _ in range(60)]
    rows = [struct.pack("<60I", *((word + 7 * at // 4) % 2**32 for word in base)) for at in range(800)]
    streams = pa.array([at % 4 for at in range(800)], pa.int64())
    raw = pa.table({"stream": streams, "tcp_info": pa.array(rows, pa.binary())})
    blob = encode_series(RAW, raw)
    assert len(blob) < 3000
    assert decode_series(RAW, blob).equals(raw)


def test_long_series_are_compressed() -> None:
    table = pa.table({"n": pa.array(range(200_000), pa.int64()), "phase": pa.array(["steady"] * 200_000)})
    blob = encode_series("receiver_intervals", table)
    assert decode_series("receiver_intervals", blob).equals(table)
    assert len(blob) < table.nbytes / 1500


def test_every_documented_kind_is_taken() -> None:
    table = pa.table({"stamps": pa.nulls(3), "small": pa.array([1, 2, 3], pa.int8())})
    for kind in SERIES_KINDS:
        blob = encode_series(kind, table)
        assert decode_series(kind, blob).equals(table)
        assert decode_schema(kind, blob) == table.schema


@settings(deadline=None, max_examples=60)
@given(table=draw_tables(), inside=st.booleans(), data=st.data())
def test_changed_bytes_are_read_or_named(table: pa.Table, inside: bool, data: st.DataObject) -> None:
    """Nothing else than a table or a StoreError comes of bytes that somebody has changed."""
    packed = encode_series("sender_cpu", table)
    blob = bytearray(unpack(packed) if inside else packed)
    for _ in range(data.draw(st.integers(1, 3))):
        blob[data.draw(st.integers(0, len(blob) - 1))] = data.draw(st.integers(0, 255))
    blob += data.draw(st.binary(max_size=3))
    try:
        read = decode_series("sender_cpu", pack(bytes(blob)) if inside else bytes(blob))
    except StoreError:
        return
    assert len({len(column) for column in read.columns}) <= 1


def pack(data: bytes) -> bytes:
    """Bytes as one zstd frame."""
    packed: bytes = pa.Codec("zstd").compress(data, asbytes=True)
    return packed


def unpack(blob: bytes) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(blob), "zstd") as stream:
        data: bytes = stream.read()
    return data


def write_parquet(table: pa.Table, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **{"compression": "none", **options})
    data: bytes = sink.getvalue().to_pybytes()
    return data


def measure_peak_bytes(blob: bytes) -> int:
    """Refuse a blob; return the most memory that Arrow held meanwhile beyond what it held before."""
    pool = pa.proxy_memory_pool(pa.default_memory_pool())
    before = pa.default_memory_pool()
    pa.set_memory_pool(pool)
    try:
        with pytest.raises(StoreError, match="series 'loaded_probes' is damaged"):
            decode_series("loaded_probes", blob)
    finally:
        pa.set_memory_pool(before)
    return int(pool.max_memory())


def make_rows(count: int) -> pa.Table:
    return pa.table({"n": pa.array(np.full(count, 7))})


@pytest.mark.parametrize(
    "make", [lambda: write_parquet(make_rows(10_000_000)), lambda: bytes(64 << 20)], ids=["rows", "bytes"]
)
def test_a_frame_of_more_than_can_be_is_refused_before_it_is_read(
    make: Callable[[], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    blob = pack(make())
    assert len(blob) < 10_000
    monkeypatch.setattr(series, "MEMORY_BYTES", 1 << 20)
    assert measure_peak_bytes(blob) < 8 << 20


def test_a_list_of_more_items_than_its_footer_says_is_refused() -> None:
    items = 20_000_000
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(items, np.int32)), pa.array(["a"]))
    lists = pa.ListArray.from_arrays(pa.array([0, items], pa.int32()), texts.cast(pa.string()))
    data = bytearray(write_parquet(pa.table({"reasons": lists}), store_schema=False, data_page_size=1 << 30))
    number = format_varint(2 * items)
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    at = data.find(number, footer)
    assert at > 0
    data[at : at + len(number)] = bytes([0x82, *[0x80] * (len(number) - 2), 0])  # 1, as long as before
    del texts, lists
    assert measure_peak_bytes(pack(bytes(data))) < 8 << 20


def format_varint(number: int) -> bytes:
    """A number as Thrift's compact protocol writes it."""
    low = bytes([number & 127 | (128 if number > 127 else 0)])
    return low + format_varint(number >> 7) if number > 127 else low


@pytest.mark.parametrize("cut", [0, 3, 8, 9, 40])
def test_a_footer_that_is_cut_is_refused(cut: int) -> None:
    data = write_parquet(make_probes())
    assert measure_peak_bytes(pack(data[len(data) - cut :] if cut else b"")) < 8 << 20


def test_pages_with_a_compression_of_their_own_are_refused() -> None:
    assert measure_peak_bytes(pack(write_parquet(make_probes(), compression="zstd"))) < 8 << 20


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_any_footer_is_read_or_named(footer: bytes) -> None:
    data = b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"
    with pytest.raises(StoreError, match="series 'loaded_probes' is damaged"):
        decode_series("loaded_probes", pack(data))


def test_a_long_text_in_very_many_rows_is_refused() -> None:
    places = pa.array([0] * 2000, pa.int32())
    texts = pa.table({"stamps": pa.DictionaryArray.from_arrays(places, pa.array(["x" * (1 << 20)]))})
    assert measure_peak_bytes(pack(write_parquet(texts, store_schema=False))) < 64 << 20
