"""Other programs that measure, run for a controller.

``run_peer`` is a process of its own, started by the agent like an engine: options as one JSON object, records
on stdout as in PROTOCOL.md. The options are the program's name, by which it is found on this host, its
arguments, and for a server how it is given its port. There is no shell. The program ends with this process,
which ends when its stdin does.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from typing import Any, Dict, List, Mapping, Optional

from pathlab.agents.engines import is_passable
from pathlab.agents.limits import MAX_LINE_BYTES
from pathlab.agents.listeners import await_listener, check_numeric_address, find_free_port, parse_ports
from pathlab.agents.protocol import parse_object, quote

EXIT_DONE, EXIT_USAGE, EXIT_SETUP, EXIT_ENDED = 0, 2, 3, 5
LISTEN_S = 5.0
END_S = 1.0
MAX_ERRORS_BYTES = 4096
_PR_SET_PDEATHSIG = 1

_PROGRAM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
_MAX_ARGUMENTS, _MAX_ARGUMENT_CHARACTERS = 64, 16384


class Peer:
    """What is to be run: ``command``, and for a server the ``ports`` it may listen on, else None.

    ``port_argument`` and ``address`` are a server's. ValueError names what is wrong with the options.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        unknown = sorted(set(options) - {"program", "arguments", "listen"})
        if unknown:
            raise ValueError(f"unknown option {quote(unknown[0])}")
        program, arguments = options.get("program"), options.get("arguments")
        if not isinstance(program, str) or not _PROGRAM.fullmatch(program):
            raise ValueError("'program' must be the name of a program, without a folder")
        if not isinstance(arguments, list) or not all(map(_is_argument, arguments)):
            raise ValueError("'arguments' must be a list of texts that a program can be given")
        if len(arguments) > _MAX_ARGUMENTS:
            raise ValueError(f"'arguments' are {len(arguments)}, more than {_MAX_ARGUMENTS}")
        self.command: List[str] = [program, *arguments]
        self.ports: Optional[range] = None
        listen = options.get("listen")
        if listen is not None:
            self._read_listen(listen)

    def _read_listen(self, listen: Any) -> None:
        names = ("argument", "address", "ports")
        texts: List[Any] = [listen.get(name) for name in names] if isinstance(listen, dict) else []
        if not texts or len(listen) != len(names) or not all(map(_is_argument, texts)):
            raise ValueError(f"'listen' must have the texts {', '.join(names)}")
        self.port_argument, self.address, ports = texts
        try:
            check_numeric_address(self.address)
            self.ports = parse_ports(ports)
        except ValueError as error:
            raise ValueError(f"'listen': {error}") from error

    def choose_port(self) -> int:
        """A port that is free now, added to the command; the program takes it a moment later. OSError."""
        assert self.ports is not None
        chosen = find_free_port(self.address, self.ports)
        self.command += [self.port_argument, str(chosen)]
        return chosen


def _is_argument(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _MAX_ARGUMENT_CHARACTERS and is_passable(value)


def run_peer(text: str) -> int:
    """Run the program to its end and pass on its JSON; return the exit status."""
    try:
        peer = Peer(parse_object(text.encode("utf-8")))
    except ValueError as error:
        return _fail("usage", str(error), EXIT_USAGE)
    command, port = peer.command, None
    path = shutil.which(command[0])
    if path is None:
        return _fail("setup", f"{command[0]} is not installed on this host", EXIT_SETUP)
    if peer.ports is not None:
        try:
            port = peer.choose_port()
        except OSError as error:
            return _fail("listen", f"no port for {command[0]}: {error.strerror}", EXIT_SETUP)
    process = subprocess.Popen(
        [path, *command[1:]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        preexec_fn=die_with_parent,  # noqa: PLW1509 -- one thread, and nothing else asks the kernel for this
    )
    _write_record({"type": "peer", "program": command[0], "pid": process.pid})
    try:
        if port is not None and not _listens(peer, port, process):
            return _fail("listen", f"{command[0]} does not listen: {_read_last_output(process)}", EXIT_SETUP)
        if port is not None:
            _write_record({"type": "listening", "port": port})
        return _collect(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def _collect(process: subprocess.Popen) -> int:  # type: ignore[type-arg]  # not generic in Python 3.8
    """Read what it prints; a line on stdin, or its end, ends the program early."""
    assert process.stdout is not None
    assert process.stderr is not None
    printed, errors, early = bytearray(), bytearray(), False
    poll = select.poll()
    for descriptor in (0, process.stdout.fileno(), process.stderr.fileno()):
        poll.register(descriptor, select.POLLIN)
    open_ends = 2
    while open_ends:
        for descriptor, _events in poll.poll():
            data = os.read(descriptor, 65536)
            if descriptor == 0:
                early = True
                poll.unregister(0)
                process.send_signal(signal.SIGINT if data else signal.SIGKILL)
            elif not data:
                poll.unregister(descriptor)
                open_ends -= 1
            elif descriptor == process.stdout.fileno():
                printed += data
                if len(printed) > MAX_LINE_BYTES // 2:
                    return _fail("output", "it printed more than the agent passes on", EXIT_ENDED)
            else:
                errors += data
                del errors[:-MAX_ERRORS_BYTES]
    ended_ns = time.monotonic_ns()
    status = process.wait()
    try:
        output = json.loads(bytes(printed).decode("utf-8", "replace"))
    except ValueError:
        words = bytes(errors or printed).decode("utf-8", "replace").strip().splitlines()
        return _fail("output", f"it printed no JSON: {words[-1] if words else 'nothing'}", EXIT_ENDED)
    if not isinstance(output, dict) or output.get("error"):
        text = output.get("error") if isinstance(output, dict) else "it printed no object"
        return _fail("peer", str(text), EXIT_ENDED)
    _write_record({"type": "output", "json": output, "ended_ns": ended_ns})
    _write_record(
        {"type": "result", "complete": status == 0 and not early, "reason": "stopped" if early else None}
    )
    return EXIT_DONE if status == 0 else EXIT_ENDED


def _listens(peer: Peer, port: int, process: subprocess.Popen) -> bool:  # type: ignore[type-arg]
    """Whether a socket of the program listens there, within a few seconds and while it runs."""

    def wait(seconds: float) -> bool:
        time.sleep(seconds)
        return process.poll() is None

    result = await_listener("tcp", peer.address, port, root=process.pid, timeout_s=LISTEN_S, wait=wait)
    return result is not None


def _read_last_output(process: subprocess.Popen) -> str:  # type: ignore[type-arg]
    if process.poll() is None:
        process.kill()
    try:
        out, errors = process.communicate(timeout=END_S)
    except subprocess.TimeoutExpired:  # a child of it lives on and holds its output open
        return "a child of it holds its output open"
    return (errors or out).decode("utf-8", "replace").strip()[-300:] or "it said nothing"


def die_with_parent() -> None:
    """Ask the kernel to kill this process when the one that started it ends, however that ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _fail(stage: str, text: str, status: int) -> int:
    _write_record({"type": "error", "stage": stage, "text": text})
    return status


def _write_record(record: Dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(record, separators=(",", ":")) + "\n")
    sys.stdout.flush()
