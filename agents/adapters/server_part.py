"""One program of an answering end: a server, a responder, or what prepares a server."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
from typing import Any, Dict, List

from pathlab.agents.adapters.needs import TechnologyError
from pathlab.agents.limits import MAX_LINE_BYTES, READ_BYTES
from pathlab.agents.protocol import parse_object, quote

_FAULT = re.compile(r"\b(error|fatal)\b", re.IGNORECASE)
_TAIL_BYTES = 4096  # of what a program printed last


class ServerPart:
    """A program of the answering end, and what it printed.

    ``records`` gets the lines of a program of ours, of which ``checked`` were dealt with. Of all else the end
    is kept, for messages.
    """

    def __init__(self, name: str, process: subprocess.Popen, *, is_ours: bool) -> None:  # type: ignore[type-arg]
        self.name, self.process, self.is_ours = name, process, is_ours
        self.records: List[Dict[str, Any]] = []
        self.checked = 0
        self._line, self._tail = bytearray(), bytearray()
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdin is not None
        self.streams = {process.stdout.fileno(): is_ours, process.stderr.fileno(): False}
        for descriptor in self.streams:
            os.set_blocking(descriptor, False)
        if not is_ours:
            process.stdin.close()  # ours end with it

    def read(self, descriptor: int) -> None:
        """Take what it printed there. TechnologyError for what is no record of a program of ours."""
        try:
            data = os.read(descriptor, READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            del self.streams[descriptor]
        elif not self.streams[descriptor]:
            self._tail += data
            del self._tail[:-_TAIL_BYTES]
        else:
            *lines, rest = bytes(self._line + data).split(b"\n")
            self._line = bytearray(rest)
            if len(rest) > MAX_LINE_BYTES:
                raise TechnologyError(
                    "contract", f"{self.name} printed a line of more than {MAX_LINE_BYTES} bytes"
                )
            self.records += [self._parse(line) for line in lines if line.strip()]

    def _parse(self, line: bytes) -> Dict[str, Any]:
        with contextlib.suppress(ValueError):
            record = parse_object(line)
            if isinstance(record.get("type"), str):
                return record
        raise TechnologyError(
            "contract", f"{self.name} printed a line that is not a record: {quote(line[:60])}"
        )

    def drain(self) -> None:
        """Take the rest of what an ended program printed; a child of it may hold its pipes open."""
        for descriptor in list(self.streams):
            for _ in range(1024):  # a pipe holds far less
                if descriptor not in self.streams or not select.select([descriptor], [], [], 0)[0]:
                    break
                self.read(descriptor)

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        self.streams.clear()

    def describe_end(self) -> str:
        """How it ended, and the last line that it printed of an error, else the last one."""
        code = self.process.returncode
        how = f"ended with status {code}" if code >= 0 else f"was killed by {signal.Signals(-code).name}"
        lines = bytes(self._tail).decode("utf-8", "replace").strip().splitlines()
        last = ([line for line in lines if _FAULT.search(line)] or lines or [""])[-1].strip()
        return f"{self.name} {how}" + (f": {last[:300]}" if last else "")
