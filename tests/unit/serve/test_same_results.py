"""Results that are reached in several ways are one: in a catalogue, on a command line, in a view."""

from pathlib import Path

import pytest

from pathlab.serve.catalogue import Catalogue
from pathlab.serve.library import ResultsLibrary
from pathlab.store.location import list_once
from pathlab.study.exploration.explored_results import ExploredResults
from tests.builders.results import make_quickstart, write_results


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results ``one`` with two links to them, and a link to the folder itself, which all come before it."""
    found = tmp_path_factory.mktemp("results") / "all"
    write_results(make_quickstart(cycles=1), found / "one")
    (found / "latest").symlink_to("one")
    (found / "again").mkdir()
    (found / "again" / "results.db").symlink_to(Path("..", "one", "results.db"))
    (found / "loop").symlink_to(found)
    return found


def test_a_catalogue_lists_results_once_at_their_own_place(folder: Path) -> None:
    assert [entry.path for entry in Catalogue((), folder).list_entries()] == [folder / "one"]
    given = Catalogue((folder / "latest",), folder)
    assert [entry.path for entry in given.list_entries()] == [folder / "latest"]


def test_an_id_is_that_of_the_results_however_they_are_reached(folder: Path) -> None:
    catalogue = Catalogue((), folder)
    places = ("one", "latest", "loop/one")
    assert len({catalogue.look_at(folder / place).results_id for place in places}) == 1


def test_results_named_twice_are_served_once(folder: Path) -> None:
    library = ResultsLibrary.find((folder / "one", folder / "latest", folder / "again" / "results.db"))
    assert [entry.path for entry in library.list_given()] == [folder / "one"]


def test_a_view_takes_no_trial_twice(folder: Path) -> None:
    alone = ExploredResults.open([folder / "one"])
    found = ExploredResults.open([folder / "one", folder / "latest", folder / "one" / "results.db"])
    assert len(found.sources) == 1
    assert len(found) == len(alone)


def test_what_is_not_there_is_kept_as_it_was_named(folder: Path) -> None:
    paths = [folder / "none", folder / "one", folder / "none", folder / "two"]
    assert list_once(paths) == [folder / "none", folder / "one", folder / "two"]
