"""Connections that cost little: whoever sends nothing, or reads nothing, is let go."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

#: A connection without a request is closed after this, whatever parts of one it has sent.
IDLE_S = 30
#: A connection whose client takes nothing of an answer is closed after this.
STALLED_S = 60
#: Of more connections, the one that has been without a request longest is closed.
CONNECTIONS_MAX = 256


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 of uvicorn, for clients that may be slow, gone or hostile."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._idle_since_s = self.loop.time()
        self._idle_timer: asyncio.TimerHandle | None = None
        self._stall_timer: asyncio.TimerHandle | None = None

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    # uvicorn names the narrower transport as well, which its base class of asyncio does not
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch_idleness()
        if len(self.connections) > CONNECTIONS_MAX:
            idle = [
                connection
                for connection in self.connections
                if isinstance(connection, BoundedProtocol) and connection.is_idle
            ]
            min(idle, key=lambda item: item._idle_since_s).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._idle_timer, self._stall_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        self._idle_since_s = self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stall_timer = self.loop.call_later(STALLED_S, self._reset)

    def resume_writing(self) -> None:
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None
        super().resume_writing()

    def _reset(self) -> None:
        """Drop the connection with all that the kernel still holds of the answer."""
        sending = self.transport.get_extra_info("socket")
        sending.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _watch_idleness(self) -> None:
        """Close the connection once it has been idle for too long; look again when that can be."""
        left_s = IDLE_S - (self.loop.time() - self._idle_since_s)
        if self.is_idle and left_s <= 0:
            self.transport.abort()
        else:
            self._idle_timer = self.loop.call_later(left_s if left_s > 0 else IDLE_S, self._watch_idleness)
