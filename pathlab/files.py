"""Files and folders that PathLab makes and opens where somebody else may have prepared the place.

What is made belongs to its user alone: folders have mode 0700, files 0600. A file that is opened for writing
is never reached through a link, and nothing waits for the other end of a pipe.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

FILE_MODE, FOLDER_MODE = 0o600, 0o700
_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a symbolic link",
}
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)


def open_for_reading(path: Path) -> BinaryIO:
    """Open a file; OSError also for a FIFO, a socket or a device, and then without a wait."""
    _check_regular(path.stat())
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        _check_regular(os.fstat(descriptor))
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def open_in_place(path: Path) -> int:
    """A descriptor that reads and writes a file as it is; made empty, for its user alone, if it is missing.

    OSError for a link, for anything that is no regular file, and for a file that has other names as well.
    """
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    with contextlib.suppress(FileNotFoundError):
        _check_regular(path.lstat())
    descriptor = os.open(path, flags | os.O_CREAT, FILE_MODE)
    try:
        status = os.fstat(descriptor)
        _check_regular(status)
        if status.st_nlink > 1:
            raise OSError(errno.EINVAL, "it has other names as well, so it may be a file of another program")
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def open_folder(path: Path) -> int:
    """A descriptor of a folder for what is opened, linked and removed in it. OSError, also for a link."""
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise _describe_wrong_kind(status, "a folder")
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def make_folder(path: Path) -> None:
    """Make a folder, and those above it that are missing, for its user alone. OSError where it cannot be."""
    try:
        path.mkdir(mode=FOLDER_MODE)
    except FileNotFoundError:
        make_folder(path.parent)
        path.mkdir(mode=FOLDER_MODE, exist_ok=True)
    except FileExistsError:
        if not path.is_dir():
            raise


def replace_file(path: Path, content: bytes) -> None:
    """Write a file as a whole or not at all: first under another name, then renamed.

    A link of that name is replaced and not followed; a file of this user keeps its mode. OSError where it
    cannot be written, also where a FIFO, a socket or a device has the name.
    """
    mode = FILE_MODE
    with contextlib.suppress(FileNotFoundError):
        _check_regular(path.stat())
        status = path.lstat()
        if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
            mode = stat.S_IMODE(status.st_mode) & 0o777
    unfinished = path.with_name(f".{path.name}.{os.urandom(6).hex()}.new")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise


def make_private(path: Path) -> None:
    """Take the rights of others to a file, or to a folder and all that is in it. OSError passes."""
    for folder, _folders, names in os.walk(path):
        Path(folder).chmod(FOLDER_MODE)
        for name in names:
            (Path(folder) / name).chmod(FILE_MODE)
    if not path.is_dir():
        path.chmod(FILE_MODE)


def has_no_locks(error: OSError) -> bool:
    """Whether an error of a lock says that the file system has none."""
    return error.errno in _NO_LOCKS


def _check_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise _describe_wrong_kind(status, "a file")


def _describe_wrong_kind(status: os.stat_result, wanted: str) -> OSError:
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), "a file")
    return OSError(errno.EINVAL, f"it is {kind}, not {wanted}")
