"""What happens to a run besides its trials: stored with the results, and reported to who follows the run.

Kinds: ``started`` and ``resumed`` (with versions), ``changed`` (of a host since the last run), ``path`` and
``path-changed`` (surveys of the paths), ``waiting``, ``paused`` and ``continued`` (by `pathlab pause`),
``window-limit`` (windows beyond a host's sysctl), ``slot`` (a periodic cycle begins), ``missed-slots``,
``clock-jump``, ``quarantined`` (a host or path that keeps failing), ``background`` (what a background load
did alone), ``background-missing`` (why it does not run), ``retry``, ``lab-rebuilt`` (after an emulator
ended), ``stop-rule``, ``ended`` (before the plan was done, and why) and ``finished``; ``busy`` (hosts that
others used before the first trial); ``left-out`` (trials of technologies that a host lacks);
``capture-missing`` (packet headers that are not recorded, or not kept); ``search`` (what a search for the
lossless rate found).
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from pathlab.runner.events import Emit, RunNotice
from pathlab.store.records import JournalRecord
from pathlab.store.results import Results

BACKGROUND, BACKGROUND_MISSING = "background", "background-missing"
SEARCH = "search"
PAUSED, CONTINUED = "paused", "continued"
STARTED, RESUMED, FINISHED, ENDED, CHANGED = "started", "resumed", "finished", "ended", "changed"
QUIET = frozenset({STARTED, RESUMED, FINISHED, ENDED, BACKGROUND, PAUSED, CONTINUED, "waiting", "slot"})


class Journal:
    """The journal of one results file, open for writing."""

    def __init__(self, results: Results, emit: Emit) -> None:
        self._results = results
        self._emit = emit

    def add(
        self, kind: str, text: str, *, row: int | None = None, facts: Mapping[str, Any] | None = None
    ) -> None:
        """Store an entry, and report it as a notice unless it is routine. Raises StoreError."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        entry = JournalRecord(recorded_utc=now, kind=kind, plan_row=row, text=text, facts=dict(facts or {}))
        self._results.add_journal(entry)
        if kind not in QUIET:
            self._emit(RunNotice(text=text, kind=kind))


def is_finished(results: Results) -> bool:
    """Whether nothing of a plan is left to do, be it that a stop rule found it precise enough."""
    entries = results.journal()
    return bool(entries) and entries[-1].kind == FINISHED
