"""Series as bytes."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathlab.errors import StoreError, UsageError
from pathlab.store.records import SERIES_KINDS
from pathlab.store.series import decode_series, encode_series

from .store_samples import make_probes

NUMBERS = st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=50)
RATIOS = st.none() | st.floats(allow_nan=False)


@given(numbers=NUMBERS, data=st.data())
def test_numbers_and_nulls_come_back(numbers: list[int | None], data: st.DataObject) -> None:
    ratios = data.draw(st.lists(RATIOS, min_size=len(numbers), max_size=len(numbers)))
    table = pa.table({"n": pa.array(numbers, pa.int64()), "r": pa.array(ratios, pa.float64())})
    assert decode_series("sender_cpu", encode_series("sender_cpu", table)).equals(table)


def test_long_series_are_compressed() -> None:
    table = pa.table({"n": pa.array(range(200_000), pa.int64()), "phase": pa.array(["steady"] * 200_000)})
    blob = encode_series("receiver_intervals", table)
    assert decode_series("receiver_intervals", blob).equals(table)
    assert len(blob) < table.nbytes / 3


@pytest.mark.parametrize("kind", SERIES_KINDS)
def test_every_documented_kind_is_taken(kind: str) -> None:
    assert decode_series(kind, encode_series(kind, make_probes())).num_rows == 3


def test_other_kinds_and_other_things_are_refused() -> None:
    with pytest.raises(UsageError, match="'loaded_probe' is no kind of series; did you mean 'loaded_probes'"):
        encode_series("loaded_probe", make_probes())
    with pytest.raises(UsageError, match="'sender_cpu' is not an Arrow table"):
        encode_series("sender_cpu", [1, 2])


@pytest.mark.parametrize("keep", [0, 1, 7, 60, 200])
def test_a_cut_blob_is_named(keep: int) -> None:
    blob = encode_series("loaded_probes", make_probes())
    with pytest.raises(StoreError, match="series 'loaded_probes' is damaged"):
        decode_series("loaded_probes", blob[:keep])
