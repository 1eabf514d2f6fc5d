"""The other build of the native engine that a campaign compares this one with."""

from __future__ import annotations

from pathlib import Path

from pathlab.agents.protocol import OTHER_BUILD
from pathlab.campaign.model import Campaign
from pathlab.campaign.plan_checks import list_measured
from pathlab.errors import UsageError
from pathlab.remote.engine import OTHER_BUILD_OPTION, take_other_build


def choose_other_build(campaign: Campaign, given: Path | None) -> Path | None:
    """The build that trials with ``build = "against"`` run; None where there is no such trial.

    Raises UsageError where it is not given, or given for nothing, and as ``take_other_build``.
    """
    if any(cell.build == OTHER_BUILD for cell in list_measured(campaign)):
        if given is None:
            raise UsageError(
                f"the campaign compares with another build of the engine; {OTHER_BUILD_OPTION} names none",
                hint=f"add {OTHER_BUILD_OPTION} ENGINE, or for the noise floor alone "
                '--set \'factors.build=["this", "again"]\'',
            )
        return take_other_build(given)
    if given is not None:
        raise UsageError(
            f'{OTHER_BUILD_OPTION} has no effect: no combination has the level "{OTHER_BUILD}" of build',
            hint='add --set \'factors.build=["this", "again", "against"]\', or leave it out',
        )
    return None
