"""Which levels of bonding a lab or a path can have, and what is said of the others."""

from __future__ import annotations

from typing import Any

import pytest

from pathlab.campaign.bond_checks import changes_hosts, count_links
from pathlab.campaign.order import plan_rows
from tests.builders.campaigns import list_mistakes, make_sample

ONE = {"hosts": ["a", "b"], "links": [{"between": ["a", "b"]}]}
TWO = {"hosts": ["a", "b"], "links": [{"between": ["a", "b"]}, {"between": ["a", "b"]}]}
UNLIKE = {
    "hosts": ["a", "b"],
    "links": [{"between": ["a", "b"], "rate": "50Mbit/s"}, {"between": ["a", "b"], "rate": "20Mbit/s"}],
}
PATH = {"paths": [{"source": "a", "destination": "b"}]}
REAL: dict[str, Any] = {"paths": [{"source": "local", "destination": "local"}]}


def in_lab(lab: dict[str, Any], **factors: Any) -> dict[str, Any]:
    return {**PATH, "lab": lab, "factors": {"streams": 1, **factors}}


def test_levels_that_a_lab_of_two_links_has_are_planned() -> None:
    levels = [
        "emulated",
        "link-1",
        "link-2",
        "round-robin",
        "round-robin-packets",
        "ecmp-l3",
        "ecmp-l4",
        "balance-rr",
    ]
    campaign = make_sample(**in_lab(TWO, bond=[*levels, "none"], tcp_reordering=[3, 127, "default"]))
    rows = plan_rows(campaign)
    assert {row.cell.bond for row in rows} == {*levels, "none"}
    assert {row.cell.tcp_reordering for row in rows} == {3, 127, None}
    assert count_links(campaign, campaign.paths[0]) == 2
    assert [changes_hosts(row.cell) for row in rows] == [
        row.cell.bond != "none" or row.cell.tcp_reordering is not None for row in rows
    ]


def test_mptcp_is_planned_where_a_constraint_leaves_other_transports_out() -> None:
    where = "(bond == 'mptcp' and transport == 'mptcp') or (bond != 'mptcp' and transport == 'tcp')"
    tables = in_lab(TWO, bond=["link-1", "mptcp"], transport=["tcp", "mptcp"])
    cells = [row.cell for row in plan_rows(make_sample(**tables, where=where))]
    assert sorted((cell.bond, cell.transport) for cell in cells) == [("link-1", "tcp"), ("mptcp", "mptcp")]
    assert count_links(make_sample(), make_sample().paths[0]) is None


@pytest.mark.parametrize(
    ("tables", "key", "what"),
    [
        (in_lab(ONE, bond="round-robin"), "factors.bond", "one link joins 'a' and 'b' (paths[0])"),
        (in_lab(ONE, bond="link-2"), "factors.bond", "expected at least 2 links between them"),
        (in_lab(TWO, bond="link-3"), "factors.bond", "bond 'link-3': 2 links join"),
        (in_lab(TWO, bond="mptcp"), "factors.bond", "bond 'mptcp' with transport 'tcp' uses one link"),
        (in_lab(UNLIKE, bond="emulated"), "factors.bond", "makes lines of the links"),
        (in_lab({**TWO, "backend": "netem"}, bond="emulated"), "factors.bond", "needs the emulator"),
        (in_lab(TWO, bond="existing"), "factors.bond", "reads a bond of real hosts"),
        (in_lab(TWO, mptcp_subflows=2), "factors.mptcp_subflows", "no effect on transport 'tcp'"),
        (in_lab(TWO, mptcp_scheduler="x"), "factors.mptcp_scheduler", "no effect on transport 'tcp'"),
        ({**REAL, "factors": {"streams": 1, "bond": "round-robin"}}, "factors.bond", "are not in the lab"),
        ({**REAL, "factors": {"streams": 1, "bond": "link-1"}}, "factors.bond", "changes hosts"),
        ({**REAL, "factors": {"streams": 1, "tcp_reordering": 9}}, "factors.tcp_reordering", "changes hosts"),
        (in_lab({**TWO, "ipv6": True}, bond="link-1", family="ipv6"), "factors.bond", "is of IPv4"),
        (in_lab({**TWO, "backend": "tun"}, bond="802.3ad"), "factors.bond", "needs links of Ethernet"),
        (in_lab(TWO, bond="roundrobin"), "factors.bond", "roundrobin"),
        (in_lab(TWO, tcp_reordering=2), "factors.tcp_reordering", "2"),
        ({**in_lab(TWO, bond="ecmp-l4"), "concurrency": 2}, "concurrency", "would change another one"),
    ],
)
def test_what_cannot_be_is_named_with_what_is_expected(tables: dict[str, Any], key: str, what: str) -> None:
    mistakes = list_mistakes(**tables)
    assert len(mistakes) == 1
    assert key in mistakes[0]
    assert what in mistakes[0]
    assert "expected" in mistakes[0]


def test_an_existing_bond_of_real_hosts_is_planned() -> None:
    campaign = make_sample(**REAL, factors={"streams": 1, "bond": ["none", "existing"]})
    assert not any(changes_hosts(row.cell) for row in plan_rows(campaign))
