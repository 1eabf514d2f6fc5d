"""The results that a server can show: found on the command line or in a folder, each with its state."""

from __future__ import annotations

import datetime
import hashlib
import os
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pathlab.store.archive import find_databases
from pathlab.store.location import DATABASE_NAME, list_once
from pathlab.store.lock import find_writer
from pathlab.store.summary import ResultsSummary, read_summary
from pathlab.study.runs.progress import count_missing

COMPLETE, RUNNING, STOPPED = "complete", "running", "stopped"
_ID_BYTES = 8
#: Two changes of a file within this may bear the same time.
CLOCK_STEP_S = 0.1


@dataclass(frozen=True, slots=True)
class FileChange:
    """When a results file or its log changed last, seconds since the epoch, and the size of both."""

    changed_s: float
    size_bytes: int

    @property
    def changed_utc(self) -> str:
        """ISO 8601, to a second."""
        return datetime.datetime.fromtimestamp(self.changed_s, datetime.UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntry:
    """One results file. ``state``: ``complete``, ``running``, ``stopped``, or its fault.

    The id names these results at this place: what replaces them has another.
    """

    results_id: str
    path: Path  # as given or found: the folder, or the file where it is not named results.db
    change: FileChange
    looked_s: float  # since the epoch
    state: str
    summary: ResultsSummary

    @property
    def can_be_opened(self) -> bool:
        """Whether it can be read."""
        return self.summary.fault is None

    def is_of(self, change: FileChange) -> bool:
        """Whether the file, as it is now, is the one that was read."""
        settled = self.looked_s - self.change.changed_s > CLOCK_STEP_S
        return self.change == change and settled and self.can_be_opened

    @property
    def reading(self) -> str:
        """What its notes depend on: its fault, whether it is being written, or neither."""
        return self.state if self.state == RUNNING or not self.can_be_opened else ""

    def describe(self) -> dict[str, object]:
        """The entry as JSON."""
        summary = self.summary
        return {
            "id": self.results_id,
            "path": str(self.path),
            "name": summary.name,
            "title": summary.title,
            "createdUtc": summary.created_utc,
            "changedUtc": self.change.changed_utc,
            "programVersion": summary.program_version,
            "formatVersion": summary.format_version,
            "planned": summary.planned,
            "complete": summary.complete,
            "failed": summary.failed,
            "sizeBytes": self.change.size_bytes,
            "state": self.state,
            "problem": summary.problem,
        }


def read_entry(path: Path, known: CatalogueEntry | None = None) -> CatalogueEntry:
    """The entry of a results folder or file as it is now; never raises for what is on the disk.

    ``known``: the entry as it was read before, whose summary is taken where the file is as it was then.
    """
    change, looked_s = measure_change(path), time.time()  # first: a later change is seen the next time
    summary = known.summary if known is not None and known.is_of(change) else read_summary(path)
    return CatalogueEntry(
        results_id=_make_id(path, summary),
        path=path,
        change=change,
        looked_s=looked_s,
        state=_name_state(summary, _place_database(path).parent),
        summary=summary,
    )


def _make_id(path: Path, summary: ResultsSummary) -> str:
    identity = "\0".join((os.path.realpath(path), summary.created_utc, summary.digest))
    return hashlib.blake2b(os.fsencode(identity), digest_size=_ID_BYTES).hexdigest()


def measure_change(path: Path) -> FileChange:
    """The last change of a results folder or file; zeros where there is none."""
    database = _place_database(path)
    result = []
    for file in (database, database.with_name(f"{database.name}-wal")):
        try:
            result.append(file.stat())
        except OSError:
            continue
    changed_s = max((item.st_mtime for item in result), default=0.0)
    return FileChange(changed_s, sum(item.st_size for item in result))


def _place_database(path: Path) -> Path:
    return path / DATABASE_NAME if path.is_dir() else path


def _name_state(summary: ResultsSummary, folder: Path) -> str:
    if summary.fault is not None:
        return str(summary.fault)
    if find_writer(folder) is not None:
        return RUNNING
    journal = [summary.last_entry] if summary.last_entry is not None else []
    return STOPPED if count_missing(journal, summary.without_result) else COMPLETE


class Catalogue:
    """The results named one by one, and those below a folder, newest first. Used from several threads."""

    def __init__(self, given: Iterable[Path], folder: Path | None) -> None:
        self.given = tuple(list_once(given))
        self.folder = folder
        self._entries: dict[Path, CatalogueEntry] = {}
        self._paths: dict[str, Path] = {}  # by every id that results there had
        self._lock = threading.Lock()

    def list_entries(self) -> list[CatalogueEntry]:
        """All entries as they are now, newest first; those without a date by the time of their file."""
        resultses: list[Path] = []
        if self.folder is not None:
            databases = sorted(find_databases(self.folder), key=self._is_linked)
            resultses = [_name_results(database) for database in databases]
        paths = list_once([*self.given, *resultses])
        return sorted((self.look_at(path) for path in paths), key=_sort_key, reverse=True)

    def _is_linked(self, database: Path) -> bool:
        """Whether a path below the folder leads through a link."""
        assert self.folder is not None
        return database.resolve() != self.folder.resolve() / database.relative_to(self.folder)

    def look_at(self, path: Path) -> CatalogueEntry:
        """The entry of a path as it is now."""
        with self._lock:
            known = self._entries.get(path)
        entry = read_entry(path, known)
        with self._lock:
            self._entries[path] = entry
            self._paths[entry.results_id] = path
        return entry

    def find(self, results_id: str) -> CatalogueEntry | None:
        """The entry of this id as it is now; None: unknown, removed, or replaced by other results."""
        if results_id not in self._paths:
            self.list_entries()
        path = self._paths.get(results_id)
        if path is None:
            return None
        now = self.look_at(path)
        # While a file cannot be read nobody can say that it holds other results.
        return now if now.results_id == results_id or not now.can_be_opened else None


def _name_results(database: Path) -> Path:
    return database.parent if database.name == DATABASE_NAME else database


def _sort_key(entry: CatalogueEntry) -> tuple[str, str]:
    return entry.summary.created_utc or entry.change.changed_utc, str(entry.path)
