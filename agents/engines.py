"""Engines that this agent started: one process group each, never blocking, bounded in every direction.

An engine is started as ``ENGINE SUBCOMMAND --flag value …`` without a shell. It asks the kernel itself to be
killed when its parent dies; besides, its group is killed when the agent ends or the engine's leader exits.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from typing import Any, Dict, List, Mapping, Optional

from pathlab.agents.limits import (
    GRACE_S,
    MAX_COMMAND_BYTES,
    MAX_LINE_BYTES,
    MAX_PENDING_COMMAND_BYTES,
    MAX_STDERR_BYTES,
    READ_BYTES,
    TERMINATE_GRACE_S,
)
from pathlab.agents.protocol import parse_object

_WORD = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_MAX_VALUE_CHARACTERS = 4096
_BYTE_LIMITED = frozenset({"send", "receive"})
_NS_PER_S = 1_000_000_000


def build_command(
    engine: str, subcommand: str, options: Mapping[str, Any], limits: Mapping[str, Any]
) -> List[str]:
    """The engine's argument list. ValueError names an option that cannot be passed on.

    A byte limit lowers ``volume-limit-bytes`` of the subcommands that know it (there 0 means none).
    """
    if not _WORD.fullmatch(subcommand):
        raise ValueError(f"'{subcommand}' is no subcommand's name")
    values: Dict[str, str] = {}
    for name, value in options.items():
        if not _WORD.fullmatch(name):
            raise ValueError(f"'{name}' is no option's name")
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            raise ValueError(f"option '{name}' must be a text or an integer")
        values[name] = str(value)
        if len(values[name]) > _MAX_VALUE_CHARACTERS or "\0" in values[name]:
            raise ValueError(f"option '{name}' holds a value that no program can be given")
    if limits["bytes"] is not None and subcommand in _BYTE_LIMITED:
        asked = values.get("volume-limit-bytes", "0")
        if not asked.isdigit():
            raise ValueError("option 'volume-limit-bytes' must be a decimal integer")
        values["volume-limit-bytes"] = str(min(int(asked) or limits["bytes"], limits["bytes"]))
    command = [engine, subcommand]
    for name, text in values.items():
        command += ["--" + name, text]
    return command


class Engine:
    """One running engine. OSError when it cannot be started."""

    def __init__(self, number: int, command: List[str], *, seconds: float, control: bool) -> None:
        self.number = number
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE if control else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self.pid = self._process.pid
        self.stdout: Optional[int] = self._process.stdout.fileno()
        self.stderr: Optional[int] = self._process.stderr.fileno()
        self.stdin: Optional[int] = self._process.stdin.fileno() if self._process.stdin else None
        for descriptor in (self.stdin, self.stdout, self.stderr):
            if descriptor is not None:
                os.set_blocking(descriptor, False)
        self.exited = False
        self.fault: Optional[str] = None
        self._seconds = seconds
        self._deadline_ns: Optional[int] = time.monotonic_ns() + int((seconds + GRACE_S) * _NS_PER_S)
        self._kill_ns: Optional[int] = None
        self._line = bytearray()
        self._errors = bytearray()
        self._commands = bytearray()
        self._deaf = False  # nothing more of its output is believed

    @property
    def due_ns(self) -> Optional[int]:
        """When ``enforce`` has something to do next, on CLOCK_MONOTONIC."""
        if self.exited:
            return None
        return self._deadline_ns if self._kill_ns is None else self._kill_ns

    @property
    def wants_to_write(self) -> bool:
        """True while command bytes wait for room in the engine's stdin."""
        return bool(self._commands) and self.stdin is not None

    def read_records(self) -> List[bytes]:
        """Whole lines read now, each checked to be a JSON object with a type, as bytes to be passed on.

        Output that is none of that ends the engine; ``fault`` then says why.
        """
        data = self._read(self.stdout)
        if data is None:
            return []
        if not data:
            self.stdout = None
            if self._line.strip() and not self._deaf:
                self._distrust("ended in the middle of a line", bytes(self._line))
            return []
        if self._deaf:
            return []
        self._line += data
        if b"\n" not in data:
            if len(self._line) > MAX_LINE_BYTES:
                self._distrust(f"printed a line of more than {MAX_LINE_BYTES} bytes", bytes(self._line[:64]))
            return []
        *lines, rest = bytes(self._line).split(b"\n")
        self._line = bytearray(rest)
        records: List[bytes] = []
        for line in lines:
            if not line.strip():
                continue
            if not _is_record(line):
                self._distrust("printed a line that is no record", line)
                break
            records.append(line)
        return records

    def read_errors(self) -> None:
        """Keep the end of what it said on stderr."""
        data = self._read(self.stderr)
        if data == b"":
            self.stderr = None
        elif data:
            self._errors += data
            del self._errors[:-MAX_STDERR_BYTES]

    def command(self, line: str) -> None:
        """Queue one command line. ValueError names why it cannot be given."""
        text = line.encode("utf-8")
        if b"\n" in text or b"\r" in text or not text or len(text) > MAX_COMMAND_BYTES:
            raise ValueError(f"a command must be one line of 1 to {MAX_COMMAND_BYTES} bytes")
        if self.exited:
            raise ValueError("the engine has ended")
        if self.stdin is None:
            raise ValueError("the engine does not listen for commands (started without --control stdin)")
        if len(self._commands) + len(text) > MAX_PENDING_COMMAND_BYTES:
            raise ValueError("the engine does not read its commands")
        self._commands += text + b"\n"
        self.write_commands()

    def write_commands(self) -> None:
        """Write what the engine's stdin takes now; a closed stdin is forgotten."""
        if self.stdin is None or not self._commands:
            return
        try:
            written = os.write(self.stdin, self._commands)
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._commands.clear()
            self.stdin = None
            return
        del self._commands[:written]

    def terminate(self) -> None:
        """Ask it to end; ``enforce`` kills it soon after."""
        if not self.exited and self._kill_ns is None:
            self._signal(signal.SIGTERM)
            self._kill_ns = time.monotonic_ns() + int(TERMINATE_GRACE_S * _NS_PER_S)

    def enforce(self, now_ns: int) -> None:
        """End it when its time is over, kill it when asking was not enough."""
        if self.exited:
            return
        if self._kill_ns is not None:
            if now_ns >= self._kill_ns:
                self.kill()
                self._kill_ns = now_ns + _NS_PER_S  # again, until the kernel reports it gone
        elif self._deadline_ns is not None and now_ns >= self._deadline_ns:
            self.fault = self.fault or f"ran past its limit of {self._seconds:g} s and was ended"
            self.terminate()

    def kill(self) -> None:
        """SIGKILL to its whole group."""
        self._signal(signal.SIGKILL)

    def notice_exit(self) -> bool:
        """True once the leader has exited; then what is left of its group is killed. Does not reap."""
        if not self.exited:
            state = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if state is not None:
                # The leader's zombie still holds the group's number, so it cannot hit a stranger.
                self._signal(signal.SIGKILL)
                self.exited = True
        return self.exited

    def drain_errors(self) -> None:
        """Read stderr until it is empty; after the exit nothing more can come."""
        for _ in range(1024):  # a pipe holds far less
            before = self.stderr
            size = len(self._errors)
            self.read_errors()
            if before is None or self.stderr is None or len(self._errors) == size < MAX_STDERR_BYTES:
                return

    def reap(self) -> Dict[str, Any]:
        """Collect the exit and close everything: ``status``, ``signal`` (by name), ``stderr``, ``fault``."""
        code = self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        self.stdin = self.stdout = self.stderr = None
        return {
            "status": code if code >= 0 else None,
            "signal": None if code >= 0 else _signal_name(-code),
            "stderr": self._errors.decode("utf-8", "replace"),
            "fault": self.fault,
        }

    def _read(self, descriptor: Optional[int]) -> Optional[bytes]:
        if descriptor is None:
            return None
        try:
            return os.read(descriptor, READ_BYTES)
        except BlockingIOError:
            return None

    def _distrust(self, what: str, line: bytes) -> None:
        shown = line[:64].decode("utf-8", "backslashreplace")
        self.fault = f"{what}: {shown!r}"
        self._deaf = True
        self._line.clear()
        if not self.exited:
            self.kill()

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            # Gone already, or (a group whose every member is a zombie) nothing left to signal.
            return


def _is_record(line: bytes) -> bool:
    try:
        return isinstance(parse_object(line).get("type"), str)
    except ValueError:
        return False


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
