"""Small tables of trials, and a reader of the packed table that follows its description and nothing else."""

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.builders.tables import SOURCES, MadeColumn, MadeSource

Level = str | float | int | bool
READ_AS = {"f64": "<f8", "f32": "<f4", "u8": "u1", "u16": "<u2", "u32": "<u4"}


@dataclass(kw_only=True)
class SampleTrials:
    """Trials whose values are given: of numbers and times floats, of categories levels (None: missing)."""

    columns: Sequence[MadeColumn]
    values: Mapping[str, Sequence[Any]]
    sources: Sequence[MadeSource] = SOURCES[:1]
    flags: Sequence[str] = ("lab-limited", "outlier")
    bits: Sequence[int] | None = None
    reasons: Sequence[str] = ("failed",)
    excluded: Sequence[int] | None = None
    count: int = field(init=False)

    def __post_init__(self) -> None:
        self.count = len(next(iter(self.values.values()), ()))

    def __len__(self) -> int:
        return self.count

    @property
    def flag_bits(self) -> NDArray[np.uint64]:
        return np.array(self.bits or [0] * self.count, dtype=np.uint64)

    @property
    def reason_codes(self) -> NDArray[np.int16]:
        return np.array([-1] * self.count if self.excluded is None else self.excluded, dtype=np.int16)

    def numbers(self, name: str) -> NDArray[np.float64]:
        return np.array(self.values[name], dtype=np.float64)

    def levels(self, name: str) -> Sequence[Level]:
        return sorted({value for value in self.values[name] if value is not None}, key=str)

    def codes(self, name: str) -> NDArray[np.int32]:
        levels = list(self.levels(name))
        return np.array(
            [-1 if value is None else levels.index(value) for value in self.values[name]], dtype=np.int32
        )


def read_header(table: bytes) -> tuple[dict[str, Any], bytes]:
    """The header and the body of a packed table."""
    (length,) = struct.unpack_from("<I", table)
    assert (4 + length) % 8 == 0
    return json.loads(table[4 : 4 + length]), table[4 + length :]


def read_array(body: bytes, described: Mapping[str, Any]) -> NDArray[np.float64]:
    """The values of an array, NaN for missing ones."""
    kind, count = np.dtype(READ_AS[described["type"]]), described["count"]
    assert described["offset"] % 8 == 0
    found = np.frombuffer(body, np.uint8, count * kind.itemsize, described["offset"])
    if described.get("shuffled"):
        found = np.ascontiguousarray(found.reshape(kind.itemsize, count).T).reshape(-1)
    stored = found.view(kind)
    values = described.get("base", 0) + described.get("scale", 1) * stored.astype(np.float64)
    return np.where(stored == described["missing"], np.nan, values) if "missing" in described else values


def read_table(table: bytes) -> dict[str, NDArray[np.float64]]:
    """The values of each column that has an array, codes of levels as numbers."""
    header, body = read_header(table)
    return {one["name"]: read_array(body, one["array"]) for one in header["columns"] if "array" in one}
