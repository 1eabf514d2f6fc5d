"""Views of results that were saved by name: ``views.json`` in the results folder.

    {"format": 1, "views": {"NAME": {"view": "x=streams&y=...", "saved_utc": "2026-01-02T03:04:05Z"}}}

The text of a view is that of the explorer's links. Every change reads the file anew under a lock and replaces
it as a whole, so that two writers lose nothing of each other, and a reader never sees half a file.
"""

from __future__ import annotations

import contextlib
import difflib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from pathlab.errors import StoreError, UsageError
from pathlab.escaping import escape_controls, escape_line
from pathlab.files import has_no_locks, open_for_reading, replace_file
from pathlab.store.lock import describe_missing_locks, open_lock

VIEWS_NAME, LOCK_NAME = "views.json", "views.lock"
FORMAT = 1
NAME_LETTERS_MAX, VIEW_LETTERS_MAX, VIEWS_MAX = 80, 8_000, 500
FILE_BYTES_MAX = 16 * 1024 * 1024
#: What tells the text of a view from a name.
_NO_NAME = "=&"


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedView:
    """The text of a view, and when it was saved."""

    view: str
    saved_utc: str


class ViewChanged(UsageError):  # noqa: N818 -- an outcome that the caller resolves
    """A view of this name was saved, changed or removed by somebody else meanwhile."""


def read_views(folder: Path) -> dict[str, SavedView]:
    """The saved views of a results folder by name, in the order of their names; none without a file.

    Raises StoreError: the file cannot be read, or is not one of PathLab's.
    """
    path = folder / VIEWS_NAME
    try:
        with open_for_reading(path) as file:
            content = file.read(FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StoreError(
            f"saved views '{path}' cannot be read: {_reason(error)}", hint="check its owner and mode"
        ) from error
    try:
        return _decode(content)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise StoreError(
            f"'{path}' holds no saved views of this version",
            hint="move it away; the results themselves are safe",
        ) from error


def save_view(folder: Path, name: str, view: str, *, replaces: str | None = None) -> SavedView:
    """Save a view by name; ``replaces`` is the text of the view of that name that it takes the place of.

    Raises UsageError for a name or a text that cannot be saved, ViewChanged where ``replaces`` is not what is
    saved, and StoreError where the folder cannot be written. What was saved before is kept then.
    """
    check_name(name)
    if len(view) > VIEW_LETTERS_MAX or escape_controls(view) != view:
        raise UsageError(f"a view has {VIEW_LETTERS_MAX} characters at most, and no control characters")
    with _changing(folder) as views:
        _check_unchanged(views, name, replaces)
        if len(views) >= VIEWS_MAX and name not in views:
            raise UsageError(
                f"'{folder / VIEWS_NAME}' holds {VIEWS_MAX} views already", hint="remove one that is not used"
            )
        if replaces != view:
            views[name] = SavedView(view=view, saved_utc=_now())
        return views[name]


def remove_view(folder: Path, name: str, *, view: str) -> None:
    """Remove the view of this name whose text is ``view``. Raises as ``save_view``."""
    with _changing(folder) as views:
        _check_unchanged(views, name, view)
        del views[name]


def find_view(folders: Sequence[Path], text: str) -> str:
    """The text of a view: as given, or that of the saved view with this name in the first folder that has it.

    Raises UsageError for a name that none has, StoreError as ``read_views``.
    """
    if not text or any(letter in text for letter in _NO_NAME):
        return text
    known: dict[str, SavedView] = {}
    for folder in folders:
        known = {**read_views(folder), **known}
    if text in known:
        return known[text].view
    near = difflib.get_close_matches(text, known, 1)
    if near:
        hint = f"did you mean '{escape_line(near[0])}'?"
    elif known:
        hint = f"saved: {', '.join(escape_line(name) for name in list(known)[:10])}"
    else:
        hint = "none is saved here; give the text of a view, such as 'x=streams&y=throughput_bits_per_s'"
    raise UsageError(f"no view is saved as '{escape_line(text)}'", hint=hint)


def check_name(name: str) -> None:
    """Raises UsageError for a name that cannot be saved, or that would be read as the text of a view."""
    fault = None
    if not name.strip():
        fault = "is empty"
    elif name != name.strip() or escape_line(name) != name or "\t" in name:
        fault = "begins or ends with a space, or has a character that cannot be seen"
    elif len(name) > NAME_LETTERS_MAX:
        fault = f"is longer than {NAME_LETTERS_MAX} characters"
    elif any(letter in name for letter in _NO_NAME):
        fault = "has '=' or '&', as the text of a view does"
    if fault:
        shown = escape_line(name[:NAME_LETTERS_MAX])
        raise UsageError(f"the name '{shown}' of the view {fault}", hint="choose another name")


def _check_unchanged(views: Mapping[str, SavedView], name: str, expected: str | None) -> None:
    saved = views[name].view if name in views else None
    if saved == expected:
        return
    shown = escape_line(name)
    if saved is None:
        raise ViewChanged(f"the view '{shown}' was removed meanwhile", hint="save it under this name again")
    what = "exists already" if expected is None else "was changed meanwhile"
    raise ViewChanged(f"the view '{shown}' {what}", hint="look at it, then replace it or choose another name")


@contextlib.contextmanager
def _changing(folder: Path) -> Iterator[dict[str, SavedView]]:
    """The saved views, to be changed by this process alone; written when nothing was raised."""
    path = folder / VIEWS_NAME
    try:
        descriptor = open_lock(folder / LOCK_NAME)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            views = read_views(folder)
            before = dict(views)
            yield views
            if views != before:
                replace_file(path, _encode(views))
        finally:
            os.close(descriptor)
    except OSError as error:
        if has_no_locks(error):
            raise describe_missing_locks(folder) from error
        raise StoreError(
            f"the view cannot be saved in '{folder}': {_reason(error)}",
            hint="what was saved before is kept; copy the link of the view, or free or unlock the folder",
        ) from error


def _encode(views: Mapping[str, SavedView]) -> bytes:
    held = {name: asdict(views[name]) for name in sorted(views)}
    text = json.dumps({"format": FORMAT, "views": held}, indent=1, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "surrogatepass")


def _decode(content: bytes) -> dict[str, SavedView]:
    """The views of a file. Raises ValueError, TypeError, KeyError or AttributeError for another file."""
    if len(content) > FILE_BYTES_MAX:
        raise ValueError(len(content))
    document = json.loads(content)
    if document["format"] != FORMAT:
        raise ValueError(document["format"])
    views = {
        str(name): SavedView(view=item["view"], saved_utc=item["saved_utc"])
        for name, item in sorted(document["views"].items())
    }
    if any(not isinstance(text, str) for view in views.values() for text in (view.view, view.saved_utc)):
        raise TypeError
    return views


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
