"""``pathlab view`` of results whose trials all do not count: it says so, and how they are shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders.explored import make_explored
from tests.builders.results import write_results
from tests.command_line import call_lines


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make_explored(cycles=2, destinations=("east",))
    made.records = [
        replace(record, flags=(*record.flags, "lab-limited")) if record.status == "complete" else record
        for record in made.records
    ]
    return write_results(made, tmp_path_factory.mktemp("unusable") / "results")


def test_without_a_usable_trial_the_view_says_how_to_count_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, lines, _ = call_lines(["view", str(folder)], capsys)
    assert (status, lines[-1]) == (
        0,
        "No selected trial is usable. With 'count=all' the view counts all trials.",
    )
    status, lines, _ = call_lines(["view", str(folder), "count=all"], capsys)
    assert status == 0
    assert "14 lab-limited" in next(
        line for line in lines if line.startswith("Unusable trials are counted: ")
    )
    assert "usable" not in lines[0]
