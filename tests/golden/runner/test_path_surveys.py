"""Surveys of paths: what they report, and which differences count."""

from dataclasses import replace

import pytest

from pathlab.engines.spec import TrialPath
from pathlab.errors import HostError, Stage
from pathlab.remote.session import Session
from pathlab.runner.events import Event
from pathlab.runner.hosts import path_surveys as survey
from pathlab.runner.hosts.path_surveys import AFTER, BEFORE, PathSurveys, describe, list_changes
from pathlab.runner.journal import Journal
from pathlab.store.records import JournalRecord
from tests.builders.paths import sample_capacity, sample_report, sample_route
from tests.golden.conftest import Say
from tests.unit.runner.hosts.test_path_surveys import mtu_of


def test_a_survey_in_one_line(say: Say) -> None:
    said = describe(sample_report())
    say(said)
    say(describe(sample_report(mtu=None, capacity=None)))


def test_each_change_is_reported(say: Say) -> None:
    before = sample_report()
    say(list_changes(before, sample_report(routes=(sample_route(4),))))
    say(list_changes(before, sample_report(mtu=mtu_of(1280))))
    (slower,) = list_changes(before, sample_report(capacity=sample_capacity((100e6, 10e6, None))))
    say(slower)


PATH = TrialPath(source="a", destination="b", source_address="198.18.0.1", destination_address="198.18.0.10")


class Kept:
    """The journal of a store that is none."""

    def __init__(self) -> None:
        self.entries: list[JournalRecord] = []

    def add_journal(self, entry: JournalRecord) -> None:
        self.entries.append(entry)


def test_a_path_that_cannot_be_surveyed_is_named_and_the_next_one_taken(
    say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(PATH, source="b", destination="a")

    def discover(session: str, address: str, _options: object) -> object:
        if session == "a":
            raise HostError("discovery: no probes are allowed", host="a", stage=Stage.AGENT)
        assert address == PATH.destination_address
        return sample_report(mtu=mtu_of(1400 if len(kept.entries) < 3 else 1300))

    def open_session(host: str) -> Session:
        return host  # type: ignore[return-value]

    monkeypatch.setattr(survey, "discover_path", discover)
    kept, reported = Kept(), list[Event]()
    surveys = PathSurveys(open_session, Journal(kept, reported.append))  # type: ignore[arg-type]
    surveys.take([PATH, other], BEFORE)
    surveys.take([PATH, other], AFTER)
    assert [entry.kind for entry in kept.entries] == ["path"] * 4 + ["path-changed"]
    say(kept.entries[0].text)
    assert kept.entries[1].facts["report"]["mtu"]["mtu_bytes"] == 1400
    say(kept.entries[4].text)
    assert len(reported) == 5
