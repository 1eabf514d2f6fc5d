"""Bonds as the kernel describes them, in text made by its own format (drivers/net/bonding/bond_procfs.c)."""

from __future__ import annotations

from pathlib import Path

import pytest

from pathlab.agents.facts import collect_requested
from pathlab.agents.probes.bonds import FOLDER, MAX_BONDS, parse_bond, read_bonds
from pathlab.agents.protocol import MessageError
from pathlab.agents.source import Source

LACP = """\
Ethernet Channel Bonding Driver: v6.1.0-18-amd64

Bonding Mode: IEEE 802.3ad Dynamic link aggregation
Transmit Hash Policy: layer3+4 (1)
MII Status: up
MII Polling Interval (ms): 100
Up Delay (ms): 0
Down Delay (ms): 0
Peer Notification Delay (ms): 0

802.3ad info
LACP active: on
LACP rate: fast
Min links: 0
Aggregator selection policy (ad_select): stable
System priority: 65535
System MAC address: 02:50:4c:00:00:01
Active Aggregator Info:
\tAggregator ID: 1
\tNumber of ports: 2
\tActor Key: 21
\tPartner Key: 21
\tPartner Mac Address: 02:50:4c:00:00:02

Slave Interface: eth0
MII Status: up
Speed: 10000 Mbps
Duplex: full
Link Failure Count: 0
Permanent HW addr: 02:50:4c:00:00:01
Slave queue ID: 0
Aggregator ID: 1
Actor Churn State: none
details actor lacp pdu:
    system priority: 65535
    port state: 63

Slave Interface: eth1
MII Status: down
Speed: Unknown
Duplex: Unknown
Link Failure Count: 3
Permanent HW addr: 02:50:4c:00:01:01
Aggregator ID: 2
"""
ROUND_ROBIN = """\
Ethernet Channel Bonding Driver: v6.1.0-18-amd64

Bonding Mode: load balancing (round-robin)
MII Status: down
MII Polling Interval (ms): 0
"""
BACKUP = """\
Ethernet Channel Bonding Driver: v5.10.0

Bonding Mode: fault-tolerance (active-backup) (fail_over_mac active)
Primary Slave: None
Currently Active Slave: eth0
MII Status: up
"""


def test_lacp_with_a_member_that_is_down() -> None:
    bond = parse_bond(LACP)
    members = bond.pop("members")
    assert bond == {
        "mode": "802.3ad",
        "hash_policy": "layer3+4",
        "state": "up",
        "active_member": None,
        "partner_mac": "02:50:4c:00:00:02",
        "active_aggregator": 1,
    }
    assert members == {
        "eth0": {
            "state": "up",
            "speed_bits_per_s": 10_000_000_000,
            "duplex": "full",
            "failures": 0,
            "aggregator": 1,
        },
        "eth1": {
            "state": "down",
            "speed_bits_per_s": None,
            "duplex": "Unknown",
            "failures": 3,
            "aggregator": 2,
        },
    }


def test_a_mode_without_a_hash_and_one_with_an_active_member() -> None:
    plain = parse_bond(ROUND_ROBIN)
    assert (plain["mode"], plain["hash_policy"], plain["state"]) == ("balance-rr", None, "down")
    assert plain["members"] == {}
    backup = parse_bond(BACKUP)
    assert (backup["mode"], backup["active_member"]) == ("active-backup", "eth0")
    with pytest.raises(ValueError, match="no bonding mode"):
        parse_bond("Linux\n")


def test_bonds_of_a_host_by_name(tmp_path: Path) -> None:
    assert read_bonds(Source(str(tmp_path))) == {}  # a kernel without bonding: nothing to report
    folder = tmp_path / FOLDER.lstrip("/")
    folder.mkdir(parents=True)
    for number in range(MAX_BONDS):
        (folder / f"bond{number:02}").write_text(LACP)
    (folder / "bond99").write_text(LACP)
    (folder / "bond00").write_text("???")
    source = Source(str(tmp_path))
    bonds = read_bonds(source)
    assert len(bonds) == MAX_BONDS - 1
    assert bonds["bond01"]["address"] is None
    assert source.reasons == ["bond99: only the first 16 bonds are read", f"{FOLDER}/bond00: no bonding mode"]


def test_a_request_may_name_the_facts_that_it_wants() -> None:
    facts = collect_requested({"probes": ["bonds", "memory"]})
    assert [*facts] == ["bonds", "memory", "unread"]
    assert "kernel" in collect_requested({})
    with pytest.raises(MessageError, match="there is no probe 'nic'"):
        collect_requested({"probes": ["nic"]})
