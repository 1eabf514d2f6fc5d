"""Bonds of this namespace, from /proc/net/bonding (kernel: Documentation/networking/bonding.rst).

One file per bond: its own lines, then a block per member, after blank lines. Nothing is ever changed here.
"""

from __future__ import annotations

import fcntl
import os
import re
import socket
import struct
from typing import Any, Dict, List, Optional

from pathlab.agents.source import Source

MAX_BONDS = 16
MAX_MEMBERS = 64
FOLDER = "/proc/net/bonding"
#: The kernel's description of a mode (drivers/net/bonding/bond_main.c, bond_mode_name) by the mode's name.
MODES = {
    "load balancing (round-robin)": "balance-rr",
    "fault-tolerance (active-backup)": "active-backup",
    "load balancing (xor)": "balance-xor",
    "fault-tolerance (broadcast)": "broadcast",
    "IEEE 802.3ad Dynamic link aggregation": "802.3ad",
    "transmit load balancing": "balance-tlb",
    "adaptive load balancing": "balance-alb",
}
_SPEED = re.compile(r"(\d+) Mbps")
_SIOCGIFADDR = 0x8915
_IFREQ = struct.Struct("16s24x")
_ADDRESS_AT = 20  # in struct ifreq: after the name, the family and the port


def parse_bond(text: str) -> Dict[str, Any]:
    """One bond from the text of its file: mode, policy of its hash, state, partner, members by name.

    ``failures`` counts how often a member lost its link. What a mode does not state is null. Raises
    ValueError for a text without a mode.
    """
    own: Dict[str, str] = {}
    members: Dict[str, Dict[str, str]] = {}
    block = own
    for line in text.splitlines():
        name, colon, value = line.strip().partition(":")
        if not colon:
            continue
        if name == "Slave Interface":
            block = members.setdefault(value.strip(), {})
        else:
            block.setdefault(name, value.strip())  # details of 802.3ad repeat names below
    if "Bonding Mode" not in own:
        raise ValueError("no bonding mode")
    described = own["Bonding Mode"].partition(" (fail_over_mac")[0]
    policy = own.get("Transmit Hash Policy")
    return {
        "mode": MODES.get(described, described),
        "hash_policy": None if policy is None else policy.partition(" ")[0],
        "state": own.get("MII Status"),
        "active_member": _find_name(own.get("Currently Active Slave")),
        "partner_mac": own.get("Partner Mac Address"),
        "active_aggregator": _read_whole(own.get("Aggregator ID")),
        "members": {name: _describe_member(lines) for name, lines in list(members.items())[:MAX_MEMBERS]},
    }


def _describe_member(lines: Dict[str, str]) -> Dict[str, Any]:
    speed = _SPEED.match(lines.get("Speed", ""))
    return {
        "state": lines.get("MII Status"),
        "speed_bits_per_s": int(speed.group(1)) * 1_000_000 if speed else None,
        "duplex": lines.get("Duplex"),
        "failures": _read_whole(lines.get("Link Failure Count")),
        "aggregator": _read_whole(lines.get("Aggregator ID")),
    }


def _find_name(text: Optional[str]) -> Optional[str]:
    return None if text in (None, "None") else text


def _read_whole(text: Optional[str]) -> Optional[int]:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def read_bonds(source: Source) -> Dict[str, Any]:
    """Every bond by its name, with its first IPv4 address; empty where the kernel has none."""
    try:
        names: List[str] = source.names(FOLDER)
    except OSError:
        return {}  # no bonding: nothing is missing
    for name in names[MAX_BONDS:]:
        source.reasons.append(f"{name}: only the first {MAX_BONDS} bonds are read")
    bonds: Dict[str, Any] = {}
    for name in names[:MAX_BONDS]:
        text = source.optional(f"{FOLDER}/{name}")
        if text is None:
            continue
        try:
            bonds[name] = {**parse_bond(text), "address": _read_address(source, name)}
        except ValueError as error:
            source.reasons.append(f"{FOLDER}/{name}: {error}")
    return bonds


def _read_address(source: Source, name: str) -> Optional[str]:
    """netdevice(7), SIOCGIFADDR; None where the bond has none of its own, as below a bridge."""
    if source.root != "/":
        return None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as asking:
        try:
            answer = fcntl.ioctl(asking, _SIOCGIFADDR, _IFREQ.pack(os.fsencode(name)))
        except OSError:
            return None
    return socket.inet_ntoa(answer[_ADDRESS_AT : _ADDRESS_AT + 4])
