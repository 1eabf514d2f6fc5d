"""Folders in the cache that last as long as the process that makes them, at most until the next is made."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from typing import Iterator

_PREFIX = "adapter-run-"


@contextlib.contextmanager
def scratch_folder(cache: str) -> Iterator[str]:
    """A new folder, removed afterwards; those of processes that were killed are removed first. OSError."""
    making = os.open(cache, os.O_RDONLY)
    try:
        fcntl.flock(making, fcntl.LOCK_EX)  # or another process would remove it before it is locked
        _remove_abandoned(cache)
        folder = tempfile.mkdtemp(prefix=_PREFIX, dir=cache)
        lock = os.open(folder, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
    finally:
        os.close(making)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _remove_abandoned(cache: str) -> None:
    """Remove the folders whose lock nobody holds."""
    for name in os.listdir(cache):
        if name.startswith(_PREFIX):
            path = os.path.join(cache, name)
            with contextlib.suppress(OSError):
                descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(path, ignore_errors=True)
                finally:
                    os.close(descriptor)
