"""Levels of factors: single, lists, ranges; and what each factor takes."""

from __future__ import annotations

from typing import Any

import pytest

from pathlab.campaign.levels import expand_range
from pathlab.campaign.order import plan_rows
from pathlab.errors import UsageError
from tests.builders.campaigns import list_mistakes, make_sample
from tests.golden.conftest import Say
from tests.unit.campaign.test_levels import unit_of


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("streams", "8..1"),
        ("streams", "1..8 step 0"),
        ("streams", "1..8 step x1"),
        ("streams", "0..8 step x2"),
        ("streams", "1..x"),
        ("streams", "1..8 by 2"),
        ("streams", ".."),
        ("window", "64KiB..1MB step x1.5"),
        ("window", "1KiB..1GiB"),
        ("duration", "1..5"),
    ],
)
def test_a_wrong_range_says_why(say: Say, key: str, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        expand_range(text, unit_of(key))
    say(caught.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("transport", "sctp"),
        ("message", "3B"),
        ("message_rate", 0),
        ("batch_max_delay", 5),
        ("encoding", "json"),
        ("placement", "apart"),
        ("wait", "spin"),
        ("priority", 99),
        ("direction", "back"),
        ("dscp", 64),
        ("dscp", "XX"),
        ("pacing", "fast"),
        ("mss", 40),
        ("no_delay", "yes"),
        ("workers", 0),
        ("cpus", "all"),
        ("cpus", "0,3-1"),
        ("engine", "iperf2"),
        ("family", "ipv5"),
        ("duration", 5),
    ],
)
def test_a_wrong_level_says_what_was_expected(say: Say, key: str, value: object) -> None:
    mistakes = list_mistakes(factors={"streams": 1, key: value})
    say(mistakes[0])


@pytest.mark.parametrize(
    "factors",
    [
        {"window": "64KiB", "window_sender": "auto"},
        {"cpus": "0", "cpus_receiver": "1"},
        {"duration": ["1s", "1000ms"]},
        {"addresses": "fast"},
    ],
)
def test_contradictory_factors_are_named(say: Say, factors: dict[str, Any]) -> None:
    say(list_mistakes(factors={"streams": 1, **factors}))


@pytest.mark.parametrize(
    ("path", "family"),
    [
        ({"source_address": "127.0.0.1", "destination_address": "::1"}, "any"),
        ({"destination_address": "::1"}, ["ipv4", "ipv6"]),
        ({"addresses": {"mixed": {"source": "::1", "destination": "127.0.0.1"}}}, "any"),
    ],
)
def test_addresses_that_do_not_fit_are_named(say: Say, path: dict[str, Any], family: Any) -> None:
    paths = [{"source": "local", "destination": "local", **path}]
    say(list_mistakes(paths=paths, factors={"streams": 1, "family": family}))


def test_a_wrong_range_in_a_file_names_its_key(say: Say) -> None:
    say(list_mistakes(factors={"streams": "8..1"}))
    (beyond,) = list_mistakes(factors={"streams": "1000..5000 step 1000"})
    assert beyond.startswith("factors.streams: ")
    assert "from 1 to 4096" in beyond


def test_pairs_of_addresses_by_name(say: Say) -> None:
    pairs = {
        "near": {"source": "127.0.0.1", "destination": "127.0.0.2"},
        "six": {"source": "::1", "destination": "::1"},
    }
    paths = [{"source": "local", "destination": "local", "addresses": pairs}]
    campaign = make_sample(paths=paths, factors={"streams": 1, "addresses": ["near", "six"]}, order="given")
    ends = [row.addresses for row in plan_rows(campaign)]
    assert ends == [("127.0.0.1", "127.0.0.2"), ("::1", "::1")]
    settings = [row.settings["addresses"] for row in plan_rows(campaign)]
    assert settings == ["near", "six"]
    (mistake,) = list_mistakes(paths=paths, factors={"streams": 1, "addresses": ["near", "far"]})
    say(mistake)
