"""An agent inside a node of a lab: the same agent as on any host, started where the node's network is.

The lab is known only as a :class:`Spawner`, so this package depends on no lab.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from pathlab.remote.deploy import ensure_agent
from pathlab.remote.engine import find_engine
from pathlab.remote.local import agent_command
from pathlab.remote.process import Child, ProcessChannel, open_pipes
from pathlab.remote.transport import Transport


class Spawner(Protocol):
    """What starts processes inside nodes."""

    def spawn(self, node: str | None, argv: Sequence[str], stdio: tuple[int, int, int]) -> Child:
        """Start a process inside a node on three descriptors."""


class NamespaceTransport(Transport):
    """An agent inside node ``node`` of a lab on this machine; ``against``: another build of the engine."""

    def __init__(self, spawner: Spawner, node: str, *, against: Path | None = None) -> None:
        self._spawner, self._node, self._against = spawner, node, against

    def open(self) -> ProcessChannel:
        command = agent_command(ensure_agent(host=self._node), find_engine(), against=self._against)
        with open_pipes() as (pipes, theirs):
            return ProcessChannel(self._spawner.spawn(self._node, command, theirs), pipes)
