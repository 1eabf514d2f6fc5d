"""The line of each key of a TOML file, and mistakes that name it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pathlab.campaign.host_file import read_host_file
from pathlab.campaign.load import load_lab
from pathlab.errors import CampaignError
from tests.golden.conftest import Say
from tests.unit.campaign.test_toml_text import CAMPAIGN, mistakes_of


def test_a_mistake_of_a_campaign_names_its_line_and_the_table_that_was_meant(say: Say) -> None:
    found = mistakes_of(CAMPAIGN).mistakes
    starts = {"f.toml:5: duration", "f.toml:10: factors.streams.1", "f.toml:12: trial.duration"}
    assert {": ".join(mistake.split(": ")[:2]) for mistake in found} == starts
    (misplaced,) = (mistake for mistake in found if mistake.startswith("f.toml:5"))
    say(misplaced)


def test_mistakes_of_hosts_and_labs_name_their_lines(say: Say, tmp_path: Path) -> None:
    hosts = tmp_path / "hosts.toml"
    hosts.write_text('[hosts.a]\naddress = "a..b"\n', encoding="utf-8")
    with pytest.raises(CampaignError) as caught:
        read_host_file(hosts)
    say(caught.value)
    lab = tmp_path / "lab.toml"
    lab.write_text('[lab]\nhosts = ["a", "b"]\n[[lab.links]]\nbetween = ["a", "b"]\nrate = 3\n')
    with pytest.raises(CampaignError) as caught:
        load_lab(str(lab))
    say(caught.value)
