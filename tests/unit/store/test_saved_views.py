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
    VIEWS_MAX,
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


def test_an_unknown_name_is_answered_with_the_nearest_or_all(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no view is saved as 'knee'") as caught:
        find_view([tmp_path], "knee")
    assert caught.value.hint is not None
    assert "none is saved here" in caught.value.hint
    save_view(tmp_path, "knee of delay", VIEW)
    with pytest.raises(UsageError) as caught:
        find_view([tmp_path], "knee of dely")
    assert caught.value.hint == "did you mean 'knee of delay'?"
    with pytest.raises(UsageError) as caught:
        find_view([tmp_path], "\x1b[31mloss")
    assert str(caught.value) == "no view is saved as '\\u001b[31mloss'"
    assert caught.value.hint == "saved: knee of delay"


@pytest.mark.parametrize(
    "name", ["", " ", " a", "a=b", "a&b", "a\nb", "a\x00", "\u202ea", "x" * 81, "\ud800"]
)
def test_a_name_that_no_command_could_give_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="the name"):
        save_view(tmp_path, name, VIEW)
    assert read_views(tmp_path) == {}


@pytest.mark.parametrize("view", ["x" * 8_001, "x=\x1b", "x=\ud800"])
def test_a_text_that_no_link_could_hold_is_refused(tmp_path: Path, view: str) -> None:
    with pytest.raises(UsageError, match="a view has 8000 characters at most"):
        save_view(tmp_path, "long", view)


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


def test_the_number_of_views_is_bounded(tmp_path: Path) -> None:
    held = {f"{number}": {"view": VIEW, "saved_utc": "2026-01-01T00:00:00Z"} for number in range(VIEWS_MAX)}
    (tmp_path / VIEWS_NAME).write_text(json.dumps({"format": 1, "views": held}), encoding="utf-8")
    with pytest.raises(UsageError, match="holds 500 views already"):
        save_view(tmp_path, "another", VIEW)
    assert save_view(tmp_path, "7", "x=a", replaces=VIEW).view == "x=a"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"format": 2, "views": {}}',
        b'{"format": 1, "views": []}',
        b'{"format": 1, "views": {"a": "x=b"}}',
        b'{"format": 1, "views": {"a": {"view": 1, "saved_utc": ""}}}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_a_file_of_another_kind_is_named_and_kept(tmp_path: Path, content: bytes) -> None:
    (tmp_path / VIEWS_NAME).write_bytes(content)
    with pytest.raises(StoreError, match=r"views\.json' holds no saved views of this version"):
        save_view(tmp_path, "a", VIEW)
    assert (tmp_path / VIEWS_NAME).read_bytes() == content


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
