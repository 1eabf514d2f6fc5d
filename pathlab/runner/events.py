"""What a run tells while it goes on: small frozen records handed to one callback.

The runner prints nothing itself; the command line, and later the web pages, show these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pathlab.store.records import TrialRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One line the user should see: a fallback taken, a row that failed, a host set aside."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignStarted:
    """The plan is stored and the hosts are ready. ``done`` rows were complete before this run."""

    name: str
    folder: Path
    rows: int
    done: int
    estimate_ns: int  # of the rows still to do


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialStarted:
    """A row of the plan begins."""

    row: int
    source: str
    destination: str
    streams: int
    window_bytes: int | None
    estimate_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RateNow:
    """Aggregate rate over the latest interval, counted by the receiver."""

    row: int
    bits_per_s: float
    elapsed_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialEnded:
    """A row has been measured, or has failed, and is stored."""

    record: TrialRecord


Event = Notice | CampaignStarted | TrialStarted | RateNow | TrialEnded
Emit = Callable[[Event], None]
