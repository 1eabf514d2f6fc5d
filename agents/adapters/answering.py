"""The answering end of a technology: its server and responder, from their start to their end.

One thread reads what they print, the agent's command lines and their exits. Whatever goes wrong becomes one
``error`` record with its stage, and everything is ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List, Mapping, Optional

from pathlab.agents.adapters.build import AdapterProgram, open_cache
from pathlab.agents.adapters.manifest import Manifest
from pathlab.agents.adapters.needs import (
    TechnologyError,
    fill_placeholders,
    find_program,
    read_server_versions,
    resolve_words,
)
from pathlab.agents.adapters.sandbox import FOLDER_BYTES, Sandbox
from pathlab.agents.adapters.server_cpu import read_server_cpu, subtract_cpu
from pathlab.agents.adapters.server_part import ServerPart
from pathlab.agents.adapters.visitors import VisitorCount
from pathlab.agents.engines import ADAPTER_HELLO, find_hello_fault
from pathlab.agents.listeners import await_listener, find_free_port, find_listeners

EXIT_DONE, EXIT_SETUP, EXIT_ENDED = 0, 3, 5
LISTEN_S = 10.0
STATED_S = 1.0  # for a socket whose port the program has stated
PREPARE_S = 60.0
#: Data of each process of a server (RLIMIT_DATA): whoever reaches it could make it hold more.
MEMORY_BYTES = 1 << 30
STREAM_MEMORY_BYTES = 12 << 20  # a thread's stack, which counts whole, and what it holds
STARTS = 3  # of a server whose port was taken in the moment between the choice and its start
STAGES = ("needs", "build", "start", "port", "contract", "connect", "reply", "stall", "exit", "limit")
_CONFIG = "server.conf"
_PATH = re.compile(r"/[^\s'\":,;=]+")  # in a word such as -L/opt/lib
Write = Callable[[Mapping[str, Any]], None]


class _Stopped(Exception):  # noqa: N818 -- no error
    """The end was requested; the text names what requested it."""


class AnsweringEnd:
    """Server and responder of one technology, which may run for ``seconds``.

    ``settings`` are the program's without port and folder.
    """

    def __init__(
        self,
        manifest: Manifest,
        program: AdapterProgram,
        settings: Mapping[str, Any],
        ports: range,
        seconds: float,
        write: Write,
    ) -> None:
        self._manifest, self._program, self._write = manifest, program, write
        self._settings = {**settings, "folder": ""}
        self._address, self._ports = str(settings["address"]), ports
        self._streams = int(settings.get("streams") or 1)
        self._cores = [int(core) for core in settings.get("cores") or []]
        self._listen_s = min(LISTEN_S, seconds)
        self._parts: List[ServerPart] = []
        self._commands = bytearray()
        self._stop_reason: Optional[str] = None
        self._listened = False
        self._visitors: Optional[VisitorCount] = None
        self._readings: Dict[str, Dict[str, Any]] = {}
        self._ending: Optional[ServerPart] = None  # its end is awaited
        self._wake, self._woken_by = os.pipe()
        for descriptor in (self._wake, self._woken_by):
            os.set_blocking(descriptor, False)

    def run(self) -> int:
        """Start, listen, serve until ``stop``; return the exit status. TechnologyError before the sandbox."""
        self._check_cores()
        versions = read_server_versions(self._manifest)
        granted = self._raise_priority()
        try:
            self._sandbox = Sandbox(open_cache(), size_bytes=FOLDER_BYTES, paths=self._list_paths())
        except OSError as error:
            raise TechnologyError("start", f"no sandbox: {error.strerror or error}") from error
        self._watch_signals()
        fault: Optional[TechnologyError] = None
        try:
            self._listen(versions, granted)
            assert self._visitors is not None
            while True:
                self._turn(self._visitors.find_wait_s())
                self._visitors.look()
        except _Stopped as stop:
            self._stop_reason = str(stop)
        except TechnologyError as error:
            fault = error
            if self._sandbox.is_full():
                fault = TechnologyError(
                    "limit", f"{error.text}; its folder of {self._sandbox.size_bytes} bytes is full"
                )
        except (OSError, subprocess.SubprocessError) as error:
            fault = TechnologyError("start", str(error))
        finally:
            self._sandbox.close()
        return self._finish(fault)

    def _finish(self, fault: Optional[TechnologyError]) -> int:
        """The last records, once everything is ended."""
        if fault is not None:
            self._write({"type": "error", "stage": fault.stage, "text": fault.text})
        complete = fault is None and self._stop_reason == "stop" and "go" in self._readings
        reason = None if complete else fault.text if fault else f"ended by {self._stop_reason} before the end"
        spent = subtract_cpu(self._readings.get("stop"), self._readings.get("go"))
        visitors = None if self._visitors is None else self._visitors.read()
        seen = {"foreign_connections": visitors}
        self._write({"type": "result", "complete": complete, "reason": reason, **spent, **seen})
        if complete or self._stop_reason == "stop":
            return EXIT_DONE
        return EXIT_ENDED if self._listened else EXIT_SETUP

    def _list_paths(self) -> List[str]:
        """What the server and the responder may need, and this process, which stays in the sandbox."""
        manifest = self._manifest
        commands = [*manifest.build, *manifest.prepare, *([manifest.server] if manifest.server else [])]
        named = [path for word in [*sum(commands, ()), *manifest.config] for path in _PATH.findall(word)]
        programs = [find_program(words[0]) or "" for words in commands]
        listed = [os.environ.get(name, "") for name in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH")]
        folders = [*sys.path, sys.executable, sys.base_prefix, *":".join(listed).split(":")]
        return list(filter(None, [*self._program.words, *named, *programs, *folders]))

    def _check_cores(self) -> None:
        """TechnologyError for cores that this host does not let a process use."""
        usual = os.sched_getaffinity(0)
        usable = set()
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, self._cores or usual)
            usable = os.sched_getaffinity(0)
            os.sched_setaffinity(0, usual)
        unusable = ", ".join(str(core) for core in self._cores if core not in usable)
        if unusable:
            raise TechnologyError("limit", f"cannot use the processors {unusable} of this host")

    def _raise_priority(self) -> Optional[int]:
        """Real-time priority for this process, which its children get; None where it is not granted.

        It has to be taken outside the sandbox, where nobody has privileges.
        """
        priority = self._settings.get("priority")
        if priority is None:
            return None
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(int(priority)))
        except OSError:
            return None
        return int(priority)

    def _watch_signals(self) -> None:
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, lambda _number, _frame: None)  # for the wake-up descriptor to get it
        signal.set_wakeup_fd(self._woken_by, warn_on_full_buffer=False)

    def _listen(self, versions: Optional[str], granted: Optional[int]) -> None:
        """Start everything and write ``listening``."""
        started_ns, port, stated = self._start_server()
        if self._manifest.responder:
            responder = self._start_own("responder", port)
            stated = self._await_record(responder)
        if granted is not None:  # this process is none of the technology
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        texts = [text for text in (versions, stated.get("versions")) if text]
        record = {
            "type": "listening",
            "port": port,
            "versions": ", ".join(texts) or None,
            "settings": stated.get("settings"),
            "server_start_ns": time.monotonic_ns() - started_ns,
            "sandbox": self._sandbox.namespaces,
            "priority": granted,
        }
        self._listened = True
        asker = str(self._settings.get("local_address") or "")
        self._visitors = VisitorCount(self._manifest.protocol, self._address, port, asker)
        self._write(record)

    def _start_server(self) -> "tuple[int, int, Dict[str, Any]]":
        """Start the server until its socket is seen: when it was started, its port, and what it states."""
        manifest = self._manifest
        for attempt in range(STARTS):
            port = self._choose_port()
            values = self._write_config(port)
            if attempt == 0:
                self._prepare(values)
            started_ns = time.monotonic_ns()
            if manifest.server is None:
                server = self._start_own("server", port)
            else:
                server = self._start(resolve_words(manifest.server, values), is_ours=False)
            try:
                stated = self._await_record(server) if server.is_ours else {}
                return started_ns, self._await_socket(server, stated.get("port", port)), stated
            except TechnologyError:
                if attempt == STARTS - 1 or server.process.poll() is None or self._is_free(port):
                    raise
                self._drop(server)
        raise AssertionError

    def _choose_port(self) -> int:
        """0 where the server states its own, else one that is free now."""
        if self._manifest.port == "own" and self._ports == range(1):
            return 0
        try:
            return find_free_port(self._address, self._ports, self._manifest.protocol)
        except OSError as error:
            first, last = self._ports[0], self._ports[-1]
            which = f"port {first}" if first == last else f"each of the ports {first}-{last}"
            raise TechnologyError("port", f"{which} of {self._address}: {error.strerror or error}") from error

    def _is_free(self, port: int) -> bool:
        with contextlib.suppress(OSError):
            return port == find_free_port(self._address, range(port, port + 1), self._manifest.protocol)
        return port == 0

    def _write_config(self, port: int) -> Dict[str, str]:
        """Write the server's configuration; the values of all placeholders."""
        folder = self._sandbox.folder
        values = {
            "address": self._address,
            "port": str(port),
            "folder": folder,
            "config": os.path.join(folder, _CONFIG),
            "source": self._program.source,
            "scope": str(self._settings["scope"]),
        }
        if self._manifest.config:
            with open(values["config"], "w", encoding="utf-8") as file:
                file.writelines(fill_placeholders(line, values) + "\n" for line in self._manifest.config)
        return values

    def _prepare(self, values: Mapping[str, str]) -> None:
        deadline_s = time.monotonic() + PREPARE_S
        for words in self._manifest.prepare:
            part = self._start(resolve_words(words, values), is_ours=False)
            self._ending = part
            while part.process.poll() is None:
                if time.monotonic() > deadline_s:
                    raise TechnologyError("start", f"{part.name} does not end within {PREPARE_S:g} s")
                self._turn(1.0)
            part.drain()
            if part.process.returncode:
                raise TechnologyError("start", part.describe_end())
            self._drop(part)

    def _start_own(self, name: str, port: int) -> ServerPart:
        """The adapter's program, as the server or alongside it."""
        settings = {**self._settings, "port": port, "folder": self._sandbox.folder}
        words = [*self._program.words, "answer", json.dumps(settings)]
        return self._start(words, is_ours=True, name=name)

    def _start(self, words: List[str], *, is_ours: bool, name: Optional[str] = None) -> ServerPart:
        folder = self._sandbox.folder
        environment = {**os.environ, "HOME": folder, "TMPDIR": folder}
        try:
            process = self._sandbox.start(
                words,
                environment=environment,
                cores=self._cores,
                memory_bytes=MEMORY_BYTES + self._streams * STREAM_MEMORY_BYTES,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise TechnologyError("start", f"cannot start {words[0]}: {error}") from error
        part = ServerPart(name or os.path.basename(words[0]), process, is_ours=is_ours)
        self._parts.append(part)
        return part

    def _drop(self, part: ServerPart) -> None:
        part.close()
        self._parts.remove(part)

    def _await_record(self, part: ServerPart) -> Dict[str, Any]:
        """The program's ``listening`` record, after its ``hello`` was found to be right."""
        deadline_s = time.monotonic() + self._listen_s
        while True:
            for record in part.records:
                if record["type"] == "listening" and isinstance(record.get("port"), int):
                    return record
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                raise TechnologyError("port", f"{part.name} does not listen within {self._listen_s:g} s")
            self._turn(left_s)

    def _await_socket(self, server: ServerPart, port: int) -> int:
        """The port of the server's socket, seen by its address and owner. TechnologyError: there is none."""

        protocol, root = self._manifest.protocol, os.getpid()

        def wait(seconds: float) -> bool:
            """One turn; false once the port is open on another address alone."""
            self._turn(seconds)
            return not (port and find_listeners(protocol, root, port))

        result = await_listener(
            protocol,
            self._address,
            port or None,
            root=root,
            timeout_s=STATED_S if server.is_ours else self._listen_s,
            wait=wait,
        )
        if result is None:
            others = ", ".join(
                f"{address} port {number}" for address, number in find_listeners(protocol, root)
            )
            where = f"{self._address} port {port}" if port else self._address
            raise TechnologyError(
                "port", f"{server.name} does not listen on {where}, but on {others or 'nothing'}"
            )
        return result

    def _turn(self, timeout_s: Optional[float]) -> None:
        """Wait for something and deal with it. TechnologyError for a failure, _Stopped for an ordered end."""
        poll = select.poll()
        owners = {descriptor: part for part in self._parts for descriptor in part.streams}
        for descriptor in (0, self._wake, *owners):
            poll.register(descriptor, select.POLLIN)
        for descriptor, _events in poll.poll(None if timeout_s is None else max(1, int(timeout_s * 1000))):
            if descriptor in owners:
                owners[descriptor].read(descriptor)
            elif descriptor == 0:
                self._read_commands()
            else:
                self._read_signals()
        for part in self._parts:
            self._check_part(part)
        if not self._sandbox.has_init():
            raise TechnologyError("exit", "the sandbox was killed, and the server with it")

    def _read_signals(self) -> None:
        with contextlib.suppress(BlockingIOError):
            if signal.SIGTERM in os.read(self._wake, 256):
                raise _Stopped("a signal")

    def _read_commands(self) -> None:
        data = os.read(0, 4096)
        if not data:
            raise _Stopped("the end of the agent")
        *lines, rest = bytes(self._commands + data).split(b"\n")
        self._commands = bytearray(rest)
        for line in lines:
            command = line.decode("ascii", "replace").strip()
            if command == "go" and not self._listened:
                raise TechnologyError("contract", "'go' came before the server listened")
            if command in ("go", "stop"):
                self._count_visitors(command)
                self._state_cpu(command)
            if command == "stop":
                raise _Stopped(command)

    def _count_visitors(self, command: str) -> None:
        if self._visitors is not None:
            if command == "go":
                self._visitors.begin()
            else:
                self._visitors.look(now=True)

    def _state_cpu(self, command: str) -> None:
        responder = next((part.process.pid for part in self._parts if part.name == "responder"), None)
        own = [self._sandbox.init_pid] if self._sandbox.init_pid else []
        self._readings[command] = read_server_cpu(responder, own)
        self._write(self._readings[command])

    def _check_part(self, part: ServerPart) -> None:
        """Deal with its records and its end."""
        ended = part is not self._ending and part.process.poll() is not None
        if ended:
            self._read_signals()  # one for all these processes may have ended it
            part.drain()
        for record in part.records[part.checked :]:
            part.checked += 1
            if record["type"] == "hello":
                fault = find_hello_fault(record, ADAPTER_HELLO)
                if fault is not None:
                    raise TechnologyError("contract", fault)
                self._write(record)
            elif part.checked == 1:
                raise TechnologyError("contract", f"the first record of {part.name} is no 'hello'")
            elif record["type"] == "error":
                stage = record["stage"] if record.get("stage") in STAGES else "contract"
                raise TechnologyError(stage, str(record.get("text"))[:400])
        if ended:
            raise TechnologyError("exit" if self._listened else "start", part.describe_end())
