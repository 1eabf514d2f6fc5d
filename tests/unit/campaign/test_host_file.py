"""Tables of hosts: their keys, the file that campaigns share, and what of them counts for a campaign."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pathlab.campaign.host_file import read_host_file
from pathlab.campaign.host_model import Host
from pathlab.campaign.load import load_campaign
from pathlab.errors import CampaignError

CAMPAIGN = """
format = 1
name = "shared"
title = "Shared"
seed = 1
[[paths]]
source = "alpha"
destination = "beta"
[factors]
streams = [1]
"""
HOSTS = """
[hosts.alpha]
address = "192.0.2.1"
user = "me"
key = "~/.ssh/special"
jump = "gate"
[hosts.beta]
address = "192.0.2.2"
port_range = "5201-5300"
[hosts.gate]
address = "192.0.2.3"
[hosts.unused]
address = "192.0.2.4"
"""


def write(tmp_path: Path, hosts: str = HOSTS, campaign: str = CAMPAIGN) -> Path:
    (tmp_path / "hosts.toml").write_text(hosts)
    (tmp_path / "campaign.toml").write_text(campaign)
    return tmp_path / "campaign.toml"


def test_the_file_beside_the_campaign_gives_the_hosts_that_are_named(tmp_path: Path) -> None:
    campaign = load_campaign(write(tmp_path))
    assert sorted(campaign.hosts) == ["alpha", "beta", "gate"]
    assert campaign.hosts["alpha"].user == "me"
    assert campaign.hosts["beta"].port_range == "5201-5300"


def test_a_host_in_the_campaign_wins_and_another_file_may_be_named(tmp_path: Path) -> None:
    inline = CAMPAIGN + '[hosts.alpha]\naddress = "192.0.2.9"\n'
    path = write(tmp_path, campaign=inline)
    assert load_campaign(path).hosts["alpha"].address == "192.0.2.9"
    other = tmp_path / "other.toml"
    other.write_text(HOSTS.replace("192.0.2.2", "192.0.2.22"))
    assert load_campaign(path, hosts=other).hosts["beta"].address == "192.0.2.22"


def test_how_one_gets_in_is_not_kept_and_does_not_make_another_campaign(tmp_path: Path) -> None:
    first = load_campaign(write(tmp_path))
    stored = first.to_stored()
    assert "special" not in str(stored)
    moved = HOSTS.replace('"me"', '"you"').replace("special", "other")
    assert load_campaign(write(tmp_path, hosts=moved)).digest == first.digest
    elsewhere = HOSTS.replace("192.0.2.2", "192.0.2.8")
    assert load_campaign(write(tmp_path, hosts=elsewhere)).digest != first.digest


@pytest.mark.parametrize("text", ["[hosts", "x = 1"])
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "hosts.toml").write_text(text)
    with pytest.raises(CampaignError, match=r"hosts\.toml"):
        read_host_file(tmp_path / "hosts.toml")


@pytest.mark.parametrize("table", [{}, {"transport": "local", "user": "me"}, {"transport": "telnet"}])
def test_a_host_is_reached_somehow_and_one_way_only(table: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Host.model_validate(table)


LAB = """
[lab]
hosts = ["alpha", "beta"]
links = [{ between = ["alpha", "beta"], rate = "20Mbit/s", delay = "1ms", queue = "60kB" }]
"""
READY = '[lab]\ntopology = "wan-40ms"\n'
READY_CAMPAIGN = CAMPAIGN.replace('"alpha"', '"a"').replace('"beta"', '"b"') + READY


@pytest.mark.parametrize("campaign", [CAMPAIGN + LAB, READY_CAMPAIGN])
@pytest.mark.parametrize("hosts", [HOSTS, HOSTS.replace("alpha", "a"), "[hosts", "x = 1"])
def test_a_campaign_of_a_lab_does_not_read_the_file_beside_it(
    tmp_path: Path, campaign: str, hosts: str
) -> None:
    assert load_campaign(write(tmp_path, hosts=hosts, campaign=campaign)).hosts == {}
    quick = "[profiles.quick.factors]\nstreams = [2]\n"
    path = write(tmp_path, hosts=hosts, campaign=campaign + quick)
    assert load_campaign(path, profile="quick").hosts == {}


def test_a_host_of_the_lab_is_not_that_of_a_file_that_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, campaign=CAMPAIGN + LAB)
    assert load_campaign(path, hosts=tmp_path / "hosts.toml").hosts == {}
    mixed = load_campaign(path, hosts=tmp_path / "hosts.toml", paths=["alpha:beta", "local:unused"])
    assert list(mixed.hosts) == ["unused"]


@pytest.mark.parametrize(
    ("hosts", "named", "culprit"),
    [
        (HOSTS + '[hosts.local]\naddress = "192.0.2.5"\n', "hosts.toml:14: hosts.local", "this machine"),
        (HOSTS.replace("5201-5300", "high"), "hosts.toml:9: hosts.beta.port_range", "high"),
    ],
)
def test_a_mistake_in_the_shared_file_names_that_file(
    tmp_path: Path, hosts: str, named: str, culprit: str
) -> None:
    with pytest.raises(CampaignError) as caught:
        load_campaign(write(tmp_path, hosts=hosts))
    text = "; ".join([str(caught.value), *caught.value.mistakes])
    assert named in text
    assert culprit in text
    assert "campaign.toml:" not in text
