"""``pathlab results show``: a bounded list that names what it leaves out, without reading a series."""

import dataclasses
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.builders.series import make_probes
from tests.builders.stored import COMPLETE, FAILED, make_results
from tests.command_line import call, call_lines

TRIALS = 70


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of 70 trials: 68 complete ones, of which three do not count, one failed, one interrupted."""
    found = tmp_path_factory.mktemp("show") / "results"
    with make_results(found) as results:
        for attempt in range(1, TRIALS - 1):
            flags = ("lab-limited",) if attempt <= 3 else ()
            rate = 1e9 if attempt <= 3 else 1e6 * attempt
            trial = dataclasses.replace(
                COMPLETE, attempt=attempt, flags=flags, throughput_bits_per_s=rate, plan_row=0
            )
            results.add_trial(trial, {"loaded_probes": make_probes()} if attempt < 4 else {})
        results.add_trial(dataclasses.replace(FAILED, failure="refused\nby the host"), {})
        results.add_trial(dataclasses.replace(FAILED, attempt=2, status="interrupted", failure=None), {})
    return found


@pytest.fixture
def statements() -> Iterator[list[tuple[str, Any]]]:
    """Every statement that reaches SQLite's tables meanwhile, with its values."""
    found: list[tuple[str, Any]] = []

    def keep(_connection: Any, _cursor: Any, text: str, values: Any, *_: Any) -> None:
        if not text.startswith("PRAGMA"):  # opening reads the names of columns
            found.append((" ".join(text.split()), values))

    sa.event.listen(sa.Engine, "before_cursor_execute", keep)
    yield found
    sa.event.remove(sa.Engine, "before_cursor_execute", keep)


def read_trials(lines: list[str]) -> list[int]:
    """The numbers in the first column of the list of trials."""
    start = next(at for at, line in enumerate(lines) if line.split()[:2] == ["Trial", "Cycle"])
    return [int(line.split()[0]) for line in lines[start + 1 :] if line.split()[0].isdecimal()]


def test_the_first_trials_and_how_to_see_the_next(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = call_lines(["results", "show", str(folder)], capsys)
    assert (status, err) == (0, [])
    assert out[2].endswith("trials: 68 complete, 1 failed, 1 interrupted")
    assert read_trials(out) == list(range(1, 51))
    assert out[-1] == "Trials 1 to 50 of 70; next: --offset 50; all: --limit 0."


def test_pages_follow_each_other_to_the_end(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[int] = []
    for offset in (0, 40):
        words = ["results", "show", str(folder), "--limit", "40", "--offset", str(offset)]
        _, out, _ = call_lines(words, capsys)
        seen += read_trials(out)
        assert any("Combination" in line for line in out) == (offset == 0)
    assert seen == list(range(1, TRIALS + 1))
    assert out[-1] == "Trials 41 to 70 of 70; all: --limit 0."
    assert out[-3].endswith("failed: refused by the host")
    _, out, _ = call_lines(["results", "show", str(folder), "--offset", "70"], capsys)
    assert out[-1] == "No trial is left after --offset 70: 70 are stored."


def test_all_trials_read_in_batches_are_one_table(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["results", "show", str(folder), "--limit", "0"]
    _, whole, _ = call_lines(words, capsys)
    assert read_trials(whole) == list(range(1, TRIALS + 1))
    assert "--limit" not in whole[-1]
    monkeypatch.setattr("pathlab.store.overview._BATCH_ROWS", 20)
    assert call_lines(words, capsys)[1] == whole


def test_combinations_come_first_with_the_median_of_trials_that_count(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = call_lines(["results", "show", str(folder), "--limit", "1"], capsys)
    start = next(at for at, line in enumerate(out) if line.startswith(("Combination ", "Path ")))
    assert "4 × 64 KiB" in out[start + 1]
    assert out[start + 2] == "Combinations 1 to 1 of 2; all: --limit 0."
    _, out, _ = call_lines(["results", "show", str(folder)], capsys)
    start = next(at for at, line in enumerate(out) if line.startswith(("Combination ", "Path ")))
    assert out[start + 2].split()[-4:] == ["0", "2", "0", "–"]
    # The median of 4 to 68 Mbit/s: the three lab-limited trials of 1 Gbit/s are complete and do not count.
    assert out[start + 1].split()[-5:] == ["68", "0", "65", "36", "Mbit/s"]


def test_no_series_and_no_more_rows_than_printed_are_read(
    folder: Path, statements: list[tuple[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    call(["results", "show", str(folder), "--limit", "7", "--offset", "3"], capsys)
    assert not [text for text, _ in statements if "series" in text]
    (page,) = [values for text, values in statements if "LIMIT" in text]
    assert page == (7, 3)
    counted = len(statements)
    statements.clear()
    call(["results", "show", str(folder), "--limit", "100", "--offset", "3"], capsys)
    assert len(statements) == counted


def test_json_counts_without_reading_trials(
    folder: Path, statements: list[tuple[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(call(["results", "show", str(folder), "--json"], capsys).out)
    assert (document["planned"], document["unfinished"]) == (2, 1)
    assert document["trials"] == {"complete": 68, "failed": 1, "interrupted": 1}
    assert not [text for text, _ in statements if "throughput_bits_per_s" in text or "series" in text]


def test_a_results_file_without_trials(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_results(tmp_path / "empty").close()
    status, out, err = call_lines(["results", "show", str(tmp_path / "empty")], capsys)
    assert (status, err, out[-1]) == (0, [], "No trial is stored.")


def test_damaged_settings_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with make_results(tmp_path / "torn") as results:
        results.add_trial(COMPLETE, {})
    with sqlite3.connect(tmp_path / "torn" / "results.db") as connection:
        connection.execute("UPDATE plan SET settings = '{\"streams\": '")
    status, _, err = call_lines(["results", "show", str(tmp_path / "torn")], capsys)
    assert status == 5
    assert "table 'plan', row 0, column 'settings'" in err[0]
