"""The explorer alongside a run: ``pathlab run --serve``."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import click
from rich.console import Console

from pathlab.cli.explorer_access import OPEN_ADDRESS, ExplorerAccess, describe_key_file, keep_key_file
from pathlab.host_names import LOOPBACK
from pathlab.runner.campaign.interruption import Interrupted
from pathlab.runner.events import CampaignStarted, Event
from pathlab.serve.app import build_app
from pathlab.serve.broadcast import Broadcaster
from pathlab.serve.event_hub import EventHub
from pathlab.serve.library import ResultsLibrary
from pathlab.serve.server import ExplorerServer, bind_listener
from pathlab.serve.service import ExplorerService

#: The server's threads yield to the run and to what it measures on this machine.
NICENESS = 10


def choose_printer(console: Console | None) -> Callable[[str], None]:
    """What prints a line above the live view; on stderr where stdout is for other lines."""

    def show(text: str) -> None:
        with contextlib.suppress(SystemExit, OSError):  # nobody reads it: the run goes on
            if console is None or console.quiet:
                click.echo(text, err=True)
            else:
                console.print(text, soft_wrap=True)

    return show


class RunExplorer:
    """Serves the results of a run from the moment that its plan is stored. Call it with each event.

    A context manager: the port is taken at once, and given back at the end. ``show`` prints a line.
    """

    def __init__(self, folder: Path, port: int | None, show: Callable[[str], None]) -> None:
        """Raises UsageError where the port cannot be taken or the key file not written."""
        self._opened = contextlib.ExitStack()
        self._listener = bind_listener(LOOPBACK, port or 0)
        self._opened.callback(self._listener.close)
        self._access = ExplorerAccess(self._listener, show)
        try:
            self._key_file = self._opened.enter_context(keep_key_file(self._access.keys.key))
        except BaseException:
            self._opened.close()
            raise
        self._show = show
        self._broadcaster = Broadcaster()
        service = ExplorerService(library=ResultsLibrary([folder]), events=EventHub(self._broadcaster))
        app = build_app(service, self._access.keys, self._listener.address)
        self._server = ExplorerServer(app, service, self._listener)
        self._is_serving = False

    def __call__(self, event: Event) -> None:
        """Never waits for a browser; called from several threads."""
        self._broadcaster(event)
        if isinstance(event, CampaignStarted):
            self._is_serving = True
            self._opened.enter_context(self._server.run_in_thread(niceness=NICENESS))
            self._show(OPEN_ADDRESS)
            self._access.show_url()
            self._show(describe_key_file(self._listener, self._key_file))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._opened.close()

    def outlast_run(self) -> None:
        """On a terminal go on until Ctrl-C, SIGTERM or SIGHUP; elsewhere nobody would end it."""
        if self._is_serving and sys.stdout.isatty():
            self._show("Run finished. The page stays up until Ctrl-C.")
            with contextlib.suppress(KeyboardInterrupt, Interrupted):
                threading.Event().wait()
