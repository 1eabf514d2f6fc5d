"""A search for the lossless rate that is killed, runs out of disk, or loses its receiver, goes on later."""

from __future__ import annotations

import itertools
import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest

import pathlab
from pathlab.campaign.campaign_text import read_campaign
from pathlab.campaign.load import load_campaign
from pathlab.engines.native import NativeEngine
from pathlab.errors import StoreError
from pathlab.runner.campaign.run import CampaignSource, RunOutcome, run_campaign
from pathlab.store.records import PlanRecord
from pathlab.store.results import Results
from pathlab.study.analyses import StudiedResults
from tests.integration.running import running
from tests.patience import PATIENCE_S
from tests.require import require_engine

pytestmark = [pytest.mark.engine]

KILLS = 3
CAMPAIGN = """
format = 1
name = "capacity"
title = "Highest rate, short"
seed = 11
cycles = 2
[[paths]]
source = "local"
destination = "local"
[factors]
streams = [1, 2]
transport = "udp"
datagram = "200B"
[search]
loss = "20%"
lowest = "400kbit/s"
highest = "800kbit/s"
resolution = "50%"
[trial]
warmup = "20ms"
duration = "200ms"
interval = "50ms"
[probes]
interval = "20ms"
unloaded = 2
"""


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    require_engine()
    path = tmp_path / "capacity.toml"
    path.write_text(CAMPAIGN)
    return path


def run_here(campaign: Path, folder: Path) -> RunOutcome:
    given = read_campaign(campaign)
    source = CampaignSource(campaign=load_campaign(given), text=given.text)
    return run_campaign(source, folder, lambda _event: None)


def read_complete(folder: Path) -> list[int]:
    """The plan's rows with a complete trial, in the order in which they were measured."""
    with pathlab.open(folder) as results:
        return [record.plan_row for record in results.records(status="complete")]


def test_kills_cost_no_trial_and_the_search_goes_on(campaign: Path, tmp_path: Path) -> None:
    chance = random.Random(20260105)
    kept: list[int] = []
    for _ in range(KILLS):
        with running(["run", str(campaign), "--out", "out", "--json-events"], tmp_path) as run:
            event = chance.choice(("search", "trial-started", "rate", "trial-ended"))
            row = len(kept) + chance.randint(0, 2)
            key = "plan_row" if event == "trial-ended" else "row"
            later = "|".join(map(str, range(row, 100)))  # a trial on a busy machine may have no such event
            run.read_until(rf'"event": "{event}"[^\n]*"{key}": ({later}),')
            run.process.send_signal(signal.SIGKILL)
            run.process.wait(PATIENCE_S)
        now = read_complete(tmp_path / "out")
        assert now[: len(kept)] == kept  # nothing measured is lost, or measured again
        assert len(set(now)) == len(now)
        kept = now
    outcome = run_here(campaign, tmp_path / "out")
    assert (outcome.missing, outcome.complete) == (0, outcome.rows)
    with StudiedResults.open(tmp_path / "out") as results:
        answers = results.lossless_rate()
        kinds = [entry.kind for entry in results.journal()]
        assert [row.row for row in results.plan()] == list(range(outcome.rows))
        assert results.unfinished() == []
    assert [answer.result.finished for answer in answers] == [2, 2]
    assert kinds[-1] == "finished"
    assert read_complete(tmp_path / "out")[: len(kept)] == kept
    again = run_here(campaign, tmp_path / "out")
    assert (again.rows, again.complete) == (outcome.rows, outcome.complete)  # nothing was left to do


def test_a_full_disk_ends_the_run_and_the_next_one_continues(
    campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row that cannot be stored is not measured."""
    plan: list[int] = []
    add_row = Results.add_plan_row

    def fail(self: Results, row: PlanRecord) -> None:
        plan.append(row.row)
        if len(plan) == 6:
            raise StoreError("results file 'x' cannot be written: database or disk is full")
        add_row(self, row)

    with monkeypatch.context() as broken:
        broken.setattr(Results, "add_plan_row", fail)
        with pytest.raises(StoreError, match="disk is full"):
            run_here(campaign, tmp_path / "out")
    before = read_complete(tmp_path / "out")
    assert before
    outcome = run_here(campaign, tmp_path / "out")
    assert outcome.missing == 0
    assert read_complete(tmp_path / "out")[: len(before)] == before


def test_a_receiver_that_dies_costs_a_trial_and_no_answer(
    campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, trials = NativeEngine.run, itertools.count()

    def kill_and_run(engine: NativeEngine) -> None:
        if next(trials) == 1:
            os.kill(engine._jobs["receiver"].pid, signal.SIGKILL)
        run(engine)

    monkeypatch.setattr(NativeEngine, "run", kill_and_run)
    outcome = run_here(campaign, tmp_path / "out")
    assert (outcome.missing, outcome.ended) == (0, None)
    with StudiedResults.open(tmp_path / "out") as results:
        statuses: list[Any] = [record.status for record in results.records()]
        assert statuses.count("failed") == 1
        assert all(answer.result.finished == 2 for answer in results.lossless_rate())
