"""Which levels of bonding a lab or a path can have, and what is said of the others."""

from typing import Any

from pathlab.campaign.bond_checks import changes_hosts, count_links
from pathlab.campaign.order import plan_rows
from tests.builders.campaigns import make_sample

ONE = {"hosts": ["a", "b"], "links": [{"between": ["a", "b"]}]}
TWO = {"hosts": ["a", "b"], "links": [{"between": ["a", "b"]}, {"between": ["a", "b"]}]}
PATH = {"paths": [{"source": "a", "destination": "b"}]}
REAL: dict[str, Any] = {"paths": [{"source": "local", "destination": "local"}]}


def in_lab(lab: dict[str, Any], **factors: Any) -> dict[str, Any]:
    return {**PATH, "lab": lab, "factors": {"streams": 1, **factors}}


def test_levels_that_a_lab_of_two_links_has_are_planned() -> None:
    single = ("emulated", "link-1", "link-2")
    levels = [*single, "round-robin", "round-robin-packets", "ecmp-l3", "ecmp-l4", "balance-rr"]
    campaign = make_sample(**in_lab(TWO, bond=[*levels, "none"], tcp_reordering=[3, 127, "default"]))
    rows = plan_rows(campaign)
    assert {row.cell.bond for row in rows} == {*levels, "none"}
    assert {row.cell.tcp_reordering for row in rows} == {3, 127, None}
    assert count_links(campaign, campaign.paths[0]) == 2
    assert [changes_hosts(row.cell) for row in rows] == [
        row.cell.bond != "none" or row.cell.tcp_reordering is not None for row in rows
    ]


def test_an_existing_bond_of_real_hosts_is_planned() -> None:
    campaign = make_sample(**REAL, factors={"streams": 1, "bond": ["none", "existing"]})
    assert not any(changes_hosts(row.cell) for row in plan_rows(campaign))
