"""iperf3 as an engine: a trial's specification as its arguments, its JSON as the records of our own engine.

What iperf3 cannot tell stays null: the kernel's byte counts, its windows in flight, CPU per interval. The
start of the test on the host's clock is taken from when the program ended, so it is only about right. Its
intervals are its own: the steady window is made of those whose middle lies in it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from pathlab.engines.spec import BOTH, REVERSE, Allowed, TrialSpec
from pathlab.errors import HostError

PROGRAM = "iperf3"
INTERVAL_MIN_NS = 100_000_000
NS_PER_S = 1_000_000_000
#: Flag of every such trial: see above.
FLAG = "iperf3"


def check_settings(spec: TrialSpec) -> None:
    """Raise HostError (stage engine) naming what iperf3 cannot be asked for."""
    settings = spec.cell
    sender, receiver = spec.windows_bytes
    cannot = {
        "direction 'both'": settings.direction == BOTH,
        "transport 'mptcp'": settings.transport != "tcp",
        "windows that differ between the ends": sender != receiver,
        "a number of worker threads": settings.worker_threads is not None,
        "cores to be bound to": settings.cpus is not None,
        "connections from the receiver": spec.path.connect_from != "sender",
        "more than 128 streams": spec.cell.streams > 128,
    }
    for what, asked in cannot.items():
        if asked:
            raise HostError(
                f"iperf3 cannot be asked for {what}",
                host=spec.path.source,
                stage="engine",
                hint='leave engine = "iperf3" out of rows with it ([[rows]] or `where`)',
            )


def server_arguments(spec: TrialSpec) -> list[str]:
    """Arguments of the end that listens."""
    ports = spec.path.destination_ports
    port = ["-p", ports.partition("-")[0]] if ports != "0" else []
    return ["-s", "-1", "-J", "-i", _interval(spec), "-B", spec.path.destination_address, *port]


def client_arguments(spec: TrialSpec, allowed: Allowed, port: int) -> list[str]:
    """Arguments of the end that connects, which tells the other one all but its own interval."""
    settings, window = spec.cell, spec.windows_bytes[0]
    seconds = math.ceil((spec.cell.warmup_ns + spec.cell.duration_ns) / NS_PER_S)
    words = ["-c", spec.path.destination_address, "-B", spec.path.source_address, "-p", str(port), "-J"]
    words += ["-t", str(seconds), "-i", _interval(spec), "-P", str(spec.cell.streams)]
    rate = spec.rate_bits_per_s
    valued = {
        "-w": window,
        "-l": settings.message_bytes,
        "-M": settings.mss_bytes,
        "-C": allowed.congestion,
        "--dscp": settings.dscp,
        "-b": None if rate is None else max(1, rate // spec.cell.streams),  # of each stream
    }
    for name, value in valued.items():
        words += [] if value is None else [name, str(value)]
    switches = {"-R": settings.direction == REVERSE, "-N": settings.no_delay, "-Z": settings.zero_copy}
    return words + [name for name, given in switches.items() if given]


def traffic_s(spec: TrialSpec) -> int:
    """Seconds for which iperf3 sends: it knows whole ones only."""
    return math.ceil((spec.cell.warmup_ns + spec.cell.duration_ns) / NS_PER_S)


def convert_output(
    output: Mapping[str, Any], spec: TrialSpec, *, ended_ns: int, sends: bool
) -> list[dict[str, Any]]:
    """One end's JSON as records of native/PROTOCOL.md. Raises HostError when it is not what iperf3 prints."""
    try:
        return _convert(output, spec, ended_ns, sends)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        host = spec.flow_path.source if sends else spec.flow_path.destination
        raise HostError(
            f"iperf3 printed JSON that cannot be read ({type(error).__name__}: {error})",
            host=host,
            stage="engine",
            hint="use iperf3 3.7 or newer",
        ) from error


def _convert(output: Mapping[str, Any], spec: TrialSpec, ended_ns: int, sends: bool) -> list[dict[str, Any]]:
    start, end = output["start"], output["end"]
    intervals = [_interval_record(n, item, spec) for n, item in enumerate(output["intervals"])]
    _sum_retransmits(intervals)
    if not intervals:
        raise ValueError("no intervals")
    length_ns = intervals[-1]["end_ns"]
    monotonic_ns = ended_ns - length_ns
    role = "sender" if sends else "receiver"
    ends = sorted((item[role] for item in end["streams"]), key=lambda item: item["socket"])
    totals = [int(item["bytes"]) for item in ends]
    retransmits = [item.get("retransmits") for item in ends]
    result = {
        "type": "result",
        "complete": True,
        "reason": None,
        "phases": _phases(intervals, spec.cell.streams),
        "total_bytes": totals,
        "rejected": None,
        "workers": [_cpu(end, length_ns)],
        "tcp_info": {"total_retrans_segments": retransmits} if sends else {},
    }
    return [
        {"type": "hello", "program": PROGRAM, "version": str(start["version"])},
        _ready(start, end, spec, sends),
        {"type": "start", "monotonic_ns": monotonic_ns, "realtime_ns": None},
        *intervals,
        result,
    ]


def _ready(start: Mapping[str, Any], end: Mapping[str, Any], spec: TrialSpec, sends: bool) -> dict[str, Any]:
    congestion = end.get("sender_tcp_congestion" if sends else "receiver_tcp_congestion")
    socket = {
        "sndbuf_bytes": start.get("sndbuf_actual"),
        "rcvbuf_bytes": start.get("rcvbuf_actual"),
        "congestion": congestion,
        "mss_bytes": start.get("tcp_mss_default") or None,  # tcp_mss is what was asked for
    }
    test = start["test_start"]
    return {
        "type": "ready",
        "streams": test["num_streams"],
        "transport": str(test["protocol"]).lower(),
        "direction": spec.cell.direction,
        "congestion": congestion,
        "write_bytes": test["blksize"] if sends else None,
        "sockets": [{"stream": number, **socket} for number in range(spec.cell.streams)],
    }


def _interval_record(number: int, item: Mapping[str, Any], spec: TrialSpec) -> dict[str, Any]:
    streams = sorted(item["streams"], key=lambda stream: stream["socket"])
    if len(streams) != spec.cell.streams:
        raise ValueError(f"an interval of {len(streams)} streams where there are {spec.cell.streams}")
    start_ns, end_ns = (round(item["sum"][key] * NS_PER_S) for key in ("start", "end"))
    middle_ns = (start_ns + end_ns) // 2
    phase = "warmup" if middle_ns < spec.cell.warmup_ns else "steady"
    if middle_ns >= spec.cell.warmup_ns + spec.cell.duration_ns:
        phase = "drain"
    names = {
        "rtt_us": "rtt",
        "rttvar_us": "rttvar",
        "snd_wnd_bytes": "snd_wnd",
        "pmtu_bytes": "pmtu",
        "total_retrans_segments": "retransmits",
    }
    info = {ours: [stream.get(theirs) for stream in streams] for ours, theirs in names.items()}
    nothing = [None] * len(streams)
    return {
        "type": "interval",
        "index": number,
        "phase": phase,
        "start_ns": start_ns,
        "end_ns": end_ns,
        "bytes": [int(stream["bytes"]) for stream in streams],
        "tcp_info": {**info, "unacked_segments": nothing, "snd_mss_bytes": nothing},
        "workers": [],
    }


def _sum_retransmits(intervals: Sequence[Mapping[str, Any]]) -> None:
    """From those of each interval to those since the start, as the kernel counts them; null stays null."""
    for before, record in pairwise(intervals):
        pairs = zip(*(item["tcp_info"]["total_retrans_segments"] for item in (before, record)), strict=True)
        sums = [None if None in pair else sum(pair) for pair in pairs]
        record["tcp_info"]["total_retrans_segments"] = sums


def _phases(intervals: Sequence[Mapping[str, Any]], streams: int) -> dict[str, dict[str, Any]]:
    phases: dict[str, dict[str, Any]] = {}
    for name in ("warmup", "steady", "drain"):
        chosen = [item for item in intervals if item["phase"] == name]
        phases[name] = {
            "start_ns": chosen[0]["start_ns"] if chosen else 0,
            "end_ns": chosen[-1]["end_ns"] if chosen else 0,
            "bytes": [sum(item["bytes"][number] for item in chosen) for number in range(streams)],
        }
    return phases


def _cpu(end: Mapping[str, Any], length_ns: int) -> dict[str, int]:
    """CPU time of the program over the test, from the shares that it states."""
    used = end["cpu_utilization_percent"]
    return {
        "user_ns": round(used["host_user"] / 100 * length_ns),
        "system_ns": round(used["host_system"] / 100 * length_ns),
    }


def choose_interval_ns(spec: TrialSpec) -> int:
    """The length of its records: what is asked for, but no less than iperf3 allows."""
    return max(spec.interval_ns, INTERVAL_MIN_NS)


def _interval(spec: TrialSpec) -> str:
    return f"{choose_interval_ns(spec) / NS_PER_S:g}"
