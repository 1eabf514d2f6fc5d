"""A report's file, written as a whole or not at all, and the error where it cannot be."""

from __future__ import annotations

import contextlib
from pathlib import Path

from pathlab.errors import StoreError, UsageError
from pathlab.files import make_folder, open_for_reading, replace_file
from pathlab.store.location import HEADER


def write_whole(out: Path, content: bytes) -> Path:
    """Write a file, its folder made where it is missing, and return its path.

    What is made is for this user alone; a file that is there keeps its mode.

    Raises StoreError naming the file where it cannot be written, UsageError where it is a results file; an
    existing file is kept then.
    """
    _check_not_results(out)
    try:
        make_folder(out.parent)
        replace_file(out, content)
    except OSError as error:
        raise StoreError(
            f"'{out}' cannot be written: {error.strerror}",
            hint="the results are safe; free some space or give another file",
        ) from error
    return out


def _check_not_results(out: Path) -> None:
    """A mistyped name must not overwrite a campaign."""
    with contextlib.suppress(OSError), open_for_reading(out) as file:
        if file.read(len(HEADER)) == HEADER:
            raise UsageError(f"'{out}' is a results file, which no report replaces", hint="give another file")
