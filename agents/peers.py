"""Other programs that measure, run for a controller: today iperf3, and nothing that is not named here.

``run_peer`` is a process of its own, started by the agent like an engine: options as one JSON object, records
on stdout as PROTOCOL.md tells. The program's arguments are checked one by one against the list below, no
shell is near them, and it ends with this process, which ends when its stdin does.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from typing import Any, Dict, List, Mapping, Optional

from pathlab.agents.limits import MAX_LINE_BYTES
from pathlab.agents.protocol import parse_object

EXIT_DONE, EXIT_USAGE, EXIT_SETUP, EXIT_ENDED = 0, 2, 3, 5
LISTEN_S = 5.0
POLL_S = 0.01
END_S = 1.0
MAX_ERRORS_BYTES = 4096
_PR_SET_PDEATHSIG = 1
_LISTENING = "0A"  # state in /proc/net/tcp: include/net/tcp_states.h

_NUMBER = r"[0-9]{1,15}"
_DECIMAL = r"[0-9]{1,6}(\.[0-9]{1,6})?"
_ADDRESS = r"[0-9A-Fa-f:.]{2,45}(%[A-Za-z0-9._-]{1,15})?"
# Every argument that may be given: its value's form, None where it has none.
ARGUMENTS: Mapping[str, Mapping[str, Optional[str]]] = {
    "iperf3": {
        "-s": None,
        "-1": None,
        "-J": None,
        "-R": None,
        "-N": None,
        "-Z": None,
        "-c": _ADDRESS,
        "-B": _ADDRESS,
        "-p": _NUMBER,
        "-P": _NUMBER,
        "-t": _NUMBER,
        "-i": _DECIMAL,
        "-w": _NUMBER,
        "-l": _NUMBER,
        "-b": _NUMBER,
        "-M": _NUMBER,
        "-C": r"[a-z0-9_-]{1,15}",
        "--dscp": _NUMBER,
        "--connect-timeout": _NUMBER,
    }
}


def read_arguments(options: Mapping[str, Any]) -> List[str]:
    """Program and arguments that ``options`` ask for. ValueError names what is not allowed."""
    unknown = sorted(set(options) - {"program", "arguments"})
    if unknown:
        raise ValueError(f"unknown option '{unknown[0]}'")
    program, given = options.get("program"), options.get("arguments")
    if not isinstance(program, str) or program not in ARGUMENTS:
        raise ValueError(f"'{program}' is no program that the agent runs; it runs {', '.join(ARGUMENTS)}")
    if not isinstance(given, list) or not all(isinstance(word, str) for word in given):
        raise ValueError("'arguments' must be a list of texts")
    allowed, words = ARGUMENTS[program], list(given)
    while words:
        name = words.pop(0)
        if name not in allowed:
            raise ValueError(f"argument '{name[:40]}' of {program} is not allowed")
        form = allowed[name]
        if form is not None and not re.fullmatch(form, words.pop(0) if words else ""):
            raise ValueError(f"argument '{name}' of {program} has a value that is not allowed")
    return [program, *given]


def run_peer(text: str) -> int:
    """Run the program to its end and hand on its JSON; return the exit status."""
    try:
        command = read_arguments(parse_object(text.encode("utf-8")))
    except ValueError as error:
        return _fail("usage", str(error), EXIT_USAGE)
    path = shutil.which(command[0])
    if path is None:
        hint = f"{command[0]} is not installed on this host"
        return _fail("setup", hint, EXIT_SETUP)
    port = None
    if "-s" in command and "-p" not in command:
        port = _find_port(command[command.index("-B") + 1] if "-B" in command else "")
        command += ["-p", str(port)]
    process = subprocess.Popen(
        [path, *command[1:]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        preexec_fn=_die_with_parent,  # noqa: PLW1509 -- one thread, and nothing else asks the kernel for this
    )
    _say({"type": "peer", "program": command[0], "pid": process.pid})
    try:
        if port is not None and not _await_listener(port, process):
            return _fail("listen", f"{command[0]} does not listen: {_last_words(process)}", EXIT_SETUP)
        if port is not None:
            _say({"type": "listening", "port": port})
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
    _say({"type": "output", "json": output, "ended_ns": ended_ns})
    _say({"type": "result", "complete": status == 0 and not early, "reason": "stopped" if early else None})
    return EXIT_DONE if status == 0 else EXIT_ENDED


def _find_port(address: str) -> int:
    """A port that is free now; the program takes it a moment later."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def _await_listener(port: int, process: subprocess.Popen) -> bool:  # type: ignore[type-arg]
    """Whether a socket listens on the port, within a few seconds and while the program runs."""
    deadline_s = time.monotonic() + LISTEN_S
    while time.monotonic() < deadline_s and process.poll() is None:
        for name in ("tcp", "tcp6"):
            try:
                with open(f"/proc/self/net/{name}", encoding="ascii") as lines:
                    words = [line.split() for line in lines][1:]
            except OSError:
                continue
            if any(int(w[1].rpartition(":")[2], 16) == port and w[3] == _LISTENING for w in words):
                return True
        time.sleep(POLL_S)
    return False


def _last_words(process: subprocess.Popen) -> str:  # type: ignore[type-arg]
    if process.poll() is None:
        process.kill()
    out, errors = process.communicate(timeout=END_S)
    return (errors or out).decode("utf-8", "replace").strip()[-300:] or "it said nothing"


def _die_with_parent() -> None:
    """So that a killed agent leaves no program behind."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _fail(stage: str, text: str, status: int) -> int:
    _say({"type": "error", "stage": stage, "text": text})
    return status


def _say(record: Dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(record, separators=(",", ":")) + "\n")
    sys.stdout.flush()
