"""Captures beside a results file: placed whole, found, checked, copied and removed."""

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

BYTES = b"capture" * 1000


def is_unlike(folder: Path) -> bool:
    """Whether anything differs from what was stored."""
    found = check_results(folder)
    return bool(found.faults or found.notes)


def add_captured(results: Results, row: int, content: bytes = BYTES, **changed: Any) -> int:
    """Store a trial with a capture at its sender."""
    trial = dataclasses.replace(
        COMPLETE,
        plan_row=row,
        capture_sender_packets=70,
        capture_sender_dropped_packets=0,
        capture_sender_bytes=len(content),
        capture_sender_sha256=hashlib.sha256(content).hexdigest(),
        capture_receiver_missing="no privilege",
        **changed,
    )
    with open_nameless_file(results.folder) as file:
        file.write(content)
        lost: list[str] = []
        number = results.add_trial(
            trial,
            {},
            put_files=lambda number: lost.extend(place_captures(results.folder, number, {"sender": file})),
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

    def refuse(path: str, flags: int, *rest: int, **named: int) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise refusal
        return opened(path, flags, *rest, **named)

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


def test_what_a_killed_copy_left_is_removed(results: Results) -> None:
    number = add_captured(results, 0)
    left = results.folder / FOLDER / "trial-2-sender.pcapng.part"
    left.write_bytes(b"half")
    remove_unfinished(results.folder)
    assert list((results.folder / FOLDER).iterdir()) == [locate_capture(results.folder, number, "sender")]


def test_failed_trials_are_pruned_with_their_captures(results: Results) -> None:
    kept = add_captured(results, 0)
    add_captured(results, 1, status="failed")
    prune_results(results, failed=True, series_before=None, dry_run=True)
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
