"""A user's cache on a host: where it is, what may be put there, what nobody uses any more goes.

Sent to the host as text before anything of PathLab is on it, so this file imports nothing of PathLab.
Standard library, Python 3.8.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import stat
import tempfile
from typing import Callable, Iterator, List, Mapping, Optional

KEEP_S = 30 * 24 * 3600.0  # files that nobody used for so long are removed
KEEP_UNFINISHED_S = 24 * 3600.0
PREFIXES = ("agent-", "pathlab-engine-", "adapter-")
UNFINISHED = ".new"
DIGEST = ".sha256"  # alongside what was built here: its digest


def list_cache_folders(environment: Mapping[str, str], temporary: Optional[str] = None) -> Iterator[str]:
    """Folders for this user's cache, best first; none need exist. ``temporary`` is the parent of the last."""
    # XDG Base Directory Specification: a relative path is to be ignored.
    home = environment.get("HOME", "")
    for base in (environment.get("XDG_CACHE_HOME", ""), os.path.join(home, ".cache")):
        if os.path.isabs(base):
            yield os.path.join(base, "pathlab")
            break
    for base in (temporary,) if temporary else (tempfile.gettempdir(), "/var/tmp"):
        yield os.path.join(base, "pathlab-%d" % os.getuid())


def prepare_folder(folder: str) -> None:
    """Make sure of a real folder that is ours alone: another user may have made it in a shared place."""
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    state = os.lstat(folder)
    if not stat.S_ISDIR(state.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "is not a folder")
    if state.st_uid != os.getuid():
        raise PermissionError(errno.EPERM, "belongs to another user")
    if stat.S_IMODE(state.st_mode) & 0o022:
        raise PermissionError(errno.EPERM, "others may write to it")


def holds_content(path: str, sha256: str) -> bool:
    """Whether a real file with exactly that content is there. OSError when it cannot be read."""
    digest = hashlib.sha256()
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return False
        with open(path, "rb") as file:
            for part in iter(lambda: file.read(1 << 20), b""):
                digest.update(part)
    except FileNotFoundError:
        return False
    return digest.hexdigest() == sha256


def write_atomically(path: str, data: bytes, mode: int = 0o600) -> None:
    """Put a whole file in its place, or nothing. OSError when the disk does not take it."""
    descriptor, name = tempfile.mkstemp(
        prefix=os.path.basename(path), suffix=UNFINISHED, dir=os.path.dirname(path)
    )
    try:
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def put_file(path: str, sha256: str, mode: int, read: Callable[[], bytes]) -> None:
    """Make sure that the file holds that content; ``read`` gives it if it is missing. OSError: it cannot."""
    if not holds_content(path, sha256):
        write_atomically(path, read(), mode)
        if not holds_content(path, sha256):
            raise OSError(errno.EIO, "what was written reads back differently")


def keep_built(path: str, data: bytes, mode: int) -> None:
    """Put what this host built in its place, with its digest alongside it. OSError where it cannot."""
    write_atomically(path, data, mode)
    write_atomically(path + DIGEST, hashlib.sha256(data).hexdigest().encode("ascii"))


def holds_built(path: str) -> bool:
    """Whether a real file is there that this host built, as it was then; False where nothing says so."""
    try:
        descriptor = os.open(path + DIGEST, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            stored = os.read(descriptor, 128).decode("ascii", "replace").strip()
        finally:
            os.close(descriptor)
        return holds_content(path, stored)
    except OSError:
        return False


def hold_file(path: str) -> Optional[int]:
    """Mark a file as in use, for as long as the descriptor is open; None where the file system cannot."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            os.utime(path)
        except OSError:
            os.close(descriptor)
            return None
    except OSError:
        return None
    return descriptor


def prune_folder(folder: str, now_s: float) -> List[str]:
    """Remove files of this cache that nobody used for 30 days and nobody holds; return their names."""
    removed = []
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(folder)):
            keep_s = KEEP_UNFINISHED_S if name.endswith(UNFINISHED) else KEEP_S
            path = os.path.join(folder, name)
            with contextlib.suppress(OSError):
                if name.endswith(DIGEST) and os.path.exists(path[: -len(DIGEST)]):
                    continue  # it goes with its file, which alone is held
                if not name.startswith(PREFIXES) or now_s - os.lstat(path).st_mtime < keep_s:
                    continue
                descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(path)
                    removed.append(name)
                finally:
                    os.close(descriptor)
    return removed
