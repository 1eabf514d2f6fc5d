"""What ships: settings and levels, which are those of the sources that each campaign file names."""

import pytest

from pathlab.campaign.campaign_text import list_shipped
from pathlab.campaign.load import load_campaign
from pathlab.campaign.order import plan_rows
from tests.golden.conftest import Say

#: Of longer cycles only the levels are shown.
CELLS_MAX = 50


@pytest.mark.parametrize("name", [name for name in list_shipped() if not name.startswith("round-trip")])
def test_a_shipped_campaign(say: Say, name: str) -> None:
    """But those by technology, which grow with them."""
    campaign = load_campaign(name)
    for part in ("cycles", "order", "design", "trial", "probes", "lab"):
        say(f"{part}: {getattr(campaign, part)}")
    cells = [row.cell.levels for row in plan_rows(campaign) if row.cycle == 0]
    say(f"cells: {len(cells)}")
    for factor in cells[0]:
        say(f"{factor}: {sorted({str(cell[factor]) for cell in cells})}")
    if len(cells) <= CELLS_MAX:
        varied = [factor for factor in cells[0] if len({str(cell[factor]) for cell in cells}) > 1]
        say(", ".join(varied))
        say(" ".join("×".join(str(cell[factor]) for factor in varied) for cell in cells))
