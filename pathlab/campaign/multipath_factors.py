"""The factors of several links between two hosts: how they are bonded, and what TCP and MPTCP make of them.

None of them reaches an engine: the hosts of a lab are set to them between trials
(``pathlab.runner.hosts.bond_setup``). Hosts outside a lab are never changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pathlab.campaign.factor import Factor
from pathlab.campaign.native_option import NativeOption
from pathlab.campaign.quantities import COUNT, Bounds, Name

LINKS_MAX = 8
Bond = Literal[
    "none",
    "link-1",
    "link-2",
    "link-3",
    "link-4",
    "link-5",
    "link-6",
    "link-7",
    "link-8",
    "round-robin",
    "round-robin-packets",
    "ecmp-l3",
    "ecmp-l4",
    "mptcp",
    "emulated",
    "balance-rr",
    "balance-xor-l2",
    "balance-xor-l34",
    "802.3ad",
    "existing",
]
Failure = Literal["none", "silent", "down"]
#: Each link alone, by its number.
SINGLE_LINKS: Mapping[str, int] = {f"link-{number}": number for number in range(1, LINKS_MAX + 1)}
#: Packets in turn, by what takes its turn: what the stack hands over, or each packet.
TURNS: Mapping[str, Literal["super-packet", "packet"]] = {
    "round-robin": "super-packet",
    "round-robin-packets": "packet",
}
#: Routes over all links by a hash: net.ipv4.fib_multipath_hash_policy.
HASHED_ROUTES: Mapping[str, int] = {"ecmp-l3": 0, "ecmp-l4": 1}
#: The kernel's bonding: mode, and the policy of its hash where it has one.
KERNEL_BONDS: Mapping[str, tuple[str, str | None]] = {
    "balance-rr": ("balance-rr", None),
    "balance-xor-l2": ("balance-xor", "layer2"),
    "balance-xor-l34": ("balance-xor", "layer3+4"),
    "802.3ad": ("802.3ad", "layer3+4"),
}
#: Levels that change nothing at any host.
UNCHANGED = ("none", "existing")

MULTIPATH_FACTORS = (
    Factor(
        "bond",
        Bond,
        "How the links between two hosts are used: the first (`none`), one alone (`link-2`), or all: packets "
        "in turn as the stack hands them over (`round-robin`) or one by one (`round-robin-packets`), routes "
        "by a hash of addresses (`ecmp-l3`) or of ports as well (`ecmp-l4`), `mptcp`, the emulator "
        "(`emulated`), the kernel's bonding (`balance-rr`, `balance-xor-l2`, `balance-xor-l34`, `802.3ad`); "
        "`existing` reads a bond that the hosts have, and changes nothing.",
        default="none",
        native=NativeOption(),
    ),
    Factor(
        "tcp_reordering",
        Bounds(COUNT, 3, 300, "default"),
        "Reordering in segments that TCP assumes before it knows any (net.ipv4.tcp_reordering, both hosts of "
        "a lab); `default` is the kernel's.",
        native=NativeOption(),
    ),
    Factor(
        "mptcp_subflows",
        Bounds(COUNT, 1, LINKS_MAX, "default"),
        "Subflows that an MPTCP connection may have, the first one included; `default`: one per link.",
        native=NativeOption(),
    ),
    Factor(
        "mptcp_scheduler",
        Name(r"^[a-z0-9_-]{1,15}$", 'a name such as "bpf_rr", or "default"', "default"),
        "What chooses the subflow of a packet (net.mptcp.scheduler); `default` is the kernel's choice.",
        native=NativeOption(),
    ),
    Factor(
        "failover",
        Failure,
        "Whether a link between the hosts of a lab fails in the steady window: `silent`, it carries nothing "
        "and no host is informed; `down`, its interfaces go down as well. `[failover]` says which and when.",
        default="none",
        native=NativeOption(),
    ),
)
