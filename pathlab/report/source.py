"""What the report reads: the interface of a results file, and its trials as typed records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pandas as pd

from pathlab.store.flags import Flag, Status
from pathlab.store.records import CampaignRecord, HostRecord, JournalRecord, PlanRecord, TrialRecord
from pathlab.store.schema import column_types
from pathlab.store.trial_table import TIMES, format_exact_time
from pathlab.study.trials import LINUX_WINDOW_FACTOR


class ResultsSource(Protocol):
    """The part of ``pathlab.store.results.Results`` that a report needs."""

    @property
    def campaign(self) -> CampaignRecord: ...

    def plan(self) -> Sequence[PlanRecord]: ...

    def hosts(self) -> Sequence[HostRecord]: ...

    def journal(self) -> Sequence[JournalRecord]: ...

    def trials(self) -> pd.DataFrame: ...

    def series_kinds(self, trial_id: int) -> Sequence[str]: ...

    def series(self, trial_id: int, kind: str) -> pd.DataFrame: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTrial:
    """A trial with its number in the store."""

    trial_id: int
    record: TrialRecord

    @property
    def complete(self) -> bool:
        """True if the trial measured what it was planned to."""
        return self.record.status == Status.COMPLETE


def read_trials(results: ResultsSource, frame: pd.DataFrame | None = None) -> tuple[StoredTrial, ...]:
    """Every stored trial in order of its number; a cell without a value becomes ``None``.

    ``frame``: what ``results.trials()`` returned, where it was read already.
    """
    found = results.trials() if frame is None else frame
    frame = found.sort_values("trial_id", kind="stable")
    names = column_types(TrialRecord)
    columns = [_read_column(frame, name, column.base) for name, column in names.items()]
    numbers = frame["trial_id"].tolist()
    return tuple(
        StoredTrial(trial_id=int(number), record=TrialRecord(**dict(zip(names, row, strict=True))))
        for number, row in zip(numbers, zip(*columns, strict=True), strict=True)
    )


def format_utc(stored: str) -> str:
    """A stored time, such as ``2026-11-21T05:03:05.334+00:00``, to the second as people write it."""
    if not stored:
        return "at a time that is not known"
    return f"{stored[:19].replace('T', ' ')} UTC"


def read_series(results: ResultsSource, trial_id: int, kind: str) -> pd.DataFrame | None:
    """A series of a trial, or ``None`` when it was not recorded or is empty."""
    if kind not in results.series_kinds(trial_id):
        return None
    frame = results.series(trial_id, kind)
    return None if frame.empty else frame


def find_congestion(record: TrialRecord) -> str:
    """The congestion control by which trials are grouped: what was asked for, empty for the default.

    Other programs' files tell only what was at work.
    """
    if Flag.IMPORTED in record.flags:
        return record.congestion_requested or record.congestion_sender or ""
    return record.congestion_requested or ""


def find_arrived(record: TrialRecord) -> int | None:
    """UDP's datagrams that were not lost; None where that was not measured."""
    sent, lost = record.udp_sent_packets, record.udp_lost_packets
    return None if sent is None or lost is None else sent - lost


def window_is_short(record: TrialRecord) -> bool:
    """True if either end's kernel granted less than the window asked for."""
    if record.window_requested_bytes is None:
        return False
    granted = (record.window_granted_sender_bytes, record.window_granted_receiver_bytes)
    least = LINUX_WINDOW_FACTOR * record.window_requested_bytes
    return Flag.WINDOW_SHORT in record.flags or any(size is not None and size < least for size in granted)


def _read_column(frame: pd.DataFrame, name: str, kind: type) -> list[Any]:
    """A column with the type of the record's own field; ``None`` where it has no value or does not exist."""
    if kind is tuple:
        return [_read_list(value) for value in frame[name]] if name in frame else [()] * len(frame)
    if name not in frame:
        return [None] * len(frame)
    values = frame[name].astype(object)
    if name in TIMES:
        return [format_exact_time(value) for value in values.tolist()]
    found = (
        None if missing else kind(value)
        for value, missing in zip(values.tolist(), values.isna().tolist(), strict=True)
    )
    # Names, settings and counts repeat: one object for each value saves half of the records' memory.
    known: dict[Any, Any] = {}
    return list(found) if kind is float else [known.setdefault(value, value) for value in found]


def _read_list(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) or hasattr(value, "tolist") else ()
