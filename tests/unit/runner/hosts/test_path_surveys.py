"""Surveys of paths: what they report, and which differences count."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pathlab.discover.mtu import PathMtu
from pathlab.engines.spec import TrialPath
from pathlab.errors import HostError
from pathlab.remote.session import Session
from pathlab.runner.events import Event
from pathlab.runner.hosts import path_surveys as survey
from pathlab.runner.hosts.path_surveys import AFTER, BEFORE, PathSurveys, describe, list_changes
from pathlab.runner.journal import Journal
from pathlab.store.records import JournalRecord
from tests.builders.paths import sample_capacity, sample_report, sample_route

PATH = TrialPath(source="a", destination="b", source_address="198.18.0.1", destination_address="198.18.0.10")


class Kept:
    """The journal of a store that is none."""

    def __init__(self) -> None:
        self.entries: list[JournalRecord] = []

    def add_journal(self, entry: JournalRecord) -> None:
        self.entries.append(entry)


def mtu_of(mtu_bytes: int | None) -> PathMtu:
    return PathMtu(mtu_bytes=mtu_bytes, first_link_bytes=1500, limited_by=None, black_hole=False, reason=None)


def test_a_survey_in_one_line() -> None:
    said = describe(sample_report())
    assert said.startswith("3 hops; MTU 1400 bytes; capacity ")
    assert said.endswith(", undecided")
    assert describe(sample_report(mtu=None, capacity=None)) == "3 hops; MTU not found"


def test_the_same_path_twice_has_not_changed() -> None:
    assert list_changes(sample_report(), sample_report()) == []


def test_each_change_is_reported() -> None:
    before = sample_report()
    assert list_changes(before, sample_report(routes=(sample_route(4),))) == [
        "the route is another one than before the first trial"
    ]
    assert list_changes(before, sample_report(mtu=mtu_of(1280))) == [
        "the path MTU was 1400 bytes and is 1280 bytes"
    ]
    (slower,) = list_changes(before, sample_report(capacity=sample_capacity((100e6, 10e6, None))))
    assert slower.startswith("the capacity of hop 2 was ")


def test_what_was_not_found_is_no_change() -> None:
    before = sample_report()
    assert list_changes(before, sample_report(mtu=mtu_of(None), capacity=None)) == []
    assert list_changes(sample_report(mtu=None, capacity=None), before) == []
    undecided = sample_report(capacity=sample_capacity((None, None, None)))
    assert list_changes(undecided, undecided) == []


def test_a_path_that_cannot_be_surveyed_is_named_and_the_next_one_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = replace(PATH, source="b", destination="a")

    def discover(session: str, address: str, _options: object) -> object:
        if session == "a":
            raise HostError("no probes are allowed", host="a", stage="discovery")
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
    assert "a to b, before: not surveyed" in kept.entries[0].text
    assert kept.entries[1].facts["report"]["mtu"]["mtu_bytes"] == 1400
    assert kept.entries[4].text == "b to a: the path MTU was 1400 bytes and is 1300 bytes"
    assert len(reported) == 5
