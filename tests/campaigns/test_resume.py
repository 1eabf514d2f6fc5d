"""A campaign that is killed again and again has, once resumed, exactly the rows of an uninterrupted one."""

import random
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import pathlab
from tests.integration.conducting import run_file
from tests.integration.running import Run, running
from tests.patience import PATIENCE_S
from tests.require import require_engine

pytestmark = [pytest.mark.engine]

KILLS, ROWS = 2, 20
CAMPAIGN = """
format = 1
name = "sweep"
title = "Streams sweep, short"
seed = 11
cycles = 2
[[paths]]
source = "local"
destination = "local"
[factors]
streams = [1, 20, 5, 12, 8]
window = ["16KiB", "64KiB"]
[trial]
warmup = "20ms"
duration = "80ms"
interval = "20ms"
[probes]
interval = "10ms"
unloaded = 2
"""


def read_rows(folder: Path) -> list[tuple[Any, ...]]:
    """What was measured, in the order in which it was: row, cycle and levels of each complete trial."""
    with pathlab.open(folder) as results:
        return [
            (r.plan_row, r.cycle, r.streams, r.window_requested_bytes)
            for r in results.records(status="complete")
        ]


def read_tried_again(folder: Path) -> set[int]:
    """The plan's rows with more than one trial, as on a busy machine: the later ones end their cycle."""
    with pathlab.open(folder) as results:
        trials = Counter(record.plan_row for record in results.records())
    return {row for row, count in trials.items() if count > 1}


def wait_for_instant(run: Run, done: int, chance: random.Random) -> None:
    """A seeded point of one of the next trials: as it begins, under traffic, or as it has ended.

    On a busy machine a short trial may have no probe that returns: then that point of the one after it.
    """
    row = done + chance.randint(0, 2)
    event = chance.choice(("trial-started", "rate", "rtt", "trial-ended"))
    key = "plan_row" if event == "trial-ended" else "row"
    later = "|".join(map(str, range(row, ROWS)))
    run.read_until(rf'"event": "{event}"[^\n]*"{key}": ({later}),')


def test_kills_cost_no_row_and_change_no_order(tmp_path: Path) -> None:
    require_engine()
    campaign = tmp_path / "sweep.toml"
    campaign.write_text(CAMPAIGN)
    assert run_file(campaign, tmp_path / "whole").missing == 0
    chance = random.Random(20260105)
    reached: list[int] = []
    for _ in range(KILLS):
        done = reached[-1] if reached else 0
        with running(["run", str(campaign), "--out", "broken", "--json-events"], tmp_path) as run:
            wait_for_instant(run, done, chance)
            run.process.send_signal(signal.SIGKILL)
            run.process.wait(PATIENCE_S)
        reached.append(len(set(read_rows(tmp_path / "broken"))))
    assert reached == sorted(reached)
    assert 0 < reached[-1] < ROWS, reached
    outcome = run_file(campaign, tmp_path / "broken")
    assert (outcome.rows, outcome.complete, outcome.missing) == (ROWS, ROWS, 0)
    whole, broken = (read_rows(tmp_path / name) for name in ("whole", "broken"))
    assert set(broken) == set(whole)
    assert sorted({row[0] for row in whole}) == list(range(ROWS))
    late = read_tried_again(tmp_path / "whole") | read_tried_again(tmp_path / "broken")
    for rows in (whole, broken):
        numbers = [row[0] for row in rows if row[0] not in late]
        assert numbers == sorted(numbers)
    with pathlab.open(tmp_path / "broken") as results:
        kinds = [entry.kind for entry in results.journal()]
    assert kinds.count("started") == 1
    assert kinds.count("resumed") == KILLS
    assert kinds[-1] == "finished"
