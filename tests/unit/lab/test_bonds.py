"""What the links of a lab are set to for a bond, by the commands and settings that reach the lab."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from pathlab.campaign.order import plan_rows
from pathlab.engines.spec import TrialPath
from pathlab.lab.bonds import BondedLinks
from pathlab.lab.topology import Link, LinkSettings, Topology
from pathlab.runner.hosts.bond_setup import RowBond
from tests.builders.campaigns import make_sample

LINE = Link(
    between=("a", "b"),
    rate_bits_per_s=10**9,
    delay_ns=50_000_000,
    queue_bytes=10**6,
    burst_enter_ratio=0.1,
    burst_leave_ratio=0.2,
    burst_loss_ratio=0.5,
    cross_bits_per_s=10**6,
)


class Lab:
    """A lab of two links whose commands are kept."""

    backend = "packet"

    def __init__(self) -> None:
        self.topology = Topology(hosts=("a", "b"), links=(LINE, replace(LINE)))
        self.commands: list[str] = []
        self.namespaces = self
        self.is_gone = False

    def interface(self, number: int) -> str:
        return f"wan{number}"

    def run(self, _node: str | None, *argv: str) -> str:
        self.commands.append(" ".join(argv))
        return json.dumps([{"gso_max_segs": 65535}]) if "-j" in argv else "0"

    def set_sysctl(self, _node: str, key: str, value: str) -> None:
        self.commands.append(f"{key} {value}")

    def change_link(self, number: int, end: int, settings: LinkSettings) -> None:
        self.topology = self.topology.with_direction(number, end, settings)

    def restore_link(self, number: int) -> None:
        self.commands.append(f"restore {number}")


@pytest.mark.parametrize("silent", [True, False])
def test_a_failed_link_keeps_the_rate_and_delay_by_which_buffers_are_set(silent: bool) -> None:
    lab: Any = Lab()
    pair = BondedLinks(lab, ("a", "b"))
    before = lab.topology
    pair.fail(1, silent=silent)
    for end in (0, 1):
        failed = lab.topology.links[1].direction(end)
        assert (failed.rate_bits_per_s, failed.delay_ns) == (10**9, 50_000_000)
        assert (failed.loss_ratio, failed.burst_enter_ratio, failed.burst_loss_ratio) == (1.0, 0.0, 0.0)
    assert lab.topology.bottleneck("a", "b", multipath=True) == before.bottleneck("a", "b", multipath=True)
    pair.restore(1)
    assert lab.topology == before


class Environment:
    """Hosts of that lab, of which no facts are known."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.facts: dict[str, Any] = {"fallback": None}

    def session(self, _host: str) -> Environment:
        return self

    def read_facts(self, _probe: str) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize("transport", ["tcp", "mptcp"])
def test_a_link_alone_limits_the_subflows_of_mptcp_and_leaves_tcp_alone(transport: str) -> None:
    links = [{"between": ["a", "b"], "rate": "1Gbit/s"}] * 2
    campaign = make_sample(
        factors={"streams": 1, "bond": "link-2", "transport": transport},
        lab={"hosts": ["a", "b"], "links": links},
        paths=[{"source": "a", "destination": "b"}],
    )
    lab = Lab()
    environment: Any = Environment(lab)
    bond = RowBond(campaign, environment, plan_rows(campaign)[0])
    path = TrialPath(
        source="a", destination="b", source_address="198.18.0.1", destination_address="198.18.0.2"
    )
    assert bond.set_up(path).source_address == "198.18.0.5"
    assert any("ip mptcp" in command for command in lab.commands) == (transport == "mptcp")
