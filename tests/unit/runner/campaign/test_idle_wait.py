"""Before the first trial: busy hosts are waited for as long as requested, and said to be busy."""

import datetime
from pathlib import Path
from typing import Any, cast

import pytest

from pathlab.runner.campaign.idle_wait import IdleWait
from pathlab.runner.campaign.waiting import StopRequest, Wait
from pathlab.runner.events import Event, RunNotice, Waiting
from pathlab.runner.journal import Journal
from pathlab.store.records import JournalRecord
from pathlab.store.results import Results
from pathlab.study.runs.progress import BUSY

SECOND_NS = 10**9


class Stage:
    """A host that is busy until a time, a clock that moves as one waits, and what was reported."""

    def __init__(self, folder: Path, busy_s: float) -> None:
        self.passed_s, self.busy_s = 0.0, busy_s
        self.events: list[Event] = []
        self.entries: list[JournalRecord] = []
        self.stop = StopRequest(folder)
        wait = Wait(self.stop, now=self.now, sleep=self.sleep)
        self.waiting = IdleWait(wait, self.events.append)

    def now(self) -> datetime.datetime:
        return datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=self.passed_s)

    def sleep(self, seconds: float) -> None:
        self.passed_s += seconds

    def measure(self) -> dict[str, Any]:
        busy = self.passed_s <= self.busy_s
        busiest = {"name": "stress", "pid": 3, "cores": 0.9} if busy else None
        ratios = {"busy_ratio": 0.9 if busy else 0.01, "steal_ratio": 0.0, "waiting_ratio": None}
        return {"cores": 2, "busiest": busiest, **ratios}

    def add_journal(self, entry: JournalRecord) -> None:
        self.entries.append(entry)

    def go(self, longest_s: float) -> None:
        self.waiting.look({"this machine": self.measure}, int(longest_s * SECOND_NS))
        self.waiting.record(Journal(cast(Results, self), self.events.append), lab=True)


def test_an_idle_host_is_not_waited_for(tmp_path: Path) -> None:
    stage = Stage(tmp_path, busy_s=-1)
    stage.go(120)
    assert stage.passed_s < 1
    assert (stage.events, stage.entries) == ([], [])
    assert not stage.waiting.activities["this machine"].busy


@pytest.mark.parametrize("longest_s", [0, 20])
def test_a_host_that_stays_busy_is_warned_of_after_the_wait(tmp_path: Path, longest_s: float) -> None:
    stage = Stage(tmp_path, busy_s=1000)
    stage.go(longest_s)
    assert longest_s <= stage.passed_s < longest_s + 3
    notice, (entry,) = stage.events[-1], stage.entries
    assert isinstance(notice, RunNotice)
    assert (notice.kind, entry.kind) == (BUSY, BUSY)
    assert entry.facts["hosts"]["this machine"]["busy_ratio"] == 0.9
    assert list(entry.facts["found"]) == ["this machine"]
    assert entry.facts["waited_s"] == (pytest.approx(stage.passed_s, abs=0.1) if longest_s else 0.0)


def test_the_wait_ends_as_soon_as_the_host_is_idle(tmp_path: Path) -> None:
    stage = Stage(tmp_path, busy_s=30)
    stage.go(120)
    assert 30 < stage.passed_s < 40
    reports = [event for event in stage.events if isinstance(event, Waiting)]
    assert 2 <= len(reports) <= 4  # now and then, not at each look
    assert {(report.at_most, report.until_utc) for report in reports} == {(True, "2026-01-01T00:02:00+00:00")}
    (entry,) = stage.entries
    assert entry.kind == "waiting"
    assert f"{stage.passed_s:.0f} s" in entry.text


def test_a_stop_request_ends_the_wait(tmp_path: Path) -> None:
    stage = Stage(tmp_path, busy_s=1000)
    stage.stop.make()
    stage.go(120)
    assert stage.passed_s < 3
