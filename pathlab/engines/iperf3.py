"""iperf3 as an engine: a trial's specification as its arguments, its JSON as the records of our own engine.

What iperf3 does not report stays null: the kernel's byte counts, its windows in flight, CPU per interval. The
start of the test on the host's clock is taken from when the program ended, so it is approximate. Its
intervals are its own: the steady window consists of those whose middle lies in it. The server runs at the
path's destination; the direction decides which way the data go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from pathlab.campaign.engine_rules import Capabilities, EngineLimit
from pathlab.engines.base import GRACE_S, SETUP_TIMEOUT_S, Engine, EngineContext
from pathlab.engines.spec import REVERSE, Allowed, TrialSpec
from pathlab.errors import HostError, Stage
from pathlab.remote.jobs import EngineJob
from pathlab.remote.record_checker import RecordChecker
from pathlab.store.flags import Flag, Phase
from pathlab.units import SECOND_NS

PROGRAM = "iperf3"
INTERVAL_MIN_NS = 100_000_000
#: Keys of the factors that its arguments carry, or that concern the path alone.
FACTORS = frozenset(
    (
        *("streams", "window", "window_sender", "window_receiver", "congestion", "duration", "warmup"),
        *("write", "transport", "direction", "dscp", "pacing", "mss", "no_delay", "zero_copy"),
        *("engine", "family", "addresses", "background", "bond", "tcp_reordering"),
    )
)


class Iperf3Engine(Engine):
    """One server and one client, which print JSON when they end. The limits are those of its sources."""

    name = PROGRAM
    flag = Flag.IPERF3
    capabilities = Capabilities(
        factors=FACTORS,
        limits=(
            EngineLimit(what="more than 128 streams", constraint="streams <= 128"),
            EngineLimit(what="direction 'both'", constraint="direction != 'both'"),
            EngineLimit(what="transports other than 'tcp'", constraint="transport == 'tcp'"),
            EngineLimit(
                what="a window for each end",
                constraint="window_sender == window_receiver",
                expected="one window for both ends",
            ),
            EngineLimit(what="windows above 512 MiB", constraint="window == 'auto' or window <= 512MiB"),
            EngineLimit(what="writes above 1 MiB", constraint="write == 'auto' or write <= 1MiB"),
            EngineLimit(what="segments above 9216 bytes", constraint="mss == 'auto' or mss <= 9216"),
            EngineLimit(what="more than a day of traffic", constraint="warmup + duration <= 86400s"),
        ),
        connects_from_receiver=False,
        counts_while_running=False,
        confirms_delivery=False,
        keeps_host_caps=False,
    )

    def __init__(self, context: EngineContext) -> None:
        super().__init__(context)
        roles = ("sender", "receiver")
        # The client sends, unless the direction is turned.
        self._client, self._server = roles[::-1] if context.spec.cell.direction == REVERSE else roles
        self._jobs: dict[str, EngineJob] = {}  # by role
        self._records: dict[str, list[dict[str, Any]]] = {role: [] for role in roles}

    @classmethod
    def round_traffic_ns(cls, requested_ns: int) -> int:
        """It sends for whole seconds."""
        return -(-requested_ns // SECOND_NS) * SECOND_NS

    @classmethod
    def find_interval_ns(cls, spec: TrialSpec) -> int:
        """What is requested, but no less than iperf3 allows."""
        return max(spec.trial.interval_ns, INTERVAL_MIN_NS)

    def _start(self, role: str, arguments: list[str], listen: Mapping[str, str] | None = None) -> EngineJob:
        job = self.find_session(role).start_peer(PROGRAM, arguments, listen=listen, seconds=self.lifetime_s)
        self.context.keep(job)
        self._jobs[role] = job
        return job

    def prepare(self) -> None:
        """Start the server and wait until it listens."""
        spec = self.context.spec
        address, ports = spec.path.destination_address, spec.path.destination_ports
        listen = {"argument": "-p", "address": address, "ports": ports}
        server = self._start(self._server, server_arguments(spec), listen)
        self._port = int(server.wait_for("listening", SETUP_TIMEOUT_S)["port"])
        self.context.listening(self._port)

    def run(self) -> None:
        """Start the client, and read what both ends print when they end."""
        spec = self.context.spec
        self._start(self._client, client_arguments(spec, self.context.allowed, self._port))
        for role in (self._client, self._server):
            printed = self._jobs[role].wait_for("output", self.lifetime_s)
            self._jobs[role].wait_for("result", GRACE_S)
            self._records[role] = convert_output(
                printed["json"], spec, ended_ns=printed["ended_ns"], sends=role == "sender"
            )

    def stop(self) -> None:
        if self._client in self._jobs:
            self._jobs[self._client].command("stop")

    def collect(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        return self._records["sender"], self._records["receiver"]

    def check_ends(self) -> None:
        for role, job in self._jobs.items():
            if not job.wait_for("result", 0.0)["complete"]:
                raise self.fail(role, "iperf3 ended early")


ENGINE = Iperf3Engine


def server_arguments(spec: TrialSpec) -> list[str]:
    """Arguments of the end that listens; the agent adds its port."""
    return ["-s", "-1", "-J", "-i", _interval(spec), "-B", spec.path.destination_address]


def client_arguments(spec: TrialSpec, allowed: Allowed, port: int) -> list[str]:
    """Arguments of the end that connects, which sends the other one all but its own interval."""
    settings, window, rate = spec.cell, spec.windows_bytes[0], spec.rate_bits_per_s
    seconds = Iperf3Engine.round_traffic_ns(spec.cell.warmup_ns + spec.cell.duration_ns) // SECOND_NS
    words = ["-c", spec.path.destination_address, "-B", spec.path.source_address, "-p", str(port), "-J"]
    words += ["-t", str(seconds), "-i", _interval(spec), "-P", str(spec.cell.streams)]
    valued = {
        "-w": window,
        "-l": settings.write_bytes,
        "-M": settings.mss_bytes,
        "-C": allowed.congestion,
        "--dscp": settings.dscp,
        "-b": None if rate is None else max(1, rate // spec.cell.streams),  # of each stream
    }
    for name, value in valued.items():
        words += [] if value is None else [name, str(value)]
    switches = {"-R": settings.direction == REVERSE, "-N": settings.no_delay, "-Z": settings.zero_copy}
    return words + [name for name, given in switches.items() if given]


def convert_output(
    output: Mapping[str, Any], spec: TrialSpec, *, ended_ns: int, sends: bool
) -> list[dict[str, Any]]:
    """One end's JSON as records of native/PROTOCOL.md. Raises HostError when it is not what iperf3 prints."""
    try:
        records = _convert(output, spec, ended_ns, sends)
        checker = RecordChecker("send", streams=spec.cell.streams)
        for record in records:
            checker.check(record)
        return records
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
        host = spec.flow_path.source if sends else spec.flow_path.destination
        raise HostError(
            f"iperf3 printed JSON that cannot be read ({type(error).__name__}: {error})",
            host=host,
            stage=Stage.ENGINE,
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
    totals = [int(_read_number(item, "bytes")) for item in ends]
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
        "mss_bytes": start.get("tcp_mss_default") or None,  # tcp_mss is what was requested
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
    start_ns, end_ns = (round(_read_number(item["sum"], key) * SECOND_NS) for key in ("start", "end"))
    middle_ns = (start_ns + end_ns) // 2
    phase = Phase.WARMUP if middle_ns < spec.cell.warmup_ns else Phase.STEADY
    if middle_ns >= spec.cell.warmup_ns + spec.cell.duration_ns:
        phase = Phase.DRAIN
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
        "bytes": [int(_read_number(stream, "bytes")) for stream in streams],
        "tcp_info": {**info, "unacked_segments": nothing, "snd_mss_bytes": nothing},
        "workers": [],
    }


def _read_number(fields: Mapping[str, Any], key: str) -> float:
    """A text or a list times a number would be a longer one. Raises KeyError, TypeError."""
    number: float = fields[key]
    if type(number) not in (int, float):
        raise TypeError(f"{key} is not a number")
    return number


def _sum_retransmits(intervals: Sequence[Mapping[str, Any]]) -> None:
    """From those of each interval to those since the start, as the kernel counts them; null stays null."""
    for before, record in pairwise(intervals):
        pairs = zip(*(item["tcp_info"]["total_retrans_segments"] for item in (before, record)), strict=True)
        sums = [None if None in pair else sum(pair) for pair in pairs]
        record["tcp_info"]["total_retrans_segments"] = sums


def _phases(intervals: Sequence[Mapping[str, Any]], streams: int) -> dict[str, dict[str, Any]]:
    phases: dict[str, dict[str, Any]] = {}
    for name in Phase:
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
        "user_ns": round(_read_number(used, "host_user") / 100 * length_ns),
        "system_ns": round(_read_number(used, "host_system") / 100 * length_ns),
    }


def _interval(spec: TrialSpec) -> str:
    return f"{Iperf3Engine.find_interval_ns(spec) / SECOND_NS:g}"
