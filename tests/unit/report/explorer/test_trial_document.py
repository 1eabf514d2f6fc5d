"""The details of a trial in the explorer: the same texts as `pathlab measure` prints, and its neighbours."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pathlab.report.explorer.trial_document import read_details
from pathlab.report.trials.limit_text import format_limit
from pathlab.study.analyses import StudiedResults
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.flows.trial_limit import classify_record
from tests.builders.explored import make_explored
from tests.builders.results import write_results


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(make_explored(cycles=2), tmp_path_factory.mktemp("details") / "results")


@pytest.fixture(scope="module")
def results(folder: Path) -> ExploredResults:
    return ExploredResults.open([folder])


def find_section(document: dict[str, Any], key: str) -> dict[str, Any]:
    (found,) = [one for one in document["sections"] if one["key"] == key]
    assert isinstance(found, dict)
    return found


def test_the_limit_is_that_of_the_report_with_its_evidence(folder: Path, results: ExploredResults) -> None:
    document = read_details(results, results.find_row("A:3"))
    with StudiedResults.open(folder) as stored:
        found = classify_record(stored, 3, stored.record(3), reverse=False)
    assert document["remarks"][-1] == format_limit(found)
    rows = find_section(document, "evidence")["rows"]
    assert len(rows) == len(found.verdict.evidence)
    met = {None: "", True: "met", False: "not met"}
    assert [row[3] for row in rows] == [met[one.met] for one in found.verdict.evidence]


def test_settings_are_requested_granted_and_effective(results: ExploredResults) -> None:
    table = find_section(read_details(results, results.find_row("A:3")), "settings")
    assert table["columns"] == ["Setting", "Requested", "Granted", "Effective"]
    rows = {row[0]: row[1:] for row in table["rows"]}
    record = results.study("A").study_source.record(3)
    assert record.window_requested_bytes == 256 * 1024
    assert rows["window"][:2] == ["256 KiB", "512 KiB"]
    assert rows["window"][2].endswith("kB")
    assert rows["congestion"] == ["cubic", "cubic", "cubic"]


def test_neighbours_are_the_trials_of_the_same_path_in_time(results: ExploredResults) -> None:
    path, trials = results.codes("path"), results.numbers("trial")
    row = results.find_row("A:11")
    same = [f"A:{int(trials[other])}" for other in range(len(results)) if path[other] == path[row]]
    for name, place in (("A:11", same.index("A:11")), (same[0], 0)):
        document = read_details(results, results.find_row(name))
        assert [one["name"] for one in document["before"]] == same[max(place - 3, 0) : place]
        assert [one["name"] for one in document["after"]] == same[place + 1 : place + 4]


def test_every_document_is_json_without_markup_of_its_own(folder: Path, tmp_path: Path) -> None:
    hostile = write_results(make_explored(cycles=2, hostile=True), tmp_path / "hostile")
    explored = ExploredResults.open([hostile])
    for row in range(len(explored)):
        document = read_details(explored, row)
        assert json.loads(json.dumps(document, allow_nan=False)) == document
    failed = read_details(explored, explored.find_row("A:6"))
    assert "<img src=x" in failed["failure"]  # as it is: the page shows text as text


def test_a_damaged_series_is_named_and_takes_nothing_else_with_it(folder: Path, tmp_path: Path) -> None:
    database = tmp_path / "results.db"
    database.write_bytes((folder / "results.db").read_bytes())
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("update series set blob = x'00' where trial_id = 3 and kind = 'loaded_probes'")
    document = read_details(explored := ExploredResults.open([database]), explored.find_row("A:3"))
    assert len(document["unreadable"]) == 1
    assert "loaded_probes" in document["unreadable"][0]
    assert find_section(document, "streams")["rows"]
    assert find_section(document, "results")["facts"]
