"""A results folder is continued only with the plan that it was begun with."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from pathlab.campaign.model import Campaign
from pathlab.errors import UsageError
from pathlab.runner.campaign.resumption import refuse_other_plan
from pathlab.runner.campaign.run import plan_records
from pathlab.store.records import PlanRecord
from pathlab.store.results import Results
from tests.builders.campaigns import make_sample
from tests.builders.stored import CAMPAIGN

DATA: dict[str, Any] = {"cycles": 2, "factors": {"streams": [1, 2, 4], "window": ["64KiB", "auto"]}}


def store(folder: Path, campaign: Campaign, plan: list[PlanRecord], **changes: Any) -> Results:
    record = dataclasses.replace(CAMPAIGN, name="small", digest=campaign.digest, seed=campaign.seed)
    return Results.create(folder, dataclasses.replace(record, **changes), plan)


def test_the_same_plan_is_continued(tmp_path: Path) -> None:
    campaign = make_sample(**DATA)
    with store(tmp_path, campaign, plan_records(campaign)):
        pass
    with Results.open(tmp_path) as results:
        refuse_other_plan(results, campaign, plan_records(make_sample(**DATA)))


def test_another_campaign_is_named(tmp_path: Path) -> None:
    campaign, other = (make_sample(**DATA | {"cycles": cycles}) for cycles in (2, 3))
    with (
        store(tmp_path, campaign, plan_records(campaign)) as results,
        pytest.raises(UsageError, match=r"holds another campaign or other settings \('small'\)"),
    ):
        refuse_other_plan(results, other, plan_records(other))


@pytest.mark.parametrize("change", ["seed", "swapped", "level", "cycle", "shorter", "longer"])
def test_the_first_difference_of_the_plan_is_named(tmp_path: Path, change: str) -> None:
    """As a file would be whose plan another version made, or that somebody has changed."""
    campaign = make_sample(**DATA)
    plan = plan_records(campaign)
    first, second = plan[:2]
    other = dataclasses.replace(first, settings=first.settings | {"streams": 99})
    swapped = [dataclasses.replace(second, row=0), dataclasses.replace(first, row=1)]
    beyond = dataclasses.replace(first, row=len(plan))
    stored, text = {
        "seed": (plan, "its seed is 4, not 1"),
        "swapped": ([*swapped, *plan[2:]], "row 0 is 0 of cycle 0, local to local, {"),
        "level": ([other, *plan[1:]], '"streams": 99'),
        "cycle": ([dataclasses.replace(first, cycle=7), *plan[1:]], "row 0 is 0 of cycle 7"),
        "shorter": (plan[:-1], f"it has {len(plan) - 1} rows, not {len(plan)}"),
        "longer": ([*plan, beyond], f"it has {len(plan) + 1} rows, not {len(plan)}"),
    }[change]
    changes = {"seed": 4} if change == "seed" else {}
    with store(tmp_path, campaign, stored, **changes) as results, pytest.raises(UsageError) as caught:
        refuse_other_plan(results, campaign, plan)
    assert f"the plan stored in {tmp_path} differs from this program's plan: " in str(caught.value)
    assert text in str(caught.value)
    assert caught.value.hint == "start a new run with --new, or continue this one with PathLab 0.1.0"
