"""An agent on this machine, as a child process of the controller."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from pathlab.errors import HostError, Stage
from pathlab.remote.deploy import ensure_agent
from pathlab.remote.engine import find_engine
from pathlab.remote.process import ProcessChannel, open_pipes
from pathlab.remote.transport import Transport


class LocalChild:
    """A child process in a session of its own.

    So Ctrl-C on the terminal reaches only the controller, which then ends its trial in order.
    """

    def __init__(self, command: Sequence[str], stdio: tuple[int, int, int]) -> None:
        stdin, stdout, stderr = stdio
        self._process = subprocess.Popen(
            list(command), stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True
        )
        self.pid = self._process.pid

    def poll(self) -> int | None:
        return self._process.poll()

    def wait(self, timeout_s: float) -> int | None:
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)


def agent_command(
    agent: Path,
    engine: Path | None,
    *,
    against: Path | None = None,
    python: str = sys.executable,
    arguments: Sequence[str] = (),
) -> list[str]:
    """The command that runs the agent zip; without an engine it can only report facts and count."""
    engines = (("--engine", engine), ("--against", against))
    words = [word for name, path in engines if path for word in (name, str(path))]
    return [python, "-I", str(agent), *words, *arguments]


class LocalTransport(Transport):
    """An agent on this machine. Without ``engine`` the built engine is looked for (HostError when absent).

    Not so without ``with_engine``: that agent can only probe paths. ``against`` is another build of the
    engine. ``arguments`` are the agent's own, such as caps.
    """

    def __init__(
        self,
        *,
        host: str = "local",
        engine: Path | None = None,
        against: Path | None = None,
        agent: Path | None = None,
        arguments: Sequence[str] = (),
        with_engine: bool = True,
    ) -> None:
        self._host, self._engine, self._agent = host, engine, agent
        self._against = against
        self._arguments, self._with_engine = tuple(arguments), with_engine

    def open(self) -> ProcessChannel:
        engine = (self._engine or find_engine()) if self._with_engine else None
        agent = self._agent or ensure_agent(host=self._host)
        command = agent_command(agent, engine, against=self._against, arguments=self._arguments)
        return start_process(command, host=self._host)


def start_process(command: Sequence[str], *, host: str) -> ProcessChannel:
    """Start a process that becomes an agent. HostError (stage agent) names what cannot be started."""
    try:
        with open_pipes() as (pipes, theirs):
            return ProcessChannel(LocalChild(command, theirs), pipes)
    except OSError as error:
        raise HostError(
            f"cannot start {command[0]}: {error.strerror or error}",
            host=host,
            stage=Stage.AGENT,
            hint="check that the program exists and that this user may start processes",
        ) from error
