"""Show stored results in a browser."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from pathlib import Path

import click

from pathlab.cli.declaration import argument, declare, option
from pathlab.cli.deferred import DeferredImports
from pathlab.cli.values import PATH
from pathlab.errors import StoreError
from pathlab.escaping import escape_line
from pathlab.host_names import LOOPBACK
from pathlab.store.location import RESULTS_ROOT, locate_database

with DeferredImports() as libraries:
    import asyncio

    from pathlab.cli.explorer_access import OPEN_ADDRESS, ExplorerAccess, describe_key_file, keep_key_file
    from pathlab.serve.app import build_app
    from pathlab.serve.library import ResultsLibrary
    from pathlab.serve.server import ExplorerServer, bind_listener
    from pathlab.serve.service import ExplorerService


def serve(places: tuple[Path, ...], *, port: int | None, bind: str) -> None:
    """Show RESULTS, or all results below a FOLDER, in a browser: filter, plot, compare, watch runs.

    Prints an address that opens the page once, and a new one after each use. Without an argument it is the
    folder `results`. Ctrl-C ends the server, with exit status 0.
    """
    places = places or (RESULTS_ROOT,)
    for place in places:
        if not place.is_dir():
            locate_database(place)
        elif not os.access(place, os.R_OK | os.X_OK):
            raise StoreError(
                f"folder '{place}' cannot be read: permission denied", hint="check folder, owner and mode"
            )
    libraries.load()
    library = ResultsLibrary.find(places)
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


def print_line(text: str) -> None:
    """Print a line on stdout; the server goes on where the output is closed."""
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


command = declare(
    "serve",
    serve,
    argument("places", nargs=-1, type=PATH, metavar="[RESULTS...|FOLDER]"),
    option("--port", type=click.IntRange(1, 65535), help="Port to listen on. [default: a free one]"),
    option(
        "--bind",
        default=LOOPBACK,
        metavar="ADDRESS",
        help="Address to listen on; others than this machine's own let other machines connect, unencrypted.",
    ),
)
