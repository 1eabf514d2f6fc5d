"""A small valid campaign, the mistakes that a changed one has, and what one of its trials requests."""

from collections.abc import Mapping
from typing import Any

import pytest

from pathlab.campaign.cell import PlannedCell, build_cell
from pathlab.campaign.factor import Level
from pathlab.campaign.load import build_campaign
from pathlab.campaign.model import Campaign, ProbeSettings, TrialSettings
from pathlab.engines.spec import TrialPath, TrialSpec
from pathlab.errors import CampaignError


def make_tables(**changes: Any) -> dict[str, Any]:
    """The tables of a campaign as a TOML reader gives them; ``factors`` are as given, or one stream."""
    data: dict[str, Any] = {
        "format": 1,
        "name": "small",
        "title": "Small",
        "seed": 1,
        "paths": [{"source": "local", "destination": "local"}],
        "factors": {"streams": 1},
    }
    return data | changes


def make_sample(**changes: Any) -> Campaign:
    return build_campaign(make_tables(**changes), label="f.toml")


def list_mistakes(**changes: Any) -> tuple[str, ...]:
    """The mistakes without the name of the file."""
    with pytest.raises(CampaignError) as caught:
        make_sample(**changes)
    return tuple(mistake.removeprefix("f.toml:") for mistake in caught.value.mistakes)


def make_cell(**levels: Level) -> PlannedCell:
    """The cell with these levels, by attribute; one stream and the times of `[trial]` unless given."""
    always: dict[str, Level] = {"streams": 1, "window_bytes": None, "congestion": None}
    return build_cell({**always, **levels}, TrialSettings.model_validate({}))


PATH = TrialPath(source="a", destination="b", source_address="192.0.2.1", destination_address="192.0.2.2")


def make_spec(trial: Mapping[str, object], /, **levels: Level) -> TrialSpec:
    """``trial`` is that table of a campaign file, ``levels`` are those of the cell by attribute."""
    return TrialSpec(
        row=0,
        cycle=0,
        path=PATH,
        cell=make_cell(**levels),
        trial=TrialSettings.model_validate(trial),
        probes=ProbeSettings.model_validate({"unloaded": 0}),
    )
