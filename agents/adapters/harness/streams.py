"""The loop of one stream: connects, compares a first reply, and asks until the trial is over."""

from __future__ import annotations

import asyncio
import ctypes
import inspect
import os
import struct
import threading
import time
from typing import Any, Dict, Optional

from .intervals import DurationHistogram, Intervals
from .program import NEVER_NS, AdapterFunctions, CommandInput
from .settings import SECOND_NS, AdapterError, Settings

LOOK_NS = 50_000_000
SPIN_NS = 30_000
FIRST_NUMBER = 0xFFFFFFFF
CONNECTING, FIRST_REPLY, READY, RUNNING, DONE, CLOSED, FAILED = range(7)
PR_SET_TIMERSLACK = 29
_NUMBER = struct.Struct("!I")


class AskingState:
    """What the streams of a trial share with the end that they belong to."""

    def __init__(self, adapter: AdapterFunctions, settings: Settings, commands: CommandInput) -> None:
        self.adapter, self.settings, self.commands = adapter, settings, commands
        self.go, self.may_close = threading.Event(), threading.Event()
        self.over = False
        self.run_ns = 0
        self.description: Dict[str, Any] = {"versions": None, "settings": None}


class AskingStream(threading.Thread):
    """One connection and the loop that asks over it."""

    def __init__(self, asking: AskingState, number: int) -> None:
        super().__init__(daemon=True)
        self._asking, self.number = asking, number
        settings = asking.settings
        self.settings = settings.of_stream(number)
        self.request = bytearray(os.urandom(settings.bytes))
        self.intervals = Intervals(settings.interval_ns, settings.warmup_ns)
        self.lateness = DurationHistogram()
        self.state = CONNECTING
        self.asked_ns = time.monotonic_ns()  # since when a reply is awaited; 0: none is
        self.slow_asked_ns = self.slow_since_ns = 0  # of the thread that watches: which request, since when
        self.sent = self.received = 0
        self.error: Optional[AdapterError] = None
        self._due_ns = 0
        self._behind = False

    def run(self) -> None:
        ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1)
        try:
            if self._asking.adapter.is_async:
                asyncio.run(self._live_async())
            else:
                self._live()
        except AdapterError as error:
            self._fail(error)
        except Exception as error:
            stage = "connect" if self.state == CONNECTING else "reply"
            self._fail(AdapterError(stage, f"{type(error).__name__}: {error}"))

    def _fail(self, error: AdapterError) -> None:
        self.error = error
        self._enter(FAILED)

    def _enter(self, state: int) -> None:
        self.state = state
        self._asking.commands.wake()

    def _live(self) -> None:
        connection = self._asking.adapter.connect(self.settings)
        self._enter(FIRST_REPLY)
        _NUMBER.pack_into(self.request, 0, FIRST_NUMBER)
        self._check_first(connection, connection.ask(self.request))
        self._asking.go.wait()
        try:
            self._ask_all(connection)
        finally:
            self.intervals.finish()
        self._enter(DONE)
        self._asking.may_close.wait()
        connection.close()
        self._enter(CLOSED)

    async def _live_async(self) -> None:
        loop = asyncio.get_running_loop()
        connection = await self._asking.adapter.connect(self.settings)
        self._enter(FIRST_REPLY)
        _NUMBER.pack_into(self.request, 0, FIRST_NUMBER)
        self._check_first(connection, await connection.ask(self.request))
        await loop.run_in_executor(None, self._asking.go.wait)
        try:
            await self._ask_all_async(connection)
        finally:
            self.intervals.finish()
        self._enter(DONE)
        await loop.run_in_executor(None, self._asking.may_close.wait)
        closing = connection.close()
        if inspect.isawaitable(closing):
            await closing
        self._enter(CLOSED)

    def _check_first(self, connection: Any, reply: Any) -> None:
        self._check(reply, FIRST_NUMBER)
        got = bytes(reply)
        if got != self.request:
            at = next(i for i, byte in enumerate(got) if byte != self.request[i])
            text = f"byte {at} of the first reply is 0x{got[at]:02x}, expected 0x{self.request[at]:02x}"
            raise AdapterError("reply", text)
        if self.number == 0:
            self._asking.description = self._asking.adapter.describe(connection)
        self.asked_ns = 0
        self._enter(READY)

    def _check(self, reply: Any, number: int) -> None:
        request = "the first request" if self.state == FIRST_REPLY else f"request {number}"
        if len(reply) != self.settings.bytes:
            text = f"{request}: a reply of {len(reply)} bytes, expected {self.settings.bytes}"
            raise AdapterError("reply", text)
        got = _NUMBER.unpack_from(reply)[0]
        if got != number:
            raise AdapterError("reply", f"{request}: a reply with number {got}, expected {number}")

    def _ask_all(self, connection: Any) -> None:
        ask, now = connection.ask, time.monotonic_ns
        paced = self._begin()
        for number in range(self._quota()):
            if not self._is_due(number) or (paced and not self._await_due()):
                break
            _NUMBER.pack_into(self.request, 0, number & 0xFFFFFFFF)
            self.sent = number + 1
            reply = ask(self.request)
            self._count(number, reply, now())
        self.asked_ns = 0

    async def _ask_all_async(self, connection: Any) -> None:
        ask, now = connection.ask, time.monotonic_ns
        paced = self._begin()
        for number in range(self._quota()):
            if not self._is_due(number):
                break
            if paced:
                left_ns = self._find_due(number) - now() - SPIN_NS
                while left_ns > 0 and not self._asking.over:  # the event loop runs meanwhile
                    await asyncio.sleep(min(left_ns, LOOK_NS) / 1e9)
                    left_ns = self._find_due(number) - now() - SPIN_NS
                if not self._await_due():
                    break
            _NUMBER.pack_into(self.request, 0, number & 0xFFFFFFFF)
            self.sent = number + 1
            reply = await ask(self.request)
            self._count(number, reply, now())
        self.asked_ns = 0

    def _begin(self) -> bool:
        settings = self.settings
        self.state = RUNNING
        self._run_ns = self._asking.run_ns
        timed = settings.requests is None
        self._end_ns = self._run_ns + settings.warmup_ns + settings.duration_ns if timed else NEVER_NS
        self._paced = settings.rate_per_s is not None
        self._due_ns = time.monotonic_ns()
        self.asked_ns = 0 if self._paced else self._due_ns
        return self._paced

    def _quota(self) -> int:
        if self.settings.requests is None:
            return 1 << 62
        share, rest = divmod(self.settings.requests, self.settings.streams)
        return int(share + (self.number < rest))

    def _is_due(self, number: int) -> bool:
        """Whether the trial has this request. One after the other, it is due when the one before returned."""
        if self._paced:
            self._due_ns = self._find_due(number)
        return self._due_ns < self._end_ns and not self._asking.over

    def _find_due(self, number: int) -> int:
        return int(self._run_ns + number * self.settings.streams * SECOND_NS // self.settings.rate_per_s)

    def _await_due(self) -> bool:
        due_ns = self._due_ns
        now_ns = time.monotonic_ns()
        while now_ns < due_ns and not self._asking.over:
            if due_ns - now_ns > SPIN_NS:
                time.sleep(min(due_ns - now_ns - SPIN_NS, LOOK_NS) / 1e9)
            now_ns = time.monotonic_ns()
        if now_ns >= self._end_ns and not self._behind:
            self._behind = True
            offered_ns = self.settings.warmup_ns + self.settings.duration_ns
            if self._end_ns - due_ns > max(offered_ns // 100, min(LOOK_NS * 2, offered_ns // 4)):
                return False  # the rate was missed: what is left is not sent
        self.lateness.add(now_ns - due_ns)
        self.asked_ns = now_ns
        return not self._asking.over

    def _count(self, number: int, reply: Any, now_ns: int) -> None:
        if len(reply) != self.settings.bytes or _NUMBER.unpack_from(reply)[0] != number & 0xFFFFFFFF:
            self._check(reply, number & 0xFFFFFFFF)
        self.intervals.add(self._due_ns - self._run_ns, now_ns - self._due_ns)
        self.received = number + 1
        self.asked_ns = 0 if self._paced else now_ns
        self._due_ns = now_ns
