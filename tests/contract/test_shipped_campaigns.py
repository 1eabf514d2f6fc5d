"""Every campaign that ships can be used, and its description is current."""

from __future__ import annotations

import json
from importlib import resources

import pytest

from pathlab.campaign.budget import estimate_campaign
from pathlab.campaign.document import JSON_NAME, MARKDOWN_NAME, build_json_schema, describe_campaign_file
from pathlab.campaign.load import list_shipped, load_campaign
from pathlab.campaign.order import plan_rows

FOLDER = resources.files("pathlab.campaigns")


def test_the_quickstart_ships() -> None:
    assert "quickstart" in list_shipped()


@pytest.mark.parametrize("name", list_shipped())
def test_a_shipped_campaign_loads_under_its_own_name(name: str) -> None:
    campaign = load_campaign(name)
    assert campaign.name == name
    assert campaign.description.strip()
    assert len(plan_rows(campaign)) >= 2


def test_the_quickstart_is_what_the_readme_promises() -> None:
    campaign = load_campaign("quickstart")
    assert campaign.factors.streams == (1, 2, 4, 8)
    assert campaign.factors.window_bytes == (65_536, 262_144)
    assert campaign.cycles == 2
    assert campaign.lab is not None
    link = campaign.lab.links[0]
    assert (link.rate_bits_per_s, link.delay_ns, link.queue_bytes) == (40_000_000, 20_000_000, 250_000)
    assert campaign.lab.fallback == "loopback"
    assert estimate_campaign(campaign).time_ns < 100e9


def test_the_schema_page_is_current() -> None:
    """Make it again with: python -m pathlab.campaign.document campaigns."""
    assert (FOLDER / MARKDOWN_NAME).read_text(encoding="utf-8") == describe_campaign_file()


def test_the_json_schema_is_current() -> None:
    """Make it again with: python -m pathlab.campaign.document campaigns."""
    assert json.loads((FOLDER / JSON_NAME).read_text(encoding="utf-8")) == build_json_schema()


def test_the_json_schema_speaks_the_files_language() -> None:
    schema = build_json_schema()
    trial = schema["$defs"]["Trial"]
    assert list(trial["properties"]) == ["warmup", "duration", "interval", "drain"]
    assert trial["properties"]["interval"]["default"] == "100ms"
    assert trial["additionalProperties"] is False
    assert "null" not in json.dumps(schema)
    assert set(schema["required"]) == {"format", "name", "title", "seed", "paths", "factors"}
