"""Each campaign that ships, in its quick profile, in its lab: from start to report. A quarter of an hour."""

from pathlib import Path

import pytest

import pathlab
from pathlab.campaign.campaign_text import list_shipped
from pathlab.campaign.load import load_campaign
from pathlab.remote.engine import find_engine
from pathlab.store.usable import parse_flags
from tests.integration.running import running
from tests.patience import PATIENCE_S
from tests.require import require, require_namespaces

pytestmark = [pytest.mark.engine, pytest.mark.netns, pytest.mark.long]


@pytest.mark.parametrize("name", list_shipped())
def test_quick_profile_runs_from_start_to_report(name: str, tmp_path: Path) -> None:
    require_namespaces()
    against = ["--against", str(find_engine())] if name == "releases" else []
    with running(["run", name, "--profile", "quick", "--out", "out", *against], tmp_path) as run:
        status, screen = run.read_to_end(5 * PATIENCE_S)
    assert status == 0, screen
    with pathlab.open(tmp_path / "out") as results:
        planned, trials = results.plan(), results.trials()
        left_out = [entry.text for entry in results.journal() if entry.kind == "left-out"]
    if left_out:
        require(None, f"every technology ({left_out[0]})")
    assert sorted(trials["plan_row"]) == [row.row for row in planned]
    assert set(trials["status"]) == {"complete"}
    in_lab = load_campaign(name).lab is not None
    assert all(("lab" in parse_flags(text)) == in_lab for text in trials["flags"])
    assert "The answer" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
