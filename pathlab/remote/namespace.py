"""An agent inside a node of a lab: the same agent as on any host, started where the node's network is.

The lab is known only as a :class:`Spawner`, so this package depends on no lab.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import Protocol

from pathlab.remote.deploy import ensure_agent
from pathlab.remote.engine import find_engine
from pathlab.remote.local import agent_command
from pathlab.remote.process import ProcessChannel, open_pipes
from pathlab.remote.transport import Transport


class SpawnedProcess(Protocol):
    """A process inside a lab."""

    pid: int

    def poll(self) -> int | None:
        """Its exit status, None while it runs."""

    def wait(self, timeout_s: float) -> int | None:
        """Wait for its end; None when the time is over first."""

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal; no error when it is gone."""


class Spawner(Protocol):
    """What starts processes inside nodes."""

    def spawn(self, node: str | None, argv: Sequence[str], stdio: tuple[int, int, int]) -> SpawnedProcess:
        """Start a process inside a node on three descriptors."""


class NamespaceChild:
    """A process of a lab as a channel sees it."""

    def __init__(self, process: SpawnedProcess) -> None:
        self._process = process
        self.pid = process.pid

    def poll(self) -> int | None:
        """Its exit status, None while it runs."""
        return self._process.poll()

    def wait(self, timeout_s: float) -> int | None:
        """Wait for its end; None when the time is over first."""
        return self._process.wait(timeout_s)

    def kill(self) -> None:
        """Kill it; what it started dies with it or with the lab."""
        self._process.send_signal(signal.SIGKILL)


class NamespaceTransport(Transport):
    """An agent inside node ``node`` of a lab on this machine."""

    def __init__(self, spawner: Spawner, node: str) -> None:
        self._spawner, self._node = spawner, node

    def open(self) -> ProcessChannel:
        """Start an agent in the node. HostError names the stage."""
        command = agent_command(ensure_agent(host=self._node), find_engine())
        with open_pipes() as (pipes, theirs):
            return ProcessChannel(NamespaceChild(self._spawner.spawn(self._node, command, theirs)), pipes)

    def close(self) -> None:
        """Nothing is held between channels; the lab belongs to whoever made it."""

    def describe(self) -> str:
        """A few words for messages."""
        return f"node {self._node} of the lab"
