"""The choreography of one trial.

Receiver prepares; sender connects all streams; both say ready; loaded probes start; go. The sender stops, the
receiver drains to the end and states its byte count. When the drain time is up first, the connections are
reset and the receiver states what has come. The unloaded probes follow when the queue is empty. Any failure
leaves what was measured up to then, with the stage and the reason.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pathlab.discover.route import Route
from pathlab.engines.base import (
    GRACE_S,
    SETUP_TIMEOUT_S,
    Engine,
    EngineContext,
    TrialObserver,
    first,
    load_engine,
)
from pathlab.engines.spec import Allowed, TrialSpec
from pathlab.errors import HostError, PathlabError, SafetyAbort
from pathlab.lab.verdict import LabSnapshot
from pathlab.remote.jobs import CounterWatch, EngineJob
from pathlab.remote.session import Session
from pathlab.runner.trial.background import BackgroundLoad, BackgroundRates, LoadPlan
from pathlab.runner.trial.bond_record import BondReading
from pathlab.runner.trial.control_traffic import ControlTraffic
from pathlab.runner.trial.probing import (
    PathProber,
    ProbeTimeouts,
    find_histogram_interval_ns,
    find_longest_rtt_ns,
)
from pathlab.runner.trial.safety_limit import SafetyWatch
from pathlab.runner.trial.trial_captures import CapturedEnd, CapturePlan, TrialCaptures

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
    traffic_began: bool = False
    engine_sha256: str | None = None  # of the sender's engine
    background: BackgroundRates | None = None  # of the load alongside the traffic
    captures: dict[str, CapturedEnd] = field(default_factory=dict)  # by end: sender, receiver
    bond: BondReading | None = None  # of the links under the trial
    control_bits_per_s: float | None = None  # of the busiest conversation with an agent; None: no network
    by_hand: str | None = None  # the end whose engine was started by hand: sender, receiver

    @property
    def prober_end(self) -> list[dict[str, Any]]:
        """What the engine has said at the end that the probes left from: the sender, unless it is by hand."""
        return self.receiver if self.by_hand == "sender" else self.sender


class Trial:
    """One run of a :class:`TrialSpec` between two sessions; ``data`` is filled, however it ends.

    ``data.sender`` is the end whose data are counted, which with ``direction = "reverse"`` is the
    destination. Probes leave from there, so that their times and the flow's are on one clock. Without a
    session with the ``destination``, whose engine was started by hand, they leave from the source.
    """

    def __init__(
        self,
        spec: TrialSpec,
        source: Session,
        destination: Session | None,
        *,
        allowed: Allowed,
        data: TrialData,
        sinks: tuple[Session, ...] = (),
        load: LoadPlan | None = None,
        captures: CapturePlan | None = None,
        known_rate_bits_per_s: float | None = None,
    ) -> None:
        self.spec = spec
        self._allowed, self._sinks = allowed, sinks
        self.data = data
        path = spec.flow_path
        turned = path is not spec.path
        if destination is None:
            data.by_hand = "sender" if turned else "receiver"
            path, destination = spec.path, source
        self._sending, self._receiving = (destination, source) if turned else (source, destination)
        by_udp = allowed.probe_method == "udp"
        self._prober = PathProber(
            self._sending,
            (path.source_address, path.destination_address),
            echo=self._receiving if by_udp and data.by_hand is None else None,
            echo_port=path.by_hand.port + 1 if by_udp and path.by_hand is not None else None,
            ports=path.destination_ports,
        )
        self._without_probes = spec.records_totals or allowed.probe_method == "none"
        self._safety = SafetyWatch(spec.safety_limits, spec.probes.interval_ns)
        self._captures = TrialCaptures(spec, captures, self._sending, self._receiving)
        self._control = ControlTraffic(spec, (source, destination, *sinks), known_rate_bits_per_s)
        self._token = secrets.token_hex(16)
        self._jobs: list[EngineJob] = []
        self._engine: Engine | None = None
        self._load_plan = load
        self._background: BackgroundLoad | None = None
        self._cancelled = False
        self._probing: list[EngineJob] = []  # the loaded probes while they are sent
        self._probes: dict[str, EngineJob] = {}  # by the name of the TrialData field that keeps its records

    def run(self, observer: TrialObserver) -> None:
        """Measure. Raises HostError with the failed stage, SafetyAbort where a safety limit is exceeded."""
        watches: list[tuple[CounterWatch, list[dict[str, Any]]]] = []
        try:
            watches = self._start_counters()
            self._move_traffic(observer)
            self._probe_unloaded(observer)
        except HostError:
            if not self._cancelled:  # what led to a failure is in its capture
                self.data.captures = self._captures.fetch()
            raise
        else:
            self.data.captures = self._captures.fetch()
        finally:
            self._captures.close()
            self._control.release()
            self.data.control_bits_per_s = self._control.share_bits_per_s
            if self._engine is not None:
                self.data.sender, self.data.receiver = self._engine.collect()
                self.data.engine_sha256 = self._engine.sha256
            for role, job in self._probes.items():
                setattr(self.data, role, job.records)
            try:
                for watch, samples in watches:
                    samples.extend(watch.stop())
            finally:
                if self._background is not None:
                    self._background.close()
                self._end_jobs()

    def _start_counters(self) -> list[tuple[CounterWatch, list[dict[str, Any]]]]:
        if self.spec.records_totals:
            return []
        near = self.data.receiver_counters if self.data.by_hand == "sender" else self.data.sender_counters
        watches = [(self._sending.start_counters(self.spec.interval_ns), near)]
        if self.data.by_hand is not None:
            return watches
        if self._receiving is self._sending:
            self.data.receiver_counters = self.data.sender_counters
        else:
            watch = self._receiving.start_counters(self.spec.interval_ns)
            watches.append((watch, self.data.receiver_counters))
        return watches

    def _move_traffic(self, observer: TrialObserver) -> None:
        spec = self.spec
        self._engine = engine = load_engine(spec.cell.engine)(
            EngineContext(
                spec=spec,
                allowed=self._allowed,
                sending=self._sending,
                receiving=self._receiving,
                token=self._token,
                observer=observer,
                keep=self._jobs.append,
                end_probes=self._end_loaded_probes,
                sinks=self._sinks,
                listening=lambda port: self._captures.start(port, engine.lifetime_s),
            )
        )
        engine.prepare()
        if self._load_plan is not None:
            self._background = BackgroundLoad(self._load_plan, engine.lifetime_s, self._jobs.append)
            self._background.start()

        def on_probe(record: dict[str, Any]) -> None:
            if self._safety.add(record):
                engine.stop()
            if record["type"] in ("probe", "late"):
                observer.rtt(record["rtt_ns"])
            elif record["type"] == "round_trips":
                mean_ns = record["round_trip_ns"]["mean"]
                observer.rtt(None if mean_ns is None else round(mean_ns))

        loaded: EngineJob | None = None
        if not self._without_probes:
            lifetime_s = engine.lifetime_s + ProbeTimeouts.of_trial(spec).wait_s
            loaded = self._start_probes(count=0, seconds=lifetime_s, on_record=on_probe)
            self._probes["loaded"] = loaded
            loaded.wait_for("start", SETUP_TIMEOUT_S)
            self._probing.append(loaded)
        observer.traffic()
        if self._background is not None:
            self._background.begin()
        self._control.hold()
        try:
            with self._control.counted():
                engine.run()
        except HostError:
            if self._safety.reason is None:  # stopped early, an engine may have no result
                raise
        self._captures.stop()
        observer.traffic()
        if self._background is not None and self._safety.reason is None:
            self._end_background(self._background)
        self._end_loaded_probes()
        if loaded is not None:
            loaded.wait_for("result", ProbeTimeouts.of_trial(spec).wait_s + GRACE_S)
        if self._safety.reason is not None:
            raise SafetyAbort(f"ended early by a safety limit: {self._safety.reason}")
        engine.check_ends()

    def _end_background(self, load: BackgroundLoad) -> None:
        """Verify the load and remove it, so that the unloaded probes and the next trial are without it."""
        cell = self.spec.cell
        load.end()
        load.stop()
        duration_ns = cell.duration_ns if cell.transfer_bytes is None else None
        self.data.background = load.measure(cell.warmup_ns, duration_ns)

    def _end_loaded_probes(self) -> None:
        """Once; several threads may call it."""
        while self._probing:
            self._probing.pop().command("stop")

    def _probe_unloaded(self, observer: TrialObserver) -> None:
        spec = self.spec
        none_wanted = spec.probes.unloaded == 0 or self._allowed.probe_method == "none"
        if none_wanted or not self._await_empty_queue():
            return
        wait_s = ProbeTimeouts.of_trial(spec).wait_s + GRACE_S
        seconds = spec.probes.unloaded * spec.probes.interval_ns / 1e9 + wait_s
        sent = [] if self._engine is None else self._engine.collect()[0]
        loaded = self._probes["loaded"].records if "loaded" in self._probes else ()
        known_rtt_ns = find_longest_rtt_ns(loaded, sent)
        job = self._start_probes(count=spec.probes.unloaded, seconds=seconds, known_rtt_ns=known_rtt_ns)
        self._probes["unloaded"] = job
        observer.idle()
        with self._control.counted():
            job.wait_for("result", seconds)

    def _await_empty_queue(self) -> bool:
        """Wait until what was under way at a reset has left the path; False when that takes too long.

        It may take another drain time. Whatever is queued there was sent before the first probe, whose answer
        therefore comes behind it.
        """
        ends = self._engine.collect() if self._engine is not None else ()
        results = [first(records, "result") for records in ends]
        if not any(result and result.get("reset_streams") for result in results):
            return True
        wait_ns = max(self.spec.trial.drain_ns, self.spec.probes.timeout_ns)
        seconds = wait_ns / 1e9 + GRACE_S
        with self._control.let_probes_through():
            job = self._prober.start(
                count=0,
                interval_ns=QUEUE_PROBE_INTERVAL_NS,
                timeouts=ProbeTimeouts.fixed(wait_ns),
                payload_bytes=self.spec.probes.payload_bytes,
                seconds=seconds,
            )
            answered = job.wait_for("probe", seconds)["rtt_ns"] is not None
        job.kill()
        return answered

    def _start_probes(
        self,
        *,
        count: int,
        seconds: float,
        known_rtt_ns: float = 0,
        on_record: Callable[[dict[str, Any]], None] | None = None,
    ) -> EngineJob:
        spec = self.spec
        return self._prober.start(
            count=count,
            interval_ns=spec.probes.interval_ns,
            timeouts=ProbeTimeouts.of_trial(spec, known_rtt_ns),
            payload_bytes=spec.probes.payload_bytes,
            histogram_interval_ns=find_histogram_interval_ns(spec),
            seconds=seconds,
            on_record=on_record,
        )

    def cancel(self) -> None:
        """End it from another thread: whoever waits in ``run`` gets a HostError."""
        self._cancelled = True
        for job in [*self._jobs, *self._prober.jobs]:
            with contextlib.suppress(PathlabError):
                job.kill()

    def _end_jobs(self) -> None:
        """Nothing that this trial started goes on after it."""
        self._prober.close()
        for job in reversed(self._jobs):
            job.kill()
        self._jobs.clear()
