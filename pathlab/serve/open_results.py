"""Results that are open: read once for all requests, and read on when trials were added."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from pathlab.errors import UsageError
from pathlab.report.explorer.packing import pack_trials
from pathlab.serve.catalogue import CLOCK_STEP_S, FileChange, measure_change
from pathlab.study.exploration.explored_results import ExploredResults

#: Browsers unpack it in a third of gzip's time; they offer it to servers of their own machine and over HTTPS.
ZSTD = "zstd"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedTable:
    """A packed table of trials, compressed with Zstandard; ``size_bytes``: of the plain one."""

    compressed: bytes
    size_bytes: int

    @classmethod
    def of(cls, table: bytes) -> PackedTable:
        """Compress a table."""
        return cls(compressed=pa.compress(table, codec=ZSTD, asbytes=True), size_bytes=len(table))

    def unpack(self) -> bytes:
        """The plain table."""
        table: bytes = pa.decompress(self.compressed, self.size_bytes, codec=ZSTD, asbytes=True)
        return table


class OpenResults:
    """Several results on the same axes; the first is source A. Opened at the first use, by one thread.

    Hold ``lock`` while ``results`` is read: another request may refresh it.
    """

    def __init__(self, ids: tuple[str, ...], paths: tuple[Path, ...], readings: tuple[str, ...]) -> None:
        """``readings``: how each of them can be read (``CatalogueEntry.reading``)."""
        self.ids = ids
        self.paths = paths
        self.readings = readings
        self.lock = threading.RLock()
        self._results: ExploredResults | None = None
        self._seen: list[FileChange] = []
        self._packed: tuple[object, PackedTable] | None = None  # of which state

    @property
    def results(self) -> ExploredResults:
        """The trials. Raises StoreError where they cannot be read."""
        with self.lock:
            if self._results is None:
                self._seen = self._measure()
                self._results = ExploredResults.open(self.paths)
            return self._results

    def refresh(self) -> int:
        """Read trials that were stored since, and return how many. Raises as ``results``."""
        with self.lock:
            results, now = self.results, self._measure()
            latest_s = max(change.changed_s for change in now)
            if now == self._seen and time.time() - latest_s > CLOCK_STEP_S:
                return 0
            self._seen = now
            return results.refresh()

    def _measure(self) -> list[FileChange]:
        return [measure_change(path) for path in self.paths]

    def find_row(self, name: str) -> int:
        """The row of a trial such as ``A:12``, also of one stored since. Raises UsageError: there is none."""
        with self.lock:
            try:
                return self.results.find_row(name)
            except UsageError:
                if not self.refresh():
                    raise
                return self.results.find_row(name)

    def count_trials(self) -> int:
        """How many trials were read; 0 before the first use."""
        return 0 if self._results is None else len(self._results)

    def pack(self) -> PackedTable:
        """All trials as one packed table; made once for every state of the results.

        Any page may see trials come and stop a run, which another process may begin at any time. Raises as
        ``results``.
        """
        with self.lock:
            self.refresh()
            state = (len(self.results), self.results.sources)
            if self._packed is None or self._packed[0] != state:
                table = pack_trials(self.results, live=True, control=True)
                self._packed = (state, PackedTable.of(table))
            return self._packed[1]
