"""Who may use the explorer's server: one-time tokens, sessions, and a key for programs.

Nothing here is ever logged or put on a command line. Secrets are compared in constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

TOKEN_BYTES = 32
KEY_FILE_NAME = "authorization"
_PREFIX = "pathlab-serve-"


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


class AccessKeys:
    """The secrets of one server: the one-time token that is valid now, open sessions, the key for programs.

    A session lasts until the server ends. Used from several threads.
    """

    def __init__(self, announce: Callable[[str], None] = lambda _token: None) -> None:
        """``announce`` is called with each fresh one-time token, but not with the first."""
        self.key = secrets.token_urlsafe(TOKEN_BYTES)
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self._announce = announce
        self._sessions: set[bytes] = set()  # their digests
        self._lock = threading.Lock()

    def redeem(self, token: str) -> str | None:
        """Open a session for the valid one-time token, which is replaced by a fresh one; None: not valid."""
        with self._lock:
            if not hmac.compare_digest(_digest(token), _digest(self.token)):
                return None
            session = secrets.token_urlsafe(TOKEN_BYTES)
            self._sessions.add(_digest(session))
            self.token = fresh = secrets.token_urlsafe(TOKEN_BYTES)
        self._announce(fresh)
        return session

    def knows_session(self, session: str) -> bool:
        """Whether this is the secret of an open session."""
        given = _digest(session)
        with self._lock:
            digests = [hmac.compare_digest(given, known) for known in self._sessions]
        return any(digests)

    def is_key(self, key: str) -> bool:
        """Whether this is the key for programs."""
        return hmac.compare_digest(_digest(key), _digest(self.key))


@contextmanager
def write_key_file(key: str) -> Iterator[Path]:
    """Lend a file with the key as a header line for ``curl -H @FILE``; only this user can read it.

    It lies in a folder of its own below $XDG_RUNTIME_DIR, else below the folder of temporary files, and goes
    with the server. Raises OSError.
    """
    base = os.environ.get("XDG_RUNTIME_DIR")
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base if base and Path(base).is_dir() else None))
    try:
        path = folder / KEY_FILE_NAME
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.write(descriptor, f"Authorization: Bearer {key}\n".encode("ascii"))
        os.close(descriptor)
        yield path
    finally:
        shutil.rmtree(folder, ignore_errors=True)
