"""Saved views: nothing is lost by two writers, a full or read-only folder, or a file of somebody else."""

import json
import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pathlab.errors import StoreError, UsageError
from pathlab.store.saved_views import VIEWS_NAME, ViewChanged, find_view, read_views, remove_view, save_view

VIEW = "x=streams&y=throughput_bits_per_s"


def test_a_saved_view_is_read_by_its_name(tmp_path: Path) -> None:
    assert read_views(tmp_path) == {}
    saved = save_view(tmp_path, "Streams, 東京 <b>", VIEW)
    save_view(tmp_path, "default", "")
    assert list(read_views(tmp_path)) == ["Streams, 東京 <b>", "default"]
    assert read_views(tmp_path)["Streams, 東京 <b>"] == saved
    assert json.loads((tmp_path / VIEWS_NAME).read_bytes())["views"]["default"]["view"] == ""
    assert find_view([tmp_path], "Streams, 東京 <b>") == VIEW
    assert find_view([tmp_path], "x=a") == "x=a"  # the text of a view needs no saved one
    assert find_view([tmp_path], "") == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["views.json", "views.lock"]


def test_the_first_of_several_folders_has_precedence(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        save_view(tmp_path / name, "both", f"x={name}")
    save_view(tmp_path / "b", "second", "x=b")
    assert find_view([tmp_path / "a", tmp_path / "b"], "both") == "x=a"
    assert find_view([tmp_path / "a", tmp_path / "b"], "second") == "x=b"


@pytest.mark.parametrize(
    "name", ["", " ", " a", "a=b", "a&b", "a\nb", "a\x00", "\u202ea", "x" * 81, "\ud800"]
)
def test_a_name_that_no_command_could_give_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="the name"):
        save_view(tmp_path, name, VIEW)
    assert read_views(tmp_path) == {}


def test_a_view_is_replaced_only_by_whom_knows_it(tmp_path: Path) -> None:
    save_view(tmp_path, "one", "x=a")
    with pytest.raises(ViewChanged, match="exists already"):
        save_view(tmp_path, "one", "x=b")
    save_view(tmp_path, "one", "x=b", replaces="x=a")
    with pytest.raises(ViewChanged, match="changed meanwhile"):
        save_view(tmp_path, "one", "x=c", replaces="x=a")
    with pytest.raises(ViewChanged, match="changed meanwhile"):
        remove_view(tmp_path, "one", view="x=a")
    assert read_views(tmp_path)["one"].view == "x=b"
    remove_view(tmp_path, "one", view="x=b")
    with pytest.raises(ViewChanged, match="removed meanwhile"):
        save_view(tmp_path, "one", "x=c", replaces="x=b")
    assert read_views(tmp_path) == {}


def test_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    """The lock is of an open file, so that threads exclude each other as processes do."""

    def save_many(writer: int) -> None:
        for number in range(20):
            save_view(tmp_path, f"{writer} {number}", VIEW)

    with ThreadPoolExecutor(4) as writers:
        list(writers.map(save_many, range(4)))
    assert len(read_views(tmp_path)) == 80


@pytest.fixture
def locked_folder() -> Iterator[Path]:
    """A folder in which this process cannot write, also where it is root's."""
    owner = os.geteuid()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        save_view(folder, "one", VIEW)
        (folder / "views.lock").unlink()
        (folder / "views.json").chmod(0o644)
        folder.chmod(0o555)
        if owner == 0:
            os.seteuid(65534)
        try:
            yield folder
        finally:
            os.seteuid(owner)
            folder.chmod(0o755)


def test_a_folder_that_cannot_be_written_is_one_line(locked_folder: Path) -> None:
    with pytest.raises(StoreError, match=r"^.*'.*': permission denied$"):
        save_view(locked_folder, "two", VIEW)
    assert list(read_views(locked_folder)) == ["one"]


def test_a_disk_that_is_full_keeps_what_was_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_view(tmp_path, "one", VIEW)

    def refuse(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(StoreError, match="no space left on device"):
        save_view(tmp_path, "two", VIEW)
    assert list(read_views(tmp_path)) == ["one"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["views.json", "views.lock"]
