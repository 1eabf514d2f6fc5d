"""The asking end: takes commands, writes records and watches the streams."""

from __future__ import annotations

import os
import resource
import time
from typing import Any, Callable, Dict, List, Optional

from .intervals import DurationHistogram, measure_recording
from .program import NEVER_NS, REASONS, AdapterFunctions, CommandInput, RecordOutput
from .settings import SECOND_NS, AdapterError, Settings
from .streams import CLOSED, CONNECTING, DONE, FAILED, FIRST_REPLY, READY, AskingState, AskingStream

CONNECT_NS = 10 * SECOND_NS
#: For the other streams, after one has failed.
SETTLE_NS = 200_000_000
#: At most, between two looks at a reply that is late: where no thread had a core, it may be there.
LOOK_AGAIN_NS = 2 * SECOND_NS


class AskingEnd(AskingState):
    """The asking end: takes commands, writes records and watches the streams."""

    def __init__(
        self, adapter: AdapterFunctions, settings: Settings, output: RecordOutput, commands: CommandInput
    ) -> None:
        super().__init__(adapter, settings, commands)
        self._output = output
        self._error: Optional[AdapterError] = None
        self._reason: Optional[str] = None
        self._told_to_go = self._started = False
        self._edges_ns = [settings.warmup_ns, settings.warmup_ns + settings.duration_ns]
        if settings.requests is not None:
            self._edges_ns[1] = NEVER_NS
        self._samples: List[Dict[str, Any]] = []
        self._steady = DurationHistogram()
        self._look_again_ns = min(settings.stall_ns // 4, LOOK_AGAIN_NS)
        self.streams: List[AskingStream] = []

    def live(self) -> int:
        status = 0
        try:
            granted = self._set_scheduling()
            self.streams = [AskingStream(self, number) for number in range(self.settings.streams)]
            for stream in self.streams:
                stream.start()
            if granted is not None:
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(granted + 1))
            self._run(granted)
        except AdapterError as error:
            self._error = error
        except (OSError, RuntimeError) as error:
            self._error = AdapterError("limit", str(error))
        if self._started:
            self._settle()
        if self._error is not None:
            status = self._output.write_error(self.settings.name, self._error)
            self._reason = self._error.text
        elif self._reason is not None:
            status = 5
        if self._started or status == 5:
            self._write_result()
        if self._error is None and self._have_all(DONE):
            self._close()
        return status

    def _set_scheduling(self) -> Optional[int]:
        """Cores and priority of all threads that follow. The priority, None where it is not granted."""
        settings = self.settings
        if settings.cores:
            os.sched_setaffinity(0, settings.cores)
        if settings.priority is not None:
            try:
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(settings.priority))
            except PermissionError:
                return None
        return int(settings.priority) if settings.priority is not None else None

    def _run(self, granted: Optional[int]) -> None:
        if not self._await(lambda: self._have_all(READY)):
            return
        clock_ns, record_ns = measure_recording()
        settings = self.settings
        messages = {"bytes": settings.bytes, "replies": True, "offered_per_s": settings.rate_per_s}
        messages.update(priority=granted, clock_ns=clock_ns, record_ns=record_ns)
        adapter = {**self.description, "hop_ns": None}
        self._output.write(
            "ready", messages=messages, streams=settings.streams, cores=settings.cores, adapter=adapter
        )
        if not self._await(lambda: self._told_to_go):
            return
        self._started = True
        self.run_ns = time.monotonic_ns()
        if settings.warmup_ns == 0:
            self._take_sample(0)
        real_ns = time.time_ns() - (time.monotonic_ns() - self.run_ns)
        self.go.set()
        self._output.write("start", monotonic_ns=self.run_ns, realtime_ns=real_ns)
        self._await(lambda: self._have_all(DONE))

    def _await(self, reached: Callable[[], bool]) -> bool:
        """Whether it was reached before a failure or a command that ends the trial."""
        while True:
            is_reached = reached()  # before the failures, which also count as reached
            self._take_failures()
            if self._error is not None or self._reason is not None:
                return False
            if is_reached:
                return True
            self._step(NEVER_NS)

    def _take_failures(self) -> None:
        for stream in self.streams:
            self._error = self._error or (stream.error if stream.state == FAILED else None)

    def _have_all(self, state: int) -> bool:
        return all(stream.state >= state for stream in self.streams)

    def _step(self, deadline_ns: int) -> None:
        """Wait for one event: a command, a change of state, the end of an interval or of patience."""
        deadline_ns = min(deadline_ns, self._watch(time.monotonic_ns()))
        if self._started:
            deadline_ns = min(deadline_ns, self._next_tick())
        command = self.commands.wait(deadline_ns)
        self._told_to_go |= command == "go"
        if command in REASONS and self._reason is None:
            self._reason = REASONS[command]
        now_ns = time.monotonic_ns()
        if self._started and now_ns >= self._next_tick():
            while len(self._samples) < 2 and now_ns - self.run_ns >= self._edges_ns[len(self._samples)]:
                self._take_sample(now_ns - self.run_ns)
            self._ticked_ns = now_ns - self.run_ns
            self._collect()

    _ticked_ns = 0

    def _next_tick(self) -> int:
        """When the open interval ends; the grid begins anew with each phase."""
        edge_ns = self._edges_ns[len(self._samples)] if len(self._samples) < 2 else NEVER_NS
        grid_ns = ([0] + [edge for edge in self._edges_ns if edge <= self._ticked_ns])[-1]
        passed = (self._ticked_ns - grid_ns) // self.settings.interval_ns + 1
        return int(self.run_ns + min(edge_ns, grid_ns + passed * self.settings.interval_ns))

    def _watch(self, now_ns: int) -> int:
        """Fail where a reply is late, if that is seen twice; when to look next."""
        stall_ns = self.settings.stall_ns
        # Whatever is requested from now on is late after this.
        next_ns = now_ns + (stall_ns if self._started else CONNECT_NS)
        for stream in self.streams:
            asked_ns = stream.asked_ns
            if asked_ns == 0 or stream.state == FAILED or self._error is not None:
                continue
            limit_ns = asked_ns + (CONNECT_NS if stream.state < READY else stall_ns)
            if now_ns >= limit_ns:
                if stream.slow_asked_ns != asked_ns:
                    stream.slow_asked_ns, stream.slow_since_ns = asked_ns, now_ns
                limit_ns = stream.slow_since_ns + self._look_again_ns
                if now_ns >= limit_ns:
                    self._error = _describe_stall(stream, now_ns - asked_ns)
            next_ns = min(next_ns, limit_ns)
        return next_ns

    def _take_sample(self, at_ns: int) -> None:
        """CPU time of the process without this thread, and what every stream has received.

        The sum is exact; user and system time are stated apart, with this thread.
        """
        whole = resource.getrusage(resource.RUSAGE_SELF)
        cpu_ns = time.process_time_ns() - time.thread_time_ns()
        received = [stream.received for stream in self.streams]
        self._samples.append(
            {
                "at": at_ns,
                "cpu": cpu_ns,
                "user": whole.ru_utime,
                "system": whole.ru_stime,
                "received": received,
            }
        )

    def _collect(self) -> None:
        for stream in self.streams:
            while stream.intervals.complete:
                start_ns, end_ns, result = stream.intervals.complete.popleft()
                steady = self._edges_ns[0] <= start_ns < self._edges_ns[1]
                phase = "steady" if steady else "warmup" if start_ns < self._edges_ns[0] else "drain"
                if steady:
                    self._steady.merge(result)
                if result.max_ns or result.sum_ns or any(result.counts):
                    fields = {"phase": phase, "stream": stream.number, "start_ns": start_ns, "end_ns": end_ns}
                    self._output.write("round_trips", **fields, round_trip_ns=result.to_json())

    def _settle(self) -> None:
        """End what still runs and wait for it: as long as for a reply, and shortly after a failure."""
        self.over = True
        # A second look more than _watch() needs, which names the stream that has stalled.
        deadline_ns = time.monotonic_ns() + self.settings.stall_ns + 2 * self._look_again_ns
        failed = False
        while not self._have_all(DONE) and time.monotonic_ns() < deadline_ns:
            self._take_failures()
            if self._error is not None and not failed:
                failed, deadline_ns = True, min(deadline_ns, time.monotonic_ns() + SETTLE_NS)
            self._step(deadline_ns)
        self._take_failures()
        if len(self._samples) == 1:
            self._take_sample(time.monotonic_ns() - self.run_ns)
        self._collect()

    def _write_result(self) -> None:
        lateness = None
        if self.settings.rate_per_s is not None:
            late = DurationHistogram()
            for stream in self.streams:
                late.merge(stream.lateness)
            lateness = {"median": late.quantile(0.5), "p99": late.quantile(0.99), "max": late.quantile(1.0)}
        sent = [stream.sent for stream in self.streams]
        received = [stream.received for stream in self.streams]
        messages = {
            "sent": sent,
            "received": received,
            "missing": [stream.sent - stream.received for stream in self.streams],
        }
        steady = None
        if len(self._samples) == 2:
            begin, end = self._samples
            before = begin["received"]
            counts = [after - before[number] for number, after in enumerate(end["received"])]
            steady = {"start_ns": begin["at"], "end_ns": end["at"], "messages": counts}
            sum_ns = max(end["cpu"] - begin["cpu"], 0)
            user, system = (max(end[kind] - begin[kind], 0.0) for kind in ("user", "system"))
            user_ns = int(sum_ns * (user / (user + system) if user + system > 0 else 0.5))
            steady.update(user_ns=user_ns, system_ns=sum_ns - user_ns)
        self._output.write(
            "result",
            complete=self._reason is None,
            reason=self._reason,
            messages={
                **messages,
                "out_of_order": [0] * len(sent),
                "send_error_ns": lateness,
                "round_trip_ns": self._steady.to_json(),
            },
            phases={"steady": steady},
        )

    def _close(self) -> None:
        deadline_ns = time.monotonic_ns() + self.settings.stall_ns
        self.may_close.set()
        while not self._have_all(CLOSED) and time.monotonic_ns() < deadline_ns:
            self.commands.wait(deadline_ns)


def _describe_stall(stream: AskingStream, waited_ns: int) -> AdapterError:
    where = f"(stream {stream.number})"
    seconds = CONNECT_NS // SECOND_NS
    if stream.state == CONNECTING:
        return AdapterError("connect", f"no connection within {seconds} s {where}")
    if stream.state == FIRST_REPLY:
        return AdapterError("stall", f"no reply to the first request within {seconds} s {where}")
    waited = f"no reply for {waited_ns / 1e9:.3g} s, after {stream.received} replies"
    return AdapterError("stall", f"{waited} {where}")
