"""Ways into the lab's hosts, closed at the end of a test."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from pathlab.campaign.host_model import Host
from pathlab.remote.bootstrap import Delivery
from pathlab.remote.hosts import RemoteAccess, RemoteHosts
from pathlab.remote.session import Session
from pathlab.remote.ssh import SshTransport
from pathlab.remote.ssh_auth import Secrets
from pathlab.remote.ssh_config import SshFiles, SshSettings, read_settings
from pathlab.remote.ssh_connection import SshConnection, SshConnections, SshOptions
from tests.ssh.lab import PORT, SshLab


class Reach:
    """Connections, sessions and runs against one lab."""

    def __init__(self, lab: SshLab) -> None:
        self.lab = lab
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Reach:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def host(self, name: str = "a", **keys: Any) -> Host:
        """The table of a lab's host; the account is ``sh`` unless it says another one."""
        given = {"address": self.lab.address(name), "user": "sh", "port": PORT, "key": str(self.lab.key)}
        table = {**given, **keys}
        return Host.model_validate({key: value for key, value in table.items() if value is not None})

    def files(self, config: str = "", known_hosts: str | None = None) -> SshFiles:
        """A user's folder like ~/.ssh; the system has none."""
        folder = self.lab.write_user_folder(config, known_hosts)
        return SshFiles(user_folder=folder, system_folder=folder / "none")

    def settings(self, name: str = "a", files: SshFiles | None = None, **keys: Any) -> SshSettings:
        """Settings of a host of the lab."""
        return read_settings(name, self.host(name, **keys), files or self.files())

    def connection(
        self,
        settings: SshSettings | None = None,
        *,
        accept: bool = False,
        ask: Callable[[str], str] | None = None,
    ) -> SshConnection:
        """A connection, closed with the test."""
        options = SshOptions(secrets=Secrets(ask), accept_new_host_keys=accept, dial=self.lab.dial)
        connections = SshConnections(options)
        self._stack.callback(connections.close)
        return connections.get(settings or self.settings())

    def session(self, connection: SshConnection | None = None, **delivery: Any) -> Session:
        """An open session over a connection, closed with the test."""
        used = connection or self.connection()
        session = Session(SshTransport(used, delivery=Delivery(**delivery)), host=used.settings.host)
        self._stack.callback(session.close)
        session.open()
        return session

    def access(self, files: SshFiles | None = None) -> RemoteAccess:
        """How a run gets to the lab's hosts."""
        return RemoteAccess(files=files or self.files(), options=SshOptions(dial=self.lab.dial))

    def hosts(self, tables: dict[str, Host]) -> RemoteHosts:
        """Hosts by name, closed with the test."""
        hosts = RemoteHosts(tables, self.access())
        self._stack.callback(hosts.close)
        return hosts
