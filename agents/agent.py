"""The agent's loop: one thread that reads requests, runs engines and counters and hands their records on.

Nothing in it blocks and nothing grows without bound: while the controller does not read, engines are not read
either and wait in their own pipes. The agent ends with its controller and takes every engine with it.
"""

from __future__ import annotations

import json
import os
import platform
import selectors
import signal
import sys
import time
from dataclasses import asdict
from typing import Any, Callable, Dict, List, Optional

from pathlab.agents import limits
from pathlab.agents.counters import CounterWatch
from pathlab.agents.engines import Engine, build_command, check_token
from pathlab.agents.facts import collect_facts
from pathlab.agents.host_lock import HostLock, take_host_lock
from pathlab.agents.outbox import Outbox
from pathlab.agents.peers import read_arguments
from pathlab.agents.protocol import (
    PROTOCOL_VERSION,
    FrameDecoder,
    FrameError,
    Message,
    MessageError,
    check_request,
    encode_frame,
    frame_body,
    quote,
)

EXIT_DONE = 0
EXIT_PROTOCOL = 4
EXIT_SIGNAL = 5

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class RequestError(Exception):
    """A request that this host cannot carry out; becomes an answer with ``ok`` false."""

    def __init__(self, stage: str, text: str) -> None:
        super().__init__(text)
        self.stage = stage


class Agent:
    """One conversation with one controller over two descriptors."""

    def __init__(
        self,
        frames_in: int,
        frames_out: int,
        *,
        engine: Optional[str],
        program: str,
        caps: Optional[limits.Caps] = None,
    ) -> None:
        self._in, self._out = frames_in, frames_out
        self._caps = caps or limits.Caps()
        self._engine, self._program = engine, program
        self._features = ["counters", "discovery", "facts", "lock"] + (["engine"] if engine else [])
        self._decoder = FrameDecoder()
        self._outbox = Outbox(frames_out)
        self._selector = selectors.PollSelector()
        self._watched: Dict[int, int] = {}
        self._greeted = False
        self._status: Optional[int] = None  # set: the loop ends with it
        self.silence_s: Optional[float] = None  # a controller that says nothing for so long is gone
        self._heard_ns = time.monotonic_ns()
        self._jobs: Dict[int, Engine] = {}
        self._last_job = 0
        self._watches: Dict[int, CounterWatch] = {}
        self._last_watch = 0
        self._host_lock: Optional[HostLock] = None
        self._wake, self._woken_by = os.pipe()
        self._operations: Dict[str, Callable[[Message], Dict[str, Any]]] = {
            "facts": lambda _request: collect_facts(),
            "host.lock": self._lock_host,
            "engine.start": self._start_engine,
            "engine.command": self._command_engine,
            "engine.kill": self._kill_engine,
            "discovery.start": self._start_discovery,
            "peer.start": self._start_peer,
            "counters.start": self._start_counters,
            "counters.stop": self._stop_counters,
            "ping": lambda _request: {"monotonic_ns": time.monotonic_ns(), "realtime_ns": time.time_ns()},
            "bye": self._say_bye,
        }

    def run(self) -> int:
        """Serve until bye, end of file, a signal or a broken conversation; return the exit status."""
        for descriptor in (self._in, self._out, self._wake, self._woken_by):
            os.set_blocking(descriptor, False)
        for number in (*_SIGNALS, signal.SIGCHLD):
            # A handler must exist for the wake-up descriptor to hear of the signal.
            signal.signal(number, lambda _number, _frame: None)
        signal.set_wakeup_fd(self._woken_by, warn_on_full_buffer=False)
        try:
            while self._status is None:
                self.turn()
            return self._status
        except (BrokenPipeError, ConnectionResetError):
            return EXIT_DONE  # the controller is gone: the same as end of file on stdin
        finally:
            self._kill_everything()
            if self._host_lock is not None:
                self._host_lock.release()
            self._flush_last()

    @property
    def backlog_bytes(self) -> int:
        """Bytes that wait for the controller to read."""
        return self._outbox.size_bytes

    def turn(self) -> None:
        """One pass of the loop: wait until something is due or ready, and deal with it."""
        self._arrange()
        for key, _events in self._selector.select(self._timeout_s()):
            self._serve(key.fd)
            if self._status is not None:
                return
        now_ns = time.monotonic_ns()
        if self.silence_s is not None and now_ns - self._heard_ns >= self.silence_s * 1e9:
            self._status = EXIT_DONE  # as at end of file on stdin, which a cut cable never brings
            return
        for job in list(self._jobs.values()):
            job.enforce(now_ns)
            if job.exited and not self._outbox.throttled:
                self._finish(job)
        for number, watch in list(self._watches.items()):
            if now_ns >= watch.due_ns:
                self._sample(number, watch)
        self._outbox.flush()

    def _arrange(self) -> None:
        wanted = {self._wake: selectors.EVENT_READ}
        if not self._outbox.blocked:
            wanted[self._in] = selectors.EVENT_READ
        if self._outbox.size_bytes:
            wanted[self._out] = wanted.get(self._out, 0) | selectors.EVENT_WRITE
        for job in self._jobs.values():
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
        due = [watch.due_ns for watch in self._watches.values()]
        due += [job.due_ns for job in self._jobs.values() if job.due_ns is not None]
        if self.silence_s is not None:
            due.append(self._heard_ns + int(self.silence_s * 1e9))
        if any(job.exited for job in self._jobs.values()) and not self._outbox.throttled:
            return 0.0
        return max(0, min(due) - time.monotonic_ns()) / 1e9 if due else None

    def _serve(self, descriptor: int) -> None:
        if descriptor == self._in:
            self._read_requests()
        elif descriptor == self._wake:
            self._read_signals()
        for job in self._jobs.values():
            if descriptor == job.stdout:
                self._forward(job)
            elif descriptor == job.stderr:
                job.read_errors()
            elif descriptor == job.stdin:
                job.write_commands()

    def _read_signals(self) -> None:
        numbers = os.read(self._wake, 256)
        if any(number in numbers for number in _SIGNALS):
            self._status = EXIT_SIGNAL
        for job in self._jobs.values():
            job.notice_exit()

    def _read_requests(self) -> None:
        try:
            data = os.read(self._in, limits.READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            self._status = EXIT_DONE
            return
        self._heard_ns = time.monotonic_ns()
        self._decoder.feed(data)
        while self._status is None:
            try:
                request = self._decoder.take()
            except FrameError as error:
                self._refuse(f"broken conversation: {error}")
                return
            if request is None:
                return
            if self._greeted:
                self._answer(request)
            else:
                self._greet(request)

    def _greet(self, request: Message) -> None:
        asked = request.get("protocol")
        if request.get("op") == "hello" and asked != PROTOCOL_VERSION:
            # Before the fields: another version may well have other fields.
            theirs = f"the controller (PathLab {_plain(request.get('program'))}) speaks agent protocol"
            ours = f"this agent (PathLab {self._program}) speaks {PROTOCOL_VERSION}"
            self._refuse(f"{theirs} {_plain(asked)}, {ours}")
            return
        try:
            if check_request(request) != "hello":
                raise MessageError("the first message must be hello")
        except MessageError as error:
            self._refuse(str(error))
            return
        missing = [feature for feature in request["require"] if feature not in self._features]
        if missing:
            has = ", ".join(sorted(self._features))
            self._refuse(f"this agent has no feature {quote(missing[0])}; it has {has}")
            return
        self._greeted = True
        host = {"python": platform.python_version(), "pid": os.getpid(), "features": self._features}
        self._say("hello", caps=asdict(self._caps), **host)

    def _refuse(self, text: str) -> None:
        self._say("refusal", text=text)
        self._status = EXIT_PROTOCOL

    def _say(self, kind: str, **fields: Any) -> None:
        head = {"type": kind, "protocol": PROTOCOL_VERSION, "program": self._program}
        self._outbox.append(encode_frame({**head, **fields}))

    def _answer(self, request: Message) -> None:
        number = request.get("id")
        answer: Message = {"type": "answer", "id": number if isinstance(number, int) else 0, "ok": True}
        try:
            operation = check_request(request)
            if operation == "hello":
                raise MessageError("hello was said already")
            answer["result"] = self._operations[operation](request)
        except MessageError as error:
            answer.update(ok=False, error={"stage": "agent", "text": _clip(error)})
        except RequestError as error:
            answer.update(ok=False, error={"stage": error.stage, "text": _clip(error)})
        self._outbox.append(encode_frame(answer))

    def _lock_host(self, request: Message) -> Dict[str, Any]:
        """Held until the agent ends; asked again, it is taken anew."""
        if self._host_lock is not None:
            self._host_lock.release()
        try:
            self._host_lock = take_host_lock(request["owner"])
        except ValueError as error:
            raise RequestError("lock", str(error)) from error
        return self._host_lock.answer

    def _start_engine(self, request: Message) -> Dict[str, Any]:
        if self._engine is None:
            raise RequestError("engine", "this agent was started without an engine")
        options, token = request["options"], request.get("token")
        try:
            if token is not None:
                check_token(token)
            clamped = limits.clamp_limits(request["limits"], self._caps)
            command = build_command(self._engine, request["subcommand"], options, clamped)
        except ValueError as error:
            raise RequestError("engine", str(error)) from error
        control = options.get("control") == "stdin"
        answer = self._start_job(command, clamped, control=control, token=token)
        return {**answer, "asked": {name: request["limits"].get(name) for name in clamped}}

    def _start_discovery(self, request: Message) -> Dict[str, Any]:
        """The prober of this very agent, as a job like an engine; it always listens for commands."""
        try:
            clamped = limits.clamp_limits(request["limits"], self._caps)
        except ValueError as error:
            raise RequestError("discovery", str(error)) from error
        command = [*_own_command(), "--discover", json.dumps(request["options"])]
        return self._start_job(command, clamped, control=True)

    def _start_peer(self, request: Message) -> Dict[str, Any]:
        """Another program, checked against the list of ``peers``, as a job like an engine."""
        if self._caps.bytes is not None or self._caps.rate_bits_per_s is not None:
            text = "this host caps bytes or rate, which other programs do not keep: use the native engine"
            raise RequestError("engine", text)
        try:
            clamped = limits.clamp_limits(request["limits"], self._caps)
            read_arguments(request["options"])
        except ValueError as error:
            raise RequestError("engine", str(error)) from error
        command = [*_own_command(), "--peer", json.dumps(request["options"])]
        return self._start_job(command, clamped, control=True)

    def _start_job(
        self, command: List[str], clamped: Dict[str, Any], *, control: bool, token: Optional[str] = None
    ) -> Dict[str, Any]:
        if len(self._jobs) >= limits.MAX_JOBS:
            raise RequestError("engine", f"{limits.MAX_JOBS} engines run already, the most at a time")
        try:
            number = self._last_job + 1
            job = Engine(number, command, seconds=clamped["seconds"], control=control, token=token)
        except OSError as error:
            raise RequestError("engine", f"cannot start {command[0]}: {error.strerror or error}") from error
        self._last_job = job.number
        self._jobs[job.number] = job
        return {"job": job.number, "limits": clamped, "pid": job.pid}

    def _find_job(self, request: Message) -> Optional[Engine]:
        number = request["job"]
        if number not in self._jobs and not 0 < number <= self._last_job:
            raise RequestError("engine", f"there is no job {number}")
        return self._jobs.get(number)

    def _command_engine(self, request: Message) -> Dict[str, Any]:
        job = self._find_job(request)
        if job is None:
            raise RequestError("engine", f"job {request['job']} has ended")
        try:
            job.command(request["line"])
        except ValueError as error:
            raise RequestError("engine", str(error)) from error
        return {}

    def _kill_engine(self, request: Message) -> Dict[str, Any]:
        job = self._find_job(request)
        if job is not None:
            job.terminate()
        return {}

    def _forward(self, job: Engine) -> None:
        # The line is spliced in as it is: it has just been checked to be one JSON object.
        head = b'{"type":"engine","job":%d,"record":' % job.number
        for line in job.read_records():
            self._outbox.append(frame_body(head + line.strip() + b"}"))

    def _finish(self, job: Engine) -> None:
        """Hand on the rest of an ended engine's output, then its exit. Returns early under back-pressure."""
        while job.stdout is not None:
            if self._outbox.throttled:
                return
            before = self._outbox.size_bytes
            if not _is_readable(job.stdout):
                break  # a stranger holds the pipe open; the engine itself can say nothing more
            self._forward(job)
            if self._outbox.size_bytes > before:
                self._outbox.flush()
        job.drain_errors()
        del self._jobs[job.number]
        self._arrange()  # no descriptor may be watched once reap has closed it
        event = {"type": "engine-exit", "job": job.number}
        self._outbox.append(encode_frame({**event, **job.reap()}))

    def _start_counters(self, request: Message) -> Dict[str, Any]:
        if len(self._watches) >= limits.MAX_WATCHES:
            raise RequestError("agent", f"{limits.MAX_WATCHES} counter series run already, the most")
        interval_ns = limits.clamp_counter_interval_ns(request["interval_ns"])
        try:
            watch = CounterWatch(interval_ns)
        except (OSError, ValueError) as error:
            raise RequestError("agent", f"cannot read /proc/stat: {error}") from error
        self._last_watch += 1
        self._watches[self._last_watch] = watch
        return {
            "watch": self._last_watch,
            "interval_ns": interval_ns,
            "monotonic_ns": watch.start_ns,
            "absent": watch.absent,
        }

    def _stop_counters(self, request: Message) -> Dict[str, Any]:
        watch = self._watches.get(request["watch"])
        if watch is None:
            raise RequestError("agent", f"there is no counter series {request['watch']}")
        self._sample(request["watch"], watch, last=True)
        self._watches.pop(request["watch"], None)
        return {}

    def _sample(self, number: int, watch: CounterWatch, *, last: bool = False) -> None:
        if self._outbox.throttled and not last:
            watch.skip()  # the next span covers this beat as well
            return
        try:
            sample = watch.sample()
        except (OSError, ValueError):
            # Nothing measured, so nothing said; the gap shows in the spans.
            watch.skip()
            return
        self._outbox.append(encode_frame({"type": "counters", "watch": number, "sample": sample}))

    def _say_bye(self, _request: Message) -> Dict[str, Any]:
        self._status = EXIT_DONE
        return {}

    def _kill_everything(self) -> None:
        signal.set_wakeup_fd(-1)
        for job in self._jobs.values():
            job.kill()
        waiting = list(self._jobs.values())
        deadline_ns = time.monotonic_ns() + 2_000_000_000
        while waiting and time.monotonic_ns() < deadline_ns:
            waiting = [job for job in waiting if not job.notice_exit()]
            if waiting:
                time.sleep(0.01)
        for job in self._jobs.values():
            if job.exited:
                job.reap()

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
    """What is wrong, without the rest of what a controller may have asked for at any length."""
    return str(error)[: limits.MAX_ERROR_CHARACTERS]


def _plain(value: object) -> str:
    """A stranger's word without quotation marks, on one line and short."""
    return quote(str(value) if isinstance(value, str) else value).strip("'")


def _own_command() -> List[str]:
    """How this agent is started once more: from its zip, or as a module where it is no zip."""
    package = os.path.dirname(os.path.abspath(__file__))
    archive = os.path.dirname(os.path.dirname(package))
    here = [archive] if os.path.isfile(archive) else ["-m", "pathlab.agents"]
    return [sys.executable, "-I", *here]


def _is_readable(descriptor: int) -> bool:
    with selectors.PollSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        return bool(selector.select(0))
