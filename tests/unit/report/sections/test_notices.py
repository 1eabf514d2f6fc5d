"""Warnings: each is stated once, with its scope."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from pathlab.report.blocks import Notice
from pathlab.report.sections.notices import list_notices
from pathlab.store.records import TrialRecord
from pathlab.study.analyses import Study
from tests.builders.results import SyntheticResults, make_quickstart

KIB = 1024


def notices(results: SyntheticResults) -> dict[str, Notice]:
    found = list_notices(Study(results))
    assert len({notice.kind for notice in found}) == len(found)
    return {notice.kind: notice for notice in found}


def change(results: SyntheticResults, to: Callable[[TrialRecord], TrialRecord]) -> SyntheticResults:
    results.change_trials(to)
    return results


def flag(name: str) -> Callable[[TrialRecord], TrialRecord]:
    return lambda record: replace(record, flags=("lab", name)) if record.streams == 1 else record


def test_a_sound_run_has_no_warning() -> None:
    assert notices(make_quickstart(cycles=6)) == {}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("lab-limited", "the machine could not keep up with the emulation"),
        ("host-limited", "a host's CPU limited the rate"),
        ("over-line-rate", "counted more than the link can carry"),
        ("undelivered-data", "some data had not arrived when the drain time was up"),
        ("route-changed", "The route changed during the campaign"),
        ("changed-since-start", "a host or a program had changed since the campaign began"),
        ("workers-not-granted", "an end did not grant the workers requested"),
    ],
)
def test_flags_name_the_combinations_that_bear_them(name: str, words: str) -> None:
    found = notices(change(make_quickstart(cycles=6), flag(name)))
    assert set(found) == {name}
    assert words in found[name].text
    assert "1 × (64 KiB, 256 KiB)" in found[name].text


def test_windows_that_were_not_granted_say_what_to_do() -> None:
    small = change(
        make_quickstart(cycles=6),
        lambda record: replace(record, window_granted_receiver_bytes=65_536),
    )
    found = notices(small)["window-not-granted"]
    assert "all 8 combinations" in found.text
    assert "net.core.rmem_max" in found.text


def test_what_holds_everywhere_is_said_once() -> None:
    results = make_quickstart(cycles=2, levels=[(1, 64 * KIB)])
    results.records = [
        replace(record, path_destination=f"east{number}") for number in range(5) for record in results.records
    ]
    found = notices(results)
    assert (found["small-sample"].path, set(found)) == (None, {"small-sample"})
    some = change(
        results,
        lambda record: (
            record if record.path_destination == "east4" else replace(record, flags=("lab-limited",))
        ),
    )
    assert notices(some)["lab-limited"].path == "4 paths"
