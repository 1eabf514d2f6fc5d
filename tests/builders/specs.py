"""What a trial requests, as a campaign would."""

from __future__ import annotations

from collections.abc import Mapping

from pathlab.campaign.factor import Level
from pathlab.campaign.model import ProbeSettings, TrialSettings
from pathlab.engines.spec import TrialPath, TrialSpec
from tests.builders.campaigns import make_cell

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
