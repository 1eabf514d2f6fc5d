"""Engines that this agent started: one process group each, never blocking, bounded in every direction.

An engine is started as ``ENGINE SUBCOMMAND --flag value …`` without a shell. It asks the kernel itself to be
killed when its parent dies; besides, its group is killed when the agent ends or the engine's leader exits.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from typing import Any, Dict, List, Mapping, Optional, Tuple

from pathlab.agents.limits import (
    GRACE_S,
    MAX_COMMAND_BYTES,
    MAX_LINE_BYTES,
    MAX_PENDING_COMMAND_BYTES,
    MAX_STDERR_BYTES,
    READ_BYTES,
    TERMINATE_GRACE_S,
)
from pathlab.agents.protocol import parse_object, quote

_WORD = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_MAX_VALUE_CHARACTERS = 4096
# Subcommands that carry data, and the direction in which such an end sends nothing.
_SILENT_DIRECTION = {"send": "reverse", "receive": "forward"}
# Second names of flags that the agent itself must have the last word on.
_SECOND_NAMES = {
    "volume-limit": "volume-limit-bytes",
    "rate": "rate-bits-per-s",
    "time-limit": "time-limit-ns",
}
_MAX_TIME_LIMIT_NS = 7 * 24 * 3600 * 10**9  # the engine's own bound
_TOKEN = re.compile(r"[0-9a-fA-F]{32}")
# What the hello of the engine states of its flags and stdin lines (native/PROTOCOL.md).
ENGINE_CONTROL = 2
#: What a program's hello must state, by key, and how another version is named.
HelloRule = Tuple[str, int, str]
ENGINE_HELLO: HelloRule = (
    "control",
    ENGINE_CONTROL,
    "{} takes commands of version {}, this agent gives those of {}: use the engine of the same PathLab",
)
ADAPTER_HELLO: HelloRule = ("contract", 1, "{} keeps contract {}, this agent {}: use one PathLab version")
_CLOCK_ERROR_NS = 5_000_000_000  # a busy host reads the line late; other clocks differ by far more
_NS_PER_S = 1_000_000_000


def build_command(
    engine: str, subcommand: str, options: Mapping[str, Any], limits: Mapping[str, Any]
) -> List[str]:
    """The engine's argument list. ValueError names an option that cannot be passed on.

    Limits lower ``time-limit-ns``, ``volume-limit-bytes`` and ``rate-bits-per-s`` of subcommands that know
    them (there 0 means none); they come last, where nothing can undo them. The engine's own limit of time
    is later than this agent's, and is there in case the agent hangs.
    """
    if not _WORD.fullmatch(subcommand):
        raise ValueError(f"{quote(subcommand)} is not the name of a subcommand")
    values = {name: _format_option(name, value) for name, value in options.items()}
    if limits["rate_bits_per_s"] is not None and values.get("message-bytes", "0") != "0":
        raise ValueError("this host caps the rate, which messages do not keep: send a stream of bytes")
    if subcommand in _SILENT_DIRECTION:
        lifetime_ns = int((limits["seconds"] + GRACE_S + TERMINATE_GRACE_S) * _NS_PER_S)
        _lower(values, "time-limit-ns", min(lifetime_ns, _MAX_TIME_LIMIT_NS))
        _lower(values, "volume-limit-bytes", limits["bytes"])
        if values.get("direction") != _SILENT_DIRECTION[subcommand]:
            _lower(values, "rate-bits-per-s", limits["rate_bits_per_s"])
    command = [engine, subcommand]
    for name, text in values.items():
        command += ["--" + name, text]
    return command


def _format_option(name: str, value: Any) -> str:
    if not _WORD.fullmatch(name):
        raise ValueError(f"{quote(name)} is not the name of an option")
    if name == "token":
        raise ValueError("option 'token' would be seen by every user here: use the request's field 'token'")
    if name in _SECOND_NAMES:
        raise ValueError(f"option '{name}' is called '{_SECOND_NAMES[name]}' here")
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise ValueError(f"option {quote(name)} must be a text or an integer")
    text = str(value)
    # After a switch, which needs no value, such a text would be a flag and take the next one for its value.
    if len(text) > _MAX_VALUE_CHARACTERS or text.startswith("--") or not is_passable(text):
        raise ValueError(f"option {quote(name)} holds a value that no program can be given")
    return text


def is_passable(text: str) -> bool:
    """Whether a text can be an argument of a program: UTF-8 without a null byte."""
    try:
        return b"\0" not in text.encode("utf-8")
    except UnicodeEncodeError:
        return False


def _lower(values: Dict[str, str], name: str, limit: Optional[int]) -> None:
    """Lower a flag to a limit, if there is one, and make it the last."""
    if limit is None:
        return
    requested = values.pop(name, "0")
    if not (requested.isascii() and requested.isdigit()):
        raise ValueError(f"option '{name}' must be a decimal integer")
    values[name] = str(min(int(requested[:20]) or limit, limit))


def find_hello_fault(hello: Mapping[str, Any], rule: HelloRule) -> Optional[str]:
    """Why a program is not driven, by its first record, both versions being named; None if nothing."""
    key, version, text = rule
    stated = hello.get(key, 1 if rule is ENGINE_HELLO else None)
    program = f"{hello.get('program')} {hello.get('version', '')}".strip()[:80]
    if stated != version or isinstance(stated, bool):
        return text.format(program, quote(stated), version)
    clock_ns = hello.get("monotonic_ns")
    if rule is ADAPTER_HELLO and not (
        isinstance(clock_ns, int) and abs(time.monotonic_ns() - clock_ns) < _CLOCK_ERROR_NS
    ):
        return f"the clock of {program} is not CLOCK_MONOTONIC of this host: {quote(clock_ns)}"
    return None


def check_token(token: str) -> None:
    """ValueError, without quoting it, for what is no token."""
    if not _TOKEN.fullmatch(token):
        raise ValueError("field 'token' must be 32 hexadecimal digits")


class EngineProcess:
    """One running engine. OSError when it cannot be started.

    A ``token`` becomes the first line of its stdin; it is neither kept nor ever part of the command.
    ``rule`` is what its hello has to state, ``inherited`` are descriptors that it keeps.
    """

    def __init__(
        self,
        number: int,
        command: List[str],
        *,
        seconds: float,
        control: bool,
        token: Optional[str] = None,
        rule: HelloRule = ENGINE_HELLO,
        inherited: Tuple[int, ...] = (),
    ) -> None:
        self.number = number
        self._rule = rule
        if token is not None:
            command = [*command, "--token", "stdin"]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE if control or token is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            pass_fds=inherited,
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
        self._ignores_output = False  # nothing more of its output is used
        self._record_seen = False
        if token is not None:
            self._give_token(token, control=control)

    def _give_token(self, token: str, *, control: bool) -> None:
        assert self.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended already, and says why
            os.write(self.stdin, token.encode("ascii") + b"\n")  # an empty pipe takes it whole
        if not control:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self.stdin = None

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
            if self._line.strip() and not self._ignores_output:
                self._reject("ended in the middle of a line", bytes(self._line))
            return []
        if self._ignores_output:
            return []
        self._line += data
        if b"\n" not in data:
            if len(self._line) > MAX_LINE_BYTES:
                self._reject(f"printed a line of more than {MAX_LINE_BYTES} bytes", bytes(self._line[:64]))
            return []
        *lines, rest = bytes(self._line).split(b"\n")
        self._line = bytearray(rest)
        records: List[bytes] = []
        for line in lines:
            if not line.strip():
                continue
            kind = _record_type(line)
            if kind is None:
                self._reject("printed a line that is not a record", line)
                break
            records.append(line)
            if not self._record_seen and kind == "hello" and not self._check_hello(line):
                break
            self._record_seen = True
        return records

    def _check_hello(self, line: bytes) -> bool:
        """Whether it speaks as this agent does, by this host's clock; else it is ended, with the reason."""
        self.fault = find_hello_fault(parse_object(line), self._rule)
        if self.fault is not None:
            self._give_up()
        return self.fault is None

    def read_errors(self) -> None:
        """Keep the end of what it printed on stderr."""
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
        elif self._deadline_ns is not None and now_ns >= self._deadline_ns and not self.notice_exit():
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
                # The leader's zombie still holds the group's number, so it cannot hit an unrelated process.
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

    def _reject(self, what: str, line: bytes) -> None:
        shown = line[:64].decode("utf-8", "backslashreplace")
        self.fault = f"{what}: {shown!r}"
        self._give_up()

    def _give_up(self) -> None:
        self._ignores_output = True
        self._line.clear()
        if not self.exited:
            self.kill()

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            # Gone already, or (a group whose every member is a zombie) nothing left to signal.
            return


def _record_type(line: bytes) -> Optional[str]:
    try:
        kind = parse_object(line).get("type")
    except ValueError:
        return None
    return kind if isinstance(kind, str) else None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
