"""The choreography of one trial.

Receiver prepares; sender connects all streams; both say ready; loaded probes start; go. The sender stops, the
receiver drains to the end and states its byte count. When the drain time is up first, the connections are
reset and the receiver states what has come. The unloaded probes follow when the queue is empty. Any failure
leaves what was measured up to then, with the stage and the reason.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pathlab.discover.route import Route
from pathlab.engines.settings import Options, engine_direction, flow_options
from pathlab.engines.spec import Allowed, TrialSpec
from pathlab.errors import HostError, PathlabError
from pathlab.lab.verdict import LabSnapshot
from pathlab.remote.jobs import CounterWatch, EngineJob
from pathlab.remote.session import Session
from pathlab.runner.trial.safety_limit import SafetyAbort, SafetyWatch

SETUP_TIMEOUT_S = 15.0
#: Time an engine may take beyond its own deadlines before the controller calls it silent.
GRACE_S = 10.0
ECHO_STOP_TIMEOUT_S = 2.0
#: The head of a probe to an echo (native/PROTOCOL.md), which an ICMP probe does not need.
UDP_PROBE_MIN_BYTES = 40
#: Time between the probes that find out whether a queue is empty.
QUEUE_PROBE_INTERVAL_NS = 100_000_000


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


def _count_resets(records: Iterable[Mapping[str, Any]]) -> int:
    """Streams of an end that were reset in the end."""
    result = first(records, "result")
    return int(result.get("reset_streams", 0)) if result else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Onlooker:
    """Who is told while a trial runs, possibly on another thread than the trial's own."""

    rate: Callable[[float, int], None]  # bit/s over the latest interval, ns since the start
    rtt: Callable[[int | None], None]  # ns of the latest loaded probe; None: lost
    traffic: Callable[[], None]  # twice: before the first byte may leave, and when the last has come
    idle: Callable[[], None]  # while the unloaded probes are sent


class Trial:
    """One run of a :class:`TrialSpec` between two sessions; ``data`` is filled, however it ends.

    ``data.sender`` is the end whose data are counted, which with ``direction = "reverse"`` is the
    destination. Probes leave from there, so that their times and the flow's are on one clock.
    """

    def __init__(
        self,
        spec: TrialSpec,
        source: Session,
        destination: Session,
        *,
        allowed: Allowed,
        data: TrialData,
    ) -> None:
        self.spec = spec
        self._allowed = allowed
        self.data = data
        self._flow_path = spec.flow_path
        turned = self._flow_path is not spec.path
        self._sending, self._receiving = (destination, source) if turned else (source, destination)
        # The end of the path that opens the connections sends, unless either is the other way round.
        self._sender_connects = turned == (spec.path.connect_from == "receiver")
        self._safety = SafetyWatch(spec.safety_limits, spec.probe_interval_ns)
        self._token = secrets.token_hex(16)
        # Of its own: the data connections' token can be read on the path, and probes are signed with theirs.
        self._probe_token = secrets.token_hex(16)
        self._jobs: list[EngineJob] = []
        self._roles: dict[str, EngineJob] = {}  # by the name of the TrialData field that keeps its records

    def run(self, show: Onlooker) -> None:
        """Measure. Raises HostError with the failed stage, SafetyAbort where a safety limit is exceeded."""
        watches: list[tuple[CounterWatch, list[dict[str, Any]]]] = []
        try:
            watches = self._start_counters()
            self._move_traffic(show)
            self._probe_unloaded(show)
        finally:
            for role, job in self._roles.items():
                setattr(self.data, role, job.records)
            try:
                for watch, samples in watches:
                    samples.extend(watch.stop())
            finally:
                self._end_jobs()

    def _start_counters(self) -> list[tuple[CounterWatch, list[dict[str, Any]]]]:
        watches = [(self._sending.start_counters(self.spec.interval_ns), self.data.sender_counters)]
        if self._receiving is self._sending:
            self.data.receiver_counters = self.data.sender_counters
        else:
            watch = self._receiving.start_counters(self.spec.interval_ns)
            watches.append((watch, self.data.receiver_counters))
        return watches

    def _start(
        self,
        session: Session,
        subcommand: str,
        options: Options,
        seconds: float,
        on_record: Callable[[dict[str, Any]], None] | None = None,
    ) -> EngineJob:
        token = self._probe_token if subcommand in ("ping", "echo") else self._token
        job = session.start_engine(subcommand, options, seconds=seconds, token=token, on_record=on_record)
        self._jobs.append(job)
        return job

    def _move_traffic(self, show: Onlooker) -> None:
        spec, roles = self.spec, self._roles
        lifetime_s = spec.traffic_s + SETUP_TIMEOUT_S + GRACE_S
        probing: list[EngineJob] = []
        connecting = self._connect_all(lifetime_s, show, probing)
        sender, receiver = roles["sender"], roles["receiver"]
        connecting.wait_for("ready", SETUP_TIMEOUT_S)
        for job in (sender, receiver):
            job.wait_for("ready", SETUP_TIMEOUT_S)

        def heed_probe(record: dict[str, Any]) -> None:
            if self._safety.add(record):
                connecting.command("stop")
            if record["type"] == "probe":
                show.rtt(record["rtt_ns"])

        loaded = self._start_probes(count=0, seconds=lifetime_s, on_record=heed_probe)
        roles["loaded"] = loaded
        loaded.wait_for("start", SETUP_TIMEOUT_S)
        probing.append(loaded)
        show.traffic()
        connecting.command("go")
        sent = sender.wait_for("result", spec.traffic_s + GRACE_S)
        received = receiver.wait_for("result", spec.drain_ns / 1e9 + GRACE_S)
        show.traffic()
        loaded.wait_for("result", spec.probe_timeout_ns / 1e9 + GRACE_S)
        if self._safety.reason is not None:
            raise SafetyAbort(f"ended early by a safety limit: {self._safety.reason}")
        for session, end, result in (
            (self._sending, "sender", sent),
            (self._receiving, "receiver", received),
        ):
            if not result["complete"]:
                reason = result.get("reason") or "ended early"
                raise HostError(f"the {end} did not finish: {reason}", host=session.host, stage="engine")

    def _connect_all(self, lifetime_s: float, show: Onlooker, probing: list[EngineJob]) -> EngineJob:
        """Start both engines and return the one that opens the connections and waits for ``go``."""

        def show_rate(record: dict[str, Any]) -> None:
            if record["type"] == "interval" and record["end_ns"] > record["start_ns"]:
                span_ns = record["end_ns"] - record["start_ns"]
                show.rate(sum(record["bytes"]) * 8e9 / span_ns, record["end_ns"])

        def end_probes(record: dict[str, Any]) -> None:
            # Loaded probes end with the steady window, whatever is still draining.
            if record["type"] == "result" or record.get("phase") == "drain":
                while probing:
                    probing.pop().command("stop")

        sender, receiver = (self._sending, "sender", end_probes), (self._receiving, "receiver", show_rate)
        near, far = (sender, receiver) if self._sender_connects else (receiver, sender)
        path = self.spec.path if self.spec.path.connect_from == "sender" else self.spec.path.turned()
        session, role, on_record = far
        listening: Options = {"bind": path.destination_address, "port": path.destination_ports}
        options = self._options(role) | listening
        self._roles[role] = self._start(session, "receive", options, lifetime_s, on_record)
        port = self._roles[role].wait_for("listening", SETUP_TIMEOUT_S)["port"]
        session, role, on_record = near
        options = self._options(role) | {
            "address": path.destination_address,
            "bind": path.source_address,
            "port": port,
        }
        self._roles[role] = self._start(session, "send", options, lifetime_s, on_record)
        return self._roles[role]

    def _options(self, role: str) -> Options:
        options = flow_options(self.spec, self._allowed, sends=role == "sender")
        direction = engine_direction(self.spec, sender_connects=self._sender_connects)
        return {**options, "direction": direction}

    def _probe_unloaded(self, show: Onlooker) -> None:
        spec = self.spec
        if spec.unloaded_count == 0 or not self._await_empty_queue():
            return
        seconds = (spec.unloaded_count * spec.probe_interval_ns + spec.probe_timeout_ns) / 1e9 + GRACE_S
        job = self._start_probes(count=spec.unloaded_count, seconds=seconds)
        self._roles["unloaded"] = job
        show.idle()
        job.wait_for("result", seconds)

    def _await_empty_queue(self) -> bool:
        """Wait until what was under way at a reset has left the path; False when that takes too long.

        It may take another drain time. Whatever is queued there was sent before the first probe, whose answer
        therefore comes behind it.
        """
        ends = [self._roles[role] for role in ("sender", "receiver") if role in self._roles]  # not of iperf3
        if not any(_count_resets(job.records) for job in ends):
            return True
        wait_ns = max(self.spec.drain_ns, self.spec.probe_timeout_ns)
        seconds = wait_ns / 1e9 + GRACE_S
        job = self._start_probes(
            count=0, seconds=seconds, interval_ns=QUEUE_PROBE_INTERVAL_NS, timeout_ns=wait_ns
        )
        answered = job.wait_for("probe", seconds)["rtt_ns"] is not None
        job.kill()
        return answered

    def _start_probes(
        self,
        *,
        count: int,
        seconds: float,
        interval_ns: int | None = None,
        timeout_ns: int | None = None,
        on_record: Callable[[dict[str, Any]], None] | None = None,
    ) -> EngineJob:
        """Probes from the sending end; interval and time-out are the trial's own unless given."""
        spec = self.spec
        options: Options = {
            "address": self._flow_path.destination_address,
            "bind": self._flow_path.source_address,
            "count": count,
            "interval-ns": spec.probe_interval_ns if interval_ns is None else interval_ns,
            "payload-bytes": spec.probe_payload_bytes,
            "timeout-ns": spec.probe_timeout_ns if timeout_ns is None else timeout_ns,
        }
        if self._allowed.probe_method == "udp":
            payload_bytes = max(spec.probe_payload_bytes, UDP_PROBE_MIN_BYTES)
            options |= {"method": "udp", "port": self._echo_port(seconds), "payload-bytes": payload_bytes}
        return self._start(self._sending, "ping", options, seconds, on_record)

    def _echo_port(self, seconds: float) -> int:
        """Port of a UDP echo at the destination, for hosts that may not send ICMP."""
        options: Options = {
            "bind": self._flow_path.destination_address,
            "port": self._flow_path.destination_ports,
        }
        echo = self._start(self._receiving, "echo", options, seconds)
        return int(echo.wait_for("listening", SETUP_TIMEOUT_S)["port"])

    def cancel(self) -> None:
        """End it from another thread: whoever waits in ``run`` gets a HostError."""
        for job in list(self._jobs):
            with contextlib.suppress(PathlabError):
                job.kill()

    def _end_jobs(self) -> None:
        """Nothing that this trial started goes on after it."""
        for job in reversed(self._jobs):
            if job.subcommand == "echo":
                job.command("stop")
                job.wait(ECHO_STOP_TIMEOUT_S)
            job.kill()
        self._jobs.clear()
