"""What runs for one controller: engines, probers and other programs, each in its own process."""

from __future__ import annotations

import hashlib
import json
import os
import re
import selectors
import sys
import time
from typing import Any, Dict, Iterator, List, Optional, Tuple

from pathlab.agents import limits
from pathlab.agents.captures import Captures, check_options
from pathlab.agents.engines import (
    ADAPTER_HELLO,
    ENGINE_HELLO,
    EngineProcess,
    HelloRule,
    build_command,
    check_token,
)
from pathlab.agents.outbox import END, Outbox
from pathlab.agents.peers import Peer
from pathlab.agents.protocol import (
    OTHER_BUILD,
    OWN_BUILD,
    Message,
    RequestError,
    encode_frame,
    frame_body,
    quote,
)

#: The type of a record that begins with it, as those of the native engine do.
_RECORD_TYPE = re.compile(rb'\s*\{\s*"type"\s*:\s*"([a-z_-]+)"')


class Jobs:
    """The jobs of one session, numbered from 1; their records go into the outbox. Nothing blocks.

    ``engine`` is the native engine, ``against`` another build of it, None where the agent has none. Methods
    named after requests return their results and raise RequestError.
    """

    def __init__(
        self, outbox: Outbox, *, engine: Optional[str], against: Optional[str] = None, caps: limits.Caps
    ) -> None:
        self._outbox = outbox
        self._caps = caps
        self._engines = {OWN_BUILD: engine, OTHER_BUILD: against}
        self._digests: Dict[str, str] = {}
        self._running: Dict[int, EngineProcess] = {}
        self._last = 0
        self.captures = Captures()

    def __iter__(self) -> Iterator[EngineProcess]:
        """Those whose end was not reported yet; one may be taken out meanwhile."""
        return iter(list(self._running.values()))

    def start_engine(self, request: Message) -> Dict[str, Any]:
        """``pathlab-engine SUBCOMMAND --flag value …``, within the limits of the request and of this host."""
        build = request.get("build", OWN_BUILD)
        engine = self._engines.get(build)
        if engine is None:
            which = "an engine" if build == OWN_BUILD else f"an engine of build {quote(build)}"
            raise RequestError("engine", f"this agent was started without {which}")
        options, token = request["options"], request.get("token")
        try:
            if token is not None:
                check_token(token)
            clamped = limits.clamp_limits(request["limits"], self._caps)
            command = build_command(engine, request["subcommand"], options, clamped)
        except ValueError as error:
            raise RequestError("engine", str(error)) from error
        control = options.get("control") == "stdin"
        answer = self._start(command, clamped, control=control, token=token)
        requested = {name: request["limits"].get(name) for name in clamped}
        return {**answer, "requested": requested, "engine_sha256": self._digest(engine)}

    def start_capture(self, request: Message) -> Dict[str, Any]:
        """``pathlab-engine capture`` into a file of this agent, as a job like an engine."""
        engine = self._engines[OWN_BUILD]
        if engine is None:
            raise RequestError("engine", "this agent was started without an engine")
        try:
            check_options(request["options"])
            clamped = limits.clamp_limits(request["limits"], self._caps)
            command = build_command(engine, "capture", {**request["options"], "control": "stdin"}, clamped)
        except ValueError as error:
            raise RequestError("capture", str(error)) from error
        descriptor = self.captures.open()
        try:
            command += ["--descriptor", str(descriptor)]
            answer = self._start(command, clamped, control=True, inherited=(descriptor,))
        except BaseException:
            os.close(descriptor)
            raise
        self.captures.keep(answer["job"], descriptor)
        return answer

    def _digest(self, engine: str) -> Optional[str]:
        """SHA-256 of an engine's file, read once; None where it cannot be read."""
        if engine not in self._digests:
            try:
                with open(engine, "rb") as file:
                    self._digests[engine] = hashlib.sha256(file.read()).hexdigest()
            except OSError:
                return None
        return self._digests[engine]

    def start_discovery(self, request: Message) -> Dict[str, Any]:
        """The prober of this very agent, as a job like an engine; it always listens for commands."""
        try:
            clamped = limits.clamp_limits(request["limits"], self._caps)
        except ValueError as error:
            raise RequestError("discovery", str(error)) from error
        command = [*_own_command(), "--discover", json.dumps(request["options"])]
        return self._start(command, clamped, control=True)

    def start_peer(self, request: Message) -> Dict[str, Any]:
        """Another program of this host, as a job like an engine."""
        self._check_uncapped()
        try:
            clamped = limits.clamp_limits(request["limits"], self._caps)
            Peer(request["options"])
        except ValueError as error:
            raise RequestError("engine", str(error)) from error
        command = [*_own_command(), "--peer", json.dumps(request["options"])]
        return self._start(command, clamped, control=True)

    def start_adapter(self, request: Message) -> Dict[str, Any]:
        """One end of a technology, as a job like an engine; what is wrong with it, its records say."""
        self._check_uncapped()
        try:
            clamped = limits.clamp_limits(request["limits"], self._caps)
        except ValueError as error:
            raise RequestError("engine", str(error)) from error
        options = {name: request[name] for name in ("name", "role", "settings", "ports")}
        options["seconds"] = clamped["seconds"]
        return self._start_adapter_program(options, clamped)

    def check_adapters(self, request: Message) -> Dict[str, Any]:
        """What technologies lack on this host, as a job, since looking takes a while."""
        return self._start_adapter_program({"check": request["names"]}, limits.clamp_limits({}, self._caps))

    def _start_adapter_program(self, options: Dict[str, Any], clamped: Dict[str, Any]) -> Dict[str, Any]:
        options["engine"] = self._engines[OWN_BUILD]
        command = [*_own_command(), "--adapter", json.dumps(options)]
        return self._start(command, clamped, control=True, rule=ADAPTER_HELLO)

    def _check_uncapped(self) -> None:
        if self._caps.bytes is not None or self._caps.rate_bits_per_s is not None:
            text = "this host caps bytes or rate, which other programs do not keep: use the native engine"
            raise RequestError("engine", text)

    def _start(
        self,
        command: List[str],
        clamped: Dict[str, Any],
        *,
        control: bool,
        token: Optional[str] = None,
        rule: HelloRule = ENGINE_HELLO,
        inherited: Tuple[int, ...] = (),
    ) -> Dict[str, Any]:
        if len(self._running) >= limits.MAX_JOBS:
            raise RequestError("engine", f"{limits.MAX_JOBS} engines run already, the most at a time")
        try:
            number = self._last + 1
            job = EngineProcess(
                number,
                command,
                seconds=clamped["seconds"],
                control=control,
                token=token,
                rule=rule,
                inherited=inherited,
            )
        except OSError as error:
            raise RequestError("engine", f"cannot start {command[0]}: {error.strerror or error}") from error
        self._last = number
        self._running[number] = job
        return {"job": number, "limits": clamped, "pid": job.pid}

    def command(self, request: Message) -> Dict[str, Any]:
        """One line for a job's stdin."""
        job = self._find(request)
        if job is None:
            raise RequestError("engine", f"job {request['job']} has ended")
        try:
            job.command(request["line"])
        except ValueError as error:
            raise RequestError("engine", str(error)) from error
        return {}

    def kill(self, request: Message) -> Dict[str, Any]:
        """SIGTERM, and SIGKILL soon after; one that has ended is no error."""
        job = self._find(request)
        if job is not None:
            job.terminate()
        return {}

    def _find(self, request: Message) -> Optional[EngineProcess]:
        number = request["job"]
        if number not in self._running and not 0 < number <= self._last:
            raise RequestError("engine", f"there is no job {number}")
        return self._running.get(number)

    def forward(self, job: EngineProcess) -> None:
        """Hand on the records that can be read now."""
        # The line is spliced in as it is: it has just been checked to be one JSON object.
        head = b'{"type":"engine","job":%d,"record":' % job.number
        for line in job.read_records():
            match = _RECORD_TYPE.match(line)
            kind = "" if match is None else match.group(1).decode("ascii")
            self._outbox.append_record(frame_body(head + line.strip() + b"}"), kind, ("job", job.number))

    def take_out(self, job: EngineProcess) -> bool:
        """Hand on the rest of an ended job's output and forget it; False, and not yet, under back-pressure.

        Its descriptors must not be watched any more when ``send_exit`` closes them.
        """
        while True:
            if self._outbox.throttled:
                return False
            if job.stdout is None or not _is_readable(job.stdout):
                break  # another process may hold the pipe open; the engine itself writes no more
            before = self._outbox.size_bytes
            self.forward(job)
            if self._outbox.size_bytes > before:
                self._outbox.flush()
        job.drain_errors()
        del self._running[job.number]
        return True

    def send_exit(self, job: EngineProcess) -> None:
        """Report the end of a job that was taken out, and close what is left of it."""
        event = {"type": "engine-exit", "job": job.number}
        self._outbox.append_record(encode_frame({**event, **job.reap()}), END, ("job", job.number))

    def kill_all(self) -> None:
        """End everything at once, and wait for it for a bounded time."""
        for job in self:
            job.kill()
        waiting = list(self)
        deadline_ns = time.monotonic_ns() + 2_000_000_000
        while waiting and time.monotonic_ns() < deadline_ns:
            waiting = [job for job in waiting if not job.notice_exit()]
            if waiting:
                time.sleep(0.01)
        for job in self:
            if job.exited:
                job.reap()


def find_own_archive() -> Optional[str]:
    """The zip that this agent runs from; None where it is no zip."""
    package = os.path.dirname(os.path.abspath(__file__))
    archive = os.path.dirname(os.path.dirname(package))
    return archive if os.path.isfile(archive) else None


def _own_command() -> List[str]:
    """How this agent is started once more: from its zip, or as a module."""
    archive = find_own_archive()
    return [sys.executable, "-I", *([archive] if archive else ["-m", "pathlab.agents"])]


def _is_readable(descriptor: int) -> bool:
    with selectors.PollSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        return bool(selector.select(0))
