"""One writer per results folder, or per results file of another name."""

from __future__ import annotations

import fcntl
import os
import re
import time
from pathlib import Path

from pathlab import files
from pathlab.errors import StoreError, UsageError
from pathlab.store.location import DATABASE_NAME

LOCK_NAME = "results.lock"
_TRIES, _TRY_S = 5, 0.01
#: One who looks may be held up while it does.
_LOOK_MAX_S = 30.0
_HOLDER = re.compile(rb"[0-9]{0,20}\n?")


def name_lock(database: Path) -> str:
    """The name of the lock file next to a results file: ``results.lock`` of ``results.db``."""
    return database.with_suffix(".lock").name


class FolderLock:
    """The right to write one results folder; the kernel gives it back when its holder dies.

    The lock file stays behind: removing it would let two writers lock two different files of that name.
    """

    def __init__(self, folder: Path, name: str = LOCK_NAME, *, wait_s: float = 0.0) -> None:
        """Take the lock, or raise StoreError naming the process that holds it.

        ``name`` is that of the lock file. Another writer is waited for up to ``wait_s``. StoreError also for
        a file of that name that is not a lock, which stays as it is, and for a file system without locks.
        OSError passes.
        """
        self._wait_s = wait_s
        self._descriptor = open_lock(folder / name)
        try:
            self._take()
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"{os.getpid()}\n".encode("ascii"), 0)
        except BlockingIOError as error:
            holder = os.pread(self._descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(self._descriptor)
            what = f"folder '{folder}'" if name == LOCK_NAME else f"file of '{folder / name}'"
            raise StoreError(
                f"results {what} is being written by process {holder}",
                hint="wait until that process is done, or give another folder",
            ) from error
        except OSError as error:
            os.close(self._descriptor)
            if files.has_no_locks(error):
                raise describe_missing_locks(folder) from error
            raise

    def _take(self) -> None:
        """Try for a moment, and longer while nobody but ``find_writer`` of a reader has the lock."""
        now_s = time.monotonic()
        limit_s, wait_until_s = now_s + _LOOK_MAX_S, now_s + self._wait_s
        tries = 0
        while True:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                tries += 1
                now_s = time.monotonic()
                is_over = tries >= _TRIES and now_s >= wait_until_s
                if is_over and (now_s > limit_s or not self._is_only_read()):
                    raise
                time.sleep(_TRY_S)
            else:
                return

    def _is_only_read(self) -> bool:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        return True

    def release(self) -> None:
        """Give the lock back; a second call does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def open_lock(path: Path) -> int:
    """A descriptor of a lock file, made if it is missing.

    Raises StoreError where something else has the name: a folder of somebody else may lead anywhere.
    """
    try:
        descriptor = files.open_in_place(path)
    except OSError as error:
        if error.filename is not None:  # of the system, not of what was found there
            raise
        raise _describe_foreign_lock(path, str(error.strerror)) from error
    if _HOLDER.fullmatch(os.pread(descriptor, 64, 0)) is None:
        os.close(descriptor)
        raise _describe_foreign_lock(path, "it holds something else than the number of a process")
    return descriptor


def _describe_foreign_lock(path: Path, reason: str) -> StoreError:
    return StoreError(
        f"'{path}' is not a lock of PathLab: {reason}",
        hint="look who made it, and remove it; or use a folder of your own",
    )


def describe_missing_locks(folder: Path) -> StoreError:
    """The error where two programs could write the same results without noticing each other."""
    return StoreError(
        f"the file system of '{folder}' has no file locks, which keep a second writer away",
        hint="use a folder on a local disk, or mount the file system with locks",
    )


def find_writer(folder: Path, name: str = LOCK_NAME) -> int | None:
    """The number of the process that writes a results folder, None when nobody does.

    The lock is only tried, and left as it was.
    """
    try:
        descriptor = os.open(folder / name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
        return int(holder) if holder.isdecimal() else None
    except OSError:
        return None  # a file system without locks
    finally:
        os.close(descriptor)
    return None


def find_run(results: Path) -> tuple[Path, int]:
    """The results folder and the process of the run that writes it. Raises UsageError where none runs."""
    folder = results.parent if results.name == DATABASE_NAME else results
    writer = find_writer(folder)
    if writer is None:
        raise UsageError(f"nothing runs in '{folder}'", hint="name the results folder of a run in progress")
    return folder, writer
