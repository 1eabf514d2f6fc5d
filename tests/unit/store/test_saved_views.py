"""Saved views: nothing is lost by two writers, a full or read-only folder, or a file of somebody else."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import pathlab
from pathlab.errors import StoreError, UsageError
from pathlab.store.saved_views import (
    VIEWS_NAME,
    ViewChanged,
    find_view,
    read_views,
    remove_view,
    save_view,
)

VIEW = "x=streams&y=throughput_bits_per_s"


def test_a_saved_view_is_read_by_its_name(tmp_path: Path) -> None:
    assert read_views(tmp_path) == {}
    saved = save_view(tmp_path, "Streams, 東京 <b>", VIEW)
    save_view(tmp_path, "default", "")
    assert list(read_views(tmp_path)) == ["Streams, 東京 <b>", "default"]
    assert read_views(tmp_path)["Streams, 東京 <b>"] == saved
    assert json.loads((tmp_path / VIEWS_NAME).read_bytes())["views"]["default"]["view"] == ""
    assert find_view([tmp_path], "Streams, 東京 <b>") == VIEW
    assert sorted(path.name for path in tmp_path.iterdir()) == ["views.json", "views.lock"]


def test_the_text_of_a_view_needs_no_saved_one(tmp_path: Path) -> None:
    assert find_view([tmp_path], VIEW) == VIEW
    assert find_view([tmp_path], "") == ""


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
    with pytest.raises(ViewChanged, match="'one' exists already"):
        save_view(tmp_path, "one", "x=b")
    save_view(tmp_path, "one", "x=b", replaces="x=a")
    with pytest.raises(ViewChanged, match="'one' was changed meanwhile"):
        save_view(tmp_path, "one", "x=c", replaces="x=a")
    with pytest.raises(ViewChanged, match="changed meanwhile"):
        remove_view(tmp_path, "one", view="x=a")
    assert read_views(tmp_path)["one"].view == "x=b"
    remove_view(tmp_path, "one", view="x=b")
    with pytest.raises(ViewChanged, match="was removed meanwhile"):
        save_view(tmp_path, "one", "x=c", replaces="x=b")
    assert read_views(tmp_path) == {}


SAVE_MANY = """
import sys
from pathlib import Path
from pathlab.store.saved_views import save_view
print("ready", flush=True)
sys.stdin.read()
for number in range(20):
    save_view(Path(sys.argv[1]), f"{sys.argv[2]} {number}", sys.argv[3])
"""


def test_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    with contextlib.ExitStack() as stack:
        writers = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", SAVE_MANY, str(tmp_path), str(writer), VIEW],
                    stdin=pipe,
                    stdout=pipe,
                    cwd=Path(pathlab.__file__).parents[1],
                )
            )
            for writer in range(4)
        ]
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.close()
    assert [writer.returncode for writer in writers] == [0] * 4
    assert len(read_views(tmp_path)) == 80


@pytest.fixture
def locked_folder() -> Iterator[Path]:
    """A folder in which this process cannot write, also where it is root's."""
    owner = os.geteuid()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        save_view(folder, "one", VIEW)
        (folder / "views.lock").unlink()
        folder.chmod(0o555)
        if owner == 0:
            os.seteuid(65534)
        try:
            yield folder
        finally:
            os.seteuid(owner)
            folder.chmod(0o755)


def test_a_folder_that_cannot_be_written_is_one_line(locked_folder: Path) -> None:
    with pytest.raises(StoreError, match=r"the view cannot be saved in '.*': permission denied") as caught:
        save_view(locked_folder, "two", VIEW)
    assert "\n" not in f"{caught.value} {caught.value.hint}"
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
