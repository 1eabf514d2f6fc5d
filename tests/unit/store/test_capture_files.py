"""Captures beside a results file: placed whole, found, checked, copied and removed."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import os
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from pathlab.store.archive import merge_results, prune_results
from pathlab.store.capture_files import (
    FOLDER,
    locate_capture,
    open_nameless_file,
    place_captures,
    remove_unfinished,
)
from pathlab.store.check import check_results
from pathlab.store.results import Results
from tests.builders.stored import CAMPAIGN, COMPLETE, PLAN
from tests.command_line import call

BYTES = b"capture" * 1000


def is_unlike(folder: Path) -> bool:
    """Whether anything differs from what was stored."""
    found = check_results(folder)
    return bool(found.faults or found.notes)


def add_captured(results: Results, row: int, content: bytes = BYTES, **changed: Any) -> int:
    """Store a trial with a capture at its sender."""
    columns: dict[str, Any] = {
        "plan_row": row,
        "capture_sender_packets": 70,
        "capture_sender_dropped_packets": 0,
        "capture_sender_bytes": len(content),
        "capture_sender_sha256": hashlib.sha256(content).hexdigest(),
        "capture_receiver_missing": "no privilege",
    }
    with open_nameless_file(results.folder) as file:
        file.write(content)
        trial = dataclasses.replace(COMPLETE, **{**columns, **changed})
        lost: list[str] = []
        number = results.add_trial(
            trial,
            {},
            place=lambda number: lost.extend(place_captures(results.folder, number, {"sender": file})),
        )
    assert lost == []
    return number


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results.create(tmp_path / "r", CAMPAIGN, PLAN)


def test_a_file_has_no_name_before_its_trial_is_stored(results: Results) -> None:
    with open_nameless_file(results.folder) as file:
        file.write(BYTES)
        file.flush()
        assert list((results.folder / FOLDER).iterdir()) == []
        assert place_captures(results.folder, 7, {"receiver": file}) == []
    placed = locate_capture(results.folder, 7, "receiver")
    assert [placed] == list((results.folder / FOLDER).iterdir())
    assert placed.read_bytes() == BYTES


def test_without_nameless_files_it_is_copied_and_renamed(results: Results) -> None:
    opened = os.open
    refusal = OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    def refuse(path: str, flags: int, *rest: int) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise refusal
        return opened(path, flags, *rest)

    with mock.patch("os.open", refuse), open_nameless_file(results.folder) as file:
        file.write(BYTES)
        assert place_captures(results.folder, 7, {"sender": file}) == []
    assert locate_capture(results.folder, 7, "sender").read_bytes() == BYTES
    assert len(list((results.folder / FOLDER).iterdir())) == 1


def test_a_file_of_a_trial_that_was_never_stored_is_replaced(results: Results) -> None:
    (results.folder / FOLDER).mkdir()
    locate_capture(results.folder, 1, "sender").write_bytes(b"of a killed run")
    assert add_captured(results, 0) == 1
    assert not is_unlike(results.folder)


def test_what_cannot_be_kept_is_named_and_the_trial_stays(results: Results) -> None:
    (results.folder / FOLDER).mkdir()
    locate_capture(results.folder, 3, "sender").mkdir()
    with open_nameless_file(results.folder) as file:
        failures = place_captures(results.folder, 3, {"sender": file})
    assert len(failures) == 1
    assert "could not be kept: " in failures[0]


def test_captures_are_listed_and_checked(results: Results) -> None:
    first, second = add_captured(results, 0), add_captured(results, 1, b"other")
    found = results.captures()
    assert [(one.trial_id, one.end, one.packets, one.size_bytes) for one in found] == [
        (first, "sender", 70, len(BYTES)),
        (second, "sender", 70, 5),
    ]
    assert [one.trial_id for one in results.captures(range(second, second + 1))] == [second]
    assert not is_unlike(results.folder)
    found[0].path.unlink()
    found[1].path.write_bytes(b"othex")
    (results.folder / FOLDER / "trial-9-sender.pcapng").write_bytes(b"")
    (results.folder / FOLDER / "notes").write_bytes(b"")
    checked = check_results(results.folder)
    (fault,), notes = checked.faults, checked.notes
    assert "does not have the digest" in fault
    assert len(notes) == 3  # no figure of a trial depends on them
    assert "of the sender of trial 1: '" in notes[0]
    assert notes[0].endswith("was deleted")
    assert notes[1].endswith("notes' is no capture of PathLab")
    assert notes[2].endswith("trial-9-sender.pcapng' belongs to no trial")
    found[1].path.write_bytes(b"oth")
    assert "has 3 bytes where 5 were stored" in check_results(results.folder).faults[0]


def test_results_without_their_captures_are_sound_and_say_so(
    results: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    add_captured(results, 0)
    results.captures()[0].path.unlink()
    said = call(["results", "check", str(results.folder)], capsys)
    assert said.status == 0
    note, verdict = said.out.splitlines()
    assert ": note: capture of the sender of trial 1: '" in note
    assert "sound (1 trials" in verdict


def test_what_a_killed_copy_left_is_removed(results: Results) -> None:
    number = add_captured(results, 0)
    left = results.folder / FOLDER / "trial-2-sender.pcapng.part"
    left.write_bytes(b"half")
    remove_unfinished(results.folder)
    assert list((results.folder / FOLDER).iterdir()) == [locate_capture(results.folder, number, "sender")]


def test_failed_trials_are_pruned_with_their_captures(results: Results) -> None:
    kept = add_captured(results, 0)
    add_captured(results, 1, status="failed")
    dry = prune_results(results, failed=True, series_before=None, dry_run=True)
    assert (dry.trials, dry.size_after_bytes) == (1, None)
    assert len(results.captures()) == 2
    done = prune_results(results, failed=True, series_before=None, dry_run=False)
    assert done.size_before_bytes >= len(BYTES)
    assert list((results.folder / FOLDER).iterdir()) == [locate_capture(results.folder, kept, "sender")]
    assert not is_unlike(results.folder)


def test_merged_results_have_copies_under_their_new_numbers(results: Results, tmp_path: Path) -> None:
    add_captured(results, 0)
    results.close()
    with Results.create(tmp_path / "second", CAMPAIGN, PLAN) as second:
        add_captured(second, 0, b"second")
    merged = merge_results([tmp_path / "r", tmp_path / "second"], tmp_path / "merged")
    with Results.open(merged) as both:
        contents = [capture.path.read_bytes() for capture in both.captures()]
    assert contents == [BYTES, b"second"]
    assert not is_unlike(merged)
