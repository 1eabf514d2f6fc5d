"""A report's file, written as a whole or not at all: first under another name, then renamed."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from pathlab.errors import StoreError, UsageError
from pathlab.store.location import HEADER


def write_whole(out: Path, content: bytes) -> Path:
    """Write a file, its folder made where it is missing, and return its path.

    Raises StoreError naming the file where it cannot be written, UsageError where it is a results file; an
    existing file is kept then.
    """
    _refuse_results(out)
    temporary: str | None = None
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.", suffix=".new")
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
        Path(temporary).replace(out)
    except OSError as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink(missing_ok=True)
        raise StoreError(
            f"'{out}' cannot be written: {error.strerror}",
            hint="the results are safe; free some space or give another file",
        ) from error
    return out


def _refuse_results(out: Path) -> None:
    """A mistyped name must not overwrite a campaign."""
    with contextlib.suppress(OSError), out.open("rb") as file:
        if file.read(len(HEADER)) == HEADER:
            raise UsageError(f"'{out}' is a results file, which no report replaces", hint="give another file")
