"""Trial records for tests of the runner: everything that is not named was not measured."""

from __future__ import annotations

import dataclasses
from typing import Any

from pathlab.store.records import TrialRecord

_ALWAYS: dict[str, Any] = {
    "plan_row": 0,
    "attempt": 1,
    "status": "complete",
    "started_utc": "2026-01-05T12:00:00+00:00",
    "cycle": 0,
    "path_source": "a",
    "path_destination": "b",
    "streams": 1,
    "interval_ns": 100_000_000,
    "warmup_ns": 0,
    "duration_ns": 1_000_000_000,
    "flags": (),
}


def make_record(**given: Any) -> TrialRecord:
    """A complete trial from a to b, with what is given."""
    values = {field.name: None for field in dataclasses.fields(TrialRecord)} | _ALWAYS | given
    return TrialRecord(**values)
