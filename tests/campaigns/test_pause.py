"""A run that is paused and continued, in short: its trials, its journal, its events."""

import datetime
import os
import signal
from pathlib import Path

import pytest

from pathlab.runner.campaign.slots import CycleSlot, Timetable
from pathlab.runner.campaign.waiting import PauseRequest, StopRequest
from pathlab.runner.events import Continued, Event, Paused, TrialEnded, TrialStarted, Waiting
from pathlab.study.runs.progress import BUSY
from tests.integration.conducting import LAB, Watch, campaign_of, journal, run, stored
from tests.require import require_namespaces

pytestmark = pytest.mark.engine


class Pausing:
    """Asks for a pause as the first trial begins, and acts once the run is paused."""

    def __init__(self, folder: Path, act: str = "resume") -> None:
        self.folder, self._act, self._asked = folder, act, False

    def __call__(self, event: Event) -> None:
        if isinstance(event, TrialStarted) and not self._asked:
            self._asked = True
            PauseRequest(self.folder).make()
        elif isinstance(event, Paused):
            if self._act == "stop":
                StopRequest(self.folder).make()
            elif self._act == "Ctrl-C":
                os.kill(os.getpid(), signal.SIGINT)
            else:
                PauseRequest(self.folder).clear()


def name_steps(events: list[Event]) -> list[str]:
    kinds = (TrialStarted, TrialEnded, Paused, Continued)
    return [type(event).__name__ for event in events if isinstance(event, kinds)]


def list_kinds(folder: Path) -> list[str]:
    """The kinds of the journal, but for readings of this machine."""
    return [kind for kind, _ in journal(folder) if kind != BUSY]


def test_a_run_pauses_between_trials_and_continues(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    watch = Watch(at=Pausing(folder))
    outcome = run(campaign_of(cycles=2), folder, watch)
    assert (outcome.complete, outcome.missing, outcome.ended) == (2, 0, None)
    trial = ["TrialStarted", "TrialEnded"]
    assert name_steps(watch.events) == [*trial, "Paused", "Continued", *trial]
    assert list_kinds(folder) == ["started", "paused", "continued", "finished"]
    assert not PauseRequest(folder).is_made()


@pytest.mark.parametrize(
    ("act", "ended"), [("stop", "stopped by `pathlab stop`"), ("Ctrl-C", "stopped by Ctrl-C")]
)
def test_a_paused_run_can_be_ended(tmp_path: Path, act: str, ended: str) -> None:
    folder = tmp_path / "out"
    outcome = run(campaign_of(cycles=2), folder, Watch(at=Pausing(folder, act)))
    assert (outcome.complete, outcome.missing, outcome.ended) == (1, 1, ended)
    assert list_kinds(folder) == ["started", "paused", "ended"]
    assert not PauseRequest(folder).is_made()  # the next run begins unpaused
    assert run(campaign_of(cycles=2), folder).missing == 0
    assert [record.status for record in stored(folder)] == ["complete"] * 2


def test_trials_at_once_all_end_before_the_pause(tmp_path: Path) -> None:
    require_namespaces()
    folder = tmp_path / "out"
    paths = [{"source": "a", "destination": "b"}, {"source": "c", "destination": "d"}]
    watch = Watch(at=Pausing(folder))
    campaign = campaign_of(lab=LAB, paths=paths, concurrency=2, cycles=2)
    assert run(campaign, folder, watch).missing == 0
    steps = name_steps(watch.events)
    before = steps[: steps.index("Paused")]
    assert before.count("TrialStarted") == before.count("TrialEnded") > 0
    assert steps.count("TrialEnded") == 4


def test_a_slot_that_passes_during_a_pause_is_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "out"
    slots = iter([(0, 0, ()), (1, 1, ()), (3, 0, (1, 2))])  # number, seconds to its begin, missed ones

    def choose(_timetable: Timetable, _last: int | None, now: datetime.datetime) -> CycleSlot:
        number, seconds, missed = next(slots)
        return CycleSlot(number=number, begins=now + datetime.timedelta(seconds=seconds), missed=missed)

    def act(event: Event) -> None:
        if isinstance(event, Waiting):
            PauseRequest(folder).make()
        elif isinstance(event, Paused):
            PauseRequest(folder).clear()

    monkeypatch.setattr(Timetable, "choose", choose)
    assert run(campaign_of(cycles=2, every="1h"), folder, Watch(at=act)).missing == 0
    kinds = ["slot", "paused", "continued", "missed-slots", "slot"]
    assert [kind for kind, _ in journal(folder) if kind in kinds] == kinds
    assert ("missed-slots", "2 slots were missed: 1, 2") in journal(folder)
