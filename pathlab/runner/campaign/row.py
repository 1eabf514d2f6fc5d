"""One row of the plan: its specification, its cool-down, its trial, and how that ended."""

from __future__ import annotations

import datetime
import ipaddress
import threading
import time
from dataclasses import dataclass, replace

from pathlab.campaign.bond_checks import changes_hosts
from pathlab.campaign.model import Campaign
from pathlab.campaign.order import PlanRow
from pathlab.engines.base import TrialObserver, load_engine
from pathlab.engines.spec import BOTH, Allowed, TrialPath, TrialSpec
from pathlab.errors import HostError, PathlabError, SafetyAbort, Stage
from pathlab.runner.campaign.cool_down import wait_until_idle
from pathlab.runner.campaign.interruption import Interrupted
from pathlab.runner.campaign.stream_readings import StreamReadings
from pathlab.runner.events import Emit, LossesNow, RateNow, RetransmissionsNow, RttNow
from pathlab.runner.hosts.background_hosts import BackgroundLoads
from pathlab.runner.hosts.bond_setup import RowBond
from pathlab.runner.hosts.environment import Environment
from pathlab.runner.hosts.route_watch import PAUSE_NS, RENEW_S, RouteWatch
from pathlab.runner.trial.choreography import Trial, TrialData
from pathlab.runner.trial.clock_watch import ClockWatch
from pathlab.runner.trial.probing import PathProber
from pathlab.runner.trial.record import Outcome
from pathlab.runner.trial.trial_captures import CapturePlan
from pathlab.store.flags import Flag, Status

LOOPBACK = {4: "127.0.0.1", 6: "::1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTask:
    """A row to be measured. ``volume_limit_bytes``: what each end may send and receive together."""

    row: PlanRow
    attempt: int
    volume_limit_bytes: int | None = None
    idle_rtt_ns: float | None = None  # of its path, as measured before
    rate_bits_per_s: float | None = None  # of its path, the highest that was measured before or that is given
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RowResult:
    """What came of a row."""

    task: RowTask
    spec: TrialSpec
    data: TrialData
    outcome: Outcome
    clock_jump_ns: int


def build_spec(campaign: Campaign, task: RowTask, path: TrialPath) -> TrialSpec:
    """What a row requests, with the limits of the campaign."""
    row, cell = task.row, task.row.cell
    ways = 2 if cell.direction == BOTH else 1  # the budget's rate is of both directions, the engine's of each
    cap, volume = campaign.budget.rate_bits_per_s, task.volume_limit_bytes
    return TrialSpec(
        row=row.row,
        cycle=row.cycle,
        path=path,
        cell=cell,
        trial=campaign.trial,
        probes=campaign.probes,
        rate_cap_bits_per_s=None if cap is None else max(1, cap // ways),
        volume_limit_bytes=None if volume is None else max(1, volume),
        safety_limits=campaign.safety_limits,
    )


def choose_family(path: TrialPath, family: str) -> TrialPath:
    """The path with addresses of one IP version. Raises HostError where none is known."""
    if family == "any":
        return path
    version = 4 if family == "ipv4" else 6
    texts = path.source_address, path.destination_address, *(sink.address for sink in path.sinks)
    addresses = [ipaddress.ip_address(text) for text in texts]
    if all(address.version == version for address in addresses):
        return path
    if all(address.is_loopback for address in addresses):
        loopback = LOOPBACK[version]
        sinks = tuple(replace(sink, address=loopback) for sink in path.sinks)
        return replace(path, source_address=loopback, destination_address=loopback, sinks=sinks)
    raise HostError(
        f"no IPv{version} address is known on the path to {path.destination}",
        host=path.source,
        stage=Stage.NETWORK,
        hint="name source_address and destination_address of that family in [[paths]]",
    )


class RowRunner:
    """Measures rows, on several threads where rows run at once."""

    def __init__(
        self,
        campaign: Campaign,
        environment: Environment,
        routes: RouteWatch,
        backgrounds: BackgroundLoads,
        emit: Emit,
        captures: CapturePlan | None = None,
    ) -> None:
        self._campaign, self._captures = campaign, captures
        self._environment = environment
        self._routes = routes
        self._backgrounds = backgrounds
        self._busy_disks: set[str] = set()  # hosts on which the load before left work
        self._emit = emit
        self._lock = threading.RLock()  # the environment and the routes are not made for several threads
        self._cancelled = threading.Event()
        self._trials: set[Trial] = set()
        self._ended_s: dict[str, float] = {}  # by host

    def cancel_all(self) -> None:
        """End every trial under way; each is then an interrupted one."""
        self._cancelled.set()
        with self._lock:
            trials = list(self._trials)
        for trial in trials:
            trial.cancel()

    def find_lab_fault(self) -> str | None:
        """As :meth:`Environment.find_lab_fault`."""
        with self._lock:
            return self._environment.find_lab_fault()

    def rebuild_lab(self) -> None:
        """As :meth:`Environment.rebuild_lab`."""
        with self._lock:
            self._environment.rebuild_lab()

    def measure(self, task: RowTask) -> RowResult:
        """Cool down, run the trial and return how it ended; only a signal before the trial is raised."""
        data, flags = TrialData(), [*task.flags, *((Flag.CONTROL,) if task.row.control else ())]
        bond = RowBond(self._campaign, self._environment, task.row)
        with self._lock:
            path = self._find_path(task.row)
        engine_flag = load_engine(task.row.cell.engine).flag
        if engine_flag is not None:
            flags.append(engine_flag)
        refusal: PathlabError | None = None
        try:
            with self._lock:
                path = bond.set_up(path)
        except PathlabError as error:
            refusal = error  # nothing of the row can be measured
        cooled = refusal is not None or self._cool_down(task, path)
        if not cooled or not self._busy_disks.isdisjoint(path.hosts):
            flags.append(Flag.NOT_DRAINED)
        started, clock = datetime.datetime.now(datetime.UTC), ClockWatch()
        outcome = Outcome(status=Status.COMPLETE, attempt=task.attempt, started=started)
        spec = build_spec(self._campaign, task, path)
        try:
            if refusal is not None:
                raise refusal
            spec = replace(spec, path=choose_family(path, task.row.cell.family))
            data.bond = bond.reading
            outcome = self._run(spec, data, outcome, task.rate_bits_per_s)
            bond.read_again()
        except HostError as error:
            outcome = _fail(outcome, error, error.stage)
        except PathlabError as error:
            outcome = _fail(outcome, error, Stage.CONTROLLER)
        jump_ns = clock.read_jump_ns()
        if jump_ns:
            flags.append(Flag.CLOCK_JUMPED)
        if self._is_load_weak(spec, data):
            flags.append(Flag.BACKGROUND_WEAK)
        is_busy = data.background is not None and data.background.quiet is False
        self._busy_disks = set(path.hosts) if is_busy else self._busy_disks - set(path.hosts)
        now_s = time.monotonic()
        self._ended_s |= dict.fromkeys(path.hosts, now_s)
        with self._lock:
            outcome = self._add_environment(outcome, spec, data, flags, bond)
            try:
                bond.undo()
            except PathlabError as error:
                outcome = _fail(outcome, error, error.stage if isinstance(error, HostError) else Stage.AGENT)
        return RowResult(task=task, spec=spec, data=data, outcome=outcome, clock_jump_ns=jump_ns)

    def _is_load_weak(self, spec: TrialSpec, data: TrialData) -> bool:
        if data.background is None:
            return False
        alone = self._backgrounds.measure_alone(spec.path, spec.cell.background)
        return data.background.is_weak(alone, self._campaign.background.least_share_ratio)

    def _find_path(self, row: PlanRow) -> TrialPath:
        """With addresses; without them where the environment knows none, which the trial then says."""
        try:
            return self._environment.trial_path(row)
        except HostError:
            source, destination = row.addresses
            return TrialPath(
                source=row.path.source,
                destination=row.path.destination,
                source_address=source or "",
                destination_address=destination or "",
            )

    def _add_environment(
        self, outcome: Outcome, spec: TrialSpec, data: TrialData, flags: list[str], bond: RowBond
    ) -> Outcome:
        environment = self._environment
        rate_bits_per_s, mtu_bytes = environment.find_bottleneck(spec.flow_path, spec.cell.transport)
        if bond.uses_other_links:
            rate_bits_per_s = bond.find_rate_bits_per_s(spec.flow_path)
        return replace(
            outcome,
            lab_rate_bits_per_s=rate_bits_per_s,
            lab_mtu_bytes=mtu_bytes,
            host_ceiling_bits_per_s=environment.host_ceiling(spec.path, spec.cell.streams),
            run_flags=(*environment.run_flags, *flags),
            lab=environment.evaluate_lab(data.lab, spec.path),
        )

    def _run(
        self, spec: TrialSpec, data: TrialData, outcome: Outcome, rate_bits_per_s: float | None
    ) -> Outcome:
        """Status, stage and reason of the trial; ``data`` holds what it measured, however it ended."""
        trial: Trial | None = None
        try:
            if not spec.path.destination_address:  # raises with the reason
                self._environment.network_path(spec.path.source, spec.path.destination)
            if spec.cell.background != "none":  # known from the start of the run, unless a host was away
                self._backgrounds.measure_alone(spec.path, spec.cell.background)
            trial = self._prepare(spec, data, rate_bits_per_s)
            trial.run(
                TrialObserver(
                    rate=lambda rate, elapsed_ns: self._emit(
                        RateNow(row=spec.row, bits_per_s=rate, elapsed_ns=elapsed_ns)
                    ),
                    rtt=lambda rtt_ns: self._emit(RttNow(row=spec.row, rtt_ns=rtt_ns)),
                    retransmissions=lambda segments: self._emit(
                        RetransmissionsNow(row=spec.row, segments=segments)
                    ),
                    losses=lambda lost, received: self._emit(
                        LossesNow(row=spec.row, lost_packets=lost, received_packets=received)
                    ),
                    streams=StreamReadings(spec.row, self._emit),
                    traffic=lambda: self._watch_traffic(data),
                    idle=lambda: self._renew_route(spec, data),
                )
            )
        except SafetyAbort as error:
            return _fail(outcome, error, Stage.SAFETY_LIMIT)
        except HostError as error:
            return self._explain(error, outcome)
        except PathlabError as error:
            return _fail(outcome, error, Stage.CONTROLLER)
        except Interrupted:
            return _interrupt(outcome)
        finally:
            with self._lock:
                if trial is not None:
                    self._trials.discard(trial)
        return outcome

    def _explain(self, error: HostError, outcome: Outcome) -> Outcome:
        """A failed trial: interrupted where the run was, the lab's fault where the lab is gone."""
        if self._cancelled.is_set():
            return _interrupt(outcome)
        try:
            with self._lock:
                self._environment.lab_snapshot()
        except HostError as deeper:
            error = deeper
        return _fail(outcome, error, error.stage)

    def _prepare(self, spec: TrialSpec, data: TrialData, rate_bits_per_s: float | None) -> Trial:
        with self._lock:
            if self._cancelled.is_set():
                raise Interrupted
            environment = self._environment
            environment.check_lab()  # or the set-up below would wait for answers that cannot come
            source = environment.session(spec.path.source)
            there = spec.path.receiving_host
            destination = None if environment.is_by_hand(there) else environment.session(there)
            allowed = Allowed(
                probe_method=environment.probe_method(spec.flow_path),
                congestion=environment.usable_congestion(spec.cell.congestion),
            )
            sinks = tuple(environment.session(sink.host) for sink in spec.path.sinks)
            load = self._backgrounds.plan(spec.path, spec.cell.background)
            trial = Trial(
                spec,
                source,
                destination,
                allowed=allowed,
                data=data,
                sinks=sinks,
                load=load,
                captures=self._captures,
                known_rate_bits_per_s=rate_bits_per_s,
            )
            watched = not spec.path.one_host and not changes_hosts(spec.cell)
            data.route = self._routes.read(spec.path) if watched else None
            self._trials.add(trial)
            return trial

    def _watch_traffic(self, data: TrialData) -> None:
        """When the traffic begins and when it has ended."""
        begins = not data.traffic_began
        data.traffic_began = True
        failure = data.bond.failure if data.bond is not None else None
        if failure is not None and not begins:
            failure.end()
        self._watch_lab(data)
        if failure is not None and begins:
            failure.begin()

    def _watch_lab(self, data: TrialData) -> None:
        with self._lock:
            snapshot = self._environment.lab_snapshot()
        if snapshot is not None:
            data.lab.append(snapshot)

    def _renew_route(self, spec: TrialSpec, data: TrialData) -> None:
        """Read the route for the next trial while this one's last probes are sent, if they take long enough.

        One that has changed since this trial began may have touched it.
        """
        if data.route is None or spec.probes.unloaded * spec.probes.interval_ns < PAUSE_NS:
            return
        with self._lock:
            reading = self._routes.read(spec.path, RENEW_S)
        if reading is not None and reading.changed:
            data.route = replace(data.route, changed=True)

    def _cool_down(self, task: RowTask, path: TrialPath) -> bool:
        """Wait as ``[cool_down]`` says; False when the path was not idle in time."""
        cool_down, idle = self._campaign.cool_down, True
        if cool_down.until_idle and task.idle_rtt_ns is not None and not path.one_host:
            try:
                with self._lock:
                    session = self._environment.session(path.source)
                    by_udp = self._environment.probe_method(path) == "udp"
                    echo = self._environment.session(path.destination) if by_udp else None
                ends = path.source_address, path.destination_address
                prober = PathProber(session, ends, echo=echo, ports=path.destination_ports)
                timeout_ns = self._campaign.probes.timeout_ns
                idle = wait_until_idle(
                    prober, task.idle_rtt_ns, cool_down.max_wait_ns, timeout_ns, self._pause
                )
            except PathlabError:
                idle = True  # the trial itself will say what is wrong with the host
        last_s = max(self._ended_s.get(host, 0.0) for host in path.hosts)
        pause_s = last_s + cool_down.pause_ns / 1e9 - time.monotonic()
        if last_s and pause_s > 0:
            self._pause(self._cancelled, pause_s)
        return idle

    @staticmethod
    def _pause(event: threading.Event, seconds: float) -> None:
        event.wait(seconds)


def _fail(outcome: Outcome, error: PathlabError, stage: Stage) -> Outcome:
    host = error.host if isinstance(error, HostError) else None
    return replace(outcome, status=Status.FAILED, stage=stage, reason=str(error), host=host)


def _interrupt(outcome: Outcome) -> Outcome:
    reason = "the run was stopped"
    return replace(outcome, status=Status.INTERRUPTED, stage=Stage.CONTROLLER, reason=reason)
