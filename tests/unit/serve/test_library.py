"""Results of a server: found on the command line or in a folder, kept open while they are used."""

from pathlib import Path

import pytest

from pathlab.errors import StoreError, UsageError
from pathlab.serve.library import ResultsLibrary
from tests.builders.results import make_quickstart, write_results


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("results") / "all"
    for day in (1, 2, 3):
        results = make_quickstart(cycles=1, created_utc=f"2026-01-0{day}T00:00:00Z")
        write_results(results, found / str(day))
    return found


def test_a_set_is_read_once_and_the_one_used_least_goes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pathlab.serve.library.OPEN_SETS_MAX", 2)
    library = ResultsLibrary.find([folder])
    first, second, third = library.catalogue.list_entries()
    opened = library.open([first])
    assert len(opened.results) == 8
    assert library.open([first]) is opened
    other = library.open([second])
    assert library.open([first]) is opened
    library.open([third])
    assert library.open([first]) is opened
    assert library.open([second]) is not other


def test_many_trials_make_room_for_others(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pathlab.serve.library.OPEN_TRIALS_MAX", 10)
    library = ResultsLibrary.find([folder])
    first, second, _ = library.catalogue.list_entries()
    opened, other = library.open([first]), library.open([second])
    assert len(opened.results) + len(other.results) > 10
    assert library.open([second]) is other
    assert library.open([first]) is not opened


def test_what_is_named_is_open_and_what_lies_below_is_listed(folder: Path) -> None:
    library = ResultsLibrary.find([folder / "2", folder])
    assert [entry.path.name for entry in library.list_given()] == ["2"]
    listed = library.catalogue.list_entries()
    assert [entry.path.name for entry in listed] == ["3", "2", "1"]
    assert len({entry.results_id for entry in listed}) == 3
    again = ResultsLibrary.find([folder]).catalogue.list_entries()
    assert [entry.results_id for entry in again] == [entry.results_id for entry in listed]  # links stay valid


def test_results_that_can_be_read_are_served_beside_those_that_cannot(folder: Path, tmp_path: Path) -> None:
    torn = tmp_path / "torn"
    torn.mkdir()
    content = (folder / "1" / "results.db").read_bytes()
    (torn / "results.db").write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))
    library = ResultsLibrary.find([torn, folder / "1"])
    assert [entry.state for entry in library.list_given()] == ["damaged", "complete"]
    library.open_given()
    library.open(library.list_given()).pack()
    with pytest.raises(StoreError, match="is damaged"):
        ResultsLibrary.find([torn])
    with pytest.raises(UsageError, match="are two folders of results"):
        ResultsLibrary.find([folder, folder.parent])
