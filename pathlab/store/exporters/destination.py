"""Where an export goes: a file or a folder that appears whole, or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pathlab.errors import StoreError, UsageError


@contextlib.contextmanager
def open_file(target: Path) -> Iterator[Path]:
    """Lend a file to be written; it gets the name ``target`` when the block ends without an error.

    Raises UsageError where ``target`` is there already, StoreError when it cannot be written.
    """
    _refuse_existing(target)
    with _translated(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".new")
        os.close(descriptor)
        fresh = Path(name)
        try:
            yield fresh
            fresh.chmod(0o666 & ~_mask())
            with fresh.open("rb") as file:
                os.fsync(file.fileno())
            fresh.rename(target)
        finally:
            fresh.unlink(missing_ok=True)


@contextlib.contextmanager
def open_folder(target: Path) -> Iterator[Path]:
    """Lend a folder to be filled; it gets the name ``target`` when the block ends without an error.

    Raises as ``open_file``.
    """
    _refuse_existing(target)
    with _translated(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=".new"))
        try:
            yield fresh
            fresh.chmod(0o777 & ~_mask())
            fresh.rename(target)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)


def _refuse_existing(target: Path) -> None:
    if target.exists() or target.is_symlink():
        raise UsageError(f"'{target}' is there already", hint="Remove it, or give another name with --out.")


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def _translated(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = "the disk is full" if full else (error.strerror or str(error)).lower()
        raise StoreError(
            f"'{target}' cannot be written: {reason}",
            hint="Nothing was left behind; the results are safe. Free some space or give another --out.",
        ) from error
