"""A bond that hosts have is read before and after a trial: which one, what changed, and what is missing."""

from __future__ import annotations

from typing import Any

import pytest

from pathlab.campaign.order import plan_rows
from pathlab.engines.spec import TrialPath
from pathlab.errors import HostError
from pathlab.runner.hosts.bond_setup import RowBond
from tests.builders.campaigns import make_sample

PATH = TrialPath(
    source="local", destination="far", source_address="192.0.2.1", destination_address="192.0.2.2"
)


def make_bond(**changes: Any) -> dict[str, Any]:
    member = {"state": "up", "speed_bits_per_s": 10**9, "failures": 0}
    members = {"eth0": member, "eth1": member}
    bond = {"mode": "802.3ad", "hash_policy": "layer3+4", "address": "192.0.2.1", "members": members}
    return {"bond0": bond | changes}


class Hosts:
    """An environment without a lab, whose hosts answer each reading of bonds with the next one given."""

    lab = None

    def __init__(self, *readings: dict[str, Any] | None) -> None:
        self.facts: dict[str, Any] = {"lab": None, "fallback": None}
        self._readings = list(readings)

    def session(self, _host: str) -> Hosts:
        return self

    def read_facts(self, probe: str) -> dict[str, Any]:
        if probe == "nics":
            return {"nics": {"eth0": {"offloads": {"gro": True}}, "eth1": {"offloads": None}}}
        return {"bonds": self._readings.pop(0)}


def make_row_bond(hosts: Hosts, **factors: Any) -> RowBond:
    campaign = make_sample(factors={"streams": 1, **factors})
    environment: Any = hosts
    return RowBond(campaign, environment, plan_rows(campaign)[0])


def test_an_existing_bond_is_read_and_its_members_are_known() -> None:
    bond = make_row_bond(Hosts(make_bond(), {}, make_bond()), bond="existing")
    assert bond.set_up(PATH) == PATH  # nothing is changed
    bond.read_again()
    assert not bond.reading.changed
    assert [(member.interface, member.gro, member.rate_bits_per_s) for member in bond.reading.members] == [
        ("eth0", True, 10**9),
        ("eth1", None, 10**9),
    ]
    assert bond.reading.stated["bond"] == {"local": "bond0: 802.3ad layer3+4, eth0, eth1"}
    assert not bond.uses_other_links
    bond.undo()


@pytest.mark.parametrize("after", [make_bond(mode="balance-rr"), {}, None])
def test_a_bond_that_changed_during_the_trial_is_marked(after: dict[str, Any] | None) -> None:
    bond = make_row_bond(Hosts(make_bond(), {}, after), bond="existing")
    bond.set_up(PATH)
    bond.read_again()
    assert bond.reading.changed


def test_hosts_without_a_bond_are_refused() -> None:
    with pytest.raises(HostError) as caught:
        make_row_bond(Hosts({}, None), bond="existing").set_up(PATH)
    assert caught.value.stage == "network"
    assert "/proc/net/bonding" in str(caught.value.hint)


def test_a_host_without_a_bond_is_measured_as_it_is_by_other_levels() -> None:
    bond = make_row_bond(Hosts({}, {}), bond="none")
    assert bond.set_up(PATH) == PATH
    assert bond.reading.members == ()


def test_campaigns_without_these_factors_ask_no_host() -> None:
    bond = make_row_bond(Hosts())
    assert bond.set_up(PATH) == PATH
    assert bond.reading is None
    bond.read_again()
    bond.undo()
