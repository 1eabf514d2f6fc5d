"""Warnings: each is stated once, with its scope."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from pathlab.report.blocks import Notice
from pathlab.report.sections.notices import list_notices
from pathlab.report.text import count_flags
from pathlab.store.records import JournalRecord, TrialRecord
from pathlab.study.analyses import Study
from tests.builders.results import SyntheticResults, make_quickstart
from tests.builders.trials import make_failed

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


def test_few_cycles_failures_and_missing_rows_are_said() -> None:
    results = make_quickstart(cycles=2)
    results.records[0] = make_failed(results.records[0])
    del results.records[-1]
    found = notices(results)
    assert set(found) == {"small-sample", "failures", "partial"}
    assert "1 of 15 trials failed (stage: connect)" in found["failures"].text
    assert found["partial"].text.startswith("2 of 16 planned trials have no result")
    assert "Some combinations have only 1 trial;" in found["small-sample"].text


def test_what_the_latest_run_left_out_is_said() -> None:
    def journal(*entries: tuple[str, str]) -> SyntheticResults:
        results = make_quickstart(cycles=6)
        now = "2026-01-05T12:00:00+00:00"
        results.journal().extend(
            JournalRecord(recorded_utc=now, kind=kind, plan_row=None, text=text, facts={})
            for kind, text in entries
        )
        return results

    first = (("started", ""), ("left-out", "4 trials are left out: a lacks grpc"), ("finished", ""))
    assert notices(journal(*first))["left-out"].text == "4 trials are left out: a lacks grpc."
    assert "left-out" not in notices(journal(*first, ("resumed", ""), ("finished", "")))


@pytest.mark.parametrize(
    ("kind", "facts", "missing"),
    [("finished", {}, 0), ("ended", {"missing": 3}, 3), ("resumed", {}, 4)],  # the last was killed
)
def test_rows_that_a_stop_rule_left_out_are_not_missing(
    kind: str, facts: dict[str, int], missing: int
) -> None:
    results = make_quickstart(cycles=6)
    del results.records[-4:]
    results.journal().append(
        JournalRecord(
            recorded_utc="2026-01-05T12:00:00+00:00", kind=kind, plan_row=None, text="", facts=facts
        )
    )
    found = notices(results)
    assert ("partial" in found) == (missing > 0)
    if missing:
        assert found["partial"].text.startswith(f"{missing} of 48 planned trials have no result")


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
    assert "least grant: 64 KiB" in found.text
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


def test_nothing_measured_and_a_fallback_are_grave() -> None:
    results = make_quickstart(cycles=1, levels=[(1, None)], environment={"fallback": "no namespaces."})
    assert notices(results)["fallback"].text.startswith("Loopback fallback: no namespaces. The numbers")
    results.records = []
    assert "No trial completed" in notices(results)["empty"].text


def test_a_run_that_began_on_a_busy_machine_says_what_was_measured() -> None:
    results = make_quickstart(cycles=6)
    text = "90 % of 2 cores in use (stress: 0.98 cores)"
    entry = JournalRecord(
        recorded_utc="2026-01-01T00:00:00.000+00:00",
        kind="busy",
        plan_row=None,
        text="",
        facts={"found": {"this machine": text}},
    )
    results = results.copy(series={}, journal=[entry])
    assert notices(results)["busy"].text == (
        f"Hosts were busy when the run began (2026-01-01 00:00:00 UTC): this machine: {text}."
    )


def test_an_interrupted_trial_is_not_said_to_have_failed() -> None:
    results = make_quickstart(cycles=6)
    stopped = make_failed(results.records[0])
    results.records[0] = replace(stopped, status="interrupted", failed_stage="controller")
    found = notices(results)
    assert "failures" not in found
    assert found["interrupted"].text == "1 trial was interrupted. Interrupted trials are in no figure."
    (condition,) = Study(results).conditions()
    assert count_flags(condition) == "1 interrupted"
    results.records[1] = make_failed(results.records[1])
    found = notices(results)
    assert found["failures"].text.startswith("1 of 48 trials failed (stage: connect).")
    (condition,) = Study(results).conditions()
    assert count_flags(condition) == "1 failed, 1 interrupted"
