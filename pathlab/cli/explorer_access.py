"""How a user gets to the explorer of a server: addresses that open it once, and a key for programs."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

from pathlab.errors import UsageError
from pathlab.serve.access import AccessKeys, write_key_file
from pathlab.serve.server import Listener

#: Before the address that a server prints.
OPEN_ADDRESS = "Open this address (works once; a new one is printed after use):"


class ExplorerAccess:
    """The secrets of a server, and the lines that tell its user how to use them; ``show`` prints a line."""

    def __init__(self, listener: Listener, show: Callable[[str], None]) -> None:
        self._listener = listener
        self._show = show
        self.keys = AccessKeys(lambda _token: self.show_url())

    def show_url(self) -> None:
        """Print the URL that opens the page once."""
        self._show(self._listener.format_access_url(self.keys.token))


@contextlib.contextmanager
def keep_key_file(key: str) -> Iterator[Path]:
    """Lend the file with the key for programs. Raises UsageError where it cannot be written."""
    try:
        with write_key_file(key) as path:
            yield path
    except OSError as error:
        raise UsageError(
            f"the key file cannot be written: {error}", hint="set XDG_RUNTIME_DIR to a folder of this user's"
        ) from error


def describe_key_file(listener: Listener, key_file: Path) -> str:
    """How programs read what the page shows."""
    return f"programs: curl -N -H @{shlex.quote(str(key_file))} {listener.url}events"
