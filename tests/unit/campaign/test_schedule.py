"""Which rows run at once and how long that takes, against a schedule that looks through all waiting rows."""

import heapq
import itertools
import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.campaign.budget import Estimator, estimate_campaign
from pathlab.campaign.model import Campaign
from pathlab.campaign.order import PlanRow, plan_rows
from pathlab.campaign.schedule import Schedule, span_rows
from tests.builders.campaigns import make_sample

PAIRS = ("ab", "ac", "bc", "cd", "de", "ea", "aa")


def campaign_of(pairs: tuple[str, ...], **extra: Any) -> Campaign:
    data: dict[str, Any] = {
        "hosts": {name: {"transport": "local"} for name in "abcde"},
        "paths": [{"source": pair[0], "destination": pair[1]} for pair in pairs],
        "factors": {"streams": [1, 2, 4]},
    }
    return make_sample(**data | extra)


class PlainSchedule:
    """The definition: of the waiting rows in their order, the first whose hosts are both free begins."""

    def __init__(self, rows: Iterable[PlanRow], lanes: int) -> None:
        self.waiting, self.lanes = list(rows), lanes
        self.busy: dict[int, set[str]] = {}

    def take(self) -> PlanRow | None:
        for row in self.waiting if len(self.busy) < self.lanes else ():
            hosts = {row.path.source, row.path.destination}
            if not any(hosts & others for others in self.busy.values()):
                self.busy[row.row] = hosts
                self.waiting.remove(row)
                return row
        return None

    def finish(self, row: PlanRow) -> None:
        del self.busy[row.row]

    def restore(self, row: PlanRow) -> None:
        self.finish(row)
        self.waiting.insert(0, row)

    def put_back(self, row: PlanRow) -> None:
        self.waiting.append(row)

    def drop(self, unwanted: Callable[[PlanRow], bool]) -> None:
        self.waiting = [row for row in self.waiting if not unwanted(row)]


def starts_at(host: str) -> Callable[[PlanRow], bool]:
    return lambda row: row.path.source == host


@settings(max_examples=40)
@given(
    pairs=st.lists(st.sampled_from(PAIRS), min_size=1, max_size=7, unique=True),
    lanes=st.integers(1, 4),
    seed=st.integers(0, 2**32),
)
def test_rows_begin_in_the_order_of_the_definition(pairs: list[str], lanes: int, seed: int) -> None:
    rows = plan_rows(campaign_of(tuple(pairs), seed=seed, cycles=3))
    chance, taken = random.Random(seed), list[PlanRow]()
    schedule, plain = Schedule(rows, lanes), PlainSchedule(rows, lanes)
    for _ in range(40):
        step = chance.choice(["take", "take", "finish", "restore", "retry", "drop"])
        if step == "take" or not taken:
            row = schedule.take()
            assert row is plain.take()
            taken += [row] if row is not None else []
        elif step == "drop" and chance.random() < 0.2:
            unwanted = starts_at(chance.choice("abcde"))
            schedule.drop(unwanted)
            plain.drop(unwanted)
        else:
            row = taken.pop(chance.randrange(len(taken)))
            for either in (schedule, plain):
                if step == "restore":
                    either.restore(row)
                else:
                    either.finish(row)
                    if step == "retry":
                        either.put_back(row)
        assert schedule.running == len(taken)


def test_a_row_behind_a_dropped_one_keeps_its_place() -> None:
    paths = campaign_of(("ea", "ab", "ac", "ba"), order="given", factors={"streams": [1]})
    first, _, second, third = rows = plan_rows(paths)
    schedule = Schedule(rows, 2)
    assert schedule.take() is first
    assert schedule.take() is None  # all need a
    schedule.drop(lambda row: (row.path.source, row.path.destination) == ("a", "b"))
    schedule.finish(first)
    assert schedule.take() is second
    schedule.finish(second)
    assert schedule.take() is third


def play(rows: tuple[PlanRow, ...], lanes: int, times: dict[int, int]) -> int:
    """As the run does: whenever trials have ended, everything that can begin does."""
    now = 0
    for _, group in itertools.groupby(rows, lambda row: row.cycle):
        schedule, running = PlainSchedule(group, lanes), list[tuple[int, int, PlanRow]]()
        while True:
            while (row := schedule.take()) is not None:
                heapq.heappush(running, (now + times[row.row], row.row, row))
            if not running:
                break
            now = running[0][0]
            while running and running[0][0] == now:
                schedule.finish(heapq.heappop(running)[2])
    return now


@settings(max_examples=25)
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
