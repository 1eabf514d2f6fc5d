"""Trials as one packed table of columns, which ``web/core/packed.js`` reads in the browser.

The table: the length of the header (u32, little-endian), the header (JSON in UTF-8, padded with spaces so
that the body begins at a multiple of 8), and the body: one array after the other, each at a multiple of 8,
as ``packed_arrays`` makes them. A new key of the header may come within a version.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pathlab._version import VERSION
from pathlab.report.explorer.packed_arrays import (
    PackedArray,
    pack_bits,
    pack_codes,
    pack_exact,
    pack_rounded,
    pack_times,
    pack_whole,
)
from pathlab.study.exploration.grouping import ColumnLike, SourceLike

PACKED_VERSION = 1
ALIGNMENT_BYTES = 8
#: Kinds of columns whose values are numbers; of the others there are codes of levels.
NUMERIC = ("number", "time")
#: The role of the only columns whose numbers a file rounds: levels of others are names.
MEASURED = "measured"
#: The kind of a column that has no array: its values are the flag bits.
FLAGS = "flags"

Level: TypeAlias = str | float | int | bool


class PackableColumn(ColumnLike, Protocol):
    """What the header says of a column."""

    @property
    def meaning(self) -> str: ...
    @property
    def level_count(self) -> int: ...


class PackableSource(SourceLike, Protocol):
    """What the header says of a results file."""

    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def created_utc(self) -> str: ...
    @property
    def program_version(self) -> str: ...
    @property
    def medium(self) -> str: ...
    @property
    def planned(self) -> int: ...
    @property
    def trials(self) -> int: ...
    @property
    def notes(self) -> tuple[str, ...]: ...


class PackableTrials(Protocol):
    """The trials of one or several results, column by column, as ``study.exploration`` opens them."""

    def __len__(self) -> int: ...
    @property
    def sources(self) -> Sequence[PackableSource]: ...
    @property
    def columns(self) -> Sequence[PackableColumn]: ...
    @property
    def flags(self) -> Sequence[str]: ...
    @property
    def flag_bits(self) -> NDArray[np.uint64]: ...
    @property
    def reasons(self) -> Sequence[str]: ...
    @property
    def reason_codes(self) -> NDArray[np.int16]: ...
    def numbers(self, name: str) -> NDArray[np.float64]: ...
    def codes(self, name: str) -> NDArray[np.int32]: ...
    def levels(self, name: str) -> Sequence[Level]: ...


def pack_trials(trials: PackableTrials, *, live: bool = False, control: bool = False) -> bytes:
    """Every column with its exact values, for a page that a server sends.

    ``live``: more trials will come. ``control``: the page may stop and pause the run.
    """
    arrays = {
        column.name: pack_column(trials, column, exact=True)
        for column in trials.columns
        if column.kind != FLAGS
    }
    return pack_table(trials, arrays, {"live": live, "control": control}, whole_paths=True)


def pack_column(trials: PackableTrials, column: PackableColumn, *, exact: bool) -> PackedArray:
    """The values of a column; without ``exact`` measures to four digits and times to a millisecond."""
    if column.kind not in NUMERIC:
        return pack_codes(trials.codes(column.name))
    values = trials.numbers(column.name)
    if exact:
        return pack_exact(values)
    if column.kind == "time":
        return pack_times(values)
    return pack_rounded(values) if column.role == MEASURED else pack_whole(values)


def pack_table(
    trials: PackableTrials, arrays: Mapping[str, PackedArray], more: Mapping[str, Any], *, whole_paths: bool
) -> bytes:
    """The columns that ``arrays`` has, by name, in the order of the trials' columns, with ``more`` said.

    Without ``whole_paths`` of a results folder only the last part is told, for a file that others get.
    """
    body = _Body()
    columns = [
        _describe_column(trials, column)
        | ({} if column.kind == FLAGS else {"array": body.add(arrays[column.name])})
        for column in trials.columns
        if column.kind == FLAGS or column.name in arrays
    ]
    bits = np.asarray(trials.flag_bits, dtype=np.uint64)
    header = {
        "version": PACKED_VERSION,
        "program": VERSION,
        "trials": len(trials),
        **more,
        "sources": [_describe_source(source, whole_path=whole_paths) for source in trials.sources],
        "columns": columns,
        "flags": list(trials.flags),
        "flagBits": {
            "low": body.add(pack_bits((bits & np.uint64(0xFFFFFFFF)).astype(np.uint32))),
            "high": body.add(pack_bits((bits >> np.uint64(32)).astype(np.uint32))),
        },
        "reasons": list(trials.reasons),
        "reasonCodes": body.add(pack_codes(trials.reason_codes)),
    }
    return _frame_header(header) + body.join()


class _Body:
    """Arrays one after the other, each at a multiple of ALIGNMENT_BYTES."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._length = 0

    def add(self, array: PackedArray) -> dict[str, Any]:
        """Append an array and return its description."""
        described = array.describe(self._length)
        padding = -len(array.content) % ALIGNMENT_BYTES
        self._parts += [array.content, b"\0" * padding]
        self._length += len(array.content) + padding
        return described

    def join(self) -> bytes:
        return b"".join(self._parts)


def _frame_header(header: Mapping[str, Any]) -> bytes:
    text = json.dumps(header, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 4) % ALIGNMENT_BYTES)
    return struct.pack("<I", len(text)) + text


def _describe_column(trials: PackableTrials, column: PackableColumn) -> dict[str, Any]:
    result: dict[str, Any] = {
        "name": column.name,
        "label": column.label,
        "unit": column.unit,
        "role": column.role,
        "kind": column.kind,
        "logSuggested": column.log_suggested,
        "meaning": column.meaning,
        "levelCount": column.level_count,
        "missingLabel": column.missing_label,
    }
    if column.kind not in (*NUMERIC, FLAGS):
        result["levels"] = list(trials.levels(column.name))
    return result


def _describe_source(source: PackableSource, *, whole_path: bool) -> dict[str, Any]:
    return {
        "label": source.label,
        "title": source.title,
        "name": source.name,
        "path": source.path if whole_path else PurePath(source.path).name,
        "createdUtc": source.created_utc,
        "programVersion": source.program_version,
        "medium": source.medium,
        "planned": source.planned,
        "trials": source.trials,
        "orderDrawn": source.order_drawn,
        "notes": list(source.notes),
    }
