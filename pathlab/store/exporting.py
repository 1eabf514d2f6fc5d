"""What an export format is, which trials it takes, and where it goes: a file or folder that appears whole.

Each module of ``pathlab.store.exporters`` is the format of its name, an ``ExportFormat`` called ``FORMAT``.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import importlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pathlab._version import VERSION
from pathlab.errors import StoreError, UsageError
from pathlab.files import make_folder, make_private
from pathlab.store import exporters
from pathlab.store.imported_trial import list_columns
from pathlab.store.records import OriginRecord, TrialRecord
from pathlab.store.results import Results
from pathlab.store.steady import RECEIVER_INTERVALS, SENDER_INTERVALS, find_carried
from pathlab.store.trial_table import list_stored_values, parse_trial_id
from pathlab.store.usable import is_usable


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenTrial:
    """A trial to be exported."""

    trial_id: int
    record: TrialRecord
    settings: Mapping[str, Any]  # factor levels of its plan row
    origin: OriginRecord | None
    kinds: tuple[str, ...]  # series that it kept

    @property
    def started(self) -> datetime.datetime:
        """When it was begun, UTC."""
        stamp = datetime.datetime.fromisoformat(self.record.started_utc)
        return stamp if stamp.tzinfo else stamp.replace(tzinfo=datetime.UTC)


#: Columns of intervals that say whether these count what was carried.
_CARRIED = ("bytes", "packets")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What to export of which results; ``with_series`` as far as the format can leave them out."""

    results: Results
    trials: tuple[ChosenTrial, ...]
    with_series: bool = True
    with_timestamps: bool = True  # openmetrics: each trial at its start, else medians

    def read_intervals(self, trial: ChosenTrial, kind: str) -> list[dict[str, Any]]:
        """The rows of a trial's intervals; none where it kept no such series, or one without counts."""
        if kind not in trial.kinds:
            return []
        table = self.results.series_table(trial.trial_id, kind)
        rows: list[dict[str, Any]] = table.to_pylist()
        return rows if {"phase", "bytes"} <= set(table.column_names) else []

    def find_carried(self, trial: ChosenTrial) -> str | None:
        """The series that counts what was carried: the receiver's intervals, else the sender's, else None."""
        kinds = {kind: _CARRIED for kind in (RECEIVER_INTERVALS, SENDER_INTERVALS) if kind in trial.kinds}
        return find_carried(self.results.series_tables(trial.trial_id, kinds)) if kinds else None


def select_trials(
    results: Results, trial_ids: Iterable[int] = (), *, with_series: bool = True, with_timestamps: bool = True
) -> Selection:
    """Choose trials by id (a list, an array, a Series), or all.

    Raises UsageError for an id that is not there, or when there is none.
    """
    stored = results.records_by_id()
    wanted = [parse_trial_id(number) for number in list_stored_values(trial_ids)]
    for number in wanted:
        if number not in stored:
            raise UsageError(
                f"there is no trial {number} in '{results.path}'",
                hint=f"pathlab results show {results.folder} lists them",
            )
    if not stored:
        raise UsageError(
            f"'{results.path}' holds no trial yet", hint="run the campaign first: there is nothing to export"
        )
    settings = {row.row: row.settings for row in results.plan()}
    origins, kinds = results.origins(), results.all_series_kinds()
    chosen = set(wanted) or stored.keys()
    return Selection(
        results=results,
        with_series=with_series,
        with_timestamps=with_timestamps,
        trials=tuple(
            ChosenTrial(
                trial_id=number,
                record=record,
                settings=settings.get(record.plan_row, {}),
                origin=origins.get(number),
                kinds=kinds.get(number, ()),
            )
            for number, record in stored.items()
            if number in chosen
        ),
    )


def describe_trial(trial: ChosenTrial) -> dict[str, Any]:
    """What PathLab knows of a trial besides what a foreign format has a place for; its importer reads it."""
    return {
        "version": VERSION,
        "trial_id": trial.trial_id,
        "status": trial.record.status,
        "failed_stage": trial.record.failed_stage,
        "failure": trial.record.failure,
        "flags": list(trial.record.flags),
        "settings": dict(trial.settings),
        "columns": list_columns(trial.record),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportFormat:
    """One format: it becomes a file, or a folder, whose name ends with ``ending``.

    ``needs``: a trial that kept none of these series is left out; empty: every trial is written, or with
    ``usable`` those that count in medians.
    ``find_instead``: the series of intervals that is written of a trial because the end that the format is
    about kept none; None: its own.
    """

    export: Callable[[Selection, Path], None]
    is_folder: bool
    ending: str
    needs: tuple[str, ...] = ()
    usable: bool = False
    find_instead: Callable[[Selection, ChosenTrial], str | None] | None = None

    def list_left_out(self, selection: Selection) -> list[int]:
        """The trials that are not written, by number."""
        if self.usable:
            return [trial.trial_id for trial in selection.trials if not is_usable(trial.record)]
        chosen = selection.trials if self.needs else ()
        return [trial.trial_id for trial in chosen if not self._keeps_needed(selection, trial)]

    def list_instead(self, selection: Selection) -> dict[str, list[int]]:
        """The trials that are written by the intervals of the other end, by number, for each such series."""
        result: dict[str, list[int]] = {}
        for trial in selection.trials if self.find_instead else ():
            kind = self.find_instead(selection, trial) if self.find_instead else None
            if kind is not None:
                result.setdefault(kind, []).append(trial.trial_id)
        return result

    def _keeps_needed(self, selection: Selection, trial: ChosenTrial) -> bool:
        kept = {*trial.kinds} & {*self.needs}
        # What a sender offered is not what was carried.
        return bool(kept) and (kept != {SENDER_INTERVALS} or selection.find_carried(trial) is not None)


def load_format(name: str) -> ExportFormat:
    """One of ``FORMAT_NAMES``, with the libraries that it needs."""
    result: ExportFormat = importlib.import_module(f"{exporters.__name__}.{name}").FORMAT
    return result


@contextlib.contextmanager
def open_target(target: Path, *, folder: bool) -> Iterator[Path]:
    """Lend a file or folder to be written; it gets its name when the block ends without an error.

    Raises UsageError where ``target`` already exists, StoreError when it cannot be written.
    """
    if target.exists() or target.is_symlink():
        raise UsageError(f"'{target}' already exists", hint="remove it, or give another name with --out")
    try:
        make_folder(target.parent)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.", suffix=".new") as made:
            fresh = Path(made) / target.name
            if folder:
                fresh.mkdir()
            yield fresh
            if not folder:
                with fresh.open("rb") as file:
                    os.fsync(file.fileno())
            make_private(fresh)
            fresh.rename(target)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = "the disk is full" if full else (error.strerror or str(error)).lower()
        raise StoreError(
            f"'{target}' cannot be written: {reason}",
            hint="the results are safe; free some space or give another --out",
        ) from error
