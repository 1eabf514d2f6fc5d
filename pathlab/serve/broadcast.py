"""The events of the run in this process for those who follow it over HTTP, of whom none is waited for."""

from __future__ import annotations

import asyncio
import datetime
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pathlab.runner.events import (
    CampaignEnded,
    CampaignStarted,
    Continued,
    Event,
    LossesNow,
    Paused,
    Preparing,
    RateNow,
    RetransmissionsNow,
    RttNow,
    StreamsNow,
    TrialEnded,
    TrialStarted,
    Waiting,
    describe_event,
)
from pathlab.serve.level_text import format_settings

#: Events that a slow reader may be behind; of more, the oldest are left out, and it is told.
BEHIND_MAX = 256
#: Of these only the latest of each row matters.
_READINGS = (RateNow, RttNow, RetransmissionsNow, LossesNow, StreamsNow)
#: What the run does between trials: the latest of these is its state.
_STEPS = (Preparing, Waiting, Paused, Continued)

Described = dict[str, Any]


class Subscription:
    """The events that one reader has not taken yet, at most BEHIND_MAX and a reading of each kind."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._events: deque[Described] = deque()
        self._readings: dict[tuple[Any, ...], Described] = {}
        self._left_out = 0
        self._was_stored = False

    def offer(self, event: Event, described: Described) -> None:
        """Take an event of the run."""
        self._was_stored |= not isinstance(event, _READINGS)
        if isinstance(event, _READINGS):
            self._readings[_name_reading(event)] = described
        elif not isinstance(event, TrialEnded):  # whose record the results have
            self._events.append(described)
            if len(self._events) > BEHIND_MAX:
                self._events.popleft()
                self._left_out += 1
        self._wake()

    def was_stored(self) -> bool:
        """Whether something may have been stored since the last call."""
        result, self._was_stored = self._was_stored, False
        return result

    def take(self, *, readings: bool) -> tuple[list[Described], int]:
        """The events since, with or without ``readings``; how many were left out since the last call."""
        taken = list(self._events)
        self._events.clear()
        if readings:
            taken += self._readings.values()
            self._readings.clear()
        left_out, self._left_out = self._left_out, 0
        return taken, left_out


class Broadcaster:
    """Takes each event of a run, from any thread, and hands it to whoever follows. Never blocks.

    Who begins to follow is given the state first: the campaign, the step or the trials under way.
    What is stored, trials and journal, comes from the results instead.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._subscriptions: dict[Subscription, asyncio.AbstractEventLoop] = {}
        self._campaign: Described | None = None
        self._step: Described | None = None
        self._trials: dict[int, Described] = {}
        self.folder: Path | None = None  # of the results, once it is known

    def __call__(self, event: Event) -> None:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        described = {} if isinstance(event, TrialEnded) else describe_event(event, now)
        if isinstance(event, TrialStarted):
            described["levels"] = format_settings(event.settings)
        with self._lock:
            self._keep(event, described)
            for subscription, loop in list(self._subscriptions.items()):
                try:
                    loop.call_soon_threadsafe(subscription.offer, event, described)
                except RuntimeError:  # its loop has ended
                    del self._subscriptions[subscription]

    @contextmanager
    def subscribe(self, wake: Callable[[], None]) -> Iterator[Subscription]:
        """Follow the run in this block; ``wake`` is called in the running loop when there is something."""
        subscription = Subscription(wake)
        with self._lock:
            self._subscriptions[subscription] = asyncio.get_running_loop()
            state = [self._campaign, self._step, *self._trials.values()]
        for described in filter(None, state):
            subscription._events.append(described)
        try:
            yield subscription
        finally:
            with self._lock:
                self._subscriptions.pop(subscription, None)

    def _keep(self, event: Event, described: Described) -> None:
        if isinstance(event, CampaignStarted):
            self._campaign, self.folder = described, event.folder
        elif isinstance(event, _STEPS):
            self._step = described
        elif isinstance(event, TrialStarted):
            self._trials[event.row], self._step = described, None
        elif isinstance(event, TrialEnded):
            self._trials.pop(event.record.plan_row, None)
        elif isinstance(event, CampaignEnded):
            self._trials.clear()
            self._step = described


def _name_reading(event: Event) -> tuple[Any, ...]:
    measure = event.measure if isinstance(event, StreamsNow) else None
    return type(event), getattr(event, "row", None), measure
