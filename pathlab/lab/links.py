"""A link of the native emulator between two nodes, over TUN or over packet sockets.

TUN needs an accessible ``/dev/net/tun``; the packet back end joins the outer ends of two veth pairs and needs
no privilege beyond the lab's own namespaces. Both hand over TSO super-packets and cost them per wire segment.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import threading
import time
from pathlib import Path
from typing import Any

from pathlab.lab.namespaces import LabProcess, Namespaces, lab_error
from pathlab.lab.topology import Link, LinkSettings
from pathlab.lab.wiring import LinkPlace, WiredLink

ANSWER_TIMEOUT_S = 10.0
EXIT_TIMEOUT_S = 5.0  # from the end of its pipes to its exit status
LINE_MAX_BYTES = 1 << 16


class EmulatedLink(WiredLink):
    """A running link. :meth:`start` brings both interfaces up; :meth:`close` ends the emulator."""

    def __init__(self, namespaces: Namespaces, link: Link, link_place: LinkPlace, engine: Path) -> None:
        super().__init__(namespaces, link, link_place)
        self._engine = engine
        self._process: LabProcess | None = None
        self._commands = -1
        self._output = -1
        self._errors = -1
        self._buffer = b""
        self._stderr = ""
        self._requesting = threading.Lock()  # an answer belongs to the command before it

    def start(self) -> None:
        """Make the interfaces, start the emulator, wait until it carries packets."""
        if self._place.backend == "packet":
            self.add_veth_pairs()
        self._start_emulator()
        if self._place.backend == "tun":
            for end in (0, 1):
                self.configure(end)

    def _start_emulator(self) -> None:
        argv = [str(self._engine), "emulate", "--backend", self._place.backend, "--control", "stdin"]
        argv += ["--seed", str(self._place.seed)]
        for flag, end in (("--forward", 0), ("--reverse", 1)):
            argv += [flag, self._link.direction(end).as_engine_spec()]
        name = self.interface
        if self._place.backend == "tun":
            argv += ["--namespace-a", self._place.node_paths[0], "--namespace-b", self._place.node_paths[1]]
            argv += ["--interface-a", name, "--interface-b", name]
            argv += ["--mtu-bytes", str(self._link.mtu_bytes)]
        else:
            argv += ["--interface-a", self.outer(0), "--interface-b", self.outer(1)]
        stdin, self._commands = os.pipe2(os.O_CLOEXEC)
        self._output, stdout = os.pipe2(os.O_CLOEXEC)
        self._errors, stderr = os.pipe2(os.O_CLOEXEC)
        try:
            self._process = self._namespaces.spawn(None, argv, (stdin, stdout, stderr))
        finally:
            for descriptor in (stdin, stdout, stderr):
                os.close(descriptor)
        self._wait_for("listening")

    def _wait_for(self, record_type: str) -> dict[str, Any]:
        deadline = time.monotonic() + ANSWER_TIMEOUT_S
        while True:
            line = self._read_line(deadline)
            if line is None:
                raise lab_error(self._describe_end())
            record: dict[str, Any] = json.loads(line)
            if record["type"] == record_type:
                return record
            if record["type"] in ("error", "refused"):
                raise lab_error(f"link {self._name()}: {record['text']}")

    def _read_line(self, deadline: float) -> bytes | None:
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._output], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise lab_error(f"link {self._name()}: the emulator does not answer")
            data = os.read(self._output, LINE_MAX_BYTES)
            if not data:
                return None
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line

    def _name(self) -> str:
        return "-".join(self._link.between)

    def _describe_end(self) -> str:
        """How the emulator ended. Waits for its exit status, which may come after the end of its pipes."""
        status = None if self._process is None else self._process.wait(EXIT_TIMEOUT_S)
        if self._namespaces.is_gone:
            return "the lab is gone: its first process ended"
        if status is None:
            end = "the emulator closed its output"
        elif status < 0:
            end = f"the emulator was killed by {signal.Signals(-status).name}"
        else:
            end = f"the emulator ended with status {status}"
        said = self._read_stderr()
        return f"link {self._name()}: {end}: {said}" if said else f"link {self._name()}: {end}"

    def _read_stderr(self) -> str:
        if self._errors >= 0 and select.select([self._errors], [], [], 0)[0]:
            self._stderr += os.read(self._errors, LINE_MAX_BYTES).decode(errors="replace")
        return self._stderr.strip()

    def find_fault(self) -> str | None:
        """Why the link no longer carries packets; None: it does."""
        if self._process is not None and self._process.poll() is None:
            return None
        return self._describe_end()

    def counters(self, *, lap: bool = False) -> dict[str, Any]:
        """The emulator's counters, as native/PROTOCOL.md names them; ``lap`` begins ``late_ns`` anew."""
        return self._request("lap" if lap else "stats", "counters")

    def change(self, end: int, settings: LinkSettings) -> None:
        """Give the direction from this end (0 or 1) other settings; what is under way keeps its time."""
        self._request(f"{('forward', 'reverse')[end]} {settings.as_engine_spec(whole=True)}", "settings")

    def _request(self, command: str, answer_type: str) -> dict[str, Any]:
        """One command and its answer. Raises HostError (stage lab)."""
        with self._requesting:
            fault = self.find_fault()
            if fault is not None:
                raise lab_error(fault)
            try:
                os.write(self._commands, f"{command}\n".encode())
            except BrokenPipeError as error:
                raise lab_error(self._describe_end()) from error
            return self._wait_for(answer_type)

    def close(self) -> None:
        """End the emulator; end of file on its stdin is the signal. Safe to call twice."""
        if self._commands >= 0:
            os.close(self._commands)
            self._commands = -1
        if self._process is not None:
            if self._process.wait(2.0) is None:
                self._process.kill()
            self._process = None
        for name in ("_output", "_errors"):
            with contextlib.suppress(OSError):
                os.close(getattr(self, name))
            setattr(self, name, -1)
