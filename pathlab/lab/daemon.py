"""The daemon of a named lab, which keeps it up between commands of ``pathlab lab``, and its client.

``python -m pathlab.lab.daemon NAME BACKEND ENGINE`` reads a topology from stdin, makes the lab, writes one
line of JSON on stdout ("up", or the error) and serves a Unix socket until a request ``down`` or a signal.
The lab ends with it, whatever ends it. Requests and answers are one JSON object per message::

    {"op": "describe"}                              {"ok": true, "name", "pid", "lab", "counters"}
    {"op": "exec", "node": N, "argv": [...]}        {"ok": true, "status": S}
    {"op": "change", "link": N, "end": 0 or 1, "settings": {...}}   {"ok": true}
    {"op": "down"}                                  {"ok": true}

``exec`` comes with three descriptors; when its sender goes away the command is killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

from pathlab.errors import HostError, UsageError
from pathlab.lab.lab import Lab
from pathlab.lab.namespaces import LabProcess, lab_error
from pathlab.lab.topology import LinkSettings, Topology, read_facts

MESSAGE_MAX_BYTES = 1 << 18
POLL_S = 0.05
NAME_BYTES_MAX = 40
SOCKET_PATH_BYTES_MAX = 107  # struct sockaddr_un
SIGNALLED = 128  # as a shell adds to the number of the signal that ended a command


def runtime_folder() -> Path:
    """Where the sockets of this user's labs are: below $XDG_RUNTIME_DIR, else a private folder of /tmp."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    folder = Path(base) / "pathlab" if base else Path(f"/tmp/pathlab-{os.getuid()}")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        hint = "set XDG_RUNTIME_DIR to a folder of this user's, or unset it"
        raise lab_error(f"{folder} cannot be made: {error.strerror}", hint) from error
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise lab_error(
            f"{folder} must belong to this user alone", f"chmod 700 {folder}, or set XDG_RUNTIME_DIR"
        )
    return folder


def socket_path(name: str) -> Path:
    """The socket of a lab. Raises UsageError for a name that cannot be one."""
    if not name.replace("-", "").replace("_", "").isalnum() or len(os.fsencode(name)) > NAME_BYTES_MAX:
        hint = f"use letters, digits, '-' and '_', {NAME_BYTES_MAX} bytes at most"
        raise UsageError(f"'{name}' is not a lab name", hint=hint)
    path = runtime_folder() / f"lab-{name}.sock"
    if len(os.fsencode(path)) > SOCKET_PATH_BYTES_MAX:
        raise lab_error(f"{path.parent} is too long for a socket", "set XDG_RUNTIME_DIR to a shorter one")
    return path


def _exit_report_path(name: str) -> Path:
    """Where a lab that ended by itself says why."""
    return socket_path(name).with_suffix(".ended")


def read_exit_reports() -> list[str]:
    """Which labs ended by themselves, and why; each is reported once."""
    reports = []
    for path in sorted(runtime_folder().glob("lab-*.ended")):
        with contextlib.suppress(OSError):
            name, why = path.stem.removeprefix("lab-"), path.read_text(encoding="utf-8")
            reports.append(f"the lab '{name}' ended by itself: {why}")
            path.unlink()
    return reports


def list_running_labs() -> list[str]:
    """Names of the labs that are up; the sockets of dead ones are removed."""
    alive = []
    for path in sorted(runtime_folder().glob("lab-*.sock")):
        name = path.name.removeprefix("lab-").removesuffix(".sock")
        with contextlib.suppress(FileNotFoundError, ConnectionRefusedError, UsageError):
            _reach(name).close()
            alive.append(name)
    return alive


def no_lab(text: str) -> HostError:
    """The error of a lab that is not there, with what ended since the last report."""
    return lab_error("; ".join([text, *read_exit_reports()]), "make one with: pathlab lab up TOPOLOGY")


def connect(name: str) -> socket.socket:
    """A connection to the daemon of a lab. Raises HostError (stage lab) when there is none."""
    try:
        return _reach(name)
    except (FileNotFoundError, ConnectionRefusedError) as error:
        raise no_lab(f"lab '{name}' is not up") from error


def _reach(name: str) -> socket.socket:
    """A connection; the socket of a daemon that is gone is removed."""
    path = socket_path(name)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        connection.connect(str(path))
    except OSError as error:
        connection.close()
        if isinstance(error, ConnectionRefusedError):
            path.unlink(missing_ok=True)
        raise
    return connection


def request(name: str, request: dict[str, Any], descriptors: tuple[int, ...] = ()) -> dict[str, Any]:
    """One request to a lab's daemon, and its answer. Raises HostError (stage lab)."""
    with connect(name) as connection:
        socket.send_fds(connection, [json.dumps(request).encode()], list(descriptors))
        data = _receive(connection)
    return _read_answer(
        data, lab_error(f"the lab '{name}' ended", "look at what is up with: pathlab lab list")
    )


def _read_answer(data: bytes, gone: HostError) -> dict[str, Any]:
    if not data:
        raise gone
    answer: dict[str, Any] = json.loads(data)
    if not answer["ok"]:
        raise lab_error(answer["error"], answer["hint"])
    return answer


def wait_until_gone(name: str, timeout_s: float = 10.0) -> None:
    """Return once the daemon has ended everything. Raises HostError (stage lab) when it does not in time."""
    end_s = time.monotonic() + timeout_s
    while time.monotonic() < end_s:
        if name not in list_running_labs():
            return
        time.sleep(POLL_S)
    raise lab_error(f"the lab '{name}' did not end in {timeout_s:.0f} s", "look for its process: ps x")


def _receive(connection: socket.socket) -> bytes:
    """The next message; empty when the other side is gone."""
    try:
        return connection.recv(MESSAGE_MAX_BYTES)
    except ConnectionResetError:
        return b""


class LabDaemon:
    """A lab and the socket through which commands reach it."""

    def __init__(self, name: str, lab: Lab) -> None:
        self._name = name
        self._lab = lab
        self._down = threading.Event()
        self._changing = threading.Lock()

    def serve(self, listener: socket.socket) -> None:
        """Answer until ``end``; one thread per connection, since a command may take its time."""
        while not self._down.is_set() and self._lab.find_fault() is None:
            ready, _, _ = select.select([listener], [], [], POLL_S * 10)
            if ready:
                connection, _ = listener.accept()
                threading.Thread(target=self._serve_connection, args=(connection,), daemon=True).start()

    def end(self) -> None:
        self._down.set()

    def _serve_connection(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            data, descriptors, _, _ = socket.recv_fds(connection, MESSAGE_MAX_BYTES, 3)
            try:
                answer = {"ok": True, **self._act(json.loads(data), descriptors, connection)}
            except HostError as error:
                answer = {"ok": False, "error": error.reason, "hint": error.hint}
            except (KeyError, ValueError) as error:
                answer = {"ok": False, "error": f"wrong request: {error}", "hint": None}
            finally:
                for descriptor in descriptors:
                    os.close(descriptor)
            connection.send(json.dumps(answer).encode())
            if answer.get("down"):
                self.end()

    def _act(
        self, request: dict[str, Any], descriptors: list[int], connection: socket.socket
    ) -> dict[str, Any]:
        if request["op"] == "describe":
            facts = self._lab.describe()
            return {"name": self._name, "pid": os.getpid(), "lab": facts, "counters": self._lab.counters()}
        if request["op"] == "exec":
            return {"status": self._execute(request["node"], request["argv"], descriptors, connection)}
        if request["op"] == "change":
            settings = LinkSettings(**request["settings"])
            with self._changing:
                self._lab.change_link(request["link"], request["end"], settings)
            return {}
        if request["op"] == "down":
            return {"down": True}
        raise ValueError(f"there is no op '{request['op']}'")

    def _execute(self, node: str, argv: list[str], descriptors: list[int], connection: socket.socket) -> int:
        """Run a command to its end; a signal number from the other side is passed on, its end kills."""
        if node not in self._lab.topology.nodes:
            known = ", ".join(self._lab.topology.nodes)
            raise lab_error(f"the lab '{self._name}' has no host '{node}'", f"name one of: {known}")
        stdin, stdout, stderr = descriptors
        process = self._lab.namespaces.spawn(node, argv, (stdin, stdout, stderr))
        while (status := process.wait(POLL_S)) is None:
            if select.select([connection], [], [], 0)[0] and not _pass_signal(process, connection):
                process.kill()
        return status if status >= 0 else SIGNALLED - status


def _pass_signal(process: LabProcess, connection: socket.socket) -> bool:
    """False when the other side is gone."""
    data = connection.recv(MESSAGE_MAX_BYTES)
    if not data:
        return False
    process.send_signal(signal.Signals(json.loads(data)["signal"]))
    return True


def execute_in_lab(name: str, node: str, argv: list[str]) -> int:
    """Run a command in a lab on our own stdin, stdout and stderr; SIGINT and SIGTERM go to it. Its status."""
    request = {"op": "exec", "node": node, "argv": argv}
    with connect(name) as connection:

        def pass_on(number: int, _frame: FrameType | None) -> None:
            with contextlib.suppress(OSError):
                connection.send(json.dumps({"signal": number}).encode())

        before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            socket.send_fds(connection, [json.dumps(request).encode()], [0, 1, 2])
            data = _receive(connection)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    return int(_read_answer(data, lab_error(f"the lab '{name}' ended while the command ran"))["status"])


def _report(answer: dict[str, Any]) -> bool:
    """One line for whoever started us; false when nobody is there any more."""
    try:
        os.write(sys.stdout.fileno(), json.dumps(answer).encode() + b"\n")
    except BrokenPipeError:
        return False
    return True


def main(arguments: list[str]) -> int:
    """Keep one lab; see the module's own words."""
    name, backend, engine = arguments
    topology: Topology = read_facts(json.load(sys.stdin))
    path = socket_path(name)
    lab = Lab(topology, engine=Path(engine), backend=backend)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        listener.bind(str(path))
        listener.listen()  # from now on the name is taken; requests meanwhile wait
        lab.start()
    except (HostError, OSError) as error:
        reason = error.reason if isinstance(error, HostError) else f"{path}: {error.strerror}"
        hint = error.hint if isinstance(error, HostError) else None
        _report({"up": False, "error": reason, "hint": hint})
        if isinstance(error, HostError):
            path.unlink()
        return 3
    _exit_report_path(name).unlink(missing_ok=True)
    daemon = LabDaemon(name, lab)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: daemon.end())
    if not _report({"up": True, "backend": lab.backend}):
        daemon.end()  # it was interrupted meanwhile: nobody knows of this lab
    try:
        daemon.serve(listener)
        fault = lab.find_fault()
        if fault is not None:
            _exit_report_path(name).write_text(fault, encoding="utf-8")
    finally:
        lab.close()
        listener.close()
        path.unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
