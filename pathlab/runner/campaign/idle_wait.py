"""Before the first trial: whether hosts are busy with something else, and the wait until they are not."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import asdict

from pathlab.runner.campaign.waiting import Wait
from pathlab.runner.events import Emit, Waiting
from pathlab.runner.hosts.host_activity import (
    HostActivity,
    Measure,
    describe_busy,
    measure_activity,
    name_busy,
)
from pathlab.runner.journal import Journal
from pathlab.study.runs.progress import BUSY

#: Between two looks at busy hosts, and between two reports of what they do.
STEP_S, REPORT_S = 2.0, 10.0


class IdleWait:
    """The look at the hosts before a run, and the wait; ``activities`` is the latest reading of each."""

    def __init__(self, wait: Wait, emit: Emit) -> None:
        self._wait = wait
        self._emit = emit
        self.activities: dict[str, HostActivity] = {}
        self._waited_s = 0.0

    @property
    def busy(self) -> dict[str, HostActivity]:
        """Those of the hosts that are busy."""
        return {name: activity for name, activity in self.activities.items() if activity.busy}

    def look(self, sources: Mapping[str, Measure], longest_ns: int) -> None:
        """Read the hosts, and again while one is busy, for up to this time or until a stop is requested."""
        begun = self._wait.now()
        until = begun + datetime.timedelta(seconds=longest_ns / 1e9)
        self.activities = measure_activity(sources, self._pause)
        reported_s = -REPORT_S
        while self.busy and self._wait.now() < until:
            self._waited_s = (self._wait.now() - begun).total_seconds()
            if self._waited_s >= reported_s + REPORT_S:
                reported_s = self._waited_s
                self._report(until)
            if not self._wait.until(min(until, self._wait.now() + datetime.timedelta(seconds=STEP_S))):
                return
            self.activities = measure_activity(sources, self._pause)
            self._waited_s = (self._wait.now() - begun).total_seconds()

    def _report(self, until: datetime.datetime) -> None:
        utc = until.astimezone(datetime.UTC).isoformat(timespec="seconds")
        self._emit(Waiting(reason=name_busy(self.busy), until_utc=utc, at_most=True))

    def _pause(self, seconds: float) -> None:
        self._wait.until(self._wait.now() + datetime.timedelta(seconds=seconds))

    def record(self, journal: Journal, *, lab: bool) -> None:
        """Store that hosts are busy, which warns of it, or that they were waited for."""
        if self.busy:
            facts = {
                "hosts": {name: asdict(item) for name, item in self.busy.items()},
                "found": {name: item.describe() for name, item in self.busy.items()},
                "waited_s": round(self._waited_s, 1),
            }
            journal.add(BUSY, describe_busy(self.busy, lab=lab), facts=facts)
        elif self._waited_s:
            journal.add("waiting", f"waited {self._waited_s:.0f} s until the hosts were idle")
