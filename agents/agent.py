"""The agent's loop: one thread that reads requests, serves jobs and counters and hands their records on.

Nothing in it blocks and nothing grows without bound: while the controller does not read, engines are not read
either and wait in their own pipes. The agent ends with its controller and takes every engine with it.
"""

from __future__ import annotations

import os
import platform
import selectors
import signal
import time
from dataclasses import asdict
from typing import Any, Callable, Dict, Optional

from pathlab.agents import limits
from pathlab.agents.activity import ActivityMeter
from pathlab.agents.facts import collect_requested
from pathlab.agents.host_lock import HostLock, take_host_lock
from pathlab.agents.jobs import Jobs
from pathlab.agents.outbox import Outbox
from pathlab.agents.protocol import (
    PROTOCOL_VERSION,
    FrameDecoder,
    FrameError,
    Message,
    MessageError,
    RequestError,
    check_request,
    encode_frame,
    quote,
)
from pathlab.agents.watches import Watches

EXIT_DONE = 0
EXIT_PROTOCOL = 4
EXIT_SIGNAL = 5

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Agent:
    """One session with one controller over two descriptors."""

    def __init__(
        self,
        frames_in: int,
        frames_out: int,
        *,
        engine: Optional[str],
        against: Optional[str] = None,
        program: str,
        caps: Optional[limits.Caps] = None,
    ) -> None:
        self._in, self._out = frames_in, frames_out
        self._caps = caps or limits.Caps()
        self._program = program
        self._features = ["activity", "adapters", "counters", "discovery", "facts", "hold", "lock"] + (
            ["captures", "engine"] if engine else []
        )
        self._decoder = FrameDecoder()
        self._outbox = Outbox(frames_out)
        self._selector = selectors.PollSelector()
        self._watched: Dict[int, int] = {}
        self._hello_done = False
        self._read_bytes = 0
        self._status: Optional[int] = None  # set: the loop ends with it
        self.silence_s: Optional[float] = None  # a controller that says nothing for so long is gone
        self._last_request_ns = time.monotonic_ns()
        self._jobs = Jobs(self._outbox, engine=engine, against=against, caps=self._caps)
        self._watches = Watches(self._outbox)
        self._activity = ActivityMeter()
        self._host_lock: Optional[HostLock] = None
        self._wake, self._woken_by = os.pipe()
        self._operations: Dict[str, Callable[[Message], Dict[str, Any]]] = {
            "facts": collect_requested,
            "activity": self._measure_activity,
            "host.lock": self._lock_host,
            "engine.start": self._jobs.start_engine,
            "engine.command": self._jobs.command,
            "engine.kill": self._jobs.kill,
            "discovery.start": self._jobs.start_discovery,
            "peer.start": self._jobs.start_peer,
            "adapter.start": self._jobs.start_adapter,
            "adapter.check": self._jobs.check_adapters,
            "capture.start": self._jobs.start_capture,
            "capture.read": self._jobs.captures.read,
            "capture.close": self._jobs.captures.close,
            "counters.start": self._watches.start,
            "counters.stop": self._watches.stop,
            "records.hold": self._hold_records,
            "ping": self._read_clocks,
            "bye": self._finish,
        }

    def run(self) -> int:
        """Serve until bye, end of file, a signal or a broken conversation; return the exit status."""
        for descriptor in (self._in, self._out, self._wake, self._woken_by):
            os.set_blocking(descriptor, False)
        for number in (*_SIGNALS, signal.SIGCHLD):
            # A handler must exist for the wake-up descriptor to get the signal.
            signal.signal(number, lambda _number, _frame: None)
        signal.set_wakeup_fd(self._woken_by, warn_on_full_buffer=False)
        try:
            while self._status is None:
                self.turn()
            return self._status
        except (BrokenPipeError, ConnectionResetError):
            return EXIT_DONE  # the controller is gone: the same as end of file on stdin
        finally:
            signal.set_wakeup_fd(-1)
            self._jobs.kill_all()
            self._jobs.captures.close_all()
            if self._host_lock is not None:
                self._host_lock.release()
            self._flush_last()

    def turn(self) -> None:
        """One pass of the loop: wait until something is due or ready, and deal with it."""
        self._arrange()
        for key, _events in self._selector.select(self._timeout_s()):
            self._serve(key.fd)
            if self._status is not None:
                return
        now_ns = time.monotonic_ns()
        if self.silence_s is not None and now_ns - self._last_request_ns >= self.silence_s * 1e9:
            self._status = EXIT_DONE  # as at end of file on stdin, which a cut cable never brings
            return
        for job in self._jobs:
            job.enforce(now_ns)
            if job.exited and self._jobs.take_out(job):
                self._arrange()  # no descriptor may be watched once it is closed
                self._jobs.send_exit(job)
        self._watches.sample_due(now_ns)
        self._outbox.flush()

    def _arrange(self) -> None:
        wanted = {self._wake: selectors.EVENT_READ}
        if not self._outbox.blocked:
            wanted[self._in] = selectors.EVENT_READ
        if self._outbox.size_bytes:
            wanted[self._out] = wanted.get(self._out, 0) | selectors.EVENT_WRITE
        for job in self._jobs:
            if job.stdout is not None and not self._outbox.throttled:
                wanted[job.stdout] = selectors.EVENT_READ
            if job.stderr is not None:
                wanted[job.stderr] = selectors.EVENT_READ
            if job.stdin is not None and job.wants_to_write:
                wanted[job.stdin] = selectors.EVENT_WRITE
        for descriptor in [known for known in self._watched if known not in wanted]:
            self._selector.unregister(descriptor)
        for descriptor, events in wanted.items():
            if descriptor not in self._watched:
                self._selector.register(descriptor, events)
            elif self._watched[descriptor] != events:
                self._selector.modify(descriptor, events)
        self._watched = wanted

    def _timeout_s(self) -> Optional[float]:
        due = self._watches.due_ns
        due += [job.due_ns for job in self._jobs if job.due_ns is not None]
        if self.silence_s is not None:
            due.append(self._last_request_ns + int(self.silence_s * 1e9))
        if any(job.exited for job in self._jobs) and not self._outbox.throttled:
            return 0.0
        return max(0, min(due) - time.monotonic_ns()) / 1e9 if due else None

    def _serve(self, descriptor: int) -> None:
        if descriptor == self._in:
            self._read_requests()
        elif descriptor == self._wake:
            self._read_signals()
        for job in self._jobs:
            if descriptor == job.stdout:
                self._jobs.forward(job)
            elif descriptor == job.stderr:
                job.read_errors()
            elif descriptor == job.stdin:
                job.write_commands()

    def _read_signals(self) -> None:
        numbers = os.read(self._wake, 256)
        if any(number in numbers for number in _SIGNALS):
            self._status = EXIT_SIGNAL
        for job in self._jobs:
            job.notice_exit()

    def _read_requests(self) -> None:
        try:
            data = os.read(self._in, limits.READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            self._status = EXIT_DONE
            return
        self._last_request_ns = time.monotonic_ns()
        self._read_bytes += len(data)
        self._decoder.feed(data)
        while self._status is None:
            try:
                request = self._decoder.read()
            except FrameError as error:
                self._send_refusal(f"broken conversation: {error}")
                return
            if request is None:
                return
            if self._hello_done:
                self._answer(request)
            else:
                self._answer_hello(request)

    def _answer_hello(self, request: Message) -> None:
        requested = request.get("protocol")
        if request.get("op") == "hello" and requested != PROTOCOL_VERSION:
            # Before the fields: another version may well have other fields.
            theirs = f"the controller (PathLab {_plain(request.get('program'))}) speaks agent protocol"
            ours = f"this agent (PathLab {self._program}) speaks {PROTOCOL_VERSION}"
            self._send_refusal(f"{theirs} {_plain(requested)}, {ours}")
            return
        try:
            if check_request(request) != "hello":
                raise MessageError("the first message must be hello")
        except MessageError as error:
            self._send_refusal(str(error))
            return
        missing = [feature for feature in request["require"] if feature not in self._features]
        if missing:
            has = ", ".join(sorted(self._features))
            self._send_refusal(f"this agent has no feature {quote(missing[0])}; it has {has}")
            return
        self._hello_done = True
        host = {"python": platform.python_version(), "pid": os.getpid(), "features": self._features}
        self._send("hello", caps=asdict(self._caps), **host)

    def _send_refusal(self, text: str) -> None:
        self._send("refusal", text=text)
        self._status = EXIT_PROTOCOL

    def _send(self, kind: str, **fields: Any) -> None:
        head = {"type": kind, "protocol": PROTOCOL_VERSION, "program": self._program}
        self._outbox.append(encode_frame({**head, **fields}))

    def _answer(self, request: Message) -> None:
        number = request.get("id")
        answer: Message = {"type": "answer", "id": number if isinstance(number, int) else 0, "ok": True}
        try:
            operation = check_request(request)
            if operation == "hello":
                raise MessageError("hello came already")
            answer["result"] = self._operations[operation](request)
        except MessageError as error:
            answer.update(ok=False, error={"stage": "agent", "text": _clip(error)})
        except RequestError as error:
            answer.update(ok=False, error={"stage": error.stage, "text": _clip(error)})
        self._outbox.append(encode_frame(answer))

    def _measure_activity(self, _request: Message) -> Dict[str, Any]:
        try:
            return self._activity.measure()
        except (OSError, ValueError) as error:
            raise RequestError("agent", f"cannot read the cores' activity: {error}") from error

    def _hold_records(self, request: Message) -> Dict[str, Any]:
        self._outbox.hold(request["kinds"])
        return {"held": self._outbox.held}

    def _read_clocks(self, _request: Message) -> Dict[str, Any]:
        """The clocks, and how many bytes the conversation has taken so far."""
        return {
            "monotonic_ns": time.monotonic_ns(),
            "realtime_ns": time.time_ns(),
            "read_bytes": self._read_bytes,
            "written_bytes": self._outbox.written_bytes,
        }

    def _lock_host(self, request: Message) -> Dict[str, Any]:
        """Held until the agent ends; a second request takes it anew."""
        if self._host_lock is not None:
            self._host_lock.release()
        try:
            self._host_lock = take_host_lock(request["owner"])
        except ValueError as error:
            raise RequestError("lock", str(error)) from error
        return self._host_lock.answer

    def _finish(self, _request: Message) -> Dict[str, Any]:
        self._status = EXIT_DONE
        return {}

    def _flush_last(self) -> None:
        deadline_ns = time.monotonic_ns() + int(limits.FLUSH_S * 1e9)
        with selectors.PollSelector() as selector:
            selector.register(self._out, selectors.EVENT_WRITE)
            while self._outbox.size_bytes:
                left_s = (deadline_ns - time.monotonic_ns()) / 1e9
                if left_s <= 0 or not selector.select(left_s):
                    return
                try:
                    self._outbox.flush()
                except OSError:
                    return  # nobody reads any more


def _clip(error: Exception) -> str:
    """What is wrong, without the rest of a request of any length."""
    return str(error)[: limits.MAX_ERROR_CHARACTERS]


def _plain(value: object) -> str:
    """A value of the other side without quotation marks, on one line and short."""
    return quote(str(value) if isinstance(value, str) else value).strip("'")
