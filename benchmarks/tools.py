"""The traffic tools: how each is started for one transfer, and what its receiver says came.

Each tool's own receiver states rate and bytes; what it cost is measured from outside, alike for all.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pathlab.remote.engine import engine_version, find_engine

PORT = 5210
DATA_PORT = 5211  # neper's; PORT is its control port then


class TransferError(Exception):
    """A transfer that differs from the request; the text is the tool's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One way to carry bytes: a tool, its stream count, and flags beyond those of every transfer."""

    label: str
    tool: str  # engine | iperf3 | neper
    streams: int
    flags: tuple[str, ...] = ()  # engine: both ends; the others: the client


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is the same for every transfer of a benchmark."""

    seconds: int
    congestion: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What a receiver says: application bits/s over its own window, and all bytes that it took."""

    rate_bits_per_s: float
    received_bytes: int
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A program that is there. Commands are of the receiving and of the sending end."""

    name: str
    path: str
    version: str
    receiver: Callable[[str, Candidate, Load], list[str]]
    sender: Callable[[str, Candidate, Load], list[str]]
    parse: Callable[[str, str], Carried]  # of what the receiver and the sender wrote


def _receive_engine(address: str, candidate: Candidate, load: Load) -> list[str]:
    flags = ["--congestion", load.congestion, "--output", "json", *candidate.flags]
    return ["receive", "--bind", address, "--port", str(PORT), "--accept-timeout-ns", "15000000000", *flags]


def _send_engine(address: str, candidate: Candidate, load: Load) -> list[str]:
    flags = ["--congestion", load.congestion, "--output", "json", *candidate.flags]
    shape = ["--streams", str(candidate.streams), "--duration-ns", str(load.seconds * 10**9)]
    return ["send", "--address", address, "--port", str(PORT), *shape, *flags]


def parse_engine(receiver: str, sender: str) -> Carried:
    """Both ends' records. Raises TransferError unless they end with a complete result."""
    result, sent = _find_result(receiver), _find_result(sender)
    steady = result["phases"]["steady"]
    span_ns = steady["end_ns"] - steady["start_ns"]
    return Carried(
        rate_bits_per_s=sum(steady["bytes"]) * 8e9 / span_ns,
        received_bytes=sum(result["total_bytes"]),
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


def parse_iperf3(receiver: str, _sender: str) -> Carried:
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
    return _shape_neper(candidate, load)


def _send_neper(address: str, candidate: Candidate, load: Load) -> list[str]:
    return ["-c", "-H", address, *_shape_neper(candidate, load)]


def _shape_neper(candidate: Candidate, load: Load) -> list[str]:
    ports = ["--nolog", "-C", str(PORT), "-P", str(DATA_PORT), "--congestion-control", load.congestion]
    return [*ports, "-F", str(candidate.streams), "-l", str(load.seconds), *candidate.flags]


def parse_neper(receiver: str, _sender: str) -> Carried:
    """The server's key=value lines. Raises TransferError where the rate is missing."""
    values = dict(line.split("=", 1) for line in receiver.splitlines() if "=" in line)
    try:
        rate = float(values["local_throughput"])
        seconds = float(values["time_end"]) - float(values["time_start"])
    except KeyError as error:
        raise TransferError(f"the server did not print {error}") from error
    return Carried(rate_bits_per_s=rate, received_bytes=round(rate * seconds / 8))


def find_tools() -> tuple[dict[str, Tool], list[str]]:
    """The engine and the peers that are there, and a line for each that is not. HostError: no engine."""
    engine = find_engine()
    tools = {
        "engine": Tool(
            name="engine",
            path=str(engine),
            version=f"pathlab-engine {engine_version(engine)}",
            receiver=_receive_engine,
            sender=_send_engine,
            parse=parse_engine,
        )
    }
    missing = []
    peers = {
        "iperf3": ("IPERF3", "iperf3", _receive_iperf3, _send_iperf3, parse_iperf3),
        "neper": ("NEPER", None, _receive_neper, _send_neper, parse_neper),
    }
    for name, (variable, default, receiver, sender, parse) in peers.items():
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
            version=_read_version(name, path),
            receiver=receiver,
            sender=sender,
            parse=parse,
        )
    return tools, missing


def _read_version(name: str, path: str) -> str:
    quiet = ["--nolog"] if name == "neper" else []  # it would leave a log file in the current folder
    done = subprocess.run(
        [path, *quiet, "--version"], capture_output=True, text=True, timeout=10, check=False
    )
    lines = (done.stdout + done.stderr).strip().splitlines()
    version = lines[0] if lines else "version not stated"
    return version if version.startswith("iperf") else f"{name} tcp_stream {version}"
