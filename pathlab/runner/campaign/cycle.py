"""The rows of one cycle: budgets before each, retries at the end, hosts that keep failing in quarantine."""

from __future__ import annotations

import concurrent.futures
import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import ParamSpec, TypeVar

import pyarrow as pa

from pathlab.campaign.budget import Estimator
from pathlab.campaign.model import Campaign
from pathlab.campaign.order import PlanRow, plan_rows
from pathlab.campaign.schedule import Schedule
from pathlab.engines.base import load_engine
from pathlab.engines.spec import BOTH
from pathlab.errors import HostError, Stage
from pathlab.runner.campaign.budget_accounting import BudgetAccount, count_sent
from pathlab.runner.campaign.failures import FAILURES_IN_A_ROW, LAB, Failures
from pathlab.runner.campaign.interruption import Interrupted, Interruption
from pathlab.runner.campaign.pausing import Pauses
from pathlab.runner.campaign.row import RowResult, RowRunner, RowTask
from pathlab.runner.campaign.search_rows import restore_rows
from pathlab.runner.campaign.waiting import PauseRequest, StopRequest, Wait
from pathlab.runner.events import Emit, TrialEnded, TrialStarted
from pathlab.runner.journal import Journal
from pathlab.runner.trial.stalls import find_stall
from pathlab.runner.trial.stored_trial import store_trial
from pathlab.store.capture_files import place_captures
from pathlab.store.flags import Status
from pathlab.store.records import TrialRecord
from pathlab.store.results import Results
from pathlab.units import format_time

STOPPED = "stopped by `pathlab stop`"
#: Stages at which a trial may have carried data.
TRAFFIC_STAGES = (Stage.SAFETY_LIMIT, Stage.ENGINE, Stage.ADAPTER, Stage.CONTROLLER)

Future = concurrent.futures.Future[RowResult]
Given = ParamSpec("Given")
Result = TypeVar("Result")


class RunParts:
    """What a run works with; ``rows`` are those of the whole plan."""

    def __init__(self, campaign: Campaign, results: Results, emit: Emit) -> None:
        self.campaign, self.results, self.emit = campaign, results, emit
        self.rows = {row.row: row for row in plan_rows(campaign)}
        if campaign.search is not None:
            self.rows |= {row.row: row for row in restore_rows(self.rows.values(), results.plan())}
        self.journal = Journal(results, emit)
        self.stop = StopRequest(results.folder)
        self.wait = Wait(self.stop)
        self.pauses = Pauses(PauseRequest(results.folder), self.wait, self.journal, emit)


class CycleRunner:
    """Runs cycles one after the other and stores every trial as soon as it has ended."""

    def __init__(self, parts: RunParts, runner: RowRunner) -> None:
        self._parts = parts
        self._campaign = parts.campaign
        self._runner = runner
        self._estimator = Estimator(parts.campaign)
        lab = parts.campaign.lab
        lab_hosts = lab.hosts if lab is not None else ()
        self._failures = Failures(parts.campaign.retries, lab_hosts, parts.campaign.lab_retries)
        self._lab_fault: str | None = None  # of the trial before
        self._rebuilds = 0  # without a trial since
        self._account = BudgetAccount(parts.campaign.budget)
        self._attempts = parts.results.attempts()
        self._idle_rtt_ns: dict[tuple[str, str], float] = {}
        self._rates_bits_per_s: dict[tuple[str, str], float] = {}  # the highest that was measured
        self._complete: list[TrialRecord] = []
        self._flags: tuple[str, ...] = ()
        self.failed = 0

    def remember(self, records: Iterable[TrialRecord], flags: tuple[str, ...]) -> None:
        """Take into account the trials of earlier runs; ``flags`` are set on every trial from now on."""
        self._flags = flags
        for record in records:
            self._learn(record)

    def take_complete(self) -> list[TrialRecord]:
        """The complete trials since the last call."""
        taken, self._complete = self._complete, []
        return taken

    def run(
        self, rows: Iterable[PlanRow], interruption: Interruption, *, is_new_cycle: bool = True
    ) -> str | None:
        """Measure rows of one cycle, failed ones again at its end; return why the whole run ends, if it does.

        A part of a cycle that is none of its first, ``is_new_cycle`` False, leaves hosts in quarantine.

        Raises Interrupted when a signal does; what was measured until then is stored.
        """
        if is_new_cycle:
            self._failures.release_quarantined()
        schedule = Schedule(rows, self._campaign.concurrency)
        ending: str | None = None
        with self._pool() as pool:
            running: dict[Future, PlanRow] = {}
            try:
                while True:
                    while ending is None and (row := self._next_row(schedule)) is not None:
                        fault = self._lab_fault or self._runner.find_lab_fault()
                        if fault is not None:
                            schedule.restore(row)
                            if running:
                                break
                            ending = self._rebuild_lab(fault)
                            continue
                        permission = self._request_start(row, schedule)
                        if isinstance(permission, RowTask):
                            running[pool.submit(self._runner.measure, permission)] = row
                        else:
                            schedule.restore(row)
                            ending = permission
                            break
                    if not running:
                        return ending
                    self._collect(running, schedule, interruption)
            except Interrupted:
                self._runner.cancel_all()
                with interruption.shield(), contextlib.suppress(Interrupted):
                    while running:
                        self._collect(running, schedule, interruption)
                raise

    @contextlib.contextmanager
    def _pool(self) -> Iterator[concurrent.futures.Executor]:
        """Threads for rows that run at once; one at a time runs on this thread, where signals arrive."""
        if self._campaign.concurrency == 1:
            yield _HereExecutor()
            return
        with concurrent.futures.ThreadPoolExecutor(self._campaign.concurrency, "pathlab-row") as pool:
            yield pool

    def _next_row(self, schedule: Schedule) -> PlanRow | None:
        """The next row whose hosts are free and not quarantined."""
        schedule.drop(lambda row: self._failures.is_quarantined(*row.path.hosts))
        return schedule.take()

    def _rebuild_lab(self, fault: str) -> str | None:
        """Make the lab anew after a fault; why the run ends where that cannot be done, or does not last."""
        self._lab_fault = None
        self._rebuilds += 1
        if self._rebuilds > FAILURES_IN_A_ROW:
            return f"the lab fails as soon as it is rebuilt: {fault}"
        try:
            self._runner.rebuild_lab()
        except HostError as error:
            return f"the lab cannot be rebuilt: {error.reason}"
        self._parts.journal.add("lab-rebuilt", f"the lab was rebuilt: {fault}")
        return None

    def _request_start(self, row: PlanRow, schedule: Schedule) -> RowTask | str | None:
        """What to measure; why the run ends instead; None when others under way have to end first."""
        estimate = self._estimator.trial(row)
        while not self._parts.stop.is_made():
            if self._parts.pauses.is_requested():
                if schedule.running > 1:
                    return None
                self._parts.pauses.hold()
                continue
            permission = self._account.check(self._parts.wait.now(), estimate.time_ns, estimate.bytes_max)
            if permission.spent is None and permission.wait_until is None:
                lanes = self._campaign.concurrency - schedule.running + 1
                return self._start(row, _share(permission.volume_limit_bytes, estimate.bytes_max, lanes))
            if schedule.running > 1:  # bytes that these have reserved and do not send come free
                return None
            if permission.wait_until is None:
                return str(permission.spent)
            self._parts.journal.add(
                "waiting", f"{permission.reason}: until {permission.wait_until.isoformat()}"
            )
            self._parts.wait.announce(permission.wait_until, str(permission.reason), self._parts.emit)
        return STOPPED

    def _start(self, row: PlanRow, volume_limit_bytes: int | None) -> RowTask:
        attempt, estimate = self._attempts.get(row.row, 0) + 1, self._estimator.trial(row)
        self._attempts[row.row] = attempt
        self._parts.emit(
            TrialStarted(
                row=row.row,
                source=row.path.source,
                destination=row.path.destination,
                streams=row.cell.streams,
                window_bytes=row.cell.window_bytes,
                estimate_ns=estimate.time_ns,
                attempt=attempt,
                settings=dict(row.settings),
            )
        )
        self._account.reserve(row.row, volume_limit_bytes)
        if volume_limit_bytes is not None and row.cell.direction == BOTH and estimate.bytes_max is None:
            volume_limit_bytes //= 2  # an engine does not know yet what the other end has under way
        return RowTask(
            row=row,
            attempt=attempt,
            volume_limit_bytes=volume_limit_bytes,
            idle_rtt_ns=self._idle_rtt_ns.get((row.path.source, row.path.destination)),
            rate_bits_per_s=self._find_rate(row),
            flags=self._flags,
        )

    def _collect(
        self, running: dict[Future, PlanRow], schedule: Schedule, interruption: Interruption
    ) -> None:
        """Store the trials that have ended, once at least one has."""
        done, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
        signalled = False
        for future in done:
            row = running.pop(future)
            schedule.finish(row)
            self._rebuilds = 0
            self._account.release(row.row)
            if isinstance(future.exception(), Interrupted):
                signalled = True  # during its cool-down: nothing was measured
                continue
            with interruption.shield():  # a signal now must not cost the trial just measured
                record = self._store(future.result())
                self._handle_end(record, future.result(), schedule)
        if signalled:
            raise Interrupted

    def _store(self, measured: RowResult) -> TrialRecord:
        record, lost = self._add_trial(measured)
        self._parts.emit(TrialEnded(record=record, settings=dict(measured.task.row.settings)))
        for text in lost:
            self._parts.journal.add("capture-missing", text, row=record.plan_row)
        if measured.clock_jump_ns:
            jump_s = measured.clock_jump_ns / 1e9
            text = f"the wall clock jumped by {jump_s:+.1f} s during a trial; its times are not affected"
            self._parts.journal.add("clock-jump", text, row=record.plan_row, facts={"jump_s": jump_s})
        return record

    def _add_trial(self, measured: RowResult) -> tuple[TrialRecord, list[str]]:
        """Store a trial with its captures; one line for each capture that could not be kept."""
        results, captures = self._parts.results, measured.data.captures
        lost: list[str] = []
        files = {end: captured.file for end, captured in captures.items() if captured.file is not None}

        def place(number: int) -> None:
            lost.extend(place_captures(results.folder, number, files))

        try:
            record = store_trial(
                results, measured.spec, measured.data, measured.outcome, place if files else None
            )
        finally:
            for captured in captures.values():
                captured.drop()
        return record, lost

    def _handle_end(self, record: TrialRecord, measured: RowResult, schedule: Schedule) -> None:
        """What follows from a trial's end: another attempt, a quarantine, bytes counted."""
        self._learn(record)
        if record.status == Status.COMPLETE:
            self._complete.append(record)
            if self._failures.use_stall_retry(record):
                self._parts.journal.add("retry", _describe_stall(record, measured), row=record.plan_row)
                schedule.put_back(measured.task.row)
            elif self._failures.use_lab_retry(record):
                text = f"trial {record.plan_row + 1} was lab-limited"
                text += " and is measured again at the end of the cycle"
                self._parts.journal.add("retry", text, row=record.plan_row)
                schedule.put_back(measured.task.row)
        else:
            self.failed += 1
        if record.failed_stage == Stage.SAFETY_LIMIT or record.status == Status.INTERRUPTED:
            return
        sinks, reason = measured.task.row.path.sinks, record.failure or record.status
        place = self._failures.add(record, measured.outcome.host, sinks)
        if record.failed_stage == Stage.LAB:
            self._lab_fault = record.failure
        if place == LAB:
            text = f"the lab failed {FAILURES_IN_A_ROW} times in a row; the remaining trials are skipped"
            self._parts.journal.add("quarantined", f"{text}: {reason}", row=record.plan_row)
        elif place is not None:
            text = f"{' to '.join(place)} failed repeatedly and is quarantined until the next cycle"
            self._parts.journal.add("quarantined", f"{text}: {reason}", row=record.plan_row)
        elif record.status == Status.FAILED and self._failures.may_retry(record.plan_row):
            text = f"trial {record.plan_row + 1} failed and is tried again at the end of the cycle"
            self._parts.journal.add("retry", text, row=record.plan_row)
            schedule.put_back(measured.task.row)

    def _learn(self, record: TrialRecord) -> None:
        """Bytes used, the idle round trip and the rate, from a stored trial of this run or of one before."""
        if self._account.is_counting:
            self._account.count(record.started_utc, self._count_sent(record))
        idle_ns = record.unloaded_rtt_median_ns
        on_path = not self._parts.rows[record.plan_row].cell.is_on_one_host
        if record.status == Status.COMPLETE and idle_ns is not None and on_path:
            path = (record.path_source, record.path_destination)
            self._idle_rtt_ns[path] = min(self._idle_rtt_ns.get(path, idle_ns), idle_ns)

        rate = record.throughput_bits_per_s
        if record.status == Status.COMPLETE and rate is not None and on_path:
            path = (record.path_source, record.path_destination)
            self._rates_bits_per_s[path] = max(self._rates_bits_per_s.get(path, rate), rate)

    def _find_rate(self, row: PlanRow) -> float | None:
        """What is known of the slower direction of a path: its rate as given, else the highest measured."""
        facts = self._estimator.find_facts(row.path)
        given = [item for item in (facts.rate_bits_per_s, facts.reverse_bits_per_s) if item is not None]
        return min(given) if given else self._rates_bits_per_s.get((row.path.source, row.path.destination))

    def _count_sent(self, record: TrialRecord) -> int:
        """Bytes sent, both ways together; of a trial whose ends state no sum, what its intervals hold.

        Where an engine reports nothing of a trial that ended early, it counts as what it may have sent.
        """
        total_bytes, row = count_sent(record), self._parts.rows[record.plan_row]
        counted = load_engine(row.cell.engine).capabilities.counts_while_running
        if total_bytes is None and not counted and record.failed_stage in TRAFFIC_STAGES:
            return self._estimator.trial(row).bytes_max or 0
        if total_bytes is not None and BOTH not in (self._campaign.factors.levels("direction")):
            return total_bytes
        results = self._parts.results
        number = next(iter(results.records_by_id(plan_row=record.plan_row, attempt=record.attempt)))
        kinds = [f"{end}_intervals" for end in ("sender", "receiver")]
        kept = results.series_kinds(number)
        tables = [results.series_table(number, kind) if kind in kept else None for kind in kinds]
        received = [_sum_column(table, "bytes") for table in tables]
        sent = [_sum_column(table, "sent_bytes") for table in tables]
        # An end that sends alone has its own count under "bytes"; of the way back each end has a count.
        there_bytes = max(sent[0], received[1]) if any(sent) else max(received)
        back_bytes = max(sent[1], received[0]) if any(sent) else 0
        return (there_bytes if total_bytes is None else total_bytes) + back_bytes


def _describe_stall(record: TrialRecord, measured: RowResult) -> str:
    stall = find_stall(measured.spec, measured.data)
    what = "a program did not run"
    if stall is not None:
        what = f"{stall.program} did not run for {format_time(stall.stalled_ns)}"
    return f"in trial {record.plan_row + 1} {what}; it is measured again at the end of the cycle"


def _sum_column(table: pa.Table | None, name: str) -> int:
    return 0 if table is None or name not in table.column_names else sum(table[name].to_pylist())


def _share(left_bytes: int | None, trial_bytes: int | None, lanes: int) -> int | None:
    """What a trial may send of what is left: its bound, or an equal part for each lane that is free."""
    return None if left_bytes is None else max(left_bytes // lanes, trial_bytes or 0)


class _HereExecutor(concurrent.futures.Executor):
    """Runs a call at once, on the thread that submits it; a signal's exception is kept like any other."""

    def submit(
        self, fn: Callable[Given, Result], /, *args: Given.args, **kwargs: Given.kwargs
    ) -> concurrent.futures.Future[Result]:
        """A future that is done already."""
        future: concurrent.futures.Future[Result] = concurrent.futures.Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 -- handed on by result()
            future.set_exception(error)
        return future
