"""The harness of technologies in Python: loop, clock, histogram and records of CONTRACT.md.

An adapter ends with ``if __name__ == "__main__": harness.run(connect=…, answer=…, describe=…)``. Standard
library, Python 3.8. ``native/src/adapter`` is the same in C; both pass the vectors of tests/data.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ctypes
import inspect
import json
import os
import resource
import select
import signal
import struct
import sys
import threading
import time
from collections import deque
from typing import Any, Callable, Deque, Dict, List, NoReturn, Optional, Tuple

CONTRACT = 1
SECOND_NS = 1_000_000_000
DAY_NS = 86_400 * SECOND_NS
PLACES = 7168
MAX_NS = (1 << 62) - 1
CONNECT_NS = 10 * SECOND_NS
NEVER_NS = 1 << 63
LOOK_NS = 50_000_000
SETTLE_NS = 200_000_000
SPIN_NS = 30_000
FIRST_NUMBER = 0xFFFFFFFF
CONNECTING, FIRST_REPLY, READY, RUNNING, DONE, CLOSED, FAILED = range(7)
STATUSES = {"contract": 2, "needs": 3, "start": 3, "port": 3, "connect": 3, "limit": 6}
REASONS = {
    "stop": "stopped by the controller",
    "signal": "ended by a signal",
    "gone": "the controller is gone",
}
PR_SET_PDEATHSIG, PR_SET_TIMERSLACK = 1, 29
_NUMBER = struct.Struct("!I")
_TEXTS = {"name": "adapter", "variant": "", "address": "127.0.0.1", "local_address": "", "folder": ""}
#: Default, minimum, maximum; a default of None may be given as null.
_INTEGERS: Dict[str, Tuple[Optional[int], int, int]] = {
    "contract": (CONTRACT, -(1 << 63), 1 << 63),
    "port": (0, 0, 65535),
    "bytes": (64, 4, 65536),
    "streams": (1, 1, 1024),
    "interval_ns": (SECOND_NS, SECOND_NS // 100, 10 * SECOND_NS),
    "warmup_ns": (0, 0, DAY_NS),
    "duration_ns": (2 * SECOND_NS, 1, DAY_NS),
    "rate_per_s": (None, 1, 100_000_000),
    "stall_ns": (SECOND_NS, SECOND_NS // 1000, DAY_NS),
    "priority": (None, 1, 98),
    "requests": (None, 1, 1 << 62),
}


class AdapterError(Exception):
    """A failure of an adapter, with its stage as in CONTRACT.md."""

    def __init__(self, stage: str, text: str) -> None:
        super().__init__(text)
        self.stage, self.text = stage, text


class Settings:
    """What the program was told, one attribute per setting; ``stream`` is the number of a connection."""

    stream = 0

    def __init__(self, text: str, role: str) -> None:
        try:
            given = json.loads(text)
        except ValueError as error:
            raise AdapterError("contract", f"settings: not a JSON object: {error}") from error
        if not isinstance(given, dict):
            raise AdapterError("contract", f"settings: not a JSON object: '{text[:20]}'")
        known: Dict[str, Any] = {
            **_TEXTS,
            **{key: row[0] for key, row in _INTEGERS.items()},
            "role": role,
            "cores": [],
        }
        for key in given:
            if key not in known:
                raise AdapterError("contract", f"settings: unknown key '{key[:40]}'")
        self.__dict__.update(known, **given)
        for key in (*_TEXTS, "role"):
            if not isinstance(getattr(self, key), str):
                raise AdapterError("contract", f"settings: {key} must be a text")
        for key, row in _INTEGERS.items():
            setattr(self, key, self._check(key, *row))
        self.cores: List[int] = self.__dict__["cores"] or []
        self._check_all(role)

    def _check(self, key: str, default: Optional[int], minimum: int, maximum: int) -> Optional[int]:
        value = getattr(self, key)
        if value is None and (default is None or key == "port"):
            return default
        whole = isinstance(value, (int, float)) and not isinstance(value, bool) and value == int(value)
        if not whole or not minimum <= value <= maximum:
            null = "null or " if default is None else ""
            raise AdapterError(
                "contract", f"settings: {key} must be {null}a whole number, {minimum} to {maximum}"
            )
        return int(value)

    def _check_all(self, role: str) -> None:
        if self.contract != CONTRACT:
            raise AdapterError(
                "contract", f"this program has contract {CONTRACT}, its settings have {self.contract}"
            )
        if self.role != role:
            raise AdapterError("contract", f"settings: role is '{self.role}', the command line has '{role}'")
        if not isinstance(self.cores, list) or not all(type(core) is int for core in self.cores):
            raise AdapterError("contract", "settings: cores must be a list of cores")
        if self.requests is not None and self.requests < self.streams:
            raise AdapterError("contract", f"settings: {self.requests} requests for {self.streams} streams")

    def of_stream(self, stream: int) -> "Settings":
        settings = object.__new__(Settings)
        settings.__dict__.update(self.__dict__, stream=stream)
        return settings

    def __getattr__(self, name: str) -> Any:  # for type checkers: attributes come from the JSON
        raise AttributeError(name)


def _print_error(text: str) -> None:
    sys.stderr.write(f"{text}\n")


class DurationHistogram:
    """Durations in ns as the engine's base/histogram.c counts them: 128 steps per octave."""

    __slots__ = ("counts", "max_ns", "min_ns", "sum_ns")

    def __init__(self) -> None:
        self.counts = [0] * PLACES
        self.min_ns, self.max_ns, self.sum_ns = MAX_NS, 0, 0

    def add(self, value_ns: int) -> None:
        value_ns = 0 if value_ns < 0 else MAX_NS if value_ns > MAX_NS else value_ns
        shift = value_ns.bit_length() - 8
        self.counts[(shift << 7) + (value_ns >> shift) if shift > 0 else value_ns] += 1
        self.sum_ns += value_ns
        if value_ns < self.min_ns:
            self.min_ns = value_ns
        if value_ns > self.max_ns:
            self.max_ns = value_ns

    def merge(self, other: "DurationHistogram") -> None:
        self.counts = [mine + theirs for mine, theirs in zip(self.counts, other.counts)]  # noqa: B905
        self.sum_ns += other.sum_ns
        self.min_ns, self.max_ns = min(self.min_ns, other.min_ns), max(self.max_ns, other.max_ns)

    def quantile(self, ratio: float) -> Optional[int]:
        count, seen = sum(self.counts), 0
        for place, here in enumerate(self.counts):
            seen += here
            if seen > 0 and seen >= ratio * count:
                shift = 0 if place < 256 else (place >> 7) - 1
                return min(((place - (shift << 7) + 1) << shift) - 1, self.max_ns)
        return None

    def to_json(self) -> Dict[str, Any]:
        count = sum(self.counts)
        if count == 0:
            return {"count": 0, "min": None, "max": None, "mean": None, "hdr": None}
        body = bytearray()
        zeros = 0
        for here in self.counts:
            if here == 0:
                zeros += 1
                continue
            if zeros:
                body += _encode_varint(0 if zeros == 1 else -zeros)
            body += _encode_varint(here)
            zeros = 0
        header = struct.pack("!IIIIQQd", 0x1C849313, len(body), 0, 2, 1, MAX_NS, 1.0)
        text = base64.b64encode(header + bytes(body)).decode("ascii")
        mean = self.sum_ns / count
        return {"count": count, "min": self.min_ns, "max": self.max_ns, "mean": mean, "hdr": text}


def _encode_varint(value: int) -> bytes:
    """ZigZag LEB128, nine bytes at most."""
    rest = value << 1 if value >= 0 else (-value << 1) - 1
    encoded = bytearray()
    while rest > 0x7F and len(encoded) < 8:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)


class Intervals:
    """Durations of one stream by intervals, which another thread takes from ``complete``.

    The grid begins anew after the warm-up. A duration belongs to the interval in which it began.
    """

    def __init__(self, interval_ns: int, warmup_ns: int) -> None:
        self._interval_ns, self._warmup_ns = interval_ns, warmup_ns
        self.complete: Deque[Tuple[int, int, DurationHistogram]] = deque()
        self._open = DurationHistogram()
        self._start_ns = 0
        self._end_ns = min(interval_ns, warmup_ns) if warmup_ns > 0 else interval_ns

    def add(self, at_ns: int, duration_ns: int) -> None:
        if at_ns >= self._end_ns:
            self._advance(at_ns)
        self._open.add(duration_ns)

    def _advance(self, at_ns: int) -> None:
        self.finish()
        base_ns = 0 if at_ns < self._warmup_ns else self._warmup_ns
        self._start_ns = base_ns + (at_ns - base_ns) // self._interval_ns * self._interval_ns
        self._end_ns = self._start_ns + self._interval_ns
        if at_ns < self._warmup_ns < self._end_ns:
            self._end_ns = self._warmup_ns

    def finish(self) -> None:
        self.complete.append((self._start_ns, self._end_ns, self._open))
        self._open = DurationHistogram()


class _Output:
    """The records on stdout; what anything else prints there goes to stderr."""

    def __init__(self) -> None:
        sys.stdout.flush()
        self._fd = os.dup(1)
        os.dup2(2, 1)

    def write(self, kind: str, **fields: Any) -> None:
        data = (json.dumps({"type": kind, **fields}, separators=(",", ":")) + "\n").encode()
        try:
            while data:
                data = data[os.write(self._fd, data) :]
        except OSError as error:
            _print_error(f"a record cannot be written to stdout: {error.strerror}")
            os._exit(6)

    def write_error(self, name: str, error: AdapterError) -> int:
        text = error.text[:255]
        self.write("error", stage=error.stage, text=text)
        _print_error(f"{name}: {text!a}"[: len(name) + 600])
        return STATUSES.get(error.stage, 4)


class _Commands:
    """Lines of stdin, signals and news from other threads, as one wait."""

    def __init__(self) -> None:
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)
        os.set_blocking(self._reading, False)
        self._waiting: Deque[str] = deque()
        self._rest = b""
        self._poll = select.poll()
        self._poll.register(self._reading, select.POLLIN)
        self._poll.register(0, select.POLLIN)
        signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: self._waiting.append("signal"))

    def wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(self._writing, b"1")

    def wait(self, deadline_ns: int) -> Optional[str]:
        """The next of go, stop, signal and gone; None: something else has happened, or the time is over."""
        if not self._waiting:
            left_ms = (deadline_ns - time.monotonic_ns() + 999_999) // 1_000_000
            events = self._poll.poll(None if deadline_ns >= NEVER_NS else max(left_ms, 0))
            for fd, _ in events:
                self._read(fd)
        return self._waiting.popleft() if self._waiting else None

    def _read(self, fd: int) -> None:
        data = os.read(fd, 4096)
        if fd == self._reading:
            return
        if not data:
            self._poll.unregister(0)
            self._waiting.append("gone")
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line in (b"go", b"stop"):
                self._waiting.append(line.decode())
            else:
                _print_error(f"unknown command {line[:48]!r} ignored; known: go, stop")


class _Adapter:
    """The functions of the adapter's file."""

    def __init__(
        self,
        connect: Callable[..., Any],
        answer: Optional[Callable[..., Any]],
        describe: Optional[Callable[..., Any]],
    ) -> None:
        self.connect, self.answer, self._describe = connect, answer, describe
        self.is_async = inspect.iscoroutinefunction(connect)

    def describe(self, connection: Any) -> Dict[str, Any]:
        versions, settings = self._describe(connection) if self._describe else ("", None)
        return {"versions": versions or None, "settings": settings}


class _Stream(threading.Thread):
    """One connection and the loop that asks over it."""

    def __init__(self, asking: "_Asking", number: int) -> None:
        super().__init__(daemon=True)
        self._asking, self.number = asking, number
        settings = asking.settings
        self.settings = settings.of_stream(number)
        self.request = bytearray(os.urandom(settings.bytes))
        self.intervals = Intervals(settings.interval_ns, settings.warmup_ns)
        self.lateness = DurationHistogram()
        self.state = CONNECTING
        self.asked_ns = time.monotonic_ns()  # since when a reply is awaited; 0: none is
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
        if len(reply) != self.settings.bytes:
            text = f"request {number}: a reply of {len(reply)} bytes, expected {self.settings.bytes}"
            raise AdapterError("reply", text)
        got = _NUMBER.unpack_from(reply)[0]
        if got != number:
            raise AdapterError("reply", f"a reply with number {got}, expected {number}")

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


class _Asking:
    """The asking end: takes commands, writes records and watches the streams."""

    def __init__(self, adapter: _Adapter, settings: Settings, output: _Output, commands: _Commands) -> None:
        self.adapter, self.settings, self.commands = adapter, settings, commands
        self._output = output
        self.go, self.may_close = threading.Event(), threading.Event()
        self.over = False
        self.run_ns = 0
        self.description: Dict[str, Any] = {"versions": None, "settings": None}
        self._error: Optional[AdapterError] = None
        self._reason: Optional[str] = None
        self._told_to_go = self._started = False
        self._edges_ns = [settings.warmup_ns, settings.warmup_ns + settings.duration_ns]
        if settings.requests is not None:
            self._edges_ns[1] = NEVER_NS
        self._samples: List[Dict[str, Any]] = []
        self._steady = DurationHistogram()
        self._slow: Tuple[int, int, int] = (-1, 0, 0)
        self.streams: List[_Stream] = []

    def live(self) -> int:
        status = 0
        try:
            granted = self._set_scheduling()
            self.streams = [_Stream(self, number) for number in range(self.settings.streams)]
            for stream in self.streams:
                stream.start()
            if granted is not None:
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(granted + 1))
            self._run(granted)
        except AdapterError as error:
            self._error = error
        except (OSError, RuntimeError) as error:
            self._error = AdapterError("limit", str(error))
        if self._started:
            self._settle()
        if self._error is not None:
            status = self._output.write_error(self.settings.name, self._error)
            self._reason = self._error.text
        elif self._reason is not None:
            status = 5
        if self._started or status == 5:
            self._write_result()
        if self._error is None:
            self._close()
        return status

    def _set_scheduling(self) -> Optional[int]:
        """Cores and priority of all threads that follow. The priority, None where it is not granted."""
        settings = self.settings
        if settings.cores:
            os.sched_setaffinity(0, settings.cores)
        if settings.priority is not None:
            try:
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(settings.priority))
            except PermissionError:
                return None
        return int(settings.priority) if settings.priority is not None else None

    def _run(self, granted: Optional[int]) -> None:
        if not self._await(lambda: self._have_all(READY)):
            return
        clock_ns, record_ns = _measure_recording()
        settings = self.settings
        messages = {"bytes": settings.bytes, "replies": True, "offered_per_s": settings.rate_per_s}
        messages.update(priority=granted, clock_ns=clock_ns, record_ns=record_ns)
        adapter = {**self.description, "hop_ns": None}
        self._output.write(
            "ready", messages=messages, streams=settings.streams, cores=settings.cores, adapter=adapter
        )
        if not self._await(lambda: self._told_to_go):
            return
        self._started = True
        self.run_ns = time.monotonic_ns()
        if settings.warmup_ns == 0:
            self._take_sample(0)
        real_ns = time.time_ns() - (time.monotonic_ns() - self.run_ns)
        self.go.set()
        self._output.write("start", monotonic_ns=self.run_ns, realtime_ns=real_ns)
        self._await(lambda: self._have_all(DONE))

    def _await(self, reached: Callable[[], bool]) -> bool:
        """Whether it was reached before a failure or a command that ends the trial."""
        while True:
            for stream in self.streams:
                self._error = self._error or (stream.error if stream.state == FAILED else None)
            if self._error is not None or self._reason is not None:
                return False
            if reached():
                return True
            self._step(NEVER_NS)

    def _have_all(self, state: int) -> bool:
        return all(stream.state >= state for stream in self.streams)

    def _step(self, deadline_ns: int) -> None:
        """Wait for one event: a command, a change of state, the end of an interval or of patience."""
        deadline_ns = min(deadline_ns, self._watch(time.monotonic_ns()))
        if self._started:
            deadline_ns = min(deadline_ns, self._next_tick())
        command = self.commands.wait(deadline_ns)
        self._told_to_go |= command == "go"
        if command in REASONS and self._reason is None:
            self._reason = REASONS[command]
        now_ns = time.monotonic_ns()
        if self._started and now_ns >= self._next_tick():
            while len(self._samples) < 2 and now_ns - self.run_ns >= self._edges_ns[len(self._samples)]:
                self._take_sample(now_ns - self.run_ns)
            self._ticked_ns = now_ns - self.run_ns
            self._collect()

    _ticked_ns = 0

    def _next_tick(self) -> int:
        """When the open interval ends; the grid begins anew with each phase."""
        edge_ns = self._edges_ns[len(self._samples)] if len(self._samples) < 2 else NEVER_NS
        grid_ns = ([0] + [edge for edge in self._edges_ns if edge <= self._ticked_ns])[-1]
        passed = (self._ticked_ns - grid_ns) // self.settings.interval_ns + 1
        return int(self.run_ns + min(edge_ns, grid_ns + passed * self.settings.interval_ns))

    def _watch(self, now_ns: int) -> int:
        """Fail where a reply is late, if that is seen twice; when to look next."""
        next_ns, stall_ns = NEVER_NS, self.settings.stall_ns
        for stream in self.streams:
            asked_ns = stream.asked_ns
            if asked_ns == 0 or stream.state == FAILED or self._error is not None:
                continue
            limit_ns = asked_ns + (CONNECT_NS if stream.state < READY else stall_ns)
            if now_ns >= limit_ns:
                if self._slow[:2] != (stream.number, asked_ns):
                    self._slow = (stream.number, asked_ns, now_ns)
                limit_ns = self._slow[2] + stall_ns // 4
                if now_ns >= limit_ns:
                    self._error = _describe_stall(stream, now_ns - asked_ns)
            next_ns = min(next_ns, limit_ns)
        return next_ns

    def _take_sample(self, at_ns: int) -> None:
        """CPU time of the process without this thread, and what every stream has received.

        The sum is exact; user and system time are stated apart, with this thread.
        """
        whole = resource.getrusage(resource.RUSAGE_SELF)
        cpu_ns = time.process_time_ns() - time.thread_time_ns()
        received = [stream.received for stream in self.streams]
        self._samples.append(
            {
                "at": at_ns,
                "cpu": cpu_ns,
                "user": whole.ru_utime,
                "system": whole.ru_stime,
                "received": received,
            }
        )

    def _collect(self) -> None:
        for stream in self.streams:
            while stream.intervals.complete:
                start_ns, end_ns, found = stream.intervals.complete.popleft()
                steady = self._edges_ns[0] <= start_ns < self._edges_ns[1]
                phase = "steady" if steady else "warmup" if start_ns < self._edges_ns[0] else "drain"
                if steady:
                    self._steady.merge(found)
                if found.max_ns or found.sum_ns or any(found.counts):
                    fields = {"phase": phase, "stream": stream.number, "start_ns": start_ns, "end_ns": end_ns}
                    self._output.write("round_trips", **fields, round_trip_ns=found.to_json())

    def _settle(self) -> None:
        """End what still runs and wait for it, as long as for a reply."""
        self.over = True
        deadline_ns = time.monotonic_ns() + SETTLE_NS
        while not self._have_all(DONE) and (self._error is None or time.monotonic_ns() < deadline_ns):
            self._step(deadline_ns)
        for stream in self.streams:
            self._error = self._error or (stream.error if stream.state == FAILED else None)
        if len(self._samples) == 1:
            self._take_sample(time.monotonic_ns() - self.run_ns)
        self._collect()

    def _write_result(self) -> None:
        lateness = None
        if self.settings.rate_per_s is not None:
            late = DurationHistogram()
            for stream in self.streams:
                late.merge(stream.lateness)
            lateness = {"median": late.quantile(0.5), "p99": late.quantile(0.99), "max": late.quantile(1.0)}
        sent = [stream.sent for stream in self.streams]
        received = [stream.received for stream in self.streams]
        messages = {
            "sent": sent,
            "received": received,
            "missing": [stream.sent - stream.received for stream in self.streams],
        }
        steady = None
        if len(self._samples) == 2:
            begin, end = self._samples
            before = begin["received"]
            counts = [after - before[number] for number, after in enumerate(end["received"])]
            steady = {"start_ns": begin["at"], "end_ns": end["at"], "messages": counts}
            sum_ns = max(end["cpu"] - begin["cpu"], 0)
            user, system = (max(end[kind] - begin[kind], 0.0) for kind in ("user", "system"))
            user_ns = int(sum_ns * (user / (user + system) if user + system > 0 else 0.5))
            steady.update(user_ns=user_ns, system_ns=sum_ns - user_ns)
        self._output.write(
            "result",
            complete=self._reason is None,
            reason=self._reason,
            messages={
                **messages,
                "out_of_order": [0] * len(sent),
                "send_error_ns": lateness,
                "round_trip_ns": self._steady.to_json(),
            },
            phases={"steady": steady},
        )

    def _close(self) -> None:
        deadline_ns = time.monotonic_ns() + self.settings.stall_ns
        self.may_close.set()
        while not self._have_all(CLOSED) and time.monotonic_ns() < deadline_ns:
            self.commands.wait(deadline_ns)


def _describe_stall(stream: _Stream, waited_ns: int) -> AdapterError:
    where = f"(stream {stream.number})"
    seconds = CONNECT_NS // SECOND_NS
    if stream.state == CONNECTING:
        return AdapterError("connect", f"no connection within {seconds} s {where}")
    if stream.state == FIRST_REPLY:
        return AdapterError("stall", f"no reply to the first request within {seconds} s {where}")
    waited = f"no reply for {waited_ns / 1e9:.3g} s, after {stream.received} replies"
    return AdapterError("stall", f"{waited} {where}")


def _measure_recording() -> Tuple[float, float]:
    """The cost of one reading of the clock, and of counting one round trip, ns: medians of short runs."""
    clocks, records = [], []
    intervals, now = Intervals(SECOND_NS, 0), time.monotonic_ns
    for _ in range(15):
        start_ns = now()
        for _ in range(1000):
            end_ns = now()
        clocks.append((end_ns - start_ns) / 1000)
        start_ns = now()
        for i in range(1000):
            intervals.add(i, 20000 + i * 7)
        records.append((now() - start_ns) / 1000)
    return sorted(clocks)[7], sorted(records)[7]


def _live_answering(adapter: _Adapter, settings: Settings, output: _Output, commands: _Commands) -> int:
    """The answering end, until ``stop``."""
    error: List[AdapterError] = []

    def ready(port: int) -> None:
        output.write("listening", port=port, **adapter.describe(None))

    def serve() -> None:
        try:
            served = adapter.answer(settings, ready)  # type: ignore[misc] # there is one
            if inspect.isawaitable(served):
                asyncio.run(_await_it(served))
            error.append(AdapterError("exit", "the server ended by itself"))
        except AdapterError as failure:
            error.append(failure)
        except Exception as failure:
            error.append(AdapterError("start", f"{type(failure).__name__}: {failure}"))
        commands.wake()

    threading.Thread(target=serve, daemon=True).start()
    while not error:
        command = commands.wait(NEVER_NS)
        if command in REASONS:
            reason = None if command == "stop" else REASONS[command]
            output.write("result", complete=reason is None, reason=reason)
            return 0 if reason is None else 5
    status = output.write_error(settings.name, error[0])
    output.write("result", complete=False, reason=error[0].text)
    return status


async def _await_it(awaited: Any) -> Any:
    return await awaited


def run(
    *,
    connect: Callable[..., Any],
    answer: Optional[Callable[..., Any]] = None,
    describe: Optional[Callable[..., Any]] = None,
) -> NoReturn:
    """Live as the program ``ask SETTINGS`` or ``answer SETTINGS`` of an adapter; ends the process."""
    if len(sys.argv) != 3 or sys.argv[1] not in ("ask", "answer"):
        _print_error(f"usage: {sys.argv[0]} ask|answer SETTINGS, with settings as JSON")
        sys.exit(2)
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(5)
    output, name = _Output(), str(_TEXTS["name"])
    settings: Optional[Settings] = None
    try:
        settings = Settings(sys.argv[2], sys.argv[1])
        name = settings.name
        if settings.role == "answer" and answer is None:
            raise AdapterError("contract", f"{name} has no answer()")
        failure = None
    except AdapterError as error:
        failure = error
    hello = {"contract": CONTRACT, "program": name, "language": "python"}
    output.write("hello", **hello, monotonic_ns=time.monotonic_ns(), pid=os.getpid())
    if failure is not None or settings is None:
        os._exit(output.write_error(name, failure or AdapterError("contract", "no settings")))
    adapter, commands = _Adapter(connect, answer, describe), _Commands()
    if settings.role == "answer":
        os._exit(_live_answering(adapter, settings, output, commands))
    os._exit(_Asking(adapter, settings, output, commands).live())
