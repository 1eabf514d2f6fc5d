"""The explorer's server: where it listens, and how it runs until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import uvicorn
from starlette.types import ASGIApp

from pathlab.errors import UsageError
from pathlab.host_names import LOOPBACK, find_address_fault
from pathlab.runner.campaign.interruption import NUMBERS
from pathlab.serve.connections import IDLE_S, BoundedProtocol
from pathlab.serve.guard import ServerAddress
from pathlab.serve.service import ExplorerService

#: Request line and headers together; a view in an address has a few hundred bytes.
HEAD_BYTES_MAX = 32 * 1024
#: Answers under way when the server ends may take this long.
CLOSING_S = 2
#: A thread that reads results cannot be ended; the process ends without it after this.
OVERDUE_S = 4
_BACKLOG = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """A bound socket and the names by which it is addressed."""

    socket: socket.socket
    host: str  # as written in a URL
    address: ServerAddress
    is_private: bool  # reached from this machine alone

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{self.host}:{self.address.port}/"

    def format_access_url(self, token: str) -> str:
        """The URL that opens the page once."""
        return f"{self.url}?token={token}"

    def close(self) -> None:
        """Give the port back."""
        self.socket.close()


def bind_listener(address: str = LOOPBACK, port: int = 0) -> Listener:
    """Bind to an address or name of this machine; port 0: a free one. Raises UsageError."""
    fault = find_address_fault(address) if ":" in address else None
    if fault is not None:
        raise UsageError(
            f"--bind: '{address}' is not an address: {fault}", hint="give an address of this machine"
        )
    try:
        family, _, _, _, place = socket.getaddrinfo(
            address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"--bind: '{address}' is not an address: {reason.lower()}", hint="give an address of this machine"
        ) from error
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise _describe_bind_error(address, port, error) from error
    numeric, bound = listening.getsockname()[:2]
    return _name_listener(listening, address, ipaddress.ip_address(numeric.partition("%")[0]), bound)


def _name_listener(
    listening: socket.socket,
    given: str,
    numeric: ipaddress.IPv4Address | ipaddress.IPv6Address,
    port: int,
) -> Listener:
    names = {_bracket(given.lower()), _bracket(str(numeric))}
    host = _bracket(str(numeric))
    if numeric.is_loopback:
        names.add("localhost")
    if numeric.is_unspecified:  # every address of this machine; the one connected to is added by the guard
        host = socket.gethostname().lower()
        names = {"localhost", host}
    return Listener(
        socket=listening,
        host=host,
        address=ServerAddress(names=frozenset(names), port=port),
        is_private=numeric.is_loopback,
    )


def _bracket(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _describe_bind_error(address: str, port: int, error: OSError) -> UsageError:
    if error.errno == errno.EADDRINUSE:
        return UsageError(
            f"port {port} of {address} is in use",
            hint="give another --port; without it a free one is taken",
        )
    if error.errno == errno.EACCES:
        return UsageError(
            f"port {port} of {address} cannot be used: permission denied",
            hint="give a --port above 1023",
        )
    if error.errno == errno.EADDRNOTAVAIL:
        return UsageError(
            f"--bind: this machine does not have the address {address}",
            hint="see `ip address` for those it has",
        )
    reason = (error.strerror or str(error)).lower()
    return UsageError(
        f"cannot listen on port {port} of {address}: {reason}", hint="give another --bind or --port"
    )


class ExplorerServer(uvicorn.Server):
    """A server that ends at ``stop``, from any thread, and whose streams end with it."""

    def __init__(self, app: ASGIApp, service: ExplorerService, listener: Listener) -> None:
        logging.getLogger("uvicorn.error").disabled = True  # it tells what clients sent
        super().__init__(
            uvicorn.Config(
                app,
                http=BoundedProtocol,
                ws="none",
                loop="asyncio",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_keep_alive=IDLE_S,
                timeout_graceful_shutdown=CLOSING_S,
                h11_max_incomplete_event_size=HEAD_BYTES_MAX,
            )
        )
        self._service = service
        self._listener = listener
        self._running: asyncio.AbstractEventLoop | None = None
        self._is_stopped = threading.Event()
        self._leave: Callable[[], None] | None = None

    async def run_until_stopped(self) -> None:
        """Answer requests until ``stop`` is called."""
        self._running = asyncio.get_running_loop()
        if self._is_stopped.is_set():
            self._end()
        await self.serve(sockets=[self._listener.socket])

    async def run_until_signalled(self, leave: Callable[[], None]) -> None:
        """Answer requests until Ctrl-C, SIGTERM or SIGHUP; a second one does not wait for answers.

        ``leave`` is called in a thread of its own where answers still take too long: it ends the process.
        """
        self._leave = leave
        loop = asyncio.get_running_loop()
        watched = [number for number in NUMBERS if signal.getsignal(number) != signal.SIG_IGN]
        for number in watched:
            loop.add_signal_handler(number, self.stop)
        try:
            await self.run_until_stopped()
        finally:
            for number in watched:
                loop.remove_signal_handler(number)

    def stop(self) -> None:
        """End it soon; called twice, at once. From any thread, also before it runs."""
        self._is_stopped.set()
        if self._running is not None:
            with contextlib.suppress(RuntimeError):  # it has ended
                self._running.call_soon_threadsafe(self._end)

    @contextlib.contextmanager
    def run_in_thread(self, *, niceness: int = 0) -> Iterator[None]:
        """Answer requests in a thread of its own while this block runs.

        ``niceness`` is that of this thread and of those that read results for it.
        """

        def run() -> None:
            if niceness:
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)
            asyncio.run(self.run_until_stopped())

        thread = threading.Thread(target=run, name="explorer")
        thread.start()
        try:
            yield
        finally:
            self.stop()
            thread.join()

    def _end(self) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True
        self._service.stopping.set()
        if self._leave is not None:
            overdue = threading.Timer(0 if self.force_exit else OVERDUE_S, self._leave)
            overdue.daemon = True
            overdue.start()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to ``run_until_signalled``."""
        yield
