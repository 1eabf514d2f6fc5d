"""The prober as a program: options as one JSON object, batches on stdin, records on stdout, as PROTOCOL.md
describes.

It is a process of its own, so that neither frames nor counters of the agent come between its probes.
"""

from __future__ import annotations

import errno
import json
import os
import select
import sys
import time
from typing import Any, Dict, List, Optional

from pathlab.agents import limits
from pathlab.agents.discovery.batch import read_batch, read_options
from pathlab.agents.discovery.flow import Flow, Target
from pathlab.agents.discovery.prober import Prober
from pathlab.agents.protocol import parse_object

EXIT_DONE, EXIT_USAGE, EXIT_SETUP, EXIT_ENDED = 0, 2, 3, 5
_FLUSH_NS = 500_000_000


class CommandStream:
    """Command lines in, records out. Records wait until a batch ends or half a second has passed.

    So the reader of these records is idle while probes are under way.
    """

    def __init__(self, commands: int, records: int) -> None:
        self._commands, self._records = commands, records
        self._lines: List[bytes] = []
        self._rest = b""
        self._waiting: List[str] = []
        self._flushed_ns = time.monotonic_ns()
        self.ended = False  # end of file on stdin: the controller is gone
        self.stopped = False
        self._poll = select.poll()
        self._poll.register(commands, select.POLLIN)

    def write(self, record: Dict[str, Any]) -> None:
        """Queue a record; write all that wait after a while, or when it is none of a probe."""
        self._waiting.append(json.dumps(record, separators=(",", ":")))
        if record["type"] != "probe" or time.monotonic_ns() - self._flushed_ns > _FLUSH_NS:
            data = memoryview(("\n".join(self._waiting) + "\n").encode("ascii"))
            while data:
                data = data[os.write(self._records, data) :]
            self._waiting.clear()
            self._flushed_ns = time.monotonic_ns()

    def interrupted(self) -> bool:
        """Whether to stop at once; reads what stdin holds, without waiting."""
        if self._poll.poll(0):
            self._read()
        return self.ended or self.stopped

    def next_line(self) -> Optional[bytes]:
        """The next command but ``stop``; None when there will be none."""
        while True:
            if self._lines:
                return self._lines.pop(0)
            if self.ended or self.stopped:
                return None
            self._read()

    def _read(self) -> None:
        data = os.read(self._commands, limits.READ_BYTES)
        if not data:
            self.ended = True
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line.strip() == b"stop":
                self.stopped = True
            elif line.strip():
                self._lines.append(line)


def run_discovery(options_text: str) -> int:
    """Open the flows that the options request and serve batches; return the exit status."""
    stream = CommandStream(0, 1)
    try:
        target, count = read_options(parse_object(options_text.encode("utf-8")))
    except ValueError as error:
        return _fail(stream, "options", str(error), None, EXIT_USAGE)
    flows: List[Flow] = []
    try:
        try:
            for number in range(count):
                flows.append(Flow(target, number))  # noqa: PERF401 -- those open are closed if one fails
            stream.write(_describe(target, flows))
        except OSError as error:
            return _fail(stream, "socket", _explain(target, error), error.errno, EXIT_SETUP)
        return _serve(stream, target, flows)
    finally:
        for flow in flows:
            flow.close()


def _serve(stream: CommandStream, target: Target, flows: List[Flow]) -> int:
    prober = Prober(flows, stream.write, stream.interrupted)
    while True:
        line = stream.next_line()
        if line is None:
            return EXIT_ENDED if stream.ended else EXIT_DONE
        try:
            batch = read_batch(parse_object(line), target, len(flows))
        except ValueError as error:
            return _fail(stream, "batch", str(error), None, EXIT_USAGE)
        try:
            prober.run(batch)
        except OSError as error:
            return _fail(
                stream, "send", f"probing {target.address}: {error.strerror}", error.errno, EXIT_SETUP
            )


def _describe(target: Target, flows: List[Flow]) -> Dict[str, Any]:
    return {
        "type": "open",
        "pid": os.getpid(),
        "method": target.method,
        "privilege": flows[0].privilege,
        "address": target.address,
        "local_address": flows[0].local_address,
        "port": None if target.method == "icmp" else target.port,
        "source_ports": [flow.source_port for flow in flows],
        "kept_ports": all(flow.kept_port for flow in flows),
        "mtu_bytes": flows[0].mtu_bytes,
        "monotonic_ns": time.monotonic_ns(),
        "realtime_ns": time.time_ns(),
    }


def _explain(target: Target, error: OSError) -> str:
    if error.errno in (errno.EPERM, errno.EACCES):
        needs = {
            "tcp": "raw sockets (CAP_NET_RAW)",
            "icmp": "ping sockets (net.ipv4.ping_group_range) or raw ones (CAP_NET_RAW)",
            "udp": "UDP sockets",
        }
        return f"{target.method} probes need {needs[target.method]}, which this user may not open here"
    return f"no way to {target.address} by {target.method}: {error.strerror or error}"


def _fail(stream: CommandStream, stage: str, text: str, number: Optional[int], status: int) -> int:
    name = None if number is None else errno.errorcode.get(number, str(number))
    stream.write({"type": "error", "stage": stage, "errno": number, "errno_name": name, "text": text})
    sys.stderr.write(text + "\n")
    return status
