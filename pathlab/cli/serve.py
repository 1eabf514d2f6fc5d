"""``pathlab serve [RESULTS…|FOLDER]``: show stored results in a browser."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from pathlab.errors import UsageError
from pathlab.escaping import escape_line
from pathlab.serve.access import AccessKeys, write_key_file
from pathlab.serve.app import build_app
from pathlab.serve.library import ResultsLibrary
from pathlab.serve.server import ExplorerServer, Listener, bind_listener
from pathlab.serve.service import ExplorerService
from pathlab.store.location import RESULTS_ROOT

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


def serve(places: tuple[Path, ...], *, port: int | None, bind: str) -> None:
    """Serve the explorer until Ctrl-C, SIGTERM or SIGHUP. Raises UsageError where nothing can listen."""
    library = ResultsLibrary.find(places or (RESULTS_ROOT,))
    service = ExplorerService(library=library)
    debug = bool(click.get_current_context().find_root().params.get("debug"))
    with contextlib.ExitStack() as kept:
        listener = kept.enter_context(contextlib.closing(bind_listener(bind, port or 0)))
        access = ExplorerAccess(listener, print_line)
        app = build_app(service, access.keys, listener.address, debug=debug)
        server = ExplorerServer(app, service, listener)
        key_file = kept.enter_context(keep_key_file(access.keys.key))
        _print_note(f"Serving {_describe(library)} until Ctrl-C.")
        if not listener.is_private:
            _print_note(f"Warning: {listener.url} is open to other machines, and nothing is encrypted.")
        _print_note(OPEN_ADDRESS)
        access.show_url()
        _print_note(describe_key_file(listener, key_file))
        threading.Thread(target=library.open_given, name="opening", daemon=True).start()
        ending = threading.Lock()
        asyncio.run(server.run_until_signalled(lambda: _leave(kept, ending)))
        ending.acquire()  # it ends as usual, however long that takes


def _leave(kept: contextlib.ExitStack, ending: threading.Lock) -> None:
    """End the process though results are still being read; nothing is being written."""
    ending.acquire()
    kept.close()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(0)


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


def print_line(text: str) -> None:
    """Print a line on stdout; the server goes on where nobody reads it."""
    with contextlib.suppress(SystemExit):
        click.echo(text)


def _print_note(text: str) -> None:
    with contextlib.suppress(SystemExit):
        click.echo(escape_line(text), err=True)


def _describe(library: ResultsLibrary) -> str:
    names = [str(path) for path in library.catalogue.given]
    if library.catalogue.folder is not None:
        names.append(f"the results below {library.catalogue.folder}")
    return ", ".join(names)
