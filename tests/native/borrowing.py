"""An engine's sockets, to read their settings from the kernel directly."""

import contextlib
import ctypes
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from tests.native.engine import Engine, Record
from tests.require import require

PIDFD_GETFD = 438  # the number of the system call, the same on every architecture
EXPEDITED, EXPEDITED_CLASS = 46, 184  # DSCP EF, and the octet that holds it (RFC 3246): 46 << 2


def _borrow(owner: int, descriptor: int) -> int:
    """A duplicate of another process's descriptor; -1 where it is gone, a skip without permission."""
    libc = ctypes.CDLL(None, use_errno=True)
    own: int = libc.syscall(PIDFD_GETFD, owner, descriptor, 0)
    if own < 0:
        cause = ctypes.get_errno()
        require(cause not in (1, 38), f"pidfd_getfd(2): {os.strerror(cause)}")  # EPERM, ENOSYS
    return own


@contextlib.contextmanager
def borrow_stream(engine: Engine, stated: Record) -> Iterator[socket.socket]:
    """The engine's socket of a stream, to read its settings from the kernel directly."""
    owner = os.pidfd_open(engine.process.pid)
    wanted = (stated["local_port"], stated["remote_port"])
    try:
        for link in Path(f"/proc/{engine.process.pid}/fd").iterdir():
            if not str(link.readlink()).startswith("socket:"):
                continue
            with socket.socket(fileno=_borrow(owner, int(link.name))) as candidate:
                try:
                    ports = (candidate.getsockname()[1], candidate.getpeername()[1])
                except OSError:  # the listening socket has no peer
                    continue
                if ports == wanted:
                    yield candidate
                    return
        raise AssertionError(f"no socket between the ports {wanted} in process {engine.process.pid}")
    finally:
        os.close(owner)
