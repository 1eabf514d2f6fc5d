"""Bytes, hours and slots: when a trial may start, on clocks that the tests set."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pathlab.campaign.conduct_model import Budget
from pathlab.errors import UsageError
from pathlab.runner.campaign.budget_accounting import BudgetAccount, count_sent
from pathlab.runner.campaign.cycle import CycleRunner, RunParts
from pathlab.runner.campaign.slots import Timetable
from pathlab.runner.campaign.waiting import StopRequest, Wait
from pathlab.runner.trial.clock_watch import JUMP_NS, ClockWatch
from tests.builders.campaigns import make_sample
from tests.builders.trials import make_record

HERE = datetime.timezone(datetime.timedelta(hours=2))
NOON = datetime.datetime(2026, 1, 5, 12, 0, tzinfo=HERE)
SECOND_NS = 10**9


def local_noon() -> datetime.datetime:
    return datetime.datetime(2026, 1, 5, 12, 0).astimezone()


def test_without_a_budget_every_trial_may_start() -> None:
    permission = BudgetAccount(Budget.model_validate({})).check(NOON, SECOND_NS, None)
    assert (permission.wait_until, permission.spent, permission.volume_limit_bytes) == (None, None, None)


def test_a_spent_day_waits_for_midnight_and_yesterday_does_not_count() -> None:
    now = local_noon()
    account = BudgetAccount(Budget.model_validate({"bytes_per_day": "1000B"}))
    account.count((now - datetime.timedelta(days=1)).isoformat(), 1000)
    assert account.check(now, SECOND_NS, None).volume_limit_bytes == 1000
    account.count(now.isoformat(), 900)
    permission = account.check(now, SECOND_NS, 200)
    assert permission.spent is None
    assert permission.wait_until is not None
    assert permission.wait_until.replace(tzinfo=None) == datetime.datetime(2026, 1, 6)


def test_a_trial_that_no_day_has_room_for_is_refused_rather_than_waited_for() -> None:
    account = BudgetAccount(Budget.model_validate({"bytes_per_day": "1000B"}))
    assert "bytes_per_day" in str(account.check(local_noon(), SECOND_NS, 1001).spent)


@pytest.mark.parametrize(
    ("hour", "minute", "trial_s", "waits_for"),
    [
        (23, 0, 60, None),
        (12, 0, 60, (5, 22, 0)),
        (5, 58, 60, None),
        (5, 59, 61, (5, 22, 0)),  # it would not end before the hours do
    ],
)
def test_trials_run_within_the_hours_to_their_end(
    hour: int, minute: int, trial_s: int, waits_for: tuple[int, int, int] | None
) -> None:
    account = BudgetAccount(Budget.model_validate({"hours": ["22:00-06:00"]}))
    now = datetime.datetime(2026, 1, 5, hour, minute, tzinfo=HERE)
    permission = account.check(now, trial_s * SECOND_NS, None)
    assert permission.spent is None
    if waits_for is None:
        assert permission.wait_until is None
    else:
        day, hour, minute = waits_for
        assert permission.wait_until == datetime.datetime(2026, 1, day, hour, minute, tzinfo=HERE)


def test_bytes_are_the_senders_count_or_what_arrived() -> None:
    records = [
        make_record(sent_total_bytes=10, received_total_bytes=9),
        make_record(received_total_bytes=7, status="failed"),
        make_record(status="failed"),
    ]
    assert [count_sent(record) for record in records] == [10, 7, None]


def test_what_a_trial_under_way_may_send_is_kept_back() -> None:
    account = BudgetAccount(Budget.model_validate({"bytes_per_campaign": "1000B", "bytes_per_day": "900B"}))
    account.reserve(3, 400)
    assert account.check(NOON, SECOND_NS, None).volume_limit_bytes == 500
    assert account.check(NOON, SECOND_NS, 601).spent is not None
    account.count(NOON.isoformat(), 100)
    account.release(3)
    assert account.check(NOON, SECOND_NS, None).volume_limit_bytes == 800


class NoTrials:
    """A results file without a trial."""

    folder = Path("results")

    def attempts(self) -> dict[int, int]:
        return {}


def test_an_iperf3_trial_that_ended_early_counts_as_what_it_may_have_sent() -> None:
    path = {"source": "local", "destination": "local", "capacity": "80Mbit/s"}
    trial = {"warmup": "0s", "duration": "1s", "drain": "1s"}
    factors = {"streams": 1, "engine": "iperf3"}
    budget = {"bytes_per_campaign": "50MB"}
    campaign = make_sample(paths=[path], trial=trial, factors=factors, budget=budget)
    nothing: Any = NoTrials()
    cycles = CycleRunner(RunParts(campaign, nothing, nothing), nothing)
    ended = make_record(status="failed", failed_stage="safety-limit", flags=("iperf3",))
    cycles.remember([ended, replace(ended, attempt=2)], ())
    # two trials of 10 MB in their second, and as much in the next one while it drains
    assert cycles._account.check(NOON, SECOND_NS, None).volume_limit_bytes == 10_000_000


TIMETABLE = Timetable(origin=NOON, every_ns=3600 * SECOND_NS, jitter_ns=600 * SECOND_NS, seed=7)


def test_slots_lie_a_period_apart_with_a_jitter_that_the_seed_repeats() -> None:
    assert TIMETABLE.begin(0) == NOON
    offsets = [TIMETABLE.begin(n) - NOON - n * datetime.timedelta(hours=1) for n in range(1, 50)]
    assert all(datetime.timedelta(0) <= offset < datetime.timedelta(minutes=10) for offset in offsets)
    assert len(set(offsets)) > 40
    again = Timetable(origin=NOON, every_ns=3600 * SECOND_NS, jitter_ns=600 * SECOND_NS, seed=7)
    assert again.begin(5) == TIMETABLE.begin(5)
    other = Timetable(origin=NOON, every_ns=3600 * SECOND_NS, jitter_ns=600 * SECOND_NS, seed=8)
    assert other.begin(5) != TIMETABLE.begin(5)


def test_the_next_slot_follows_the_last_one_and_missed_ones_are_named() -> None:
    assert TIMETABLE.choose(None, NOON).number == 0
    slot = TIMETABLE.choose(0, NOON + datetime.timedelta(minutes=3))
    assert (slot.number, slot.missed) == (1, ())
    slot = TIMETABLE.choose(1, NOON + datetime.timedelta(hours=4, minutes=30))
    assert (slot.number, slot.missed) == (5, (2, 3, 4))
    assert slot.begins == TIMETABLE.begin(5)


def test_a_slot_that_has_only_just_begun_is_not_missed() -> None:
    slot = TIMETABLE.choose(0, TIMETABLE.begin(1) + datetime.timedelta(minutes=5))
    assert (slot.number, slot.missed) == (1, ())


def test_years_of_missed_slots_are_found_at_once() -> None:
    slot = TIMETABLE.choose(0, NOON + datetime.timedelta(days=3650))
    assert slot.begins >= NOON + datetime.timedelta(days=3650) - datetime.timedelta(minutes=6)
    assert len(slot.missed) == slot.number - 1


class Clock:
    """A wall clock that only sleeping and the test move."""

    def __init__(self, now: datetime.datetime) -> None:
        self.now = now
        self.slept_s: list[float] = []

    def read(self) -> datetime.datetime:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        self.now += datetime.timedelta(seconds=seconds)


def test_a_wait_follows_the_wall_clock_when_it_jumps(tmp_path: Path) -> None:
    clock = Clock(NOON)

    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        if len(clock.slept_s) == 3:
            clock.now += datetime.timedelta(hours=5)

    wait = Wait(StopRequest(tmp_path), now=clock.read, sleep=sleep)
    assert wait.until(NOON + datetime.timedelta(hours=5)) is True
    assert len(clock.slept_s) == 3


def test_a_stop_request_ends_a_wait(tmp_path: Path) -> None:
    clock, stop = Clock(NOON), StopRequest(tmp_path)

    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        if len(clock.slept_s) == 2:
            stop.make()

    assert Wait(stop, now=clock.read, sleep=sleep).until(NOON + datetime.timedelta(days=1)) is False
    assert len(clock.slept_s) == 2
    stop.clear()
    assert not stop.is_made()


def test_a_stop_that_cannot_be_written_is_a_clear_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        StopRequest(tmp_path / "none").make()


def test_only_a_jump_of_the_wall_clock_is_one() -> None:
    times = {"monotonic": 0, "real": 10**18}
    watch = ClockWatch(lambda: times["monotonic"], lambda: times["real"])
    times["monotonic"] += 100 * SECOND_NS
    times["real"] += 100 * SECOND_NS + JUMP_NS // 2  # slewed
    assert watch.read_jump_ns() == 0
    times["real"] -= 3600 * SECOND_NS
    assert watch.read_jump_ns() == -3600 * SECOND_NS
    assert watch.read_jump_ns() == 0
