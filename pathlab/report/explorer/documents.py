"""What an exported page has besides its table: details and series of trials, as far as there is room.

One JSON document, compressed with gzip: ``trials`` (details by name, such as ``A:12``), ``courses`` (by
``A:12 KIND.COLUMN``), ``verdicts`` (by the text of a view) and ``published``.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pathlab.errors import PathlabError
from pathlab.report.explorer.course_document import read_course
from pathlab.report.explorer.trial_document import read_details
from pathlab.study.exploration.explored_results import RESULTS, ExploredResults

#: Trials with details, and with their series: more take longer to read than people wait.
DETAILED_MAX, CHARTED_MAX = 1_000, 300
#: Of the room for documents: what details may take, so that series of some trials are there too.
DETAILS_RATIO = 0.6
#: Width for which series are reduced.
COURSE_PX = 400
GZIP_BITS = 31  # of zlib: with the header of gzip
LEVEL_BEST = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedDocuments:
    """The compressed document, and of how many trials it has details and every series.

    ``with_series``: trials among those with details that have series.
    """

    content: bytes
    detailed: int
    charted: int
    with_series: int


def collect_documents(
    results: ExploredResults, room_bytes: int, parts: Mapping[str, Mapping[str, Any] | list[Any]]
) -> ExportedDocuments:
    """Details and series of trials, those of first cycles first, until the room is used.

    ``parts`` are kept whatever their size. A trial whose details cannot be read has none.
    """
    rows = order_rows(results)
    stream = _GzipStream()
    stream.write("{")
    for name, content in parts.items():
        stream.write(f"{_write_json(name)}:{_write_json(content)},")
    stream.write('"trials":{')
    courses: list[tuple[int, tuple[str, ...]]] = []
    detailed = 0
    for row in rows[:DETAILED_MAX]:
        try:
            details = read_details(results, row)
        except PathlabError:
            continue
        if not stream.write_member(results.name_trial(row), details, int(room_bytes * DETAILS_RATIO)):
            break
        detailed += 1
        if details["courses"]:
            courses.append((row, tuple(detail["series"] for detail in details["courses"])))
    stream.write('},"courses":{')
    charted = sum(1 for _ in _write_courses(results, courses[:CHARTED_MAX], stream, room_bytes))
    stream.write("}}")
    return ExportedDocuments(
        content=stream.close(), detailed=detailed, charted=charted, with_series=len(courses)
    )


def order_rows(results: ExploredResults) -> list[int]:
    """Rows by the number of the trial, those of several results in turn: the first cycles of each first."""
    order = np.lexsort((results.codes(RESULTS), results.numbers("trial")))
    return [int(row) for row in order]


class _GzipStream:
    """A compressed text that knows its size while it grows."""

    def __init__(self) -> None:
        self._packer = zlib.compressobj(LEVEL_BEST, zlib.DEFLATED, GZIP_BITS)
        self._parts: list[bytes] = []
        self._size_bytes = 0
        self._is_first = True

    def write(self, text: str) -> None:
        """Append a text; the members behind it are the first ones of an object."""
        self._append(self._packer.compress(text.encode()))
        self._is_first = True

    def write_member(self, name: str, content: Any, size_max_bytes: int) -> bool:
        """Append a member of an object; false, and nothing, where all would take more than so many bytes."""
        text = f"{'' if self._is_first else ','}{_write_json(name)}:{_write_json(content)}".encode()
        trial = self._packer.copy()
        grown = trial.compress(text) + trial.flush(zlib.Z_SYNC_FLUSH)
        if self._size_bytes + len(grown) > size_max_bytes:
            return False
        self._packer, self._is_first = trial, False
        self._append(grown)
        return True

    def close(self) -> bytes:
        """The whole, finished."""
        self._append(self._packer.flush())
        return b"".join(self._parts)

    def _append(self, part: bytes) -> None:
        self._parts.append(part)
        self._size_bytes += len(part)


def _write_json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _write_courses(
    results: ExploredResults, courses: list[tuple[int, tuple[str, ...]]], stream: _GzipStream, room_bytes: int
) -> Iterator[int]:
    """Write the series of each trial; the rows of trials that have all of theirs."""
    for row, series in courses:
        for name in series:
            try:
                course = read_course(results, row, name, pixels=COURSE_PX)
            except PathlabError:
                continue
            if not stream.write_member(f"{results.name_trial(row)} {name}", course, room_bytes):
                return
        yield row
