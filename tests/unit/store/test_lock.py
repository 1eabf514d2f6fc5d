"""The right to write a results folder, while others look who has it."""

import fcntl
import os
import time
from pathlib import Path

import pytest

from pathlab.errors import StoreError
from pathlab.store.lock import LOCK_NAME, FolderLock, find_writer


@pytest.mark.parametrize("looks", [1, 100])
def test_a_reader_that_looks_who_writes_keeps_no_writer_away(
    looks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FolderLock(tmp_path).release()
    reader = os.open(tmp_path / LOCK_NAME, os.O_RDONLY)
    fcntl.flock(reader, fcntl.LOCK_SH)  # as find_writer does, for as long as a system call takes
    waits: list[float] = []

    def end_look(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == looks:
            fcntl.flock(reader, fcntl.LOCK_UN)

    monkeypatch.setattr(time, "sleep", end_look)
    taken = FolderLock(tmp_path)
    assert len(waits) == looks
    assert find_writer(tmp_path) == os.getpid()
    with pytest.raises(StoreError, match=f"being written by process {os.getpid()}"):
        FolderLock(tmp_path)
    taken.release()
    assert find_writer(tmp_path) is None
    os.close(reader)
