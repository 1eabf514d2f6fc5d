"""What changes a campaign before it is used: profiles, paths, single keys."""

import contextlib
import re
from typing import Any

import pytest

from pathlab.campaign.campaign_text import CampaignText
from pathlab.campaign.factors import FACTORS_BY_KEY
from pathlab.campaign.load import load_campaign
from pathlab.campaign.model import Campaign
from pathlab.campaign.order import plan_rows
from pathlab.errors import CampaignError
from tests.builders.campaigns import list_mistakes, make_sample

TEXT = """
format = 1
name = "small"
title = "Small"
seed = 1
cycles = 9
[[paths]]
source = "a"
destination = "b"
[factors]
streams = [1, 2, 4]
window = "64KiB"
[trial]
warmup = "2s"
duration = "20s"
[lab]
topology = "lan"
[profiles.quick]
cycles = 1
factors = { streams = 1 }
[profiles.quick.trial]
duration = "1s"
[profiles.full]
cycles = 90
"""
GIVEN = CampaignText(label="f.toml", text=TEXT)


def mistakes_of(text: str, *overrides: str, **choices: Any) -> tuple[str, ...]:
    with pytest.raises(CampaignError) as caught:
        load_campaign(CampaignText(label="f.toml", text=text), overrides, **choices)
    return caught.value.mistakes


def test_profiles_are_not_part_of_what_is_measured() -> None:
    without = TEXT[: TEXT.index("[profiles.quick]")]
    assert load_campaign(GIVEN).digest == load_campaign(CampaignText(label="g", text=without)).digest


@pytest.mark.parametrize(
    "junk", ["profiles = 1", "profiles = []", "[profiles]\nquick = 1", '[profiles."a b"]']
)
def test_junk_for_profiles_is_a_mistake(junk: str) -> None:
    text = TEXT[: TEXT.index("[profiles.quick]")]
    both = junk + text if junk.startswith("profiles") else text + junk
    assert re.match(r"f\.toml:\d+: profiles", mistakes_of(both)[0])


def test_other_paths_take_the_place_of_the_files() -> None:
    campaign = load_campaign(GIVEN, paths=["b:a", "a:b"])
    assert [(path.source, path.destination) for path in campaign.paths] == [("b", "a"), ("a", "b")]
    assert campaign.lab is not None
    assert load_campaign(GIVEN, paths=["b:a,a:b"]) == campaign


def test_single_keys_reach_the_new_tables_and_are_named_when_wrong() -> None:
    campaign = load_campaign(
        "fixed-product", ["where=streams * window == 1MiB", "factors.streams=1..8 step x2"]
    )
    assert campaign.where == ("streams * window == 1MiB",)
    assert campaign.factors.levels("streams") == (1, 2, 4, 8)
    with pytest.raises(CampaignError) as caught:
        load_campaign("fixed-product", ["where=streams *", "factors.streams=8..1", "design=some"])
    assert sorted(mistake.partition("': ")[0] for mistake in caught.value.mistakes) == [
        "--set 'design=some",
        "--set 'factors.streams=8..1",
        "--set 'where=streams *",
    ]


JUNK: tuple[object, ...] = ("x", [], [1], [[]], {"a": 1}, {"a": {}}, True, 1.5, -1, "1..2", "auto", ["1..2"])


#: Every table and key of a campaign file.
KEYS = sorted(str(field.alias or name) for name, field in Campaign.model_fields.items())


@pytest.mark.parametrize("key", KEYS)
def test_junk_never_crashes(key: str) -> None:
    """Some of it is none: an empty list of constraints, a cycle more."""
    for junk in JUNK:
        with contextlib.suppress(CampaignError):
            plan_rows(make_sample(**{key: junk}))
    assert any(mistake.startswith(key) for mistake in list_mistakes(**{key: {"a": 1}}))


@pytest.mark.parametrize("key", list(FACTORS_BY_KEY))
def test_junk_in_factors_never_crashes(key: str) -> None:
    for junk in JUNK:
        factors = {"streams": 1, key: junk}
        for changes in (
            {"factors": factors, "where": f"{key} == 1"},
            {"factors": {}, "design": "explicit", "rows": [factors, junk]},
            {"factors": factors, "control": {"every": 2, key: junk}, "design": "lhs", "points": 2},
        ):
            with contextlib.suppress(CampaignError):
                plan_rows(make_sample(**changes))
    mistakes = list_mistakes(factors={"streams": 1, key: {"a": 1}})
    assert any(mistake.startswith(f"factors.{key}") for mistake in mistakes)
