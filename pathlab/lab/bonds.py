"""Several links between two nodes of a running lab used as one, for a time: in turn, by a hash, or bonded.

Everything is set inside the lab's own namespaces, without a privilege outside of them, and taken back by
:meth:`BondedLinks.undo`; what a killed run leaves ends with the lab. Traffic that all links share has
addresses of its own on ``lo``: since Linux 6.15 a route over several links prefers the one that has the
sender's address. Both nodes are set alike, so that acknowledgements are shared as data are.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import shutil
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pathlab.errors import HostError
from pathlab.lab.lab import Lab
from pathlab.lab.namespaces import lab_error
from pathlab.lab.topology import ADDRESS_RANGE, LinkSettings, link_address

TABLE = 2000  # of routes, and the link's number
MARK = 0x5000  # of packets, and the link's number
NFT_TABLE = "pathlab_bond"
BOND = "bond0"
MIIMON_MS = 20
LACP_S = 15.0
LACP_POLL_S = 0.2
#: Per-port mask of a bridge that lets LACP's frames through (IEEE 802.1D 7.12.6; bit of 01-80-C2-00-00-02).
LACP_FORWARD_MASK = 4
NO_LACP_PARTNER = "00:00:00:00:00:00"
REORDERING = "net.ipv4.tcp_reordering"
HASH_POLICY = "net.ipv4.fib_multipath_hash_policy"
SCHEDULER = "net.mptcp.scheduler"


class BondedLinks:
    """All links between two nodes. Every setting is kept until :meth:`undo`, which takes all of them back."""

    def __init__(self, lab: Lab, ends: tuple[str, str]) -> None:
        self._lab, self.ends = lab, ends
        self.numbers = lab.topology.beside(lab.topology.chain(*ends)[0])
        self._undoing: list[tuple[str, tuple[str, ...]]] = []  # node and command, last first
        self._sysctls: list[tuple[str, str, str]] = []  # node, key and what it was
        self._routes: dict[int, list[tuple[str, tuple[str, ...]]]] = {number: [] for number in self.numbers}
        self._failed: dict[int, tuple[LinkSettings, LinkSettings]] = {}
        self._enslaved = False

    # ---------- addresses and interfaces ----------

    def find_addresses(self, number: int) -> tuple[str, str]:
        """The addresses of both ends on one link."""
        first, second = (link_address(number, self.find_end(number, node)) for node in self.ends)
        return first, second

    @property
    def shared_addresses(self) -> tuple[str, str]:
        """The addresses of both ends that all links carry together."""
        last = ADDRESS_RANGE.broadcast_address
        nodes = self._lab.topology.nodes
        first, second = (str(last - 1 - nodes.index(node)) for node in self.ends)
        return first, second

    def find_interface(self, number: int) -> str:
        """The interface of a link, of the same name in both nodes."""
        return self._lab.interface(number)

    def read_interface(self, node: str, number: int) -> dict[str, Any]:
        """What ``ip`` shows of an end of a link."""
        name = self.find_interface(number)
        shown = self._lab.namespaces.run(node, "ip", "-j", "-d", "link", "show", "dev", name)
        result: dict[str, Any] = json.loads(shown)[0]
        return result

    def find_rate(self, number: int, end: int) -> int | None:
        """The rate of a link from an end (0 or 1) in bit/s, as it was before a failure; None: not limited."""
        failed = self._failed.get(number)
        settings = failed[end] if failed else self._lab.topology.links[number].direction(end)
        return settings.rate_bits_per_s

    def find_end(self, number: int, node: str) -> int:
        """Which end (0 or 1) of a link a node is."""
        return self._lab.topology.links[number].between.index(node)

    # ---------- what links are set to ----------

    def share_in_turn(self, *, by_packet: bool) -> None:
        """Each packet over the next link (nftables numgen, a mark and a route for it).

        The turn is taken by what the stack hands over, a super-packet of many segments; with ``by_packet``
        the stack hands over single packets (``gso_max_segs 1``).
        """
        require_nft()
        addresses = self.shared_addresses
        self._add_shared_addresses()
        for node, own, peer in self._list_directions(addresses):
            for number in self.numbers:
                mark, table = str(MARK + number), str(TABLE + number)
                self._run(node, "ip", "rule", "add", "fwmark", mark, "lookup", table)
                self._undo(node, "ip", "rule", "del", "fwmark", mark, "lookup", table)
                self._add_route(node, number, (peer, "src", own, "table", table))
                if by_packet:
                    self._hand_over_packets(node, number)
            self._add_route(node, self.numbers[0], (peer, "src", own))
            marks = ", ".join(f"{index} : {MARK + number}" for index, number in enumerate(self.numbers))
            self._run(
                node,
                "nft",
                f"add table ip {NFT_TABLE}; "
                f"add chain ip {NFT_TABLE} out {{ type route hook output priority mangle; }}; "
                f"add rule ip {NFT_TABLE} out ip daddr {peer} "
                f"meta mark set numgen inc mod {len(self.numbers)} map {{ {marks} }}",
            )
            self._undo(node, "nft", f"delete table ip {NFT_TABLE}")

    def share_by_hash(self, policy: int) -> None:
        """A route over all links, chosen by a hash of addresses (policy 0), or of ports as well (1)."""
        addresses = self.shared_addresses
        self._add_shared_addresses()
        for node, own, peer in self._list_directions(addresses):
            self._set_sysctl(node, HASH_POLICY, str(policy))
            words = [word for number in self.numbers for word in ("nexthop", *self._lead(node, number))]
            command = ("ip", "route", "replace", f"{peer}/32", "src", own, *words)
            self._run(node, *command)
            for number in self.numbers:
                self._routes[number].append((node, command))
            self._undo(node, "ip", "route", "del", f"{peer}/32")

    def bond(self, mode: str, hash_policy: str | None) -> None:
        """The kernel's bonding over all links, at both nodes. Raises HostError where the kernel has none."""
        require_bonding(self._lab)
        if mode == "802.3ad":
            self._let_lacp_through()
        options = ["mode", mode, "miimon", str(MIIMON_MS)]
        options += ["xmit_hash_policy", hash_policy] if hash_policy is not None else []
        options += ["lacp_rate", "fast"] if mode == "802.3ad" else []
        self._enslaved = True
        for node, own, _ in self._list_directions(self.shared_addresses):
            self._run(node, "ip", "link", "add", BOND, "type", "bond", *options)
            self._undo(node, "ip", "link", "del", BOND)
            for number in self.numbers:
                name = self.find_interface(number)
                self._run(node, "ip", "link", "set", name, "down")
                self._run(node, "ip", "link", "set", name, "master", BOND)
            mtu = min(self._lab.topology.links[number].mtu_bytes for number in self.numbers)
            self._run(node, "ip", "link", "set", BOND, "mtu", str(mtu), "up")
            self._run(node, "ip", "address", "add", f"{own}/24", "dev", BOND)
        if mode == "802.3ad":
            self._await_lacp()

    def carry_by_lines(self) -> None:
        """Let the emulator carry, on the first link, what all links would: a line for each, in turn.

        The links are alike but for the delay, of which the second one's is repeated. Raises HostError for
        links of netem, which has no lines.
        """
        if self._lab.backend == "netem":
            raise lab_error("netem has no links of several lines", "use the backend 'packet' or 'tun'")
        number = self.numbers[0]
        link = self._lab.topology.links[number]
        self._failed[number] = (link.direction(0).as_settings(), link.direction(1).as_settings())
        second = self._lab.topology.links[self.numbers[1]]
        for end, settings in enumerate(self._failed[number]):
            more_ns = second.direction(end).delay_ns - settings.delay_ns
            lines = replace(settings, lines=len(self.numbers), line_delay_ns=more_ns)
            self._lab.change_link(number, end, lines)

    def set_reordering(self, segments: int) -> None:
        """What TCP assumes of reordering before it has seen any, at both nodes."""
        for node in self.ends:
            self._set_sysctl(node, REORDERING, str(segments))

    def limit_subflows(self, count: int) -> None:
        """How many subflows an MPTCP connection may have, the first one included."""
        for node in self.ends:
            before = self._run(node, "ip", "mptcp", "limits", "show").split()
            self._undo(node, "ip", "mptcp", "limits", "set", *_pair_limits(before))
            more = str(count - 1)
            self._run(node, "ip", "mptcp", "limits", "set", "subflow", more, "add_addr_accepted", more)

    def set_scheduler(self, name: str) -> None:
        """What chooses the subflow of a packet. Raises HostError for one that the kernel does not have."""
        require_scheduler(self._lab, name)
        for node in self.ends:
            self._set_sysctl(node, SCHEDULER, name)

    # ---------- what fails ----------

    def fail(self, number: int, *, silent: bool) -> None:
        """Let a link carry nothing; unless ``silent`` its interfaces go down, which both nodes notice."""
        link = self._lab.topology.links[number]
        self._failed[number] = (link.direction(0).as_settings(), link.direction(1).as_settings())
        for end, settings in enumerate(self._failed[number]):
            self._lab.change_link(number, end, _lose_all(settings))
        if not silent:
            for node in self.ends:
                self._run(node, "ip", "link", "set", self.find_interface(number), "down")

    def restore(self, number: int) -> None:
        """Let a failed link carry packets again, with the routes that led over it."""
        settings = self._failed.pop(number, None)
        if settings is None:
            return
        for end in (0, 1):
            self._lab.change_link(number, end, settings[end])
        if self._enslaved:
            for node in self.ends:
                self._run(node, "ip", "link", "set", self.find_interface(number), "up")
            return
        self._lab.restore_link(number)
        for node, command in self._routes[number]:
            self._run(node, *command)

    # ---------- what is read ----------

    def read_sysctl(self, node: str, key: str) -> str | None:
        """A setting of a node; None where the kernel does not have it."""
        return read_sysctl(self._lab, node, key)

    # ---------- the way back ----------

    def undo(self) -> None:
        """Take everything back. Raises the first HostError after all was tried; safe to call twice."""
        faults: list[HostError] = []
        for number in tuple(self._failed):
            with _collect(faults):
                self.restore(number)
        for node, key, value in reversed(self._sysctls):
            with _collect(faults):
                self._lab.namespaces.set_sysctl(node, key, value)
        for node, command in reversed(self._undoing):
            with _collect(faults):
                self._run(node, *command)
        if self._enslaved:
            for number in self.numbers:
                with _collect(faults):
                    self._lab.restore_link(number)
        self._sysctls.clear()
        self._undoing.clear()
        self._enslaved = False
        for routes in self._routes.values():
            routes.clear()
        if faults and not self._lab.namespaces.is_gone:
            raise faults[0]

    # ---------- pieces ----------

    def _run(self, node: str | None, *argv: str) -> str:
        return self._lab.namespaces.run(node, *argv)

    def _undo(self, node: str, *argv: str) -> None:
        self._undoing.append((node, argv))

    def _set_sysctl(self, node: str, key: str, value: str) -> None:
        before = self.read_sysctl(node, key)
        if before is None:
            raise lab_error(f"this kernel has no {key}", "leave the levels that set it out")
        self._lab.namespaces.set_sysctl(node, key, value)
        self._sysctls.append((node, key, before))

    def _list_directions(self, addresses: tuple[str, str]) -> list[tuple[str, str, str]]:
        """Each node with its own address and the other one's."""
        (first, second), (item, other) = self.ends, addresses
        return [(first, item, other), (second, other, item)]

    def _add_shared_addresses(self) -> None:
        for node, own, _ in self._list_directions(self.shared_addresses):
            self._run(node, "ip", "address", "add", f"{own}/32", "dev", "lo")
            self._undo(node, "ip", "address", "del", f"{own}/32", "dev", "lo")

    def _lead(self, node: str, number: int) -> tuple[str, ...]:
        """Words of a route over a link."""
        beyond = link_address(number, 1 - self.find_end(number, node))
        return "via", beyond, "dev", self.find_interface(number)

    def _add_route(self, node: str, number: int, words: Sequence[str]) -> None:
        target, *others = words
        command = ("ip", "route", "replace", f"{target}/32", *self._lead(node, number), *others)
        self._run(node, *command)
        self._routes[number].append((node, command))
        place = others[others.index("table") :] if "table" in others else []
        self._undo(node, "ip", "route", "del", f"{target}/32", *place)

    def _hand_over_packets(self, node: str, number: int) -> None:
        before = self.read_interface(node, number).get("gso_max_segs", 65535)
        name = self.find_interface(number)
        self._run(node, "ip", "link", "set", name, "gso_max_segs", "1")
        self._undo(node, "ip", "link", "set", name, "gso_max_segs", str(before))

    def _let_lacp_through(self) -> None:
        """A bridge keeps LACP's frames to itself, unless its ports are set to forward them."""
        if self._lab.backend != "netem":
            return
        for number in self.numbers:
            for end in (0, 1):
                words = f"type bridge_slave group_fwd_mask {LACP_FORWARD_MASK}"
                self._run(None, "ip", "link", "set", self._lab.outer_interface(number, end), *words.split())

    def _await_lacp(self) -> None:
        """Wait until both nodes know their partner. Raises HostError when they do not in time."""
        deadline, pause = time.monotonic() + LACP_S, threading.Event()
        for node in self.ends:
            while self._read_lacp_partner(node) in (None, NO_LACP_PARTNER):
                if time.monotonic() > deadline:
                    raise lab_error(f"{node}: LACP found no partner in {LACP_S:g} s")
                pause.wait(LACP_POLL_S)

    def _read_lacp_partner(self, node: str) -> str | None:
        shown = json.loads(self._run(node, "ip", "-j", "-d", "link", "show", "dev", BOND))[0]
        partner = shown.get("linkinfo", {}).get("info_data", {}).get("ad_info", {}).get("partner_mac")
        return None if partner is None else str(partner)


def _lose_all(settings: LinkSettings) -> LinkSettings:
    """The same direction without a packet that arrives: the lab sets TCP's buffers by its rate and delay."""
    return replace(
        settings, loss_ratio=1.0, burst_enter_ratio=0.0, burst_leave_ratio=0.0, burst_loss_ratio=0.0
    )


def read_sysctl(lab: Lab, node: str | None, key: str) -> str | None:
    """A setting of a node; None where the kernel does not have it."""
    with contextlib.suppress(HostError):
        return lab.namespaces.run(node, "cat", f"/proc/sys/{key.replace('.', '/')}").strip()
    return None


def require_nft() -> None:
    """Raise HostError where the program that shares packets in turn is missing."""
    if shutil.which("nft", path="/usr/sbin:/sbin:/usr/bin:/bin") is None:
        raise lab_error(
            "the program 'nft' is missing, which shares packets in turn",
            "install it (apt-get install nftables), or leave 'round-robin' out of factors.bond",
        )


def require_bonding(lab: Lab) -> None:
    """Raise HostError where the kernel of a lab has no bonding."""
    try:
        lab.namespaces.run(None, "ip", "link", "add", "bondtry", "type", "bond")
    except HostError:
        raise lab_error(
            "this kernel has no bonding",
            "load it (modprobe bonding), or leave balance-rr, balance-xor and 802.3ad out of factors.bond",
        ) from None
    lab.namespaces.run(None, "ip", "link", "del", "bondtry")


def require_scheduler(lab: Lab, name: str) -> None:
    """Raise HostError where the kernel of a lab has no such scheduler of MPTCP."""
    known = (read_sysctl(lab, None, "net.mptcp.available_schedulers") or "").split()
    current = read_sysctl(lab, None, SCHEDULER)
    known = known or ([current] if current else [])
    if name not in known:
        expected = f"one of: {', '.join(known)}" if known else "leave mptcp_scheduler out"
        raise lab_error(f"this kernel has no MPTCP scheduler '{name}'", expected)


def _pair_limits(shown: Sequence[str]) -> list[str]:
    """The words of ``ip mptcp limits show`` as ``set`` takes them."""
    wanted = ("subflow", "subflows", "add_addr_accepted")
    return [
        word
        for name, value in itertools.pairwise(shown)
        if name in wanted
        for word in (name.removesuffix("s") if name == "subflows" else name, value)
    ]


@contextlib.contextmanager
def _collect(faults: list[HostError]) -> Any:
    try:
        yield
    except HostError as error:
        faults.append(error)
