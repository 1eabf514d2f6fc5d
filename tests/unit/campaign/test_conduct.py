"""Budgets, harm, the stop rule, rest and hours of the day: how they are read, and when they cannot be met."""

import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathlab.campaign.conduct_model import format_stop_rule
from pathlab.campaign.hours import DayHours, find_closing, find_opening, is_open
from pathlab.errors import UsageError
from tests.builders.campaigns import list_mistakes, make_sample

PATH = {"source": "local", "destination": "local", "rtt": "40ms", "capacity": "80Mbit/s"}


def test_everything_is_read_into_its_unit() -> None:
    campaign = make_sample(
        budget={
            "bytes_per_campaign": "10GB",
            "bytes_per_day": "2GiB",
            "rate": "10Mbit/s",
            "hours": "22:00-6:00",
        },
        safety_limits={"loaded_rtt": "200ms", "loss": "2%"},
        cool_down={"until_idle": True, "max_wait": "30s", "pause": "500ms"},
        until="5% of the median",
        cycles_max=40,
        every="6h",
        every_jitter="10min",
        retries=3,
        concurrency=4,
        on_change="refuse",
    )
    budget = campaign.budget
    assert (budget.bytes_per_campaign, budget.bytes_per_day) == (10 * 10**9, 2 * 1024**3)
    assert (budget.rate_bits_per_s, budget.hours) == (10**7, ("22:00-06:00",))
    assert (campaign.safety_limits.loaded_rtt_ns, campaign.safety_limits.loss_ratio) == (200_000_000, 0.02)
    assert (campaign.cool_down.until_idle, campaign.cool_down.max_wait_ns) == (True, 30_000_000_000)
    assert campaign.cool_down.pause_ns == 500_000_000
    assert campaign.until_ratio == 0.05
    assert format_stop_rule(0.05) == "5% of the median"
    assert (campaign.every_ns, campaign.every_jitter_ns) == (6 * 3600 * 10**9, 600 * 10**9)


def test_without_these_tables_nothing_is_limited() -> None:
    campaign = make_sample()
    assert campaign.budget.hours == ()
    assert campaign.until_ratio is None
    assert (campaign.retries, campaign.concurrency, campaign.on_change) == (1, 1, "mark")
    assert (campaign.cycles_planned, campaign.cycles_least) == (1, 1)


@pytest.mark.parametrize(
    ("changes", "planned", "least"),
    [
        ({"cycles": 9}, 9, 9),
        ({"until": "5% of the median", "cycles_max": 40}, 40, 6),
        ({"until": "0.05 of the median", "cycles_max": 40, "cycles_min": 10}, 40, 10),
        ({"until": "5% of the median", "cycles_max": 4}, 4, 4),
        ({"until": "5% of the median", "cycles_max": 40, "cycles": 2}, 40, 6),
    ],
)
def test_cycles_of_a_stop_rule(changes: dict[str, Any], planned: int, least: int) -> None:
    campaign = make_sample(**changes)
    assert (campaign.cycles_planned, campaign.cycles_least) == (planned, least)


def test_a_stop_rule_needs_only_its_least_cycles_paid() -> None:
    """The budget may end it before ``cycles_max``: that is what a stop rule within a budget means."""
    budget = {"bytes_per_campaign": "120MB"}
    factors = {"streams": 1, "window": "64KiB"}
    make_sample(until="5% of the median", cycles_max=1000, budget=budget, paths=[PATH], factors=factors)
    list_mistakes(cycles=1000, budget=budget, paths=[PATH], factors=factors)


def test_several_mistakes_come_at_once() -> None:
    mistakes = list_mistakes(
        budget={"rate": "fast", "hours": "9-5", "bytes_per_day": -1},
        safety_limits={"loss": "200%"},
        every_jitter="1min",
        cycles_min=3,
        where="streams >",
        design="lhs",
    )
    assert sorted(mistake.split(": ")[0] for mistake in mistakes) == [
        "budget.bytes_per_day",
        "budget.hours",
        "budget.rate",
        "cycles_min",
        "every_jitter",
        "points",
        "safety_limits.loss",
        "where",
    ]


@pytest.mark.parametrize("text", ["", "22:00", "22:00-", "24:00-06:00", "22:60-06:00", "10:00-10:00", "a-b"])
def test_wrong_hours_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        DayHours.parse(text)


def at(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(f"2026-03-01T{text}")


def test_hours_over_midnight() -> None:
    night = (DayHours.parse("22:00-06:00"),)
    assert [is_open(night, at(time)) for time in ("21:59", "22:00", "23:59", "00:00", "05:59", "06:00")] == [
        False, True, True, True, True, False
    ]  # fmt: skip
    assert find_opening(night, at("06:00:30")) == at("22:00")
    assert find_opening(night, at("23:10:30")) == at("23:10:30")
    assert find_closing(night, at("23:10:30")) == at("06:00") + datetime.timedelta(days=1)
    assert find_closing((DayHours.parse("00:00-24:00"),), at("10:00")) is None
    assert is_open((), at("10:00"))


@given(start=st.integers(0, 1439), length=st.integers(1, 1439), minute=st.integers(0, 1439))
def test_the_next_opening_is_the_first_open_minute(start: int, length: int, minute: int) -> None:
    hours = (DayHours(start_minute=start, end_minute=(start + length) % 1440 or 1440),)
    moment = datetime.datetime(2026, 3, 1) + datetime.timedelta(minutes=minute)
    opening = find_opening(hours, moment)
    assert is_open(hours, opening)
    waited = round((opening - moment).total_seconds() / 60)
    assert waited == (0 if is_open(hours, moment) else (start - minute) % 1440)
