"""All rows of a plan in turn: each is stored at once, failures do not end the run, a rerun goes on."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pathlab import __version__
from pathlab.campaign.budget import estimate_trial_ns
from pathlab.campaign.model import Campaign
from pathlab.campaign.order import PlanRow, plan_rows
from pathlab.errors import HostError, PathlabError
from pathlab.runner.environment import Environment
from pathlab.runner.events import CampaignStarted, Emit, Notice, RateNow, TrialEnded, TrialStarted
from pathlab.runner.interruption import Interrupted, Interruption
from pathlab.runner.record import Outcome, build_record
from pathlab.runner.routes import RouteWatch
from pathlab.runner.series import build_series
from pathlab.runner.trial import Allowed, Trial, TrialData, TrialSpec
from pathlab.store.records import CampaignRecord, PlanRecord, TrialRecord
from pathlab.store.results import Results

#: This many rows in a row failing for the same reason end the run: the rest would fail alike.
FAILURES_IN_A_ROW = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """What a run left in the results folder."""

    folder: Path
    rows: int
    complete: int
    failed: int
    interrupted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignSource:
    """A validated campaign and the text it was read from."""

    campaign: Campaign
    text: str


def plan_records(campaign: Campaign) -> list[PlanRecord]:
    """The plan as the store keeps it."""
    return [
        PlanRecord(
            row=row.row,
            cycle=row.cycle,
            path_source=row.path_source,
            path_destination=row.path_destination,
            settings=dict(row.settings),
        )
        for row in plan_rows(campaign)
    ]


def run_campaign(source: CampaignSource, folder: Path, emit: Emit) -> RunOutcome:
    """Run every unfinished row of the campaign in ``folder``, which is made if it is not there.

    Raises HostError when no row could be tried, StoreError when results cannot be kept. An interrupted or
    failed row is stored as such and stays unfinished.
    """
    interruption = Interruption()
    with (
        interruption.watch(),
        Environment(source.campaign, emit) as environment,
        _open_results(source, folder, environment.facts) as results,
    ):
        environment.calibrate()
        for record in environment.host_records():
            results.add_host(record)
        run = _Run(source.campaign, environment, results, emit)
        interrupted = run.all_rows(interruption)
        rows = len(results.plan())
        missing = len(results.unfinished())
        return RunOutcome(
            folder=folder, rows=rows, complete=rows - missing, failed=run.failed, interrupted=interrupted
        )


def _open_results(source: CampaignSource, folder: Path, facts: dict[str, Any]) -> Results:
    if (folder / "results.db").exists():
        return Results.open(folder, write=True)
    campaign = source.campaign
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
    return Results.create(folder, record, plan_records(campaign))


class _Run:
    """The loop over rows, with what it must remember from one to the next."""

    def __init__(self, campaign: Campaign, environment: Environment, results: Results, emit: Emit) -> None:
        self._campaign = campaign
        self._environment = environment
        self._results = results
        self._emit = emit
        self._rows = {row.row: row for row in plan_rows(campaign)}
        self._routes = RouteWatch(environment.session, emit)
        self._same_failures = 0
        self._last_failure = ""
        self.failed = 0

    def all_rows(self, interruption: Interruption) -> bool:
        """Run what is unfinished, in the plan's order; True when a signal ended the run."""
        todo = [record.row for record in self._results.unfinished()]
        self._emit(
            CampaignStarted(
                name=self._campaign.name,
                folder=self._results.folder,
                rows=len(self._rows),
                done=len(self._rows) - len(todo),
                estimate_ns=sum(self._estimate_ns(self._rows[number]) for number in todo),
            )
        )
        try:
            for number in todo:
                self._one_row(self._rows[number], interruption)
                if self._same_failures >= FAILURES_IN_A_ROW:
                    self._emit(
                        Notice(text=f"{FAILURES_IN_A_ROW} rows in a row failed alike; the run ends here")
                    )
                    break
            self._routes.close()
        except Interrupted:
            return True
        return False

    def _estimate_ns(self, row: PlanRow) -> int:
        return estimate_trial_ns(self._campaign, row)

    def _one_row(self, row: PlanRow, interruption: Interruption) -> None:
        spec = self._spec(row)
        self._emit(
            TrialStarted(
                row=row.row,
                source=row.path_source,
                destination=row.path_destination,
                streams=row.streams,
                window_bytes=row.window_bytes,
                estimate_ns=self._estimate_ns(row),
            )
        )
        started = datetime.datetime.now(datetime.UTC)
        rate_bits_per_s, mtu_bytes = self._environment.line_of(spec.path)
        status, stage, reason, data = self._measure(spec)
        outcome = Outcome(
            status=status,
            attempt=self._results.attempts().get(row.row, 0) + 1,
            started=started,
            stage=stage,
            reason=reason,
            lab_rate_bits_per_s=rate_bits_per_s,
            lab_mtu_bytes=mtu_bytes,
            host_ceiling_bits_per_s=self._environment.host_ceiling(spec.path, spec.streams),
            standing_flags=self._environment.standing_flags,
            lab=self._environment.judge_lab(data.lab, spec.path),
        )
        with interruption.shield():  # a signal now must not cost the trial just measured
            record = build_record(spec, data, outcome)
            self._results.add_trial(record, build_series(data, outcome.lab))
            self._emit(TrialEnded(record=record))
            self._count(record)

    def _measure(self, spec: TrialSpec) -> tuple[str, str | None, str | None, TrialData]:
        """Status, stage and reason of the trial and whatever it measured, however it ended."""
        data = TrialData()
        try:
            self._environment.lab_snapshot()
            source = self._environment.session(spec.path.source)
            destination = self._environment.session(spec.path.destination)
            allowed = Allowed(
                probe_method=self._environment.probe_method(spec.path),
                congestion=self._environment.usable_congestion(spec.congestion),
            )
            trial = Trial(spec, source, destination, allowed=allowed)
            data = trial.data
            data.route = self._routes.read(spec.path)
            trial.run(
                lambda rate, elapsed_ns: self._emit(
                    RateNow(row=spec.row, bits_per_s=rate, elapsed_ns=elapsed_ns)
                ),
                lambda: self._watch_lab(data),
            )
        except HostError as error:
            return "failed", error.stage, str(error), data
        except PathlabError as error:
            return "failed", "controller", str(error), data
        except Interrupted:
            return "interrupted", "controller", "ended by a signal to the controller", data
        return "complete", None, None, data

    def _watch_lab(self, data: TrialData) -> None:
        snapshot = self._environment.lab_snapshot()
        if snapshot is not None:
            data.lab.append(snapshot)

    def _count(self, record: TrialRecord) -> None:
        if record.status == "complete":
            self._same_failures = 0
            return
        self.failed += 1
        failure = record.failure or ""
        self._same_failures = self._same_failures + 1 if failure == self._last_failure else 1
        self._last_failure = failure

    def _spec(self, row: PlanRow) -> TrialSpec:
        campaign = self._campaign
        return TrialSpec(
            row=row.row,
            cycle=row.cycle,
            path=self._environment.trial_path(row),
            streams=row.streams,
            window_bytes=row.window_bytes,
            congestion=row.congestion,
            warmup_ns=campaign.trial.warmup_ns,
            duration_ns=campaign.trial.duration_ns,
            interval_ns=campaign.trial.interval_ns,
            drain_ns=campaign.trial.drain_ns,
            probe_interval_ns=campaign.probes.interval_ns,
            probe_payload_bytes=campaign.probes.payload_bytes,
            probe_timeout_ns=campaign.probes.timeout_ns,
            unloaded_count=campaign.probes.unloaded,
        )
