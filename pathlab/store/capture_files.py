"""Captures next to a results file: ``captures/trial-N-sender.pcapng``, ``captures/trial-N-receiver.pcapng``.

A file is put in its place whole, within the transaction that stores its trial; the trial's columns have its
length and SHA-256.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import sqlalchemy as sa

from pathlab.files import FILE_MODE, make_folder, open_folder, open_for_reading
from pathlab.store.schema import TRIAL

FOLDER = "captures"
ENDS = ("sender", "receiver")
_COLUMNS = ("packets", "dropped_packets", "bytes", "sha256")
_UNFINISHED = ".part"
_NAME = re.compile(r"trial-(\d+)-(sender|receiver)\.pcapng")
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCapture:
    """A capture that a trial has by its columns; the file itself may have been deleted since."""

    trial_id: int
    end: str
    path: Path
    packets: int | None
    dropped_packets: int | None
    size_bytes: int | None
    sha256: str


def locate_capture(folder: Path, trial_id: int, end: str) -> Path:
    """The file of a trial's ``sender`` or ``receiver`` in a results folder, whether it is there or not."""
    return folder / FOLDER / f"trial-{trial_id}-{end}.pcapng"


def open_nameless_file(folder: Path) -> IO[bytes]:
    """A file on the disk of a results folder that vanishes unless it is placed. OSError passes."""
    make_folder(folder / FOLDER)
    with _opened(folder) as place:
        inside = f"/proc/self/fd/{place}"
        try:
            return os.fdopen(os.open(inside, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, FILE_MODE), "w+b")
        except OSError:  # a file system without such files
            return tempfile.TemporaryFile(dir=inside)


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int]:
    """The folder of captures, by a descriptor: never through a link. OSError passes."""
    descriptor = open_folder(folder / FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def place_captures(folder: Path, trial_id: int, files: Mapping[str, IO[bytes]]) -> list[str]:
    """Give a trial's files, by end, their names; one line for each that could not be kept."""
    failures = []
    for end, file in files.items():
        path = locate_capture(folder, trial_id, end)
        try:
            with _opened(folder) as place:
                _place(file, path.name, place)
        except OSError as error:
            failures.append(f"the capture '{path}' could not be kept: {error.strerror or error}")
    return failures


def _place(file: IO[bytes], name: str, index: int) -> None:
    file.flush()
    os.fsync(file.fileno())
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=index)  # of a trial that was never stored: the process was killed
    try:
        os.link(f"/proc/self/fd/{file.fileno()}", name, dst_dir_fd=index, follow_symlinks=True)
    except OSError:
        file.seek(0)
        _copy(file, name, index)


def _copy(file: IO[bytes], name: str, index: int) -> None:
    """Put a copy of an open file in its place whole, or what is left of it is removed later."""
    unfinished = name + _UNFINISHED
    with contextlib.suppress(FileNotFoundError):
        os.unlink(unfinished, dir_fd=index)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(os.open(unfinished, flags, FILE_MODE, dir_fd=index), "wb") as copy:
        shutil.copyfileobj(file, copy, _PIECE_BYTES)
        copy.flush()
        os.fsync(copy.fileno())
    os.replace(unfinished, name, src_dir_fd=index, dst_dir_fd=index)


def remove_unfinished(folder: Path) -> None:
    """Remove what a killed process left half copied; the caller holds the folder's lock."""
    with contextlib.suppress(OSError), _opened(folder) as place:
        for name in os.listdir(place):  # noqa: PTH208 -- of a descriptor
            if name.endswith(_UNFINISHED):
                os.unlink(name, dir_fd=place)


def remove_captures(folder: Path, trial_id: int) -> int:
    """Delete a trial's files and return the bytes that this gives back. OSError passes."""
    freed = 0
    with contextlib.suppress(FileNotFoundError), _opened(folder) as place:
        for end in ENDS:
            name = locate_capture(folder, trial_id, end).name
            with contextlib.suppress(FileNotFoundError):
                size = os.lstat(name, dir_fd=place).st_size
                os.unlink(name, dir_fd=place)
                freed += size
    return freed


def copy_captures(source: Path, trial_id: int, target: Path, number: int) -> None:
    """Copy a trial's files into another results folder, under its number there. OSError passes."""
    for end in ENDS:
        path = locate_capture(source, trial_id, end)
        if path.is_file():
            make_folder(target / FOLDER)
            with open_for_reading(path) as file, _opened(target) as place:
                _copy(file, locate_capture(target, number, end).name, place)


def read_captures(
    connection: sa.Connection, folder: Path, numbers: range | None = None
) -> Iterator[StoredCapture]:
    """The captures of all trials, or of some, by their columns, in the order of the trials."""
    names = [f"capture_{end}_{name}" for end in ENDS for name in _COLUMNS]
    query = sa.select(TRIAL.c.trial_id, *(TRIAL.c[name] for name in names)).order_by(TRIAL.c.trial_id)
    query = query.where(sa.or_(*(TRIAL.c[f"capture_{end}_sha256"].is_not(None) for end in ENDS)))
    if numbers is not None:
        query = query.where(TRIAL.c.trial_id.between(numbers.start, numbers.stop - 1))
    for row in connection.execute(query).mappings():
        for end in ENDS:
            if row[f"capture_{end}_sha256"] is not None:
                yield _read_capture(row, folder, end)


def _read_capture(row: Mapping[Any, Any], folder: Path, end: str) -> StoredCapture:
    number = int(row["trial_id"])
    return StoredCapture(
        trial_id=number,
        end=end,
        path=locate_capture(folder, number, end),
        packets=row[f"capture_{end}_packets"],
        dropped_packets=row[f"capture_{end}_dropped_packets"],
        size_bytes=row[f"capture_{end}_bytes"],
        sha256=str(row[f"capture_{end}_sha256"]),
    )


def check_captures(connection: sa.Connection, folder: Path) -> Iterator[tuple[str, bool]]:
    """What is unlike what was stored, one line each, and whether it is damage.

    A changed file is. A deleted one is not, nor one that belongs to no trial: no figure of a trial depends on
    its captures, which a user may delete, or leave behind when the results file is copied.
    """
    known = set()
    for capture in read_captures(connection, folder):
        known.add(capture.path.name)
        subject = f"capture of the {capture.end} of trial {capture.trial_id}"
        try:
            fault = _find_fault(capture)
        except FileNotFoundError:
            yield f"{subject}: '{capture.path}' was deleted", False
            continue
        if fault is not None:
            yield f"{subject}: {fault}", True
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        for path in sorted((folder / FOLDER).iterdir()):
            if path.name not in known:
                what = "belongs to no trial" if _NAME.fullmatch(path.name) else "is not a capture of PathLab"
                yield f"'{path}' {what}", False


def _find_fault(capture: StoredCapture) -> str | None:
    """Why a capture cannot be used; None: it is as it was stored. Raises FileNotFoundError."""
    digest, size = hashlib.sha256(), 0
    try:
        with open_for_reading(capture.path) as file:
            while piece := file.read(_PIECE_BYTES):
                digest.update(piece)
                size += len(piece)
    except FileNotFoundError:
        raise
    except OSError as error:
        return f"'{capture.path}' cannot be read: {(error.strerror or str(error)).lower()}"
    if capture.size_bytes is not None and size != capture.size_bytes:
        return f"'{capture.path}' has {size} bytes where {capture.size_bytes} were stored"
    if digest.hexdigest() != capture.sha256:
        return f"'{capture.path}' does not have the digest that was stored with its trial"
    return None
