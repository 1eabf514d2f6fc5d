"""One SSH connection to one host, through jumps and proxies; kept, and made anew after a loss."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import paramiko

from pathlab.errors import HostError, Stage
from pathlab.host_names import name_address
from pathlab.remote.host_keys import (
    KnownKey,
    add_host_key,
    check_host_key,
    describe_unknown_key,
    find_known_keys,
    order_key_types,
)
from pathlab.remote.ssh_auth import Secrets, authenticate
from pathlab.remote.ssh_config import SshSettings

CONNECT_TIMEOUT_S = 10.0
HANDSHAKE_TIMEOUT_S = 15.0
KEEPALIVE_S = 15
LOST_AFTER_MS = 10_000  # TCP_USER_TIMEOUT: how long bytes may stay unacknowledged
BACK_OFF_S = (0.2, 0.5, 1.0, 2.0, 4.0)  # waits before each try to come back after a loss

# Errors become one line of ours; without a handler paramiko's tracebacks would go to stderr as well.
logging.getLogger("paramiko").addHandler(logging.NullHandler())

Dial = Callable[[str, int, float], socket.socket]


def dial_directly(address: str, port: int, timeout_s: float) -> socket.socket:
    return socket.create_connection((address, port), timeout=timeout_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class SshOptions:
    """What all connections of a run share. ``dial`` makes the TCP connection to a first hop."""

    secrets: Secrets = field(default_factory=Secrets)
    accept_new_host_keys: bool = False
    dial: Dial = dial_directly


class SshConnection:
    """The connection to a host, opened on first use. Methods may be called from any thread.

    ``via`` is the connection to the last host to jump through, where there is one.
    """

    def __init__(self, settings: SshSettings, options: SshOptions, via: SshConnection | None = None) -> None:
        self.settings = settings
        self._options = options
        self._via = via
        self._lock = threading.Lock()
        self._open: paramiko.Transport | None = None
        self._was_open = False
        self._closing = threading.Event()

    @property
    def peer_address(self) -> str | None:
        """The numeric address at the other end of the TCP connection; None behind a jump or a proxy."""
        with self._lock:
            if self._open is None or self._via is not None or self.settings.proxy_command:
                return None
            with contextlib.suppress(OSError):
                return name_address(self._open.getpeername())
            return None

    def open_channel(self) -> paramiko.Channel:
        """A new channel on the connection, which is made first if need be. HostError names the stage."""
        transport = self._transport(patient=True)
        try:
            return transport.open_session(timeout=CONNECT_TIMEOUT_S)
        except (paramiko.SSHException, EOFError, OSError) as error:
            raise self._refusal(
                f"the server refuses another channel: {_format_reason(error)}",
                "check MaxSessions of its sshd",
            ) from error

    def open_tunnel(self, address: str, port: int) -> paramiko.Channel:
        """A TCP connection that the host makes. HostError for the host itself, OSError for the far end."""
        transport = self._transport(patient=False)
        source = ("127.0.0.1", 0)
        try:
            return transport.open_channel("direct-tcpip", (address, port), source, timeout=CONNECT_TIMEOUT_S)
        except paramiko.ChannelException as error:
            raise ConnectionRefusedError(f"{self.settings.host} says: {_format_reason(error)}") from error
        except (paramiko.SSHException, EOFError, OSError) as error:
            self.abandon()  # it does not answer: the next try makes it anew
            raise ConnectionError(f"{self.settings.host} does not answer") from error

    def is_active(self) -> bool:
        with self._lock:
            return self._is_active()

    def abandon(self) -> None:
        """Close what is thought to be lost, so that the next use makes it anew."""
        with self._lock:
            self._drop()

    def close(self) -> None:
        """Close the connection, and end a try to come back. Idempotent."""
        self._closing.set()
        self.abandon()

    def _is_active(self) -> bool:
        return (
            self._open is not None and self._open.is_active() and (self._via is None or self._via.is_active())
        )

    def _transport(self, *, patient: bool) -> paramiko.Transport:
        with self._lock:
            if self._open is not None and self._is_active():
                return self._open
            waits = BACK_OFF_S if self._was_open and patient else ()
            for wait_s in (*waits, None):
                self._drop()
                try:
                    self._open = self._connect()
                    self._was_open = True
                    return self._open
                except HostError as error:
                    # Only what may pass by itself is tried again.
                    if wait_s is None or error.stage != Stage.CONNECT or self._closing.wait(wait_s):
                        raise
            raise AssertionError("the last try returns or raises")

    def _drop(self) -> None:
        if self._open is not None:
            self._open.close()
        self._open = None

    def _connect(self) -> paramiko.Transport:
        via = ""
        if self._via is not None:
            via = f" through {self._via.settings.host}"
        elif self.settings.proxy_command:
            via = f" by ProxyCommand '{self.settings.proxy_command}'"
        known = self._find_known()
        transport = self._start_client(self._dial(via), via, known)
        try:
            self._check_host_key(transport)
            authenticate(transport, self.settings, self._options.secrets)
        except BaseException:
            transport.close()
            raise
        transport.set_keepalive(KEEPALIVE_S)
        return transport

    def _dial(self, via: str) -> Any:
        step = self.settings
        place = f"{step.address} port {step.port}{via}"
        try:
            if self._via is not None:
                return self._via.open_tunnel(step.address, step.port)
            if step.proxy_command:
                return paramiko.ProxyCommand(step.proxy_command)
            opened = self._options.dial(_choose_address(step), step.port, CONNECT_TIMEOUT_S)
            with contextlib.suppress(OSError):
                opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, LOST_AFTER_MS)
                opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return opened
        except (socket.gaierror, UnicodeError) as error:
            # HostName of ~/.ssh/config may be what cannot be encoded for DNS at all.
            raise self._refusal(
                f"the name {step.address} is not known ({_format_reason(error)})",
                "correct `address`, or HostName in ~/.ssh/config",
            ) from error
        except TimeoutError as error:
            raise self._refusal(
                f"no answer from {place} within {CONNECT_TIMEOUT_S:g} s",
                "check whether the host is up and its firewall lets SSH in",
            ) from error
        except (OSError, paramiko.SSHException) as error:
            raise self._refusal(
                f"cannot connect to {place}: {_format_reason(error)}", "check whether its SSH server runs"
            ) from error

    def _find_known(self) -> list[KnownKey]:
        try:
            return find_known_keys(self.settings.known_name, self.settings.known_hosts)
        except OSError as error:
            text = f"{error.filename} cannot be read: {_format_reason(error)}"
            raise self._refusal(text, "check its owner and permissions", Stage.HOST_KEY) from error

    def _start_client(self, opened: Any, via: str, known: list[KnownKey]) -> paramiko.Transport:
        step, transport = self.settings, None
        try:
            transport = paramiko.Transport(opened)
            transport.daemon = True
            transport.banner_timeout = HANDSHAKE_TIMEOUT_S
            transport.auth_timeout = HANDSHAKE_TIMEOUT_S
            security = transport.get_security_options()
            security.key_types = order_key_types(security.key_types, known)
            transport.start_client(timeout=HANDSHAKE_TIMEOUT_S)
        except (paramiko.SSHException, EOFError, OSError) as error:
            if transport is not None:
                transport.close()
            else:
                opened.close()
            raise self._refusal(
                f"{step.address} port {step.port}{via} does not speak SSH: {_format_reason(error)}",
                "check what listens there, and the log of its sshd",
            ) from error
        return transport

    def _check_host_key(self, transport: paramiko.Transport) -> None:
        step, key = self.settings, transport.get_remote_server_key()
        name = step.known_name
        if check_host_key(step.host, name, key, self._find_known()):
            return
        if not self._options.accept_new_host_keys:
            raise describe_unknown_key(step.host, name, key, step.known_hosts)
        try:
            add_host_key(step.known_hosts[0], name, key, hashed=step.hash_known_hosts)
        except (OSError, IndexError) as error:
            text = f"the new key of {name} cannot be kept: {_format_reason(error)}"
            hint = "check the permissions of ~/.ssh/known_hosts"
            raise self._refusal(text, hint, Stage.HOST_KEY) from error

    def _refusal(self, text: str, hint: str, stage: Stage = Stage.CONNECT) -> HostError:
        return HostError(text, host=self.settings.host, stage=stage, hint=hint)


class SshConnections:
    """The connections of one run: one a host, however many sessions use it or hosts lie behind it."""

    def __init__(self, options: SshOptions) -> None:
        self._options = options
        self._connections: dict[tuple[str, ...], SshConnection] = {}
        self._lock = threading.Lock()

    def get(self, settings: SshSettings) -> SshConnection:
        """The connection of a host; not opened here."""
        with self._lock:
            return self._get(settings)

    def _get(self, settings: SshSettings) -> SshConnection:
        key = (settings.host, settings.login, *(jump.login for jump in settings.jumps))
        if key not in self._connections:
            via = None
            if settings.jumps:
                via = self._get(replace(settings.jumps[-1], jumps=settings.jumps[:-1]))
            self._connections[key] = SshConnection(settings, self._options, via)
        return self._connections[key]

    def close(self) -> None:
        """Close all of them, those behind others first. Idempotent."""
        with self._lock:
            connections = list(self._connections.values())
            self._connections.clear()
        for connection in reversed(connections):
            connection.close()


def _choose_address(step: SshSettings) -> str:
    """What to dial: the name itself, or its first address of the family that AddressFamily allows."""
    if step.family is None:
        return step.address
    result = socket.getaddrinfo(step.address, step.port, family=step.family, type=socket.SOCK_STREAM)
    return name_address(result[0][4])


def _format_reason(error: BaseException) -> str:
    """An error in a few words, on one line."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split())[:300]
