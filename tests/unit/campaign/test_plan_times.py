"""The times of a plan's rows as the journal keeps them."""

import json

import pytest

from pathlab.campaign.budget import Estimator
from pathlab.campaign.order import plan_rows
from pathlab.campaign.plan_times import PlanTimes, TimeLeft
from tests.integration.conducting import campaign_of


def make_times(**extra: object) -> PlanTimes:
    campaign = campaign_of(factors={"streams": [1, 2]}, cycles=3, **extra)
    return PlanTimes.of(plan_rows(campaign), Estimator(campaign))


def test_times_come_back_from_the_journal() -> None:
    times = make_times(order="random")
    assert set(times.rows) == set(range(6))
    assert PlanTimes.from_facts(json.loads(json.dumps(times.to_facts())), 6) == times


def test_rows_of_equal_times_are_kept_together() -> None:
    assert [group[2] for group in make_times().to_facts()["groups"]] == ["0-5"]
    times = PlanTimes(rows={0: (1, 2), 1: (3, 4), 2: (1, 2), 3: (1, 2)}, at_once_ratio=0.5)
    assert times.to_facts()["groups"] == [[1, 2, "0,2-3"], [3, 4, "1"]]


def test_the_time_left_counts_trials_at_once() -> None:
    times = PlanTimes(rows={0: (10, 20), 1: (30, 40)}, at_once_ratio=0.5)
    assert times.sum_left([0, 1]) == TimeLeft(expected_ns=20, at_most_ns=30)
    assert times.sum_left([]) == TimeLeft(expected_ns=0, at_most_ns=0)
    assert times.sum_left([2]) is None


@pytest.mark.parametrize(
    "facts",
    [
        None,
        {},
        {"groups": [[1, 2, "0-99999999999999"]], "at_once_ratio": 1},  # beyond the plan
        {"groups": [[1, 2, "x"]], "at_once_ratio": 1},
        {"groups": [[1, "0"]], "at_once_ratio": 1},
        {"groups": [], "at_once_ratio": "x"},
    ],
)
def test_facts_of_a_damaged_or_older_file_are_no_times(facts: object) -> None:
    assert PlanTimes.from_facts(facts, 4) is None
