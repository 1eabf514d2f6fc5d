"""A technology without a network that misbehaves as its variant says.

From the first request on (mute, second: only the second stream), or after a few replies. It states on stderr
when it hangs.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from typing import Any

from pathlab.agents.adapters import harness

GOOD = 5


class StubConnection:
    def __init__(self, settings: Any) -> None:
        self.variant = settings.variant
        self.stream = settings.stream
        self.asked = 0
        self.reply = b""
        if self.variant == "refuse":
            raise harness.AdapterError("connect", f"refused as port {settings.port}")

    def ask(self, request: bytearray) -> bytes:
        late = self.asked > GOOD
        self.asked += 1
        if self.variant == "chatty":
            print("this is no record")  # noqa: T201 -- that it is passed on is tested
        if not (late and self.variant == "stale"):
            self.reply = bytes(request)
        if self.variant == "corrupt":
            return self.reply[:5] + bytes([self.reply[5] ^ 0xFF]) + self.reply[6:]
        if self._hangs(late):
            sys.stderr.write("hangs\n")
            signal.pthread_sigmask(signal.SIG_BLOCK, [])
            while True:
                signal.pause()
        if late and self.variant == "fail":
            raise harness.AdapterError("reply", "the stub has failed")
        lengths = {"short": -1, "long": 1} if late else {"brief": -1}
        return (self.reply + b"x")[: len(request) + lengths.get(self.variant, 0)]

    def _hangs(self, late: bool) -> bool:
        second = self.variant == "second" and self.stream == 1
        return second or self.variant == "mute" or (late and self.variant == "hang")

    def close(self) -> None:
        pass


class AsyncStubConnection:
    """The same as coroutines."""

    def __init__(self, settings: Any) -> None:
        self._stub = StubConnection(settings)

    async def ask(self, request: bytearray) -> bytes:
        return self._stub.ask(request)

    async def close(self) -> None:
        self._stub.close()


async def connect_async(settings: Any) -> AsyncStubConnection:
    return AsyncStubConnection(settings)


def answer(settings: Any, ready: Callable[[int], None]) -> None:
    if settings.variant == "taken":
        raise harness.AdapterError("port", f"port {settings.port} is taken")
    ready(settings.port)
    while settings.variant != "leave":
        signal.pause()


def describe(connection: Any) -> tuple[str, dict[str, Any] | None]:
    return "stub 1.2", {"no_delay": True} if connection is not None else None


def live(connect: Callable[..., Any]) -> None:
    harness.run(connect=connect, answer=answer, describe=describe)


if __name__ == "__main__":
    live(StubConnection)
