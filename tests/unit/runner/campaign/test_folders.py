"""Which folder a run writes to."""

from pathlib import Path

from pathlab.campaign.load import load_campaign
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
