"""The traffic tools: how each is started for one transfer, and what it says of it.

Each tool states rate, bytes and round trips itself; what it cost is measured from outside, alike for all.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pathlab.remote.engine import engine_version, find_engine
from pathlab.store.hdr_histogram import Histogram

PORT = 5210
WARMUP_NS = 400_000_000  # of messages: that of sockperf
DATA_PORT = 5211  # neper's; PORT is its control port then


class TransferError(Exception):
    """A transfer that differs from the request; the text is the tool's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One way to carry bytes: a tool, its stream count, and flags beyond those of every transfer."""

    label: str
    tool: str  # engine | iperf3 | neper | sockperf | bare
    streams: int = 1
    flags: tuple[str, ...] = ()  # engine, neper, sockperf: both ends; the others: the client
    receiver_flags: tuple[str, ...] | None = None  # None: the same
    message_bytes: int = 0  # 0: a stream of bytes
    is_local: bool = False  # at a Unix address instead of the testbed's

    @property
    def flags_of_receiver(self) -> tuple[str, ...]:
        """The flags of the receiving end, where it has any."""
        return self.flags if self.receiver_flags is None else self.receiver_flags


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is the same for every transfer of a benchmark."""

    seconds: int
    congestion: str
    quiet_s: float = 0.5  # CPU seconds of other work in a transfer that is kept
    cores: tuple[int, int] | None = None  # of the sender and of the receiver; None: any


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What a tool says: application bits/s over its receiver's window, and all bytes that came.

    Round trips are of messages that are returned.
    """

    rate_bits_per_s: float
    received_bytes: int
    p50_ns: float | None = None
    p99_ns: float | None = None
    note: str = ""


Command = Callable[[str, Candidate, Load], list[str]]  # at an address
Parser = Callable[[str, str, Candidate], Carried]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A program that is there. Commands are of the receiving and of the sending end."""

    name: str
    path: str
    version: str
    receiver: Command
    sender: Command
    parse: Parser  # of what the receiver and the sender wrote
    stays: bool = False  # the receiver has to be ended
    end_signal: signal.Signals = signal.SIGTERM  # by this signal
    is_pair: bool = False  # the sender's command starts both ends


def _receive_engine(address: str, candidate: Candidate, load: Load) -> list[str]:
    ends = ["--bind", address, "--accept-timeout-ns", "15000000000", *_name_peer(candidate, load)]
    return ["receive", *ends, *candidate.flags_of_receiver]


def _send_engine(address: str, candidate: Candidate, load: Load) -> list[str]:
    shape = ["--streams", str(candidate.streams), "--duration-ns", str(load.seconds * 10**9)]
    if candidate.message_bytes > 0:
        shape += ["--message-bytes", str(candidate.message_bytes), "--warmup-ns", str(WARMUP_NS)]
    return ["send", "--address", address, *_name_peer(candidate, load), *shape, *candidate.flags]


def _name_peer(candidate: Candidate, load: Load) -> list[str]:
    port = [] if candidate.is_local else ["--port", str(PORT), "--congestion", load.congestion]
    return [*port, "--output", "json"]


def parse_engine(receiver: str, sender: str, _candidate: Candidate) -> Carried:
    """Both ends' records. Raises TransferError unless they end with a complete result."""
    result, sent = _find_result(receiver), _find_result(sender)
    steady = result["phases"]["steady"]
    span_ns = steady["end_ns"] - steady["start_ns"]
    trips = sent.get("messages", {}).get("round_trip_ns")
    histogram = Histogram.decode(base64.b64decode(trips["hdr"])) if trips else None
    return Carried(
        rate_bits_per_s=sum(steady["bytes"]) * 8e9 / span_ns,
        received_bytes=sum(result["total_bytes"]),
        p50_ns=histogram.quantile_ns(0.5) if histogram else None,
        p99_ns=histogram.quantile_ns(0.99) if histogram else None,
        note="; ".join(end["transfer"]["reason"] for end in (sent, result) if end["transfer"]["reason"]),
    )


def _find_result(text: str) -> dict[str, Any]:
    records: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    results = [record for record in records if record["type"] == "result" and record["complete"]]
    if not results:
        raise TransferError("an end has no complete result")
    return results[-1]


def _receive_iperf3(address: str, _candidate: Candidate, _load: Load) -> list[str]:
    return ["-s", "-1", "-J", "-B", address, "-p", str(PORT)]


def _send_iperf3(address: str, candidate: Candidate, load: Load) -> list[str]:
    shape = ["-P", str(candidate.streams), "-t", str(load.seconds), "-C", load.congestion]
    return ["-c", address, "-p", str(PORT), "-J", *shape, *candidate.flags]


def parse_iperf3(receiver: str, _sender: str, _candidate: Candidate) -> Carried:
    """The server's JSON. Raises TransferError with its error."""
    try:
        report: dict[str, Any] = json.loads(receiver)
    except ValueError as error:
        raise TransferError(f"the server's report is no JSON: {receiver.strip()[-200:]}") from error
    if "error" in report:
        raise TransferError(str(report["error"]))
    received = report["end"]["sum_received"]
    return Carried(rate_bits_per_s=float(received["bits_per_second"]), received_bytes=int(received["bytes"]))


def _receive_neper(_address: str, candidate: Candidate, load: Load) -> list[str]:
    return [*_shape_neper(candidate, load), *candidate.flags_of_receiver]


def _send_neper(address: str, candidate: Candidate, load: Load) -> list[str]:
    return ["-c", "-H", address, *_shape_neper(candidate, load), *candidate.flags]


def _shape_neper(candidate: Candidate, load: Load) -> list[str]:
    ports = ["--nolog", "-C", str(PORT), "-P", str(DATA_PORT), "--congestion-control", load.congestion]
    return [*ports, "-F", str(candidate.streams), "-l", str(load.seconds)]


def parse_neper(receiver: str, _sender: str, _candidate: Candidate) -> Carried:
    """The server's key=value lines. Raises TransferError where the rate is missing."""
    values = dict(line.split("=", 1) for line in receiver.splitlines() if "=" in line)
    try:
        rate = float(values["local_throughput"])
        seconds = float(values["time_end"]) - float(values["time_start"])
    except KeyError as error:
        raise TransferError(f"the server did not print {error}") from error
    return Carried(rate_bits_per_s=rate, received_bytes=round(rate * seconds / 8))


def _receive_sockperf(address: str, candidate: Candidate, _load: Load) -> list[str]:
    return ["server", *_name_sockperf(address, candidate), *candidate.flags_of_receiver]


def _send_sockperf(address: str, candidate: Candidate, load: Load) -> list[str]:
    shape = ["--full-rtt", "-m", str(candidate.message_bytes), "-t", str(load.seconds)]
    return ["ping-pong", *_name_sockperf(address, candidate), *shape, *candidate.flags]


def _name_sockperf(address: str, candidate: Candidate) -> list[str]:
    return ["--addr", address] if candidate.is_local else ["-i", address, "-p", str(PORT)]


def parse_sockperf(_receiver: str, sender: str, candidate: Candidate) -> Carried:
    """The client's text. Raises TransferError where a figure is missing."""

    def read(pattern: str) -> float:
        match = re.search(pattern, sender)
        if match is None:
            raise TransferError(f"sockperf did not print {pattern}")
        return float(match[1])

    seconds = read(r"Valid Duration\][^=]*RunTime=([\d.]+)")
    messages = read(r"Valid Duration\].*ReceivedMessages=(\d+)")
    return Carried(
        rate_bits_per_s=messages * candidate.message_bytes * 8 / seconds,
        received_bytes=int(messages) * candidate.message_bytes,
        p50_ns=read(r"percentile 50\.000 =\s*([\d.]+)") * 1e3,
        p99_ns=read(r"percentile 99\.000 =\s*([\d.]+)") * 1e3,
    )


def _start_bare(_address: str, candidate: Candidate, load: Load) -> list[str]:
    cores = load.cores or (0, 0)
    return [*candidate.flags, str(candidate.message_bytes), str(load.seconds), *(str(core) for core in cores)]


def parse_bare(_receiver: str, sender: str, candidate: Candidate) -> Carried:
    """The program's key=value lines. Raises TransferError without a rate."""
    values = {key: float(value) for key, _, value in (line.partition("=") for line in sender.splitlines())}
    if "messages_per_s" not in values:
        raise TransferError("bare_messages stated no rate")
    bytes_per_s = values["messages_per_s"] * candidate.message_bytes
    return Carried(
        rate_bits_per_s=bytes_per_s * 8,
        received_bytes=round(bytes_per_s * values["seconds"]),
        p50_ns=values.get("p50_ns"),
        p99_ns=values.get("p99_ns"),
    )


def build_bare(folder: Path) -> Tool | None:
    """Compile bare_messages.c into the folder; None without a C compiler."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        return None
    program = folder / "bare_messages"
    flags = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-o", str(program)]
    subprocess.run([compiler, *flags, str(Path(__file__).with_name("bare_messages.c"))], check=True)
    return Tool(
        name="bare",
        path=str(program),
        version=f"bare_messages.c, {read_version('compiler', compiler)}",
        receiver=_start_bare,
        sender=_start_bare,
        parse=parse_bare,
        is_pair=True,
    )


#: Peers by name: environment variable, name in PATH, commands, parser, whether its receiver has to be ended.
_PEERS: dict[str, tuple[str, str | None, Command, Command, Parser, bool]] = {
    "iperf3": ("IPERF3", "iperf3", _receive_iperf3, _send_iperf3, parse_iperf3, False),
    "neper": ("NEPER", None, _receive_neper, _send_neper, parse_neper, False),
    "sockperf": ("SOCKPERF", "sockperf", _receive_sockperf, _send_sockperf, parse_sockperf, True),
}


def find_engine_tool(receiver: Command, sender: Command, parse: Parser) -> Tool:
    """The engine with commands of its ends. HostError: no engine."""
    engine = find_engine()
    version = f"pathlab-engine {engine_version(engine)}"
    return Tool(
        name="engine", path=str(engine), version=version, receiver=receiver, sender=sender, parse=parse
    )


def find_tools(*peers: str) -> tuple[dict[str, Tool], list[str]]:
    """The engine and those of the peers that are there, and a line for each other. HostError: no engine."""
    tools = {"engine": find_engine_tool(_receive_engine, _send_engine, parse_engine)}
    missing = []
    for name in peers:
        variable, default, receiver, sender, parse, stays = _PEERS[name]
        named = os.environ.get(variable)
        path = shutil.which(named or default or "")
        if path is None:
            why = f"${variable} is '{named}', which is no program" if named else f"${variable} is not set"
            missing.append(f"{name} is missing ({why}{', and none is in PATH' if default else ''})")
            continue
        path = str(Path(path).resolve())
        tools[name] = Tool(
            name=name,
            path=path,
            version=read_version(name, path),
            receiver=receiver,
            sender=sender,
            parse=parse,
            stays=stays,
        )
    return tools, missing


def read_version(name: str, path: str) -> str:
    """The first line that a program prints of its version."""
    quiet = ["--nolog"] if name == "neper" else []  # it would leave a log file in the current folder
    done = subprocess.run(
        [path, *quiet, "--version"], capture_output=True, text=True, timeout=10, check=False
    )
    lines = (done.stdout + done.stderr).strip().splitlines()
    version = lines[0] if lines else "version not stated"
    return f"{name} {Path(path).name} {version}" if name == "neper" else version
