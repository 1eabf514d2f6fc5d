"""A results folder is continued only with the plan that it was begun with."""

import dataclasses
from pathlib import Path
from typing import Any

from pathlab.campaign.model import Campaign
from pathlab.runner.campaign.resumption import check_same_plan
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
        check_same_plan(results, campaign, plan_records(make_sample(**DATA)))
