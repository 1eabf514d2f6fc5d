"""Folders that somebody else has prepared: nothing is written through what lies there, and nothing waits."""

import errno
import fcntl
import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from pathlab.campaign.toml_text import read_toml_text
from pathlab.captures.capture import open_capture
from pathlab.cli.commands.import_ import import_files
from pathlab.errors import PathlabError, StoreError
from pathlab.files import replace_file
from pathlab.report.formats.output_file import write_whole
from pathlab.report.plots.printed import write_figure
from pathlab.runner.campaign.waiting import PauseRequest, StopRequest
from pathlab.store.archive import merge_results, prune_results
from pathlab.store.capture_files import open_nameless_file, place_captures, remove_captures, remove_unfinished
from pathlab.store.check import check_results
from pathlab.store.exporting import load_format, select_trials
from pathlab.store.json_fields import load_document
from pathlab.store.location import locate_database
from pathlab.store.lock import FolderLock, find_writer
from pathlab.store.results import Results
from pathlab.store.saved_views import read_views, save_view
from tests.builders.plots import make_sweep
from tests.builders.stored import CAMPAIGN, PLAN, fill_results, make_results
from tests.unit.store.test_capture_files import add_captured

SECRET = b"what the user has written elsewhere\n"


def place_one(folder: Path) -> None:
    """A capture of a trial gets its name."""
    with open_nameless_file(folder) as file:
        file.write(b"packets")
        failures = place_captures(folder, 1, {"sender": file})
    if failures:
        raise StoreError(failures[0], hint="")


def write_results(folder: Path) -> None:
    Results.open(folder, write=True).close()


#: By the name that lies in the folder: what would write there.
WRITERS: dict[str, Callable[[Path], object]] = {
    "results.lock": write_results,
    "views.lock": lambda folder: save_view(folder, "one", "x=streams"),
    "views.json": lambda folder: save_view(folder, "one", "x=streams"),
    "stop": lambda folder: StopRequest(folder).make(),
    "pause": lambda folder: PauseRequest(folder).make(),
    "report.html": lambda folder: write_whole(folder / "report.html", b"<html>"),
    "figure.svg": lambda folder: write_figure(make_sweep(), folder / "figure.svg"),
    "captures/trial-1-sender.pcapng": place_one,
    "captures/trial-1-sender.pcapng.part": remove_unfinished,
}


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder of the user's own."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "file").write_bytes(SECRET)
    return folder


@pytest.mark.parametrize("kind", ["link", "hard link"])
@pytest.mark.parametrize("name", WRITERS)
def test_nothing_is_written_through_a_link(name: str, kind: str, tmp_path: Path, elsewhere: Path) -> None:
    """A writer replaces the link, or refuses; either way the file that it leads to is as it was."""
    folder = fill_results(tmp_path / "theirs")
    place = folder / name
    place.parent.mkdir(exist_ok=True)
    place.unlink(missing_ok=True)
    if kind == "link":
        place.symlink_to(elsewhere / "file")
    else:
        place.hardlink_to(elsewhere / "file")
    refusal: PathlabError | None = None
    try:
        WRITERS[name](folder)
    except PathlabError as error:
        refusal = error
    assert (elsewhere / "file").read_bytes() == SECRET
    assert [path.name for path in elsewhere.iterdir()] == ["file"]
    assert refusal is None or str(place) in str(refusal)


def test_folders_below_are_not_followed(tmp_path: Path, elsewhere: Path) -> None:
    """``captures`` leads to a folder with names like those that PathLab writes and removes there."""
    theirs = fill_results(tmp_path / "theirs")
    names = ("trial-1-sender.pcapng", "trial-9-receiver.pcapng.part")
    for name in names:
        (elsewhere / name).write_bytes(SECRET)
    (theirs / "captures").symlink_to(elsewhere)
    with pytest.raises(OSError, match="it is a symbolic link, not a folder"):
        open_nameless_file(theirs)
    remove_unfinished(theirs)
    with pytest.raises(OSError, match="it is a symbolic link, not a folder"):
        remove_captures(theirs, 1)
    assert [(elsewhere / name).read_bytes() for name in names] == [SECRET, SECRET]


def test_a_results_file_elsewhere_is_not_written(tmp_path: Path) -> None:
    own = fill_results(tmp_path / "own") / "results.db"
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "results.db").symlink_to(own)
    before = own.read_bytes()
    with pytest.raises(StoreError, match="is a symbolic link, through which nothing is written") as caught:
        write_results(tmp_path / "theirs")
    assert str(own.parent) in str(caught.value.hint)
    assert own.read_bytes() == before
    with Results.open(tmp_path / "theirs") as results:  # reading changes nothing
        assert results.records()


def test_another_program_s_file_is_left_as_it_is(tmp_path: Path) -> None:
    """Neither its lock file nor the mode of its journal is touched before it is known to be of PathLab."""
    database, lock = tmp_path / "results.db", tmp_path / "results.lock"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE other (value)")
    lock.write_bytes(SECRET)
    before = database.read_bytes()
    with pytest.raises(StoreError, match="is not a PathLab results file"):
        write_results(tmp_path)
    assert (database.read_bytes(), lock.read_bytes()) == (before, SECRET)
    with pytest.raises(StoreError, match="already holds results"):
        Results.create(tmp_path, CAMPAIGN, PLAN)
    assert lock.read_bytes() == SECRET
    database.unlink()
    with pytest.raises(StoreError, match="is not a lock of PathLab: it holds something else"):
        Results.create(tmp_path, CAMPAIGN, PLAN)
    assert lock.read_bytes() == SECRET


#: What reads a file, by the name of the file in a results folder.
READERS: dict[str, Callable[[Path], object]] = {
    "results.lock": lambda path: FolderLock(path.parent),
    "views.json": lambda path: read_views(path.parent),
    "results.db": locate_database,
    "import.json": load_document,
    "import": lambda path: import_files(
        (path,), None, source=None, destination=None, title="", keep_going=False
    ),
    "campaign.toml": lambda path: read_toml_text("campaign", str(path), "name a file"),
    "capture.pcap": open_capture,
    "report.html": lambda path: write_whole(path, b""),
    "figure.svg": lambda path: write_figure(make_sweep(), path),
    "stop": lambda path: StopRequest(path.parent).make(),
}


@pytest.mark.parametrize("name", READERS)
def test_a_fifo_is_named_and_nothing_waits_for_its_other_end(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    os.mkfifo(path)
    with pytest.raises(PathlabError, match=r"it is a named pipe, not a file|is not a regular file") as caught:
        READERS[name](path)
    assert str(path) in str(caught.value)
    assert caught.value.hint
    assert stat.S_ISFIFO(path.lstat().st_mode)


def test_a_fifo_in_the_place_of_a_capture_is_damage(tmp_path: Path) -> None:
    with make_results(tmp_path / "r") as results:
        add_captured(results, 0)
        place = results.folder / "captures" / "trial-1-sender.pcapng"
    place.unlink()
    os.mkfifo(place)
    assert any("it is a named pipe, not a file" in fault for fault in check_results(tmp_path / "r").faults)


def test_a_device_is_not_replaced(tmp_path: Path) -> None:
    """As root, a report to /dev/null must not put a file in its place."""
    (tmp_path / "null.html").symlink_to("/dev/null")
    for place in (Path("/dev/null"), tmp_path / "null.html"):
        with pytest.raises(OSError, match="it is a device, not a file"):
            replace_file(place, b"")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_locks_is_named(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = fill_results(tmp_path / "r")

    def refuse(_descriptor: int, _operation: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", refuse)
    for write in (write_results, lambda folder: save_view(folder, "one", "x=streams")):
        with pytest.raises(StoreError, match=f"the file system of '{folder}' has no file locks") as caught:
            write(folder)
        assert "local disk" in str(caught.value.hint)
    assert find_writer(folder) is None
    with Results.open(folder) as results:
        assert results.records()


def test_what_is_made_belongs_to_its_user_alone(tmp_path: Path) -> None:
    """Whatever the umask: results, captures, side files, exports, merged and pruned results."""
    before = os.umask(0)
    try:
        folder = tmp_path / "above" / "r"
        fill_results(folder)
        with Results.open(folder, write=True) as results:
            place_one(folder)
            save_view(folder, "one", "x=streams")
            StopRequest(folder).make()
            with results.writing("nothing"):
                made = list(tmp_path.rglob("*"))
                assert {path.name for path in made} >= {"results.db-wal", "results.db-shm"}
                modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in made}
            for name in ("csv", "jsonl"):
                load_format(name).export(select_trials(results), tmp_path / "exports" / name)
            prune_results(results, failed=True, series_before=None, dry_run=False)
        make_results(tmp_path / "second").close()
        merge_results([folder, tmp_path / "second"], tmp_path / "merged")
    finally:
        os.umask(before)
    modes |= {path: stat.S_IMODE(path.lstat().st_mode) for path in tmp_path.rglob("*")}
    wrong = {path: oct(mode) for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)}
    assert wrong == {}
