"""One campaign at a time on a host: two at once would measure each other.

The lock is a file in this user's runtime folder, held by flock(2), so that it ends with the process. It holds
between the campaigns of one controller; the hosts of a lab are the campaign's own and need none.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from pathlab.errors import HostError


class HostLock:
    """The right to measure on some hosts. Use as a context manager."""

    def __init__(self, hosts: Iterable[str], *, owner: str, folder: Path) -> None:
        self._hosts = sorted(set(hosts))  # the same order everywhere, so that two cannot wait in a circle
        self._owner = owner
        self._folder = folder
        self._descriptors: list[int] = []

    def __enter__(self) -> Self:
        """Take every lock or none. Raises HostError naming the owner of the first that is taken."""
        try:
            for host in self._hosts:
                self._descriptors.append(self._take(host))
        except BaseException:
            self.release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def release(self) -> None:
        """Give all back; the files stay, since removing one would let two hold different files of a name."""
        while self._descriptors:
            os.close(self._descriptors.pop())

    def _take(self, host: str) -> int:
        path = self._folder / f"host-{host}.lock"
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            text = f"cannot make the lock '{path}': {error.strerror or error}"
            hint = "set XDG_RUNTIME_DIR to a folder that this user may write"
            raise HostError(text, host=host, stage="lock", hint=hint) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = "another process"
            with contextlib.suppress(OSError):
                owner = os.pread(descriptor, 300, 0).decode("utf-8", "replace").strip() or owner
            os.close(descriptor)
            raise HostError(
                f"is being measured by {owner}",
                host=host,
                stage="lock",
                hint="wait until that is done, or end it: two campaigns at once would measure each other",
            ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{self._owner} (process {os.getpid()})\n".encode(), 0)
        return descriptor
