"""UDP flows against iperf3, neper's udp_stream and sockperf: received packets, rate and CPU, as ratios.

``python benchmarks/datagrams.py --help`` says how; README.md alongside it says what the columns mean.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from comparisons import Group, Measure, Row
from outcome import keep_json, translate_faults
from rounds import Comparison, parse_arguments, run_all, start_store

from tools import (
    DATA_PORT,
    PORT,
    Candidate,
    Carried,
    Load,
    Tool,
    TransferError,
    find_engine_tool,
    read_version,
)

SIZES = (64, 1472)
#: Environment variable and name in PATH of each peer.
PEERS = {
    "iperf3": ("IPERF3", "iperf3"),
    "udp_stream": ("UDP_STREAM", None),
    "sockperf": ("SOCKPERF", "sockperf"),
}


def measure(packets_at_least: float, cpu_at_most: float) -> tuple[Measure, ...]:
    """What the receiver got, and what both ends' CPU time was for each datagram that it got."""
    return (
        Measure(title="kpackets/s", quantity="messages_per_s", unit=1e3, at_least=packets_at_least),
        Measure(title="Gbit/s", quantity="rate_bits_per_s", unit=1e9, at_least=packets_at_least),
        Measure(title="CPU ns", quantity="cpu_ns_per_message", at_most=cpu_at_most),
    )


def _candidate(tool: str, size: int, *flags: str, receiver: tuple[str, ...] = ()) -> Candidate:
    return Candidate(label=tool, tool=tool, message_bytes=size, flags=flags, receiver_flags=receiver)


def plan_groups() -> tuple[Group, ...]:
    """As fast as possible: single datagrams, and super-packets by UDP_SEGMENT and UDP_GRO."""
    groups = []
    for size in SIZES:
        ours = _candidate("engine", size)
        rows = [Row(ours=ours, against=_candidate(peer, size), measures=measure(1.0, 1.0)) for peer in PEERS]
        groups.append(Group(name=f"single/{size}", rows=tuple(rows)))
    ours = _candidate("engine", 1472, "--gso", receiver=("--gro",))
    against = _candidate("iperf3", 1472, "--gsro")
    groups.append(
        Group(name="super/1472", rows=(Row(ours=ours, against=against, measures=measure(1.0, 1.0)),))
    )
    return tuple(groups)


def _receive_engine(address: str, candidate: Candidate, _load: Load) -> list[str]:
    ends = ["--transport", "udp", "--bind", address, "--port", str(PORT), "--output", "json"]
    return ["receive", *ends, "--accept-timeout-ns", "15000000000", *candidate.flags_of_receiver]


def _send_engine(address: str, candidate: Candidate, load: Load) -> list[str]:
    ends = ["--transport", "udp", "--address", address, "--port", str(PORT), "--output", "json"]
    shape = ["--datagram-bytes", str(candidate.message_bytes), "--duration-ns", str(load.seconds * 10**9)]
    return ["send", *ends, *shape, *candidate.flags]


def parse_engine(receiver: str, sender: str, candidate: Candidate) -> Carried:
    """The receiver's records. Raises TransferError unless both ends are complete and agree."""
    ends = []
    for text in (receiver, sender):
        records: list[dict[str, Any]] = [
            json.loads(line) for line in text.splitlines() if line.startswith("{")
        ]
        ends.append(records[-1] if records else {})
        if not ends[-1].get("complete", False):
            raise TransferError("an end has no complete result")
    steady, sent = (end["phases"]["steady"] for end in ends)
    came = sum(steady["datagrams"]["received"])
    confirmed = sum(ends[1]["datagrams"]["confirmed"]["received"])
    if came != confirmed or came + sum(steady["datagrams"]["lost"]) != sum(sent["datagrams"]["sent"]):
        raise TransferError("the ends do not agree on what came")
    span_ns = sent["end_ns"] - sent["start_ns"]
    return Carried(
        rate_bits_per_s=came * candidate.message_bytes * 8e9 / span_ns,
        received_bytes=came * candidate.message_bytes,
    )


def _receive_iperf3(address: str, _candidate: Candidate, _load: Load) -> list[str]:
    return ["-s", "-1", "-J", "-B", address, "-p", str(PORT)]


def _send_iperf3(address: str, candidate: Candidate, load: Load) -> list[str]:
    shape = ["-u", "-b", "0", "-l", str(candidate.message_bytes), "-t", str(load.seconds)]
    return ["-c", address, "-p", str(PORT), "-J", *shape, *candidate.flags]


def parse_iperf3(receiver: str, _sender: str, candidate: Candidate) -> Carried:
    """The server's packets less those that it counts as lost. Raises TransferError with its error."""
    try:
        report: dict[str, Any] = json.loads(receiver)
    except ValueError as error:
        raise TransferError(f"the server's report is no JSON: {receiver.strip()[-200:]}") from error
    if "error" in report:
        raise TransferError(str(report["error"]))
    total = report["end"]["sum"]
    received_bytes = (int(total["packets"]) - int(total["lost_packets"])) * candidate.message_bytes
    return Carried(
        rate_bits_per_s=received_bytes * 8 / float(total["seconds"]), received_bytes=received_bytes
    )


def _shape_neper(candidate: Candidate, load: Load) -> list[str]:
    ports = ["--nolog", "-C", str(PORT), "-P", str(DATA_PORT)]
    return [*ports, "-T", "1", "-F", "1", "-B", str(candidate.message_bytes), "-l", str(load.seconds)]


def _receive_neper(_address: str, candidate: Candidate, load: Load) -> list[str]:
    return _shape_neper(candidate, load)


def _send_neper(address: str, candidate: Candidate, load: Load) -> list[str]:
    return ["-c", "-H", address, *_shape_neper(candidate, load)]


def parse_neper(receiver: str, _sender: str, _candidate: Candidate) -> Carried:
    """The server's key=value lines. Raises TransferError where the rate is missing."""
    values = dict(line.split("=", 1) for line in receiver.splitlines() if "=" in line)
    try:
        rate = float(values["local_throughput"])
        seconds = float(values["time_end"]) - float(values["time_start"])
    except KeyError as error:
        raise TransferError(f"the server did not print {error}") from error
    return Carried(rate_bits_per_s=rate, received_bytes=round(rate * seconds / 8))


def _receive_sockperf(address: str, _candidate: Candidate, _load: Load) -> list[str]:
    return ["server", "-i", address, "-p", str(PORT)]


def _send_sockperf(address: str, candidate: Candidate, load: Load) -> list[str]:
    shape = ["-m", str(candidate.message_bytes), "-t", str(load.seconds), "--mps", "max"]
    return ["throughput", "-i", address, "-p", str(PORT), *shape]


def parse_sockperf(receiver: str, sender: str, candidate: Candidate) -> Carried:
    """The server's count over the client's time. Raises TransferError where one of them is missing."""
    came = re.search(r"Total (\d+) messages received", receiver)
    time = re.search(r"messages sent in ([\d.]+) sec", sender)
    if came is None or time is None:
        raise TransferError("sockperf printed no count of received messages, or no time")
    received_bytes = int(came[1]) * candidate.message_bytes
    return Carried(rate_bits_per_s=received_bytes * 8 / float(time[1]), received_bytes=received_bytes)


def _find_tools(options: argparse.Namespace) -> tuple[dict[str, Tool], list[str]]:
    """The engine, the peers that are there, and a line for each other."""
    ways = {
        "iperf3": (_receive_iperf3, _send_iperf3, parse_iperf3),
        "udp_stream": (_receive_neper, _send_neper, parse_neper),
        "sockperf": (_receive_sockperf, _send_sockperf, parse_sockperf),
    }
    tools = {"engine": find_engine_tool(_receive_engine, _send_engine, parse_engine)}
    missing = []
    for name, (variable, default) in PEERS.items():
        named = getattr(options, name) or os.environ.get(variable)
        path = shutil.which(named or default or "")
        if path is None:
            why = f"'{named}' is no program" if named else f"${variable} is not set"
            missing.append(f"{name} is missing ({why})")
            continue
        path = str(Path(path).resolve())
        receiver, sender, parse = ways[name]
        tools[name] = Tool(
            name=name,
            path=path,
            version=read_version("neper" if name == "udp_stream" else name, path),
            receiver=receiver,
            sender=sender,
            parse=parse,
            stays=name == "sockperf",
            end_signal=signal.SIGINT,  # sockperf prints its count then alone
        )
    return tools, missing


def _add_options(parser: argparse.ArgumentParser) -> None:
    for name, (variable, _) in PEERS.items():
        parser.add_argument(
            f"--{name.replace('_', '-')}", metavar="PATH", help=f"the program (default ${variable})"
        )


@translate_faults
def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; 0 also where a target is missed, 2 for a wrong option, 3 where it cannot run."""
    cores = sorted(os.sched_getaffinity(0))
    comparison = Comparison(
        program="benchmarks/datagrams.py",
        about=__doc__,
        groups={"loopback": plan_groups(), "veth": plan_groups()},
        seconds=2,
        quiet_s=0.5,
        cores=(cores[0], cores[-1]),
    )
    options = parse_arguments(comparison, arguments, _add_options)
    if not comparison.check_names(options.only):
        return 2
    tools, missing = _find_tools(options)
    stored = start_store(options, tools, missing)
    with keep_json(stored, options.json):
        run_all(comparison, options, tools, stored)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
