"""Saved views: nothing is lost by two writers, a full or read-only folder, or a file of somebody else."""

import json
from pathlib import Path

import pytest

from pathlab.errors import StoreError, UsageError
from pathlab.store.saved_views import VIEWS_MAX, VIEWS_NAME, find_view, save_view
from tests.golden.conftest import Say, catch

VIEW = "x=streams&y=throughput_bits_per_s"


def test_an_unknown_name_is_answered_with_the_nearest_or_all(say: Say, tmp_path: Path) -> None:
    say(catch(UsageError, find_view, [tmp_path], "knee"))
    save_view(tmp_path, "knee of delay", VIEW)
    for name in ("knee of dely", "\x1b[31mloss"):
        say(catch(UsageError, find_view, [tmp_path], name))


@pytest.mark.parametrize("view", ["x" * 8_001, "x=\x1b", "x=\ud800"])
def test_a_text_that_no_link_could_hold_is_refused(say: Say, tmp_path: Path, view: str) -> None:
    say(catch(UsageError, save_view, tmp_path, "long", view))


def test_the_number_of_views_is_bounded(say: Say, tmp_path: Path) -> None:
    held = {f"{number}": {"view": VIEW, "saved_utc": "2026-01-01T00:00:00Z"} for number in range(VIEWS_MAX)}
    (tmp_path / VIEWS_NAME).write_text(json.dumps({"format": 1, "views": held}), encoding="utf-8")
    say(catch(UsageError, save_view, tmp_path, "another", VIEW))
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
def test_a_file_of_another_kind_is_named_and_kept(say: Say, tmp_path: Path, content: bytes) -> None:
    (tmp_path / VIEWS_NAME).write_bytes(content)
    say(catch(StoreError, save_view, tmp_path, "a", VIEW))
    assert (tmp_path / VIEWS_NAME).read_bytes() == content
