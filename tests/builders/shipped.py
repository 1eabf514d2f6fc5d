"""A campaign that ships, as results of its run record it."""

from typing import Any

from pathlab.campaign.campaign_text import CampaignText, read_campaign
from pathlab.campaign.load import load_campaign

SHIPPED = read_campaign("quickstart").text


def describe_campaign(text: str, *overrides: str, profile: str | None = None) -> dict[str, Any]:
    """The fields of a campaign's record, run from a text with options."""
    given = CampaignText(label="quickstart.toml", text=text)
    campaign = load_campaign(given, overrides, profile=profile)
    return {"text": text, "digest": campaign.digest, "model": campaign.to_stored()}
