"""All rows of a plan in turn: each is stored at once, failures do not end the run, a rerun goes on."""

from __future__ import annotations

import contextlib
import datetime
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pathlab import __version__
from pathlab.campaign.background_checks import list_backgrounds
from pathlab.campaign.budget import CALIBRATION_NS, SURVEY_NS, Estimator, count_surveys
from pathlab.campaign.model import Campaign
from pathlab.campaign.order import PlanRow, list_varied, plan_rows
from pathlab.campaign.plan_times import PLAN_TIMES, PlanTimes
from pathlab.engines.spec import HandStarted, TrialPath
from pathlab.errors import HostError, Stage, UsageError
from pathlab.remote.engine import find_engine
from pathlab.remote.hosts import RemoteAccess
from pathlab.runner.campaign.cycle import STOPPED, CycleRunner, RunParts
from pathlab.runner.campaign.idle_wait import IdleWait
from pathlab.runner.campaign.interruption import Interrupted, Interruption
from pathlab.runner.campaign.precision import Precision, name_cell
from pathlab.runner.campaign.rate_search import RateSearches
from pathlab.runner.campaign.resumption import check_same_plan
from pathlab.runner.campaign.row import RowRunner
from pathlab.runner.campaign.search_rows import record_row
from pathlab.runner.campaign.slots import Timetable, describe_missed
from pathlab.runner.campaign.waiting import PauseRequest, StopRequest
from pathlab.runner.events import CampaignEnded, CampaignStarted, Emit, Preparing
from pathlab.runner.hosts.background_hosts import BackgroundLoads
from pathlab.runner.hosts.capture_check import find_unable
from pathlab.runner.hosts.changes import describe_programs, find_changes, read_last_routes
from pathlab.runner.hosts.environment import Environment, list_hosts
from pathlab.runner.hosts.other_build import choose_other_build
from pathlab.runner.hosts.path_surveys import AFTER, BEFORE, PathSurveys
from pathlab.runner.hosts.route_watch import RouteWatch
from pathlab.runner.hosts.run_lock import name_run
from pathlab.runner.hosts.technology_check import LeftOut, find_left_out
from pathlab.runner.hosts.window_limits import find_short_windows
from pathlab.runner.journal import BACKGROUND, BACKGROUND_MISSING, CHANGED, ENDED, FINISHED, RESUMED, STARTED
from pathlab.runner.trial.trial_captures import CapturePlan
from pathlab.store.capture_files import remove_unfinished
from pathlab.store.flags import Flag, Status
from pathlab.store.records import CampaignRecord, PlanRecord, TrialRecord
from pathlab.store.results import Results


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """What a run left in the results folder.

    ``not_needed`` rows were left out by the stop rule, ``aborted`` ones ended early by a safety limit, and
    of ``left_out`` ones a host lacks the technology.
    ``ended`` says why the run ended before its plan was done, None where it is done or rows failed.
    """

    folder: Path
    rows: int
    complete: int
    failed: int
    interrupted: bool
    not_needed: int = 0
    aborted: int = 0
    left_out: int = 0
    ended: str | None = None

    @property
    def missing(self) -> int:
        """Rows that another run has still to measure."""
        return self.rows - self.complete - self.not_needed - self.aborted - self.left_out


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignSource:
    """A validated campaign, the text it was read from, and how its hosts are reached over SSH.

    Busy hosts are waited for up to ``wait_idle_ns`` before the first trial. ``against`` is the build of the
    engine that the factor ``build`` compares with. ``by_hand``: an engine that was started by hand, with
    which the trials are measured.
    """

    campaign: Campaign
    text: str
    access: RemoteAccess | None = None
    wait_idle_ns: int = 0
    against: Path | None = None
    by_hand: HandStarted | None = None


def plan_records(campaign: Campaign) -> list[PlanRecord]:
    """The plan as the store keeps it."""
    return [record_row(row) for row in plan_rows(campaign)]


def run_campaign(source: CampaignSource, folder: Path, emit: Emit) -> RunOutcome:
    """Run every unfinished row of the campaign in ``folder``, which is made if it is not there.

    Raises HostError when no row could be tried or another campaign has a host, UsageError when the folder
    holds another plan, a host has changed and the campaign refuses that, or the build to compare with is
    missing or cannot be driven, StoreError when results cannot be kept. An interrupted or failed row is
    stored as such and stays unfinished.
    """
    campaign, interruption = source.campaign, Interruption()
    against = choose_other_build(campaign, source.against)
    lab = "starting the lab, " if campaign.lab else ""
    emit(Preparing(text=f"{lab}connecting to {', '.join(list_hosts(campaign))}"))
    with (
        interruption.watch(),
        Environment(
            campaign,
            emit,
            access=source.access,
            owner=name_run(campaign.name),
            against=against,
            by_hand=source.by_hand,
        ) as environment,
        contextlib.ExitStack() as opened,
    ):
        left_out = find_left_out(campaign, plan_rows(campaign), environment.session)
        unable = find_unable(campaign, plan_rows(campaign), environment.session)
        results = opened.enter_context(_open_results(source, folder, environment.facts))
        for request in (StopRequest, PauseRequest):
            request(results.folder).clear()  # of a run before: from here on a request is meant for this one
        captures = CapturePlan(folder=results.folder, unable=unable)
        run = CampaignRun(
            campaign, environment, results, emit, against=against, left_out=left_out, captures=captures
        )
        try:
            run.announce()
            run.begin()
            run.prepare(source.wait_idle_ns)
            run.all_cycles(interruption)
        except Interrupted:
            run.stopped_by = interruption.reason
        return run.close()


def _open_results(source: CampaignSource, folder: Path, facts: dict[str, Any]) -> Results:
    campaign, planned = source.campaign, plan_records(source.campaign)
    if (folder / "results.db").exists():
        results = Results.open(folder, write=True)
        try:
            check_same_plan(results, campaign, planned)
        except BaseException:
            results.close()
            raise
        return results
    record = CampaignRecord(
        name=campaign.name,
        title=campaign.title,
        digest=campaign.digest,
        text=source.text,
        model=campaign.to_stored(),
        seed=campaign.seed,
        created_utc=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        program_version=__version__,
        environment=facts,
    )
    return Results.create(folder, record, planned)


class CampaignRun(RunParts):
    """One run of a campaign: its beginning, its cycles and its end."""

    def __init__(
        self,
        campaign: Campaign,
        environment: Environment,
        results: Results,
        emit: Emit,
        *,
        against: Path | None = None,
        left_out: LeftOut,
        captures: CapturePlan,
    ) -> None:
        super().__init__(campaign, results, emit)
        self._environment, self._against, self._left_out = environment, against, left_out
        self._captures = captures
        measurable = {number: row for number, row in self.rows.items() if number not in left_out.rows}
        self._precision = Precision(campaign, measurable)
        self._searches: RateSearches | None = None
        if campaign.search is not None:
            self._searches = RateSearches(self, campaign.search.rule, left_out.rows)
        self._routes = RouteWatch(environment.session, emit, read_last_routes(results))
        self._backgrounds = BackgroundLoads(campaign, environment)
        self._surveys = PathSurveys(environment.session, self.journal)
        self._ending: str | None = None  # why it ends before its plan is done
        self._failed = 0
        self._precise = False
        self._flags: tuple[str, ...] = ()
        self.stopped_by: str | None = None  # the signal, where one ended the run
        self._idle_wait = IdleWait(self.wait, emit)

    def begin(self) -> None:
        """Record the versions that this run starts with, and what has changed since the run before."""
        self._precision.add(self.results.records())
        before, kind = self.results.hosts(), RESUMED if self.results.journal() else STARTED
        now = self._environment.host_records()
        engine: Path | None = None
        with contextlib.suppress(HostError):  # the trials will say that there is no engine
            engine = find_engine()
        programs = describe_programs(engine, self._against)
        changes = find_changes(before, now, self.results.journal(), programs)
        refuses = self.campaign.on_change == "refuse"
        if refuses and kind == RESUMED:
            changes += self._find_other_routes()
        if changes and refuses:
            raise UsageError(
                f"the hosts have changed since this campaign began: {'; '.join(changes)}",
                hint='undo the changes, start a new run with --new, or allow it with on_change = "mark"',
            )
        facts: dict[str, Any] = dict(programs)
        if kind == STARTED and self._searches is None:  # searches decide as they go
            times = PlanTimes.of(list(self.rows.values()), Estimator(self.campaign))
            facts[PLAN_TIMES] = times.to_facts()
        self.journal.add(kind, f"PathLab {__version__} {kind} the campaign", facts=facts)
        for change in changes:
            self.journal.add(CHANGED, f"changed since the previous run: {change}")
        if self._left_out.rows:
            self.journal.add("left-out", self._left_out.describe())
        for host, reason in self._captures.unable.items():
            text = f"{host} records no packet headers, and its trials are measured without them: {reason}"
            self.journal.add("capture-missing", text)
        remove_unfinished(self.results.folder)
        marked = any(entry.kind == CHANGED for entry in self.results.journal())
        self._flags = (Flag.CHANGED_SINCE_START,) if marked else ()

    def prepare(self, longest_wait_ns: int) -> None:
        """Wait for busy hosts, at most that long; calibrate and record all hosts, and survey the paths."""
        self._idle_wait.look(self._environment.activity_sources(), longest_wait_ns)
        self._environment.activities = self._idle_wait.activities
        known = [host for host in list_hosts(self.campaign) if not self._environment.is_by_hand(host)]
        self.emit(Preparing(text=f"calibrating {', '.join(known)}"))
        self._environment.calibrate({row.cell.streams for row in self.rows.values()})
        hosts = self._environment.host_records()
        for record in hosts:
            self.results.add_host(record)
        self._idle_wait.record(self.journal, lab=self._environment.facts["lab"] is not None)
        for line in find_short_windows(self.rows.values(), hosts):
            self.journal.add("window-limit", line)
        if list_backgrounds(self.campaign):
            self.emit(Preparing(text="measuring the background loads alone"))
        measurable = [row for row in self.rows.values() if row.row not in self._left_out.rows]
        for alone in self._backgrounds.measure_all_alone(measurable):
            kind = BACKGROUND_MISSING if alone.rates is None else BACKGROUND
            self.journal.add(kind, alone.text, facts=alone.facts)
        if self.campaign.survey != "none":
            self.emit(Preparing(text="surveying the paths"))
            self._surveys.take(self._paths(), BEFORE)

    def _find_other_routes(self) -> Iterator[str]:
        """One line for each path whose route is another one than in the run before."""
        for path in self._forward_paths():
            reading = self._routes.read(path)
            if reading is not None and reading.changed:
                yield f"{path.source} to {path.destination}: the route has changed"

    def announce(self) -> None:
        """Report what is to be done and how long it takes."""
        records, estimator = self.results.records(), Estimator(self.campaign)
        todo, done = self._measurable(records), len(self.rows) - len(self._unsettled(records))
        rows, estimate_ns = len(self.rows), self._estimate_ns(todo, estimator)
        work_ns, searches = sum(estimator.trial(row).time_ns for row in todo), 0
        if self._searches is not None:
            searches = len(self._searches.list_unfinished())
            trials, work_ns = self._searches.estimate_left(estimator)
            rows, estimate_ns = done + trials, max(work_ns // self.campaign.concurrency, estimate_ns)
        self.emit(
            CampaignStarted(
                name=self.campaign.name,
                folder=self.results.folder,
                rows=rows,
                done=done,
                estimate_ns=estimate_ns,
                work_ns=work_ns,
                preparation_ns=CALIBRATION_NS + SURVEY_NS * count_surveys(self.campaign),
                varied=list_varied([row.settings for row in self.rows.values()]),
                searches=searches,
            )
        )

    def all_cycles(self, interruption: Interruption) -> None:
        """Run what is unfinished, in the plan's order, until it is done or something ends it."""
        records = self.results.records()
        todo = self._measurable(records)
        runner = RowRunner(
            self.campaign, self._environment, self._routes, self._backgrounds, self.emit, self._captures
        )
        cycles = CycleRunner(self, runner)
        cycles.remember(records, self._flags)
        try:
            if self._searches is not None:
                self._ending = self._searches.run(cycles, interruption, self._await_slot)
            planned = todo if self._searches is None else []
            for cycle, group in itertools.groupby(planned, lambda row: row.cycle):
                rows = self._needed(list(group), cycle)
                if rows and not self._await_slot(cycle):
                    self._ending = STOPPED
                if rows and self._ending is None:
                    self._ending = cycles.run(rows, interruption)
                self._precision.add(cycles.take_complete())
                if self._ending is not None:
                    break
            self._routes.close()
            if self.campaign.survey == "before and after" and todo:
                self._surveys.take(self._paths(), AFTER)
        finally:
            self._failed = cycles.failed

    def _estimate_ns(self, todo: list[PlanRow], estimator: Estimator) -> int:
        """What is left will take, the waits for later slots of a periodic campaign among it."""
        span_ns, every_ns = estimator.span_ns(todo), self.campaign.every_ns
        if every_ns is None or not todo:
            return span_ns
        last = [row for row in todo if row.cycle == todo[-1].cycle]
        slots = len({row.cycle for row in todo}) - 1
        return max(span_ns, slots * every_ns + estimator.span_ns(last))

    def _paths(self) -> list[TrialPath]:
        """Every path of the plan and its reverse once, as far as its addresses are known."""
        forward = self._forward_paths()
        return list(dict.fromkeys(way for path in forward for way in (path, path.turned())))

    def _forward_paths(self) -> list[TrialPath]:
        paths: dict[TrialPath, None] = {}
        kinds = {(id(row.path), row.cell.addresses, row.cell.family): row for row in self.rows.values()}
        for row in kinds.values():
            with contextlib.suppress(HostError):  # a host that does not answer: its trials will say so
                paths[self._environment.trial_path(row)] = None
        return list(paths)

    def close(self) -> RunOutcome:
        """Say how it ended, for the journal and for the caller."""
        complete = len(self.rows) - len(self.results.unfinished())
        records = self.results.records()
        unsettled, measurable = self._unsettled(records), self._measurable(records)
        needed: list[PlanRow] = []
        for cycle, group in itertools.groupby(measurable, lambda row: row.cycle):
            needed += self._needed(list(group), cycle, quiet=True)
        unplanned = 0
        if self._searches is not None:
            self._searches.learn(records)
            unplanned = self._searches.count_unplanned()
        aborted = len(self.rows) - complete - len(unsettled)
        ended = self.stopped_by or self._ending
        outcome = RunOutcome(
            folder=self.results.folder,
            rows=len(self.rows) + unplanned,
            complete=complete,
            failed=self._failed,
            interrupted=self.stopped_by is not None,
            not_needed=len(measurable) - len(needed),
            left_out=len(unsettled) - len(measurable),
            aborted=aborted,
            ended=ended,
        )
        if not needed and not unplanned:
            without = f", {outcome.left_out} left out" if outcome.left_out else ""
            self.journal.add(FINISHED, f"{complete} of {outcome.rows} trials are complete{without}")
        else:
            self.journal.add(
                ENDED, ended or f"{self._failed} trials failed", facts={"missing": outcome.missing}
            )
        for request in (StopRequest, PauseRequest):
            request(self.results.folder).clear()
        self.emit(CampaignEnded(complete=complete, rows=outcome.rows, reason=ended))
        return outcome

    def _unsettled(self, records: list[TrialRecord]) -> list[PlanRow]:
        """Rows without a complete trial; one that a safety limit ended early is not measured again."""
        settled = {
            r.plan_row for r in records if r.status == Status.COMPLETE or r.failed_stage == Stage.SAFETY_LIMIT
        }
        return [row for number, row in self.rows.items() if number not in settled]

    def _measurable(self, records: list[TrialRecord]) -> list[PlanRow]:
        """Of these the rows whose technologies the hosts have."""
        return [row for row in self._unsettled(records) if row.row not in self._left_out.rows]

    def _needed(self, rows: list[PlanRow], cycle: int, *, quiet: bool = False) -> list[PlanRow]:
        """The rows whose cells the stop rule still wants; none, control rows included, when all are done."""
        decision = self._precision.evaluate(cycle)
        if decision is None:
            return rows
        if decision.stop:
            if not quiet and not self._precise:
                self._precise = True  # said once for all cycles to come
                self.journal.add("stop-rule", f"after {cycle} cycles every cell is precise enough")
            return []
        done = self._precision.list_done(cycle)
        return [row for row in rows if row.control or name_cell(row) not in done]

    def _await_slot(self, cycle: int) -> bool:
        """With ``every``: wait for the time of a cycle that has not begun; False when stopped meanwhile."""
        if self.campaign.every_ns is None:
            return True
        used = [entry.facts for entry in self.results.journal() if entry.kind == "slot"]
        if any(facts["cycle"] == cycle for facts in used):
            return True
        timetable = Timetable(
            origin=datetime.datetime.fromisoformat(self.results.campaign.created_utc),
            every_ns=self.campaign.every_ns,
            jitter_ns=self.campaign.every_jitter_ns,
            seed=self.campaign.seed,
        )
        last = max((facts["slot"] for facts in used), default=None)
        while True:
            if not self.pauses.hold():
                return False
            slot = timetable.choose(last, self.wait.now())
            known = {n for entry in self.results.journal() for n in entry.facts.get("slots", ())}
            missed = [number for number in slot.missed if number not in known]
            if missed:
                self.journal.add("missed-slots", describe_missed(missed), facts={"slots": missed[:1000]})
            if not self.wait.announce(slot.begins, "the next slot (every)", self.emit):
                return False
            if not self.pauses.is_requested():
                break
        self.journal.add(
            "slot", f"cycle {cycle} begins in slot {slot.number}", facts={"cycle": cycle, "slot": slot.number}
        )
        return True
