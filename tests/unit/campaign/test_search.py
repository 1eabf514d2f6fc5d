"""The table ``[search]``: what it says, and what contradicts it."""

from typing import Any

from pathlab.campaign.budget import Estimator, estimate_campaign
from pathlab.campaign.order import plan_rows
from pathlab.errors import CampaignError
from tests.builders.campaigns import make_sample
from tests.builders.searches import make_search_campaign

SEARCH: dict[str, Any] = {"loss": "0.1%", "lowest": "50Mbit/s", "highest": "1Gbit/s"}


def list_search_mistakes(**changes: Any) -> list[str]:
    """The mistakes that concern a search."""
    factors = {"streams": 1, "transport": "udp", **changes.pop("factors", {})}
    search = {**SEARCH, **changes.pop("search", {})}
    try:
        make_sample(factors=factors, search=search, **changes)
    except CampaignError as error:
        mistakes = [mistake.removeprefix("f.toml:") for mistake in error.mistakes]
        return [mistake for mistake in mistakes if "search" in mistake or "loss" in mistake]
    return []


def test_small_datagrams_confirm_at_a_lower_rate() -> None:
    campaign: dict[str, Any] = {"search": {"lowest": "10Mbit/s"}, "trial": {"duration": "2s"}}
    assert list_search_mistakes(**campaign)
    assert list_search_mistakes(**campaign, factors={"duration": ["2s", "60s"]})
    assert not list_search_mistakes(**campaign, factors={"duration": "60s"})


def test_the_plan_has_the_first_trial_of_each_search_and_its_estimate_all_of_them() -> None:
    campaign = make_search_campaign(cycles=3)
    rows = plan_rows(campaign)
    assert [row.cell.pacing_bits_per_s for row in rows] == [10**7] * 6
    assert all(row.settings["pacing_bits_per_s"] == 10**7 for row in rows)
    rule, estimate = campaign.search.rule, estimate_campaign(campaign)
    assert (estimate.trials, estimate.trials_max) == (6 * rule.trials_expected, 6 * rule.trials_bound)
    one = Estimator(campaign).trial(rows[0])
    assert estimate.time_ns == 6 * rule.trials_expected * one.time_ns
    # Eleven seconds of traffic at the highest rate: a sender of datagrams waits for nothing.
    assert estimate.bytes_max == 6 * rule.trials_bound * 11 * 10**8 // 8
