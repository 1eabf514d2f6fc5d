"""The hosts of a run: SSH connections, one each, transports, addresses and ports."""

from __future__ import annotations

import contextlib
import functools
import ipaddress
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from pathlab.errors import HostError, Stage
from pathlab.host_names import LOOPBACK, name_address
from pathlab.remote.bootstrap import Delivery
from pathlab.remote.ssh import SshTransport
from pathlab.remote.ssh_config import HostAccess, SshFiles, SshSettings, is_numeric, read_settings
from pathlab.remote.ssh_connection import SshConnection, SshConnections, SshOptions
from pathlab.remote.terminal import ask_on_terminal

MEASURE_HINT = "set `measure_addresses` to the address for the traffic"


class RemoteHost(HostAccess, Protocol):
    """What a campaign's table of a host says besides how to reach it."""

    transport: Literal["ssh", "local"]
    measure_addresses: tuple[str, ...]  # that traffic uses, best first
    port_range: str | None  # for data
    cpus: tuple[int, ...]  # that carry the traffic
    numa_node: int | None

    @property
    def agent_arguments(self) -> tuple[str, ...]:
        """What its agent is started with: the host's caps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteAccess:
    """How this user gets to hosts: OpenSSH's files, secrets, and whether new host keys are accepted."""

    files: SshFiles = field(default_factory=SshFiles.of_user)
    options: SshOptions = field(default_factory=SshOptions)


def build_access(*, accept_new_host_keys: bool = False) -> RemoteAccess:
    """The access of whoever runs this program."""
    return RemoteAccess(
        options=SshOptions(secrets=ask_on_terminal(), accept_new_host_keys=accept_new_host_keys)
    )


class RemoteHosts:
    """Hosts by name; those reached over SSH are ``in`` it, others are this machine.

    ``against``: another build of the engine, which every host gets too. Methods may be called from any
    thread; connections are opened on first use.
    """

    def __init__(
        self, hosts: Mapping[str, RemoteHost], access: RemoteAccess, *, against: Path | None = None
    ) -> None:
        self._declared = dict(hosts)
        self._hosts = {name: host for name, host in hosts.items() if host.transport == "ssh"}
        self._access, self._against = access, against
        self._connections = SshConnections(access.options)
        self._settings: dict[str, SshSettings] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._hosts

    def settings(self, name: str) -> SshSettings:
        """How a host is reached. HostError (stage connect) when that cannot be made out."""
        if name not in self._settings:
            known: dict[str, HostAccess] = dict(self._hosts)
            self._settings[name] = read_settings(name, self._hosts[name], self._access.files, known)
        return self._settings[name]

    def connection(self, name: str) -> SshConnection:
        return self._connections.get(self.settings(name))

    def transport(self, name: str, *, with_engine: bool = True) -> SshTransport:
        """A transport over a host's one connection. Without an engine the agent can only probe paths."""
        host = self._hosts[name]
        delivery = Delivery(
            python=host.python,
            cores=host.cpus,
            numa_node=host.numa_node,
            arguments=host.agent_arguments,
            with_engine=with_engine,
            against=self._against if with_engine else None,
        )
        return SshTransport(self.connection(name), delivery=delivery)

    def addresses(self, name: str) -> tuple[str, ...]:
        """Numeric addresses of a host for traffic, best first: those it names, else that SSH connects to.

        This machine has none but those that its table names. HostError (stage connect) when none can be made
        out from here.
        """
        host = self._declared.get(name)
        if name not in self or (host is not None and host.measure_addresses):
            return host.measure_addresses if host is not None else ()
        settings = self.settings(name)
        peer = self.connection(name).peer_address
        if peer is not None:
            return (peer,)
        if is_numeric(settings.address):
            return (settings.address,)
        return self._resolve(name, settings.address)

    def _resolve(self, name: str, address: str) -> tuple[str, ...]:
        try:
            result = socket.getaddrinfo(address, None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            text = f"the address of '{address}' is not known here, since it is reached through another host"
            raise HostError(text, host=name, stage=Stage.CONNECT, hint=MEASURE_HINT) from error
        return tuple(dict.fromkeys(name_address(item[4]) for item in result))

    def pair_addresses(self, source: str, destination: str) -> tuple[str, str]:
        """As :func:`pair_addresses`, of two hosts by their names."""
        return pair_addresses(source, destination, (self.addresses(source), self.addresses(destination)))

    def ports(self, name: str) -> str:
        """What a host may listen on, as the engine's ``--port`` takes it."""
        host = self._declared.get(name)
        return (host.port_range if host is not None else None) or "0"

    def close(self) -> None:
        self._connections.close()


def choose_addresses(sources: tuple[str, ...], destinations: tuple[str, ...]) -> tuple[str, str] | None:
    """The first address of each that are of one family; None where there is no such pair."""
    for destination in destinations:
        for source in sources:
            if _family(source) == _family(destination):
                return source, destination
    return None


def pair_addresses(
    source: str, destination: str, known: tuple[tuple[str, ...], tuple[str, ...]]
) -> tuple[str, str]:
    """Addresses of both ends for traffic between them, of one family.

    ``known`` are the addresses of each, none for this machine: then those that face the other end, and
    loopback where both are this machine. HostError (stage connect) when no two go together.
    """
    ends = list(known)
    if not any(ends):
        return LOOPBACK, LOOPBACK
    for end, other in ((0, 1), (1, 0)):
        ends[end] = ends[end] or find_own_addresses(ends[other])
    chosen = choose_addresses(ends[0], ends[1])
    if chosen is None:
        text = f"{source} and {destination} have no addresses of the same family"
        if not all(ends):
            text = f"this machine has no route to {' or '.join(ends[0] or ends[1])}"
        raise HostError(text, host=source, stage=Stage.CONNECT, hint=MEASURE_HINT)
    return chosen


def find_own_addresses(peers: tuple[str, ...]) -> tuple[str, ...]:
    """The addresses of this machine from which packets to ``peers`` would leave, in their order."""
    result = []
    for peer in peers:
        family = socket.AF_INET6 if _family(peer) == 6 else socket.AF_INET
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            # With the zone of a link-local one. It sends nothing: the kernel only chooses a route.
            probe.connect(socket.getaddrinfo(peer, 9, family, socket.SOCK_DGRAM)[0][4])
            result.append(name_address(probe.getsockname()))
    return tuple(dict.fromkeys(result))


@functools.cache
def own_boot_id() -> str | None:
    """The number of this machine's boot: what distinguishes machines, containers on one being alike."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip() or None
    except OSError:
        return None


def _family(address: str) -> int:
    return ipaddress.ip_address(address.partition("%")[0]).version
