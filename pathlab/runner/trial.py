"""The choreography of one trial.

Receiver prepares; sender connects all streams; both say ready; loaded probes start; go. The sender stops, the
receiver drains to the end and states its byte count; the unloaded probes follow when the queue is empty. Any
failure leaves what was measured up to then, with the stage and the reason.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pathlab.discover.route import Route
from pathlab.errors import HostError
from pathlab.lab.verdict import LabSnapshot
from pathlab.remote.jobs import CounterWatch, EngineJob
from pathlab.remote.session import Session

SETUP_TIMEOUT_S = 15.0
#: Time an engine may take beyond its own deadlines before the controller calls it silent.
GRACE_S = 10.0
ECHO_STOP_TIMEOUT_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPath:
    """An ordered pair of hosts and the addresses used between them."""

    source: str
    destination: str
    source_address: str
    destination_address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSpec:
    """Everything one trial asks for. Times in ns, sizes in bytes; ``window_bytes`` None means autotuning."""

    row: int
    cycle: int
    path: TrialPath
    streams: int
    window_bytes: int | None
    congestion: str | None
    warmup_ns: int
    duration_ns: int
    interval_ns: int
    drain_ns: int
    probe_interval_ns: int
    probe_payload_bytes: int
    probe_timeout_ns: int
    unloaded_count: int

    @property
    def traffic_s(self) -> float:
        """Seconds from go until the slowest permitted end of the drain."""
        return (self.warmup_ns + self.duration_ns + self.drain_ns) / 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What the hosts let a trial do of what it asks for."""

    probe_method: str  # icmp, or udp (to an echo at the destination)
    congestion: str | None  # to set on the sockets; None leaves the kernel's default


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteReading:
    """The route that a trial began with; ``changed`` against the reading before."""

    route: Route
    changed: bool


@dataclass(slots=True)
class TrialData:
    """What the engines and agents have said so far, in their own words (native/PROTOCOL.md)."""

    receiver: list[dict[str, Any]] = field(default_factory=list)
    sender: list[dict[str, Any]] = field(default_factory=list)
    loaded: list[dict[str, Any]] = field(default_factory=list)
    unloaded: list[dict[str, Any]] = field(default_factory=list)
    sender_counters: list[dict[str, Any]] = field(default_factory=list)
    receiver_counters: list[dict[str, Any]] = field(default_factory=list)
    route: RouteReading | None = None  # before the traffic
    lab: list[LabSnapshot] = field(default_factory=list)  # before and after the traffic


def first(records: Iterable[Mapping[str, Any]], record_type: str) -> Mapping[str, Any] | None:
    """The first record of a type, or None."""
    return next((record for record in records if record.get("type") == record_type), None)


class Trial:
    """One run of a :class:`TrialSpec` between two sessions; :attr:`data` is valid whenever it ends."""

    def __init__(self, spec: TrialSpec, source: Session, destination: Session, *, allowed: Allowed) -> None:
        self.spec = spec
        self._allowed = allowed
        self.data = TrialData()
        self._source = source
        self._destination = destination
        self._token = secrets.token_hex(16)
        self._jobs: list[EngineJob] = []
        self._roles: dict[str, EngineJob] = {}  # by the name of the TrialData field that keeps its records

    def run(self, on_rate: Callable[[float, int], None], at_traffic: Callable[[], None]) -> None:
        """Measure. Raises HostError with the stage that failed; ``on_rate`` gets bit/s and elapsed ns.

        ``at_traffic`` is called twice: before the first byte may leave, and when the last has come.
        """
        watches: list[tuple[CounterWatch, list[dict[str, Any]]]] = []
        try:
            watches = self._start_counters()
            self._move_traffic(on_rate, at_traffic)
            self._probe_unloaded()
        finally:
            for role, job in self._roles.items():
                setattr(self.data, role, job.records)
            try:
                for watch, samples in watches:
                    samples.extend(watch.stop())
            finally:
                self._end_jobs()

    def _start_counters(self) -> list[tuple[CounterWatch, list[dict[str, Any]]]]:
        watches = [(self._source.start_counters(self.spec.interval_ns), self.data.sender_counters)]
        if self._destination is self._source:
            self.data.receiver_counters = self.data.sender_counters
        else:
            watch = self._destination.start_counters(self.spec.interval_ns)
            watches.append((watch, self.data.receiver_counters))
        return watches

    def _start(
        self,
        session: Session,
        subcommand: str,
        options: dict[str, str | int],
        seconds: float,
        on_record: Callable[[dict[str, Any]], None] | None = None,
    ) -> EngineJob:
        job = session.start_engine(subcommand, options, seconds=seconds, on_record=on_record)
        self._jobs.append(job)
        return job

    def _move_traffic(self, on_rate: Callable[[float, int], None], at_traffic: Callable[[], None]) -> None:
        spec, roles = self.spec, self._roles
        lifetime_s = spec.traffic_s + SETUP_TIMEOUT_S + GRACE_S

        def show_rate(record: dict[str, Any]) -> None:
            if record["type"] == "interval" and record["end_ns"] > record["start_ns"]:
                span_ns = record["end_ns"] - record["start_ns"]
                on_rate(sum(record["bytes"]) * 8e9 / span_ns, record["end_ns"])

        receiver = self._start(self._destination, "receive", self._receive_options(), lifetime_s, show_rate)
        roles["receiver"] = receiver
        port = receiver.wait_for("listening", SETUP_TIMEOUT_S)["port"]

        probing: list[EngineJob] = []

        def end_probes(record: dict[str, Any]) -> None:
            # Loaded probes end with the steady window, whatever is still draining.
            if record["type"] == "result" or record.get("phase") == "drain":
                while probing:
                    probing.pop().command("stop")

        sender = self._start(self._source, "send", self._send_options(port), lifetime_s, end_probes)
        roles["sender"] = sender
        sender.wait_for("ready", SETUP_TIMEOUT_S)
        receiver.wait_for("ready", SETUP_TIMEOUT_S)
        loaded = self._start_probes(count=0, seconds=lifetime_s)
        roles["loaded"] = loaded
        loaded.wait_for("start", SETUP_TIMEOUT_S)
        probing.append(loaded)
        at_traffic()
        sender.command("go")
        sent = sender.wait_for("result", spec.traffic_s + GRACE_S)
        received = receiver.wait_for("result", spec.drain_ns / 1e9 + GRACE_S)
        at_traffic()
        loaded.wait_for("result", spec.probe_timeout_ns / 1e9 + GRACE_S)
        for session, end, result in (
            (self._source, "sender", sent),
            (self._destination, "receiver", received),
        ):
            if not result["complete"]:
                reason = result.get("reason") or "ended early"
                raise HostError(f"the {end} did not finish: {reason}", host=session.host, stage="engine")

    def _probe_unloaded(self) -> None:
        spec = self.spec
        if spec.unloaded_count == 0:
            return
        seconds = (spec.unloaded_count * spec.probe_interval_ns + spec.probe_timeout_ns) / 1e9 + GRACE_S
        job = self._start_probes(count=spec.unloaded_count, seconds=seconds)
        self._roles["unloaded"] = job
        job.wait_for("result", seconds)

    def _start_probes(self, *, count: int, seconds: float) -> EngineJob:
        spec = self.spec
        options: dict[str, str | int] = {
            "address": spec.path.destination_address,
            "bind": spec.path.source_address,
            "count": count,
            "interval-ns": spec.probe_interval_ns,
            "payload-bytes": spec.probe_payload_bytes,
            "timeout-ns": spec.probe_timeout_ns,
        }
        if self._allowed.probe_method == "udp":
            options |= {"method": "udp", "port": self._echo_port(seconds), "token": self._token}
        return self._start(self._source, "ping", options, seconds)

    def _echo_port(self, seconds: float) -> int:
        """Port of a UDP echo at the destination, for hosts that may not send ICMP."""
        options: dict[str, str | int] = {
            "bind": self.spec.path.destination_address,
            "port": 0,
            "token": self._token,
        }
        echo = self._start(self._destination, "echo", options, seconds)
        return int(echo.wait_for("listening", SETUP_TIMEOUT_S)["port"])

    def _common_options(self) -> dict[str, str | int]:
        spec = self.spec
        options: dict[str, str | int] = {
            "token": self._token,
            "streams": spec.streams,
            "window-bytes": spec.window_bytes or 0,
            "warmup-ns": spec.warmup_ns,
            "duration-ns": spec.duration_ns,
            "interval-ns": spec.interval_ns,
            "drain-timeout-ns": spec.drain_ns,
            "tcp-info": "raw",
        }
        if self._allowed.congestion is not None:
            options["congestion"] = self._allowed.congestion
        return options

    def _receive_options(self) -> dict[str, str | int]:
        return self._common_options() | {"bind": self.spec.path.destination_address, "port": 0}

    def _send_options(self, port: int) -> dict[str, str | int]:
        path = self.spec.path
        return self._common_options() | {
            "address": path.destination_address,
            "bind": path.source_address,
            "port": port,
        }

    def _end_jobs(self) -> None:
        """Nothing that this trial started goes on after it."""
        for job in reversed(self._jobs):
            if job.subcommand == "echo":
                job.command("stop")
                job.wait(ECHO_STOP_TIMEOUT_S)
            job.kill()
        self._jobs.clear()
