"""What runs on a host on a session's behalf: engines and counter series, as the controller sees them."""

from __future__ import annotations

import enum
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pathlab.errors import HostError, Stage
from pathlab.remote.exchange import Exchange, Record
from pathlab.remote.record_checker import RecordChecker, SampleChecker
from pathlab.remote.record_rules import RecordFault

# Stages of the engine's own error records that are about the network rather than about the engine.
NETWORK_STAGES = frozenset({"bind", "listen", "accept", "connect", "handshake", "send", "receive"})

#: How long an end may take to arrive here after the agent has named it.
END_WAIT_S = 1.0
#: Characters of a program's last line on stderr that are shown.
WORDS_MAX_CHARACTERS = 500
#: Programs that other people write; their failures begin with a stage of agents/adapters/CONTRACT.md.
_ADAPTERS = ("ask", "answer")

# What a sender meets where a firewall keeps the data port shut.
SHUT_OUT = frozenset({"ETIMEDOUT", "ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "EACCES", "EPERM"})
SHUT_OUT_HINT = (
    "a firewall may block the data port: `pathlab hosts check` tries it; `port_range` of the host keeps "
    'to some ports, connect_from = "receiver" of the path opens it from the other end'
)


class Taken(enum.Enum):
    """What became of a record."""

    KEPT = enum.auto()
    UNKNOWN = enum.auto()  # a type that this version does not know
    FIRST_FAULT = enum.auto()  # it breaks the schema
    AFTER_FAULT = enum.auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineExit:
    """How an engine ended: its ``status``, or the name of the ``signal`` that killed it.

    ``fault`` is what the agent had against it (garbage on stdout, time over), None when nothing.
    """

    status: int | None
    signal: str | None
    stderr: str
    fault: str | None
    records: tuple[Record, ...]

    def describe(self) -> str:
        """A few words: the agent's fault with it, the signal or the status, and its last line on stderr."""
        if self.signal is not None:
            how = f"was killed by {self.signal}"
        else:
            how = f"ended with status {self.status}"
        if self.fault is not None:
            how = f"{self.fault}; it {how}"
        last = self.stderr.strip().splitlines()
        return f"{how}: {last[-1][:WORDS_MAX_CHARACTERS]}" if last else how


class EngineJob:
    """One engine on a host. Every record is kept, in order; all methods may be called from any thread.

    Records are those of ``record_schema``. The first one that breaks it is not kept, nor is any later one:
    the engine is ended, and who waits for a record gets a HostError with the reason.

    ``number`` (of the agent), ``subcommand``, ``pid`` (on its host), ``limits`` (as the agent enforces them)
    and ``engine_sha256`` (of the native engine; None: another program) are fixed.
    """

    def __init__(
        self,
        session: Exchange,
        number: int,
        *,
        subcommand: str,
        answer: Mapping[str, Any],
        on_record: Callable[[Record], None] | None,
        checker: RecordChecker,
    ) -> None:
        self.subcommand = subcommand
        self._checker = checker
        self._fault: str | None = None  # of the first record that cannot be used
        self.pid = int(answer["pid"])
        self.limits: dict[str, Any] = dict(answer["limits"])
        self.engine_sha256: str | None = answer.get("engine_sha256")
        self._session, self.number = session, number
        self._on_record = on_record
        self._changed = threading.Condition()
        self._records: list[Record] = []
        self._exit: Record | None = None
        self._callbacks_done = threading.Event()
        self._callback_error: BaseException | None = None

    @property
    def records(self) -> list[Record]:
        """All records so far, a copy of the list."""
        with self._changed:
            return list(self._records)

    @property
    def ended(self) -> bool:
        with self._changed:
            return self._exit is not None

    def wait_for(self, record_type: str, timeout_s: float, *, after: int = 0) -> Record:
        """The first record of a type, of those from position ``after`` on; waits for it.

        HostError: stage network or engine with the engine's own words when it reports an error or ends first,
        or when the time is over; stage agent when the agent goes.
        """
        deadline_s = time.monotonic() + timeout_s
        at = after
        with self._changed:
            while True:
                for record in self._records[at:]:
                    if record.get("type") == record_type:
                        return record
                    if record.get("type") == "error":
                        raise self._engine_error(record)
                at = max(at, len(self._records))
                self._check_records()
                if self._exit is not None:
                    raise self._error(f"{self._end().describe()}, before its '{record_type}' record")
                self._check_agent()
                if not self._changed.wait(deadline_s - time.monotonic()):
                    raise self._error(f"no '{record_type}' record within {timeout_s:g} s{self._latest()}")

    def wait(self, timeout_s: float) -> EngineExit:
        """Its end, however it came; all callbacks have run then (unless this is called from one).

        HostError when it has not ended in time (stage engine) or the agent is gone (stage agent). What the
        ``on_record`` callback raised is raised here.
        """
        deadline_s = time.monotonic() + timeout_s
        with self._changed:
            while self._exit is None:
                self._check_agent()
                if not self._changed.wait(deadline_s - time.monotonic()):
                    raise self._error(f"has not ended within {timeout_s:g} s{self._latest()}")
            self._check_records()
            result = self._end()
        if not self._session.in_callback():
            if not self._callbacks_done.wait(max(0.0, deadline_s - time.monotonic())):
                raise self._error(f"its records were not processed within {timeout_s:g} s")
            if self._callback_error is not None:
                raise self._callback_error
        return result

    def command(self, line: str) -> None:
        """Give it one command line (``go``, ``stop``, …). HostError when it cannot take it, or has ended."""
        try:
            self._session.request("engine.command", job=self.number, line=line)
        except HostError as error:
            if error.stage != Stage.ENGINE:
                raise
            with self._changed:
                if not self._changed.wait_for(lambda: self._exit is not None, END_WAIT_S):
                    raise
                raise self._error(f"{self._end().describe()}, before '{line}'") from error

    def kill(self) -> None:
        """Have it ended: SIGTERM, and SIGKILL a second later. Nothing happens when it has ended already."""
        if not self.ended:
            self._session.request("engine.kill", job=self.number)

    # Called by the session.

    def add_record(self, record: Record) -> Taken:
        """Keep one record and wake who waits; what became of it."""
        with self._changed:
            if self._fault is not None:
                return Taken.AFTER_FAULT
            try:
                known = self._checker.check(record)
            except RecordFault as fault:
                self._fault = f"sent a record that cannot be used: {fault}"
                if self._checker.kind in _ADAPTERS:
                    self._fault = f"contract: {self._fault}"
                self._changed.notify_all()
                return Taken.FIRST_FAULT
            if not known:
                return Taken.UNKNOWN
            self._records.append(record)
            self._changed.notify_all()
            return Taken.KEPT

    def add_exit(self, event: Record) -> None:
        """Keep the end and wake who waits."""
        with self._changed:
            self._exit = event
            self._changed.notify_all()

    def wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def call_back(self, record: Record | None) -> None:
        """Run the callback; None stands for the end. After a first exception it is not called again."""
        if record is None:
            self._callbacks_done.set()
        elif self._on_record is not None and self._callback_error is None:
            try:
                self._on_record(record)
            except Exception as error:  # noqa: BLE001 -- handed to who waits for the job
                self._callback_error = error

    def _end(self) -> EngineExit:
        assert self._exit is not None
        stated = {name: self._exit[name] for name in ("status", "signal", "stderr", "fault")}
        return EngineExit(**stated, records=tuple(self._records))

    def _check_records(self) -> None:
        if self._fault is not None:
            raise self._error(self._fault)

    def _check_agent(self) -> None:
        death = self._session.death()
        if death is not None:
            raise death

    def _engine_error(self, record: Record) -> HostError:
        stage = Stage.NETWORK if record.get("stage") in NETWORK_STAGES else Stage.ENGINE
        text = str(record.get("text") or record)
        shut = stage == Stage.NETWORK and record.get("errno_name") in SHUT_OUT
        hint = SHUT_OUT_HINT if shut else None
        return HostError(f"{self.subcommand}: {text}", host=self._session.host, stage=stage, hint=hint)

    def _error(self, text: str) -> HostError:
        return HostError(f"{self.subcommand}: {text}", host=self._session.host, stage=Stage.ENGINE)

    def _latest(self) -> str:
        if not self._records:
            return "; it has written nothing"
        return f"; its last record was '{self._records[-1].get('type')}'"


class CounterWatch:
    """A running series of samples of what a host counts; ``interval_ns`` is what the agent granted.

    ``absent`` holds, by name, why the host cannot show a part; every sample has None there.
    """

    def __init__(self, session: Exchange, number: int, *, answer: Mapping[str, Any]) -> None:
        self.interval_ns = int(answer["interval_ns"])
        self.start_ns = int(answer["monotonic_ns"])
        self.absent: dict[str, str] = dict(answer.get("absent", {}))
        self._session, self._number = session, number
        self._lock = threading.Lock()
        self._samples: list[Record] = []
        self._checker = SampleChecker()
        self._fault: str | None = None  # of the first sample that cannot be used
        self._stopped = False

    @property
    def samples(self) -> list[Record]:
        """All samples so far, a copy of the list."""
        with self._lock:
            return list(self._samples)

    def stop(self) -> list[Record]:
        """End the series and return all its samples, the last one taken now. Again: the same samples.

        Each is ``time_ns`` (that host's CLOCK_MONOTONIC), ``span_ns``, ``cores`` (per core its number
        ``core`` and the shares ``user_ratio system_ratio softirq_ratio irq_ratio steal_ratio idle_ratio``,
        None where no tick passed), and ``nics softnet tcp qdiscs``: differences since the sample before, as
        agents/PROTOCOL.md states. One of these is None where it could not be read, and a difference is None
        where its counter went backwards. HostError (stage agent) where a sample cannot be used.
        """
        if not self._stopped:
            self._session.request("counters.stop", watch=self._number)
            self._stopped = True
        with self._lock:
            fault = self._fault
        if fault is not None:
            raise HostError(
                f"sent a sample that cannot be used: {fault}", host=self._session.host, stage=Stage.AGENT
            )
        return self.samples

    def add_sample(self, sample: Record) -> None:
        """Keep a sample; none after the first that cannot be used."""
        with self._lock:
            if self._fault is not None:
                return
            try:
                self._checker.check(sample)
            except RecordFault as fault:
                self._fault = str(fault)
            else:
                self._samples.append(sample)
