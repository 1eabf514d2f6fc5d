"""How a session reaches its agent: a transport opens channels, a channel carries bytes both ways."""

from __future__ import annotations

from abc import ABC, abstractmethod


class LostError(OSError):
    """The medium itself is gone, not only what ran at its other end."""


class Channel(ABC):
    """A byte stream to and from one running agent.

    ``write`` and ``read`` may be called from different threads. Failures of the medium are OSError.
    """

    @abstractmethod
    def write(self, data: bytes) -> None:
        """Write all of ``data``. OSError when the agent is gone or takes nothing for a long time.

        LostError, here and from ``read``, when the connection below is gone.
        """

    @abstractmethod
    def read(self, max_bytes: int) -> bytes:
        """Wait for bytes and return at most ``max_bytes``; ``b""`` at the end or once closed."""

    @abstractmethod
    def close(self) -> None:
        """End the agent's input, wait for the agent for a bounded time, then take it down. Idempotent."""

    def abandon(self) -> None:
        """Give up a channel whose other end is silent, without waiting for it."""
        self.close()

    @abstractmethod
    def stderr_tail(self) -> str:
        """The end of what the agent's side said on stderr; for messages about its death."""

    def last_output(self, noise: bytes = b"") -> str:
        """What a message about its death ends with: the last line of stderr, or of ``noise``, or nothing."""
        text = self.stderr_tail().strip() or noise.decode("utf-8", "replace").strip()
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return f"; last output: {lines[-1][:300]}" if lines else ""

    @abstractmethod
    def alive(self) -> bool:
        """Whether the agent's side still runs."""


class Transport(ABC):
    """A way to start an agent on a host.

    Where ``heartbeat_s`` is set, the session says something that often, and takes an agent that says nothing
    for a few seconds for lost: a medium that loses packets does not report when it is cut.
    """

    heartbeat_s: float | None = None

    @abstractmethod
    def open(self) -> Channel:
        """Start an agent and return the channel to it. HostError names the host and the stage."""

    def close(self) -> None:  # noqa: B027 -- most hold nothing
        """Give up what the transport itself holds; open channels are closed by their owners. Idempotent."""
