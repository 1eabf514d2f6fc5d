"""Bytes of each stream in the steady window: what was not measured is missing, not 0."""

from collections.abc import Sequence
from typing import Any, cast

import pyarrow as pa

from pathlab.study.base.trial_series import read_stream_bytes
from pathlab.study.base.trials import StudySource


class OneTrial:
    """A source with the receiver's intervals of one trial."""

    def __init__(self, rows: Sequence[tuple[int, int, str]]) -> None:
        columns = list(zip(*rows, strict=True))
        names = ("stream", "bytes", "phase")
        self.table = pa.table({name: list(values) for name, values in zip(names, columns, strict=True)})

    def series_tables(self, _trial_id: int, wanted: Any) -> dict[str, pa.Table]:
        return dict.fromkeys(wanted, self.table)


def read(*rows: tuple[int, int, str]) -> dict[int, int] | None:
    found = read_stream_bytes(cast(StudySource, OneTrial(rows)), 1)
    return None if found is None else dict(found.counts)


def test_bytes_are_those_of_the_steady_window() -> None:
    assert read((0, 5, "warmup"), (0, 7, "steady"), (1, 0, "steady"), (0, 8, "steady")) == {0: 15, 1: 0}


def test_a_stream_without_steady_intervals_has_no_count() -> None:
    assert read((0, 5, "warmup"), (1, 7, "steady")) == {1: 7}
    assert read((0, 5, "warmup")) == {}
