"""Which folder a run writes to."""

from __future__ import annotations

from pathlib import Path

import pytest

from pathlab.campaign.load import load_campaign
from pathlab.errors import UsageError
from pathlab.runner.campaign.folders import choose_folder
from tests.builders.stored import create_results


def test_the_newest_unfinished_run_of_the_same_campaign_goes_on(tmp_path: Path) -> None:
    campaign, other = load_campaign("quickstart"), load_campaign("quickstart", ["seed=5"])
    fresh = choose_folder(campaign, out=None, new=False, root=tmp_path)
    assert fresh.parent == tmp_path
    assert fresh.name.startswith("quickstart-")
    create_results(tmp_path / "quickstart-20260101T000000Z", campaign).close()
    create_results(tmp_path / "quickstart-20260102T000000Z", campaign).close()
    create_results(tmp_path / "quickstart-20260103T000000Z", other).close()
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
    create_results(folder, campaign).close()
    assert choose_folder(campaign, out=folder, new=False) == folder
    with pytest.raises(UsageError, match="holds another campaign or other settings"):
        choose_folder(other, out=folder, new=False)
    with pytest.raises(UsageError, match="already holds results"):
        choose_folder(campaign, out=folder, new=True)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is a file, not a folder"):
        choose_folder(campaign, out=tmp_path / "file", new=False)
