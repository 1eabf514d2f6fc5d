"""What a run reports while it goes on: small frozen records for one callback.

The runner prints nothing itself; the command line, and later the web pages, show these. ``describe_event``
gives the form that ``pathlab run --json-events`` prints, which docs/EVENTS.md describes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pathlab.store.records import TrialRecord

EVENT_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RunNotice:
    """One line the user should see: a fallback taken, a row that failed, a quarantined host.

    ``kind`` is that of the journal's entry, ``notice`` where there is none.
    """

    text: str
    kind: str = "notice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparing:
    """A step before the first trial begins, such as ``connecting to a, b``. The first event of every run."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignStarted:
    """The plan is stored and the hosts answer. ``done`` rows were complete before this run.

    The run takes ``preparation_ns`` (calibration, surveys) besides ``estimate_ns``. ``varied``: the settings
    of which the plan has several levels. With ``searches`` for the lossless rate, ``rows`` are those
    expected.
    """

    name: str
    folder: Path
    rows: int
    done: int
    estimate_ns: int  # of the rows still to do, as many at once as allowed
    work_ns: int  # of the same rows, one after the other
    preparation_ns: int = 0
    varied: tuple[str, ...] = ()
    searches: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Nothing runs until ``until_utc`` (ISO 8601), for ``reason``; ``at_most``: it may go on earlier."""

    reason: str
    until_utc: str
    at_most: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused:
    """No trial starts until somebody lets the run continue. None is under way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Continued:
    """A pause of ``paused_ns`` is over."""

    paused_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchNow:
    """A search for the lossless rate is about to try a rate; the event of the row's trial follows.

    ``trial``: the number of the trial at this rate. ``below_bits_per_s`` is the highest rate confirmed so
    far, ``above_bits_per_s`` the lowest one with too much loss, or beyond a host; None: none yet.
    """

    row: int
    rate_bits_per_s: int
    trial: int
    below_bits_per_s: int | None
    above_bits_per_s: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialStarted:
    """A row of the plan begins; ``settings`` are its factor levels."""

    row: int
    source: str
    destination: str
    streams: int
    window_bytes: int | None
    estimate_ns: int
    attempt: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RateNow:
    """Aggregate rate over the latest interval, counted by the receiver."""

    row: int
    bits_per_s: float
    elapsed_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RttNow:
    """The latest loaded probe; None: no answer within the time-out."""

    row: int
    rtt_ns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetransmissionsNow:
    """Segments retransmitted since the first byte, over all streams; reported when it changes."""

    row: int
    segments: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LossesNow:
    """Datagrams of a UDP flow lost and received since the first one, over all streams."""

    row: int
    lost_packets: int
    received_packets: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsNow:
    """``measure`` of single streams over the latest interval: ``bits_per_s`` counted by the receiver, or
    ``rtt_ns``, the RTT that the sender's kernel smooths.

    ``streams`` are pairs of number (from 0) and value in ascending order of the values: all streams where
    they are few, else the lowest and the highest. ``median`` is that of all ``count`` streams known.
    """

    row: int
    measure: str
    elapsed_ns: int
    count: int
    median: float
    streams: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialEnded:
    """A row has been measured, or has failed, and is stored."""

    record: TrialRecord
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignEnded:
    """The run is over. ``reason`` is None where the plan is done."""

    complete: int
    rows: int
    reason: str | None


Event = (
    RunNotice
    | Preparing
    | CampaignStarted
    | Waiting
    | Paused
    | Continued
    | SearchNow
    | TrialStarted
    | RateNow
    | RttNow
    | RetransmissionsNow
    | LossesNow
    | StreamsNow
    | TrialEnded
    | CampaignEnded
)
Emit = Callable[[Event], None]

_NAMES: Mapping[type, str] = {
    RunNotice: "notice",
    Preparing: "preparing",
    CampaignStarted: "campaign-started",
    Waiting: "waiting",
    Paused: "paused",
    Continued: "continued",
    SearchNow: "search",
    TrialStarted: "trial-started",
    RateNow: "rate",
    RttNow: "rtt",
    RetransmissionsNow: "retransmissions",
    LossesNow: "losses",
    StreamsNow: "streams",
    TrialEnded: "trial-ended",
    CampaignEnded: "campaign-ended",
}


def describe_event(event: Event, time_utc: str) -> dict[str, Any]:
    """An event as a JSON object: ``format``, ``event``, ``time_utc`` and the fields of the record."""
    fields = dataclasses.asdict(event)
    if isinstance(event, CampaignStarted):
        fields["folder"] = str(event.folder)
    return {"format": EVENT_FORMAT, "event": _NAMES[type(event)], "time_utc": time_utc, **fields}
