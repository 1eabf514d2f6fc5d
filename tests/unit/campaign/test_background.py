"""The table ``[background]`` and the factor ``background``: what they say, and what contradicts them."""

from typing import Any

import pytest

from pathlab.campaign.background_checks import list_backgrounds, list_network_hosts
from pathlab.campaign.load import load_campaign
from pathlab.campaign.order import plan_rows
from pathlab.errors import CampaignError
from tests.builders.campaigns import make_sample

PAIRS = {"hosts": ["a", "b", "c", "d"], "links": [{"between": ["a", "b"]}, {"between": ["c", "d"]}]}
IN_LAB: dict[str, Any] = {"lab": PAIRS, "paths": [{"source": "a", "destination": "b"}]}


def make_tables(level: object, **background: Any) -> dict[str, Any]:
    return {**IN_LAB, "factors": {"streams": 1, "background": level}, "background": background}


def test_the_table_has_a_default_for_every_key_but_the_other_pair() -> None:
    campaign = make_sample(factors={"streams": 1, "background": ["none", "cpu", "disk"]})
    settings = campaign.background
    assert (settings.on, settings.cpu_threads, settings.nice) == ("destination", None, 19)
    assert (settings.disk_folder, settings.disk_bytes) == ("/var/tmp", 256 * 2**20)
    assert (settings.disk_write_bytes, settings.least_share_ratio) == (2**20, 0.2)
    assert [row.cell.background for row in plan_rows(make_sample())] == ["none"]
    assert list_backgrounds(campaign) == ["cpu", "disk"]
    assert list_network_hosts(campaign) == ()


def test_the_pair_of_a_network_load_takes_part_where_a_combination_has_one() -> None:
    loaded = make_sample(**make_tables(["none", "combined"], network_path="c:d"))
    assert list_network_hosts(loaded) == ("c", "d")
    assert list_network_hosts(make_sample(**make_tables("cpu", network_path="c:d"))) == ()


def test_levels_of_rows_and_of_the_control_count() -> None:
    tables = {
        **IN_LAB,
        "factors": {"streams": 1, "background": "none"},
        "background": {"network_path": "c:d"},
    }
    campaign = make_sample(**tables, control={"background": "network", "every": 2})
    assert list_backgrounds(campaign) == ["network"]


def test_other_paths_leave_the_pair_of_the_lab_out() -> None:
    with pytest.raises(CampaignError) as caught:
        load_campaign("round-trip-loaded", paths=["local:local"])
    assert len(caught.value.mistakes) == 1
    levels = ['factors.background=["none", "cpu", "disk"]']
    assert load_campaign("round-trip-loaded", levels, paths=["local:local"]).lab is None
