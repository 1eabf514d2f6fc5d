"""Bytes, hours and slots: when a trial may start, on clocks that the tests set."""

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


def start_account(**budget: Any) -> BudgetAccount:
    return BudgetAccount(Budget.model_validate(budget))


def test_a_spent_day_waits_for_midnight_and_yesterday_does_not_count() -> None:
    now = datetime.datetime(2026, 1, 5, 12, 0).astimezone()
    account = start_account(bytes_per_day="1000B")
    account.count((now - datetime.timedelta(days=1)).isoformat(), 1000)
    assert account.check(now, SECOND_NS, None).volume_limit_bytes == 1000
    account.count(now.isoformat(), 900)
    permission = account.check(now, SECOND_NS, 200)
    assert permission.spent is None
    assert permission.wait_until.replace(tzinfo=None) == datetime.datetime(2026, 1, 6)
    # No day has room for it: there is nothing to wait for.
    assert account.check(now, SECOND_NS, 1001).spent is not None


@pytest.mark.parametrize(
    ("hour", "minute", "trial_s", "waits"),
    [
        (23, 0, 60, False),
        (12, 0, 60, True),
        (5, 58, 60, False),
        (5, 59, 61, True),  # it would not end before the hours do
    ],
)
def test_trials_run_within_the_hours_to_their_end(hour: int, minute: int, trial_s: int, waits: bool) -> None:
    now = NOON.replace(hour=hour, minute=minute)
    permission = start_account(hours=["22:00-06:00"]).check(now, trial_s * SECOND_NS, None)
    assert permission.spent is None
    assert permission.wait_until == (NOON.replace(hour=22) if waits else None)


def test_bytes_are_the_senders_count_or_what_arrived() -> None:
    records = [
        make_record(sent_total_bytes=10, received_total_bytes=9),
        make_record(received_total_bytes=7, status="failed"),
        make_record(status="failed"),
    ]
    assert [count_sent(record) for record in records] == [10, 7, None]


def test_what_a_trial_under_way_may_send_is_kept_back() -> None:
    account = start_account(bytes_per_campaign="1000B", bytes_per_day="900B")
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
    campaign = make_sample(
        paths=[{"source": "local", "destination": "local", "capacity": "80Mbit/s"}],
        trial={"warmup": "0s", "duration": "1s", "drain": "1s"},
        factors={"streams": 1, "engine": "iperf3"},
        budget={"bytes_per_campaign": "50MB"},
    )
    nothing: Any = NoTrials()
    cycles = CycleRunner(RunParts(campaign, nothing, nothing), nothing)
    ended = make_record(status="failed", failed_stage="safety-limit", flags=("iperf3",))
    cycles.remember([ended, replace(ended, attempt=2)], ())
    # two trials of 10 MB in their second, and as much in the next one while it drains
    assert cycles._account.check(NOON, SECOND_NS, None).volume_limit_bytes == 10_000_000


def make_timetable(seed: int) -> Timetable:
    """Slots each hour, up to ten minutes late."""
    return Timetable(origin=NOON, every_ns=3600 * SECOND_NS, jitter_ns=600 * SECOND_NS, seed=seed)


TIMETABLE = make_timetable(7)


def test_slots_lie_a_period_apart_with_a_jitter_that_the_seed_repeats() -> None:
    assert TIMETABLE.begin(0) == NOON
    offsets = [TIMETABLE.begin(n) - NOON - n * datetime.timedelta(hours=1) for n in range(1, 50)]
    assert all(datetime.timedelta(0) <= offset < datetime.timedelta(minutes=10) for offset in offsets)
    assert len(set(offsets)) > 40
    assert make_timetable(7).begin(5) == TIMETABLE.begin(5)
    assert make_timetable(8).begin(5) != TIMETABLE.begin(5)


def test_the_next_slot_follows_the_last_one_and_missed_ones_are_named() -> None:
    def choose(last: int | None, now: datetime.datetime) -> tuple[int, tuple[int, ...]]:
        slot = TIMETABLE.choose(last, now)
        assert slot.begins == TIMETABLE.begin(slot.number)
        return slot.number, slot.missed

    assert choose(None, NOON) == (0, ())
    assert choose(0, NOON + datetime.timedelta(minutes=3)) == (1, ())
    assert choose(1, NOON + datetime.timedelta(hours=4, minutes=30)) == (5, (2, 3, 4))
    assert choose(0, TIMETABLE.begin(1) + datetime.timedelta(minutes=5)) == (1, ())  # it has only just begun


def test_years_of_missed_slots_are_found_at_once() -> None:
    slot = TIMETABLE.choose(0, NOON + datetime.timedelta(days=3650))
    assert slot.begins >= NOON + datetime.timedelta(days=3650) - datetime.timedelta(minutes=6)
    assert len(slot.missed) == slot.number - 1


def wait(stop: StopRequest, until: datetime.timedelta, jump: datetime.timedelta) -> tuple[bool, int]:
    """Wait on a clock that sleeping moves and that jumps in the third sleep; the outcome, and sleeps."""
    now, sleeps = NOON, 0

    def sleep(seconds: float) -> None:
        nonlocal now, sleeps
        sleeps += 1
        now += datetime.timedelta(seconds=seconds)
        if sleeps == 3:
            now += jump
            if not jump:
                stop.make()

    return Wait(stop, now=lambda: now, sleep=sleep).until(NOON + until), sleeps


def test_a_wait_follows_the_wall_clock_when_it_jumps_and_ends_with_a_stop_request(tmp_path: Path) -> None:
    stop, hours = StopRequest(tmp_path), datetime.timedelta(hours=5)
    assert wait(stop, hours, jump=hours) == (True, 3)
    assert wait(stop, hours, jump=datetime.timedelta(0)) == (False, 3)
    stop.clear()
    assert not stop.is_made()


def test_a_stop_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=str(tmp_path / "none")):
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
