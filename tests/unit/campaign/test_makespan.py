"""The time of rows that run at once, against the run's own choice of rows played through event by event."""

from __future__ import annotations

import heapq
import itertools
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.campaign.budget import Estimator, estimate_campaign
from pathlab.campaign.load import build_campaign
from pathlab.campaign.makespan import span_rows
from pathlab.campaign.model import Campaign
from pathlab.campaign.order import PlanRow, plan_rows
from pathlab.runner.campaign.schedule import Schedule

PAIRS = ("ab", "ac", "bc", "cd", "de", "ea", "aa")


def campaign_of(pairs: tuple[str, ...], **extra: Any) -> Campaign:
    data: dict[str, Any] = {
        "format": 1,
        "name": "many",
        "title": "Many",
        "seed": 1,
        "hosts": {name: {"transport": "local"} for name in "abcde"},
        "paths": [{"source": pair[0], "destination": pair[1]} for pair in pairs],
        "factors": {"streams": [1, 2, 4]},
    }
    return build_campaign(data | extra, label="many")


def play(rows: tuple[PlanRow, ...], lanes: int, times: dict[int, int]) -> int:
    """As the run does: whenever trials have ended, everything that can begin does."""
    now = 0
    for _, group in itertools.groupby(rows, lambda row: row.cycle):
        schedule, running = Schedule(group, lanes), list[tuple[int, int, PlanRow]]()
        while True:
            while (row := schedule.take()) is not None:
                heapq.heappush(running, (now + times[row.row], row.row, row))
            if not running:
                break
            now = running[0][0]
            while running and running[0][0] == now:
                schedule.finish(heapq.heappop(running)[2])
    return now


@settings(deadline=None, max_examples=60)
@given(
    pairs=st.lists(st.sampled_from(PAIRS), min_size=1, max_size=7, unique=True),
    lanes=st.integers(1, 4),
    seed=st.integers(0, 2**32),
)
def test_it_is_what_the_run_will_do(pairs: list[str], lanes: int, seed: int) -> None:
    rows = plan_rows(campaign_of(tuple(pairs), seed=seed, cycles=2, concurrency=lanes))
    chance = random.Random(seed)
    times = {row.row: chance.choice([1, 2, 5, 10, 10**9]) for row in rows}
    assert span_rows(rows, [times[row.row] for row in rows], lanes) == play(rows, lanes, times)


@pytest.mark.parametrize(("lanes", "trials"), [(1, 6), (2, 3), (3, 3)])
def test_two_pairs_without_a_common_host_take_half_the_time(lanes: int, trials: int) -> None:
    campaign = campaign_of(("ab", "cd"), concurrency=lanes)
    one_ns = Estimator(campaign).trial(plan_rows(campaign)[0]).time_ns
    estimate = estimate_campaign(campaign)
    assert estimate.time_ns == trials * one_ns
    assert estimate.time_max_ns == trials * Estimator(campaign).trial(plan_rows(campaign)[0]).time_max_ns


def test_pairs_with_a_common_host_wait_for_each_other() -> None:
    alone, at_once = (campaign_of(("ab", "ac", "bc"), concurrency=lanes) for lanes in (1, 3))
    assert estimate_campaign(at_once).time_ns == estimate_campaign(alone).time_ns
    assert estimate_campaign(at_once).trials == 9


def test_no_rows_take_no_time() -> None:
    assert span_rows((), (), 4) == 0
