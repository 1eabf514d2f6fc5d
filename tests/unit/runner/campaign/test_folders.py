"""Which folder a run writes to."""

from __future__ import annotations

from pathlib import Path

import pytest

from pathlab.campaign.load import load_campaign
from pathlab.campaign.model import Campaign
from pathlab.errors import UsageError
from pathlab.runner.campaign.folders import choose_folder
from pathlab.runner.campaign.run import plan_records
from pathlab.store.records import CampaignRecord
from pathlab.store.results import Results


def make_results(campaign: Campaign, folder: Path) -> None:
    record = CampaignRecord(
        name=campaign.name,
        title=campaign.title,
        digest=campaign.digest,
        text="",
        model=campaign.to_stored(),
        seed=campaign.seed,
        created_utc="2026-01-01T00:00:00+00:00",
        program_version="0.1.0",
        environment={},
    )
    Results.create(folder, record, plan_records(campaign)).close()


def test_the_newest_unfinished_run_of_the_same_campaign_goes_on(tmp_path: Path) -> None:
    campaign, other = load_campaign("quickstart"), load_campaign("quickstart", ["seed=5"])
    fresh = choose_folder(campaign, out=None, new=False, root=tmp_path)
    assert fresh.parent == tmp_path
    assert fresh.name.startswith("quickstart-")
    make_results(campaign, tmp_path / "quickstart-20260101T000000Z")
    make_results(campaign, tmp_path / "quickstart-20260102T000000Z")
    make_results(other, tmp_path / "quickstart-20260103T000000Z")
    (tmp_path / "quickstart-20260104T000000Z").mkdir()
    (tmp_path / "quickstart-20260105T000000Z").mkdir()
    (tmp_path / "quickstart-20260105T000000Z" / "results.db").write_text("no database")
    chosen = choose_folder(campaign, out=None, new=False, root=tmp_path)
    assert chosen == tmp_path / "quickstart-20260102T000000Z"
    assert choose_folder(campaign, out=None, new=True, root=tmp_path) not in set(tmp_path.iterdir())


def test_a_named_folder_is_continued_only_by_its_own_campaign(tmp_path: Path) -> None:
    campaign, other = load_campaign("quickstart"), load_campaign("quickstart", ["seed=5"])
    folder = tmp_path / "mine"
    assert choose_folder(campaign, out=folder, new=False) == folder
    make_results(campaign, folder)
    assert choose_folder(campaign, out=folder, new=False) == folder
    with pytest.raises(UsageError, match="holds another campaign or other settings"):
        choose_folder(other, out=folder, new=False)
    with pytest.raises(UsageError, match="already holds results"):
        choose_folder(campaign, out=folder, new=True)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is a file, not a folder"):
        choose_folder(campaign, out=tmp_path / "file", new=False)
