"""What the bonds of a campaign need of the machine that its lab runs on, found before the first trial."""

from __future__ import annotations

from pathlab.campaign.bond_checks import MULTIPATH
from pathlab.campaign.model import Campaign
from pathlab.campaign.multipath_factors import KERNEL_BONDS, TURNS
from pathlab.campaign.plan_checks import list_measured
from pathlab.lab.bonds import require_bonding, require_nft, require_scheduler
from pathlab.lab.lab import Lab


def require_bonds(campaign: Campaign, lab: Lab) -> None:
    """Raise HostError, one line with the way out, for the first level that this machine cannot have."""
    if MULTIPATH.isdisjoint(campaign.factors.given):
        return
    cells = [*list_measured(campaign)]
    if any(cell.bond in TURNS for cell in cells):
        require_nft()
    if any(cell.bond in KERNEL_BONDS for cell in cells):
        require_bonding(lab)
    for name in dict.fromkeys(cell.mptcp_scheduler for cell in cells):
        if name is not None:
            require_scheduler(lab, name)
