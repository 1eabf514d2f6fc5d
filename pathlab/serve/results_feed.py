"""What is new in results that some process writes: one reader for everyone who follows them.

The file is looked at, not opened, twenty times a second: its size and times change with every commit. Reading
leaves nothing open, so the writer is never kept waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pathlab.errors import PathlabError, ResultsGone
from pathlab.runner.campaign.waiting import PauseRequest, StopRequest
from pathlab.serve.catalogue import CLOCK_STEP_S
from pathlab.store.following import (
    Cursor,
    StoredEntry,
    describe_outcome,
    read_entries,
    read_journal,
    read_last,
    read_outcomes,
)
from pathlab.store.location import locate_database
from pathlab.store.lock import find_writer
from pathlab.store.records import JournalRecord
from pathlab.store.results import Results
from pathlab.study.runs.run_progress import RunFollower, RunState, Signs, read_budget

#: Between two looks at the file, and between two at the lock of its writer.
POLL_S, LOCK_POLL_S = 0.05, 1.0
#: Entries read at a time, and kept for those who are not behind.
BATCH = 200
KEPT = 500

Signature = tuple[tuple[int, ...] | None, ...]


class ResultsFeed:
    """Follows one results folder while somebody listens. Its methods belong to one event loop."""

    def __init__(self, path: Path) -> None:
        self.database = locate_database(path)
        self.folder = self.database.parent
        self._listeners: set[Callable[[], None]] = set()
        self._task: asyncio.Task[None] | None = None
        self._nudged = asyncio.Event()
        self._ready = asyncio.Event()
        self._results: Results | None = None
        self._file: tuple[int, int] | None = None  # device and inode
        self._signature: Signature = ()
        self._settled = False
        self._looked = asyncio.Event()
        self._follower = RunFollower(0)
        self._signs = Signs(writer=None)
        self._lock_seen_s = 0.0
        self._kept: deque[tuple[Cursor, StoredEntry]] = deque(maxlen=KEPT)
        self.position = Cursor()
        self.fault: PathlabError | None = None  # why nothing more comes
        self.version = 0  # of state and progress; counts changes

    @contextlib.contextmanager
    def listen(self, wake: Callable[[], None]) -> Iterator[None]:
        """Call ``wake`` after every change while this block runs."""
        self._listeners.add(wake)
        if self._task is None or self._task.done():
            self._ready.clear()
            self._task = asyncio.create_task(self._follow())
        try:
            yield
        finally:
            self._listeners.discard(wake)
            self._nudged.set()

    @property
    def is_followed(self) -> bool:
        """Whether somebody listens."""
        return bool(self._listeners)

    def is_over(self) -> bool:
        """Whether nothing more comes: the file cannot be read, was removed or replaced."""
        try:
            return self.fault is not None or self._file not in (None, _identify(self.database))
        except OSError:
            return True

    def is_of(self, folder: Path | None) -> bool:
        """Whether a folder is that of these results."""
        return folder is not None and folder.resolve() == self.folder.resolve()

    async def wait_ready(self) -> None:
        """Wait until the file has been looked at."""
        await self._ready.wait()

    async def look(self) -> None:
        """Look at the file now, and wait for what is new."""
        for _ in range(2):  # a look that was under way may have missed it
            looked = self._looked
            self._nudged.set()
            await looked.wait()

    def nudge(self) -> None:
        """Look at the file now: something was stored."""
        self._nudged.set()

    async def _follow(self) -> None:
        while self._listeners:
            self._nudged.clear()
            changed = await asyncio.to_thread(self._look)
            self._looked.set()
            self._looked = asyncio.Event()
            self._ready.set()
            if changed:
                for wake in list(self._listeners):
                    wake()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._nudged.wait(), POLL_S)

    def _look(self) -> bool:
        """Read what is new; whether anything changed."""
        version = self.version
        try:
            self._find_signs()  # before the file: a process that is gone has stored its last word
            signature = self._sign()
            if self._results is None:
                self._open()
            elif self._file != _identify(self.database):
                raise ResultsGone(f"other results are in the place of '{self.database}'")
            if signature != self._signature or not self._settled:
                # A commit within the same tick of the file system's clock changes no time: read on a while.
                self._settled = _is_older(signature, time.time() - CLOCK_STEP_S)
                self._signature = signature
                self._read_on()
            self.fault = None
        except PathlabError as error:
            if self.fault is None or str(self.fault) != str(error):
                self.fault = error
                self.version += 1
        except OSError as error:
            if self.fault is None:
                self.fault = ResultsGone(f"'{self.database}' is gone: {error.strerror or error}")
                self.version += 1
        return self.version != version

    def _sign(self) -> Signature:
        return tuple(_stat(self.database.with_name(self.database.name + suffix)) for suffix in ("", "-wal"))

    def _open(self) -> None:
        self._file = _identify(self.database)
        results = Results.open(self.database)
        self._follower = RunFollower(len(results.plan()))
        last = read_last(results)
        self._follower.catch_up(read_outcomes(results, last), read_journal(results, last))
        self.position, self._results = last, results
        self.version += 1

    def _read_on(self) -> None:
        assert self._results is not None
        while entries := read_entries(self._results, self.position, BATCH):
            for entry in entries:
                if isinstance(entry.record, JournalRecord):
                    self._follower.add_entry(entry.record)
                else:
                    outcome = describe_outcome(entry.record)
                    if outcome.plan_row >= self._follower.planned:
                        self._follower.extend_plan(len(self._results.plan()))
                    self._follower.add_trial(outcome)
                self._kept.append((self.position, entry))
                self.position = entry.cursor
            self.version += 1

    def _find_signs(self) -> None:
        """Whether a process writes the results, and what was requested of it."""
        now_s = time.monotonic()
        writer = self._signs.writer
        if now_s >= self._lock_seen_s + LOCK_POLL_S or self._lock_seen_s == 0.0:
            self._lock_seen_s = now_s
            writer = find_writer(self.folder)
        signs = Signs(
            writer=writer,
            stop_requested=StopRequest(self.folder).is_made(),
            pause_requested=PauseRequest(self.folder).is_made(),
        )
        if signs != self._signs:
            self._signs = signs
            self.version += 1

    async def read_after(self, cursor: Cursor) -> list[StoredEntry]:
        """The next entries after a cursor; none where it has them all. Raises StoreError."""
        if cursor == self.position or self._results is None:
            return []
        kept = list(self._kept)
        for index in range(len(kept) - 1, -1, -1):
            if kept[index][0] == cursor:
                return [entry for _, entry in kept[index : index + BATCH]]
        return await asyncio.to_thread(read_entries, self._results, cursor, BATCH)

    def find_state(self) -> RunState:
        """What the run does."""
        return self._follower.find_state(self._signs)

    def describe(self, *, whole: bool) -> dict[str, Any]:
        """State and progress as JSON; ``whole``: with the campaign and a letter for each row of the plan."""
        now = datetime.datetime.now(datetime.UTC)
        state = self.find_state()
        progress = dataclasses.asdict(self._follower.describe(state, now))
        if not whole:
            del progress["rows"]
        described = {
            "state": state,
            "process": self._signs.writer,
            "text": self._follower.describe_last(),
            **progress,
        }
        if whole and self._results is not None:
            campaign = self._results.campaign
            about = {"name": campaign.name, "title": campaign.title, "folder": str(self.folder)}
            described |= about | {"budget": read_budget(campaign.model)}
        return described


def _identify(database: Path) -> tuple[int, int]:
    result = database.stat()
    return result.st_dev, result.st_ino


def _is_older(signature: Signature, time_s: float) -> bool:
    """Whether all files changed last before a time, seconds since the epoch."""
    return all(result is None or result[-1] < time_s * 1e9 for result in signature)


def _stat(path: Path) -> tuple[int, ...] | None:
    try:
        result = path.stat()
    except FileNotFoundError:
        return None
    return result.st_ino, result.st_size, result.st_mtime_ns
