"""The kernel's bonding for real, in a guest whose kernel has it: what each mode makes of two equal links."""

from __future__ import annotations

from typing import Any

import pytest

from pathlab.agents.probes.bonds import parse_bond
from pathlab.campaign.multipath_factors import KERNEL_BONDS
from tests.guest.netem_task import MODES, RATE_BITS_PER_S

pytestmark = [pytest.mark.engine]

LINE_BITS_PER_S = RATE_BITS_PER_S * 1448 / 1500


def test_the_guest_has_the_modes_of_campaigns() -> None:
    assert KERNEL_BONDS == MODES


@pytest.mark.parametrize("level", MODES)
def test_the_kernel_states_the_mode_that_was_requested(netem: dict[str, Any], level: str) -> None:
    bond = parse_bond(netem["bonded"][level]["text"])
    mode, policy = MODES[level]
    assert bond["mode"] == mode
    assert policy is None or bond["hash_policy"] == policy
    assert [*bond["members"]] == ["wan0", "wan1"]
    assert {member["state"] for member in bond["members"].values()} == {"up"}
    if mode == "802.3ad":
        assert bond["partner_mac"] not in (None, "00:00:00:00:00:00")
        assert len({member["aggregator"] for member in bond["members"].values()}) == 1


def test_packets_in_turn_use_both_links_evenly(netem: dict[str, Any]) -> None:
    """Reordering may slow TCP down to half the rate of one link."""
    found = netem["bonded"]["balance-rr"]
    assert found["bits_per_s"] > 0.5 * netem["bonded"]["balance-xor-l2"]["bits_per_s"]
    assert found["links"][0] == pytest.approx(found["links"][1], rel=0.1)


def test_a_hash_of_mac_addresses_uses_one_link(netem: dict[str, Any]) -> None:
    found = netem["bonded"]["balance-xor-l2"]
    assert min(found["links"]) < 0.05 * max(found["links"])
    assert found["bits_per_s"] < 1.1 * LINE_BITS_PER_S


@pytest.mark.parametrize("level", ["balance-xor-l34", "802.3ad"])
def test_a_hash_of_ports_keeps_each_stream_on_a_link(netem: dict[str, Any], level: str) -> None:
    """Of eight streams all may meet on one link, once in 128; the guest is slow."""
    found = netem["bonded"][level]
    on_both = min(found["links"]) > 0.02 * max(found["links"])
    assert found["bits_per_s"] > 0.5 * netem["bonded"]["balance-xor-l2"]["bits_per_s"]
    assert on_both or found["bits_per_s"] < 1.1 * LINE_BITS_PER_S


@pytest.mark.parametrize("level", MODES)
def test_links_are_as_before_after_each_mode(netem: dict[str, Any], level: str) -> None:
    assert netem["bonded"][level]["is_undone"]
