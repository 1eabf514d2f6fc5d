"""Campaign files and stored models of earlier versions: an unfinished run of theirs can be continued.

``tests/data/campaigns-format-1`` was written once by the first version of the format, before any key was
added to it, and is never made again: digest, stored form and order of each file are what a results folder of
that version holds.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pathlab.campaign.load import load_campaign
from pathlab.campaign.model import Campaign
from pathlab.campaign.order import plan_rows

FOLDER = Path(__file__).parents[2] / "data" / "campaigns-format-1"
FILES = sorted(FOLDER.glob("*.toml"))


def read_golden(file: Path) -> dict[str, Any]:
    golden: dict[str, Any] = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    return golden


def test_there_are_samples() -> None:
    assert [file.stem for file in FILES] == ["given-order", "loopback", "quickstart"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_of_the_first_version_keeps_its_digest(file: Path) -> None:
    campaign, golden = load_campaign(file), read_golden(file)
    assert campaign.to_stored() == golden["stored"]
    assert campaign.digest == golden["digest"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_of_the_first_version_keeps_its_order(file: Path) -> None:
    rows = [
        [row.row, row.cycle, row.path_source, row.path_destination, dict(row.settings)]
        for row in plan_rows(load_campaign(file))
    ]
    assert rows == read_golden(file)["rows"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_stored_model_of_the_first_version_reads_back(file: Path) -> None:
    golden = read_golden(file)
    campaign = Campaign.from_stored(golden["stored"])
    assert campaign == load_campaign(file)
    assert campaign.digest == golden["digest"]


def test_the_shipped_quickstart_is_still_the_first_one() -> None:
    """Profiles and comments of the file may change: they are not what is measured."""
    assert load_campaign("quickstart").digest == read_golden(FOLDER / "quickstart.toml")["digest"]


def test_whatever_is_used_of_the_new_changes_the_digest() -> None:
    plain = load_campaign("quickstart").digest
    changes = (
        ["factors.streams=[1]"],
        ["where=streams <= 4"],
        ["design=fraction", "fraction=50%"],
        ["block=cycle+hour"],
        ["paths.0.rtt=40ms"],
    )
    assert len({plain, *(load_campaign("quickstart", change).digest for change in changes)}) == 6
    assert load_campaign("quickstart", profile="quick").digest != plain
