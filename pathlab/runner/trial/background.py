"""The load alongside the traffic of one trial: started, verified by what it states of itself, and removed.

Cores and disks are loaded by the engine's ``load`` on the hosts themselves, a network by the engine's own
``send`` and ``receive`` on another pair of hosts. All of it runs at the niceness of ``[background]`` and
never has a real-time priority. Rates are over the steady window, on the clock of the host that states them.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pathlab.campaign.background_checks import CPU, DISK, NETWORK
from pathlab.campaign.background_model import BackgroundSettings
from pathlab.engines.base import SETUP_TIMEOUT_S, first
from pathlab.engines.spec import TrialPath
from pathlab.errors import HostError, PathlabError, Stage
from pathlab.remote.exchange import Record
from pathlab.remote.jobs import EngineJob
from pathlab.remote.session import Session
from pathlab.units import SECOND_NS

#: Until a load that was started states a rate, and until one that was stopped is gone: its disk may take
#: 5 s to answer and 5 s to be quiet.
RATE_TIMEOUT_S, END_TIMEOUT_S = 5.0, 15.0
#: What the network load's ends wait for data under way.
DRAIN_NS = 2 * SECOND_NS
#: A load measured alone runs for so long.
ALONE_NS = 2 * SECOND_NS
#: Records of a load must cover this share of the window.
COVERED_RATIO = 0.5

Keep = Callable[[EngineJob], None]
Span = tuple[int, int, float]  # start and end on the host's clock, and what was done between


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedHost:
    """A host whose cores and disk are loaded."""

    session: Session
    disk_folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """What a level of the factor ``background`` means for one path; ``network`` is None without that part."""

    parts: frozenset[str]  # cpu, disk, network
    settings: BackgroundSettings
    interval_ns: int
    hosts: tuple[LoadedHost, ...]
    network: tuple[Session, Session, TrialPath] | None  # the sender's and the receiver's


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundRates:
    """What a load did; None: it has no such part. Of several hosts, that of the one with the least.

    ``quiet``: whether its disk had nothing to do soon after its end; None where that is not known.
    """

    cpu_ratio: float | None = None  # CPU time of its threads, of the time that they could have had
    disk_bytes_per_s: float | None = None  # written and read
    network_bits_per_s: float | None = None  # received
    quiet: bool | None = None

    @property
    def figures(self) -> dict[str, Any]:
        """By the names of the columns."""
        return {
            "background_cpu_ratio": self.cpu_ratio,
            "background_disk_bytes_per_s": self.disk_bytes_per_s,
            "background_network_bits_per_s": self.network_bits_per_s,
        }

    def is_weak(self, alone: BackgroundRates, least_ratio: float) -> bool:
        """Whether a part was below this share of its rate alone, or the CPU load of its threads' time.

        That is its full rate by definition; alone it may have less, where others use the host.
        """
        full = {**alone.figures, "background_cpu_ratio": 1.0}
        pairs = ((rate, full[name]) for name, rate in self.figures.items())
        return any(rate < least_ratio * own for rate, own in pairs if rate is not None and own is not None)


def integrate(spans: Iterable[Span], begin_ns: int, end_ns: int) -> float | None:
    """The mean rate per second of a window, from spans (start, end, amount) on one clock.

    A span that is partly in the window counts by that part. None where spans cover less than half of it.
    """
    amount, covered_ns = 0.0, 0
    for start_ns, stop_ns, done in spans:
        inside_ns = min(stop_ns, end_ns) - max(start_ns, begin_ns)
        if inside_ns > 0:
            amount += done * inside_ns / (stop_ns - start_ns)
            covered_ns += inside_ns
    if covered_ns < COVERED_RATIO * (end_ns - begin_ns) or not covered_ns:
        return None
    return amount * SECOND_NS / covered_ns


class BackgroundLoad:
    """The load of one trial. Raises HostError with the stage ``background``, whatever was the cause."""

    def __init__(self, plan: LoadPlan, seconds: float, keep: Keep) -> None:
        self._plan, self._seconds, self._keep = plan, seconds, keep
        self._loads: list[tuple[LoadedHost, EngineJob]] = []
        self._flow: list[EngineJob] = []  # receiver, then sender
        self._begun_ns: dict[Session, int] = {}
        self._ended_ns: dict[Session, int] = {}

    @property
    def _jobs(self) -> list[tuple[Session, EngineJob]]:
        result = [(host.session, job) for host, job in self._loads]
        if self._plan.network is not None:
            source, destination, _ = self._plan.network
            result += zip((destination, source), self._flow, strict=False)
        return result

    def start(self) -> None:
        """Start every part, and wait until each states a rate."""
        with _in_background():
            if self._plan.parts & {CPU, DISK}:
                self._loads = [(host, self._start_load(host)) for host in self._plan.hosts]
            if self._plan.network is not None:
                self._start_flow(*self._plan.network)
            for _, job in self._loads:
                _await_rate(job, "load", self._is_working)
            for receiver in self._flow[:1]:
                _await_rate(receiver, "interval", lambda record: sum(record["bytes"]) > 0)

    def _is_working(self, record: Record) -> bool:
        amounts = (_AMOUNTS[part](record) for part in self._plan.parts & {CPU, DISK})
        return all(amount is not None and amount > 0 for amount in amounts)

    @property
    def _common(self) -> dict[str, str | int]:
        limit_ns = int(self._seconds * SECOND_NS)
        settings, interval_ns = self._plan.settings, self._plan.interval_ns
        return {"nice": settings.nice, "interval-ns": interval_ns, "time-limit-ns": limit_ns}

    def _start_load(self, host: LoadedHost) -> EngineJob:
        settings, parts = self._plan.settings, self._plan.parts
        options = self._common
        if CPU in parts:
            options["cpu"] = settings.cpu_threads or "all"
        if DISK in parts:
            options |= {"disk": host.disk_folder, "file-bytes": settings.disk_bytes}
            options["write-bytes"] = settings.disk_write_bytes
        job = host.session.start_engine("load", options, seconds=self._seconds)
        self._keep(job)
        return job

    def _start_flow(self, source: Session, destination: Session, path: TrialPath) -> None:
        token = secrets.token_hex(16)
        common = {**self._common, "drain-timeout-ns": DRAIN_NS}
        listen = {**common, "bind": path.destination_address, "port": path.destination_ports}
        self._add_end(destination.start_engine("receive", listen, seconds=self._seconds, token=token))
        port = self._flow[0].wait_for("listening", SETUP_TIMEOUT_S)["port"]
        connect = {**common, "address": path.destination_address, "bind": path.source_address, "port": port}
        connect["duration-ns"] = int(self._seconds * SECOND_NS)
        rate_bits_per_s = self._plan.settings.network_rate_bits_per_s
        if rate_bits_per_s is not None:
            connect["rate-bits-per-s"] = rate_bits_per_s
        self._add_end(source.start_engine("send", connect, seconds=self._seconds, token=token))
        sender = self._flow[1]
        sender.wait_for("ready", SETUP_TIMEOUT_S)
        sender.command("go")

    def _add_end(self, job: EngineJob) -> None:
        self._flow.append(job)
        self._keep(job)

    def begin(self) -> None:
        """The traffic begins now."""
        self._begun_ns = self._read_clocks()

    def end(self) -> None:
        """The traffic is over. Raises HostError where a part of the load is not there any more."""
        for session, job in self._jobs:
            if job.ended:
                how = job.wait(END_TIMEOUT_S).describe()
                raise _fail(
                    session.host, f"the background load ended before the trial: {job.subcommand} {how}"
                )
        self._ended_ns = self._read_clocks()

    def _read_clocks(self) -> dict[Session, int]:
        with _in_background():
            return {session: session.clock()[0] for session, _ in self._jobs}

    def stop(self) -> None:
        """End every part, and wait until it is gone, its disk is quiet and its network is empty."""
        with _in_background():
            for _, job in self._loads:
                job.command("stop")
            for sender in self._flow[1:]:
                sender.command("stop")
            for _, job in self._jobs:
                job.wait_for("result", END_TIMEOUT_S)
                job.wait(END_TIMEOUT_S)

    def close(self) -> None:
        """Have whatever is left of it killed, and wait until it is gone; never raises HostError."""
        for _, job in self._jobs:
            with contextlib.suppress(PathlabError):
                job.kill()
        for _, job in self._jobs:
            with contextlib.suppress(PathlabError):
                job.wait(END_TIMEOUT_S)

    def run_alone(self) -> BackgroundRates:
        """Start it with no trial alongside it, and stop it again; what it did from its first rate on."""
        try:
            self.start()
            self.begin()
            kinds = {"load": "load", "receive": "interval"}
            for job in [job for _, job in self._loads] + self._flow[:1]:
                _await_time(job, kinds[job.subcommand], ALONE_NS)
            self.end()
            self.stop()
        finally:
            self.close()
        return self.measure(0, None)

    def measure(self, warmup_ns: int, duration_ns: int | None) -> BackgroundRates:
        """What it did in the steady window; ``duration_ns`` None: until the traffic was over.

        Raises HostError where its records do not cover it.
        """
        figures: dict[str, list[float]] = {CPU: [], DISK: [], NETWORK: []}
        quiet: list[bool] = []
        for session, job in self._jobs:
            begin_ns = self._begun_ns[session] + warmup_ns
            end_ns = self._ended_ns[session]
            if duration_ns is not None:
                end_ns = min(end_ns, begin_ns + duration_ns)
            for part, spans in _list_spans(job, self._plan.parts).items():
                rate = integrate(spans, begin_ns, end_ns)
                if rate is None:
                    raise _fail(session.host, f"the {part} load stated no rate for most of the steady window")
                figures[part].append(rate)
            result = first(job.records, "result") or {}
            if result.get("quiet") is False or result.get("quiet_after_ns") is not None:
                quiet.append(result.get("quiet") is True)
        return BackgroundRates(
            cpu_ratio=min(figures[CPU], default=None),
            disk_bytes_per_s=min(figures[DISK], default=None),
            network_bits_per_s=min(figures[NETWORK], default=None),
            quiet=all(quiet) if quiet else None,
        )


def _read_cpu_s(record: Record) -> float | None:
    """CPU time per thread."""
    times_ns = record["cpu_ns"]
    return sum(times_ns) / SECOND_NS / len(times_ns) if times_ns else None


def _read_disk_bytes(record: Record) -> float | None:
    work = record["disk"]
    return None if work is None else work["written_bytes"] + (work["read_bytes"] or 0)


#: What a record states of each part, None: nothing.
_AMOUNTS: Mapping[str, Callable[[Record], float | None]] = {
    CPU: _read_cpu_s,
    DISK: _read_disk_bytes,
    NETWORK: lambda record: sum(record["bytes"]) * 8,
}


def _list_spans(job: EngineJob, parts: frozenset[str]) -> Mapping[str, list[Span]]:
    """By part: start, end and amount of each record on the host's clock; a sender's count nothing."""
    start = first(job.records, "start")
    if start is None or job.subcommand == "send":
        return {}
    zero_ns = start["monotonic_ns"]
    kind = "load" if job.subcommand == "load" else "interval"
    stated = {NETWORK} if kind == "interval" else {CPU, DISK}
    records = [record for record in job.records if record["type"] == kind]
    return {
        part: [
            (zero_ns + record["start_ns"], zero_ns + record["end_ns"], amount)
            for record in records
            if (amount := _AMOUNTS[part](record)) is not None
        ]
        for part in sorted(parts & stated)
    }


def _await_rate(job: EngineJob, kind: str, holds: Callable[[Record], bool]) -> None:
    """Wait for a record of this kind that shows work."""
    deadline_s = time.monotonic() + RATE_TIMEOUT_S
    seen = 0
    while True:
        record = job.wait_for(kind, max(0.0, deadline_s - time.monotonic()), after=seen)
        if holds(record):
            return
        seen = job.records.index(record) + 1


def _await_time(job: EngineJob, kind: str, span_ns: int) -> None:
    """Wait until its records cover this time from now on."""
    seen = len(job.records)
    begin_ns: int | None = None
    while True:
        record = job.wait_for(kind, RATE_TIMEOUT_S, after=seen)
        begin_ns = record["start_ns"] if begin_ns is None else begin_ns
        if record["end_ns"] - begin_ns >= span_ns:
            return
        seen = job.records.index(record, seen) + 1


def _fail(host: str, text: str) -> HostError:
    return HostError(text, host=host, stage=Stage.BACKGROUND)


@contextlib.contextmanager
def _in_background() -> Iterator[None]:
    """A failure in this block is one of the load; of a lost agent or the network it stays what it is."""
    try:
        yield
    except HostError as error:
        if error.stage in (Stage.ENGINE, Stage.NETWORK):
            hint = error.hint
            raise HostError(
                f"background load: {error.reason}", host=error.host, stage=Stage.BACKGROUND, hint=hint
            ) from error
        raise
