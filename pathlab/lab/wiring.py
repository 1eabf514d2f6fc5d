"""The interfaces of a link: one in each of its two nodes, under the same name, and their addresses."""

from __future__ import annotations

from dataclasses import dataclass

from pathlab.lab.namespaces import Namespaces
from pathlab.lab.topology import Link, link_address, link_mac

TX_QUEUE_PACKETS = 10_000
PREFIX_BITS = {4: 30, 6: 64}
NO_DETECTION = {4: "", 6: " nodad"}  # of duplicate addresses, which would take a second


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPlace:
    """Where a link sits in a lab: its number and, for both ends, the path of the node's namespace."""

    number: int
    node_paths: tuple[str, str]
    backend: str
    seed: int
    ipv6: bool = False


class WiredLink:
    """A link's interfaces; the back ends make a link of them."""

    def __init__(self, namespaces: Namespaces, link: Link, link_place: LinkPlace) -> None:
        self._namespaces = namespaces
        self._link = link
        self._place = link_place

    @property
    def _versions(self) -> tuple[int, ...]:
        return (4, 6) if self._place.ipv6 else (4,)

    @property
    def interface(self) -> str:
        """Name of the link's interface inside both nodes."""
        return f"wan{self._place.number}"

    def outer(self, end: int) -> str:
        """Name of the other end of a node's veth pair, in the lab's own namespace."""
        return f"l{self._place.number}{'ab'[end]}"

    def add_veth_pairs(self) -> None:
        """One pair for each node, up and with addresses; their outer ends are left to be joined."""
        run, number = self._namespaces.run, self._place.number
        for end, node in enumerate(self._link.between):
            outer, path = self.outer(end), self._place.node_paths[end]
            run(None, *f"ip link add {outer} type veth peer name {self.interface} netns {path}".split())
            run(None, *f"ip link set {outer} mtu {self._link.mtu_bytes} up".split())
            run(node, *f"ip link set {self.interface} address {link_mac(number, end)}".split())
            self.configure(end)
        self._enter_neighbours()

    def _enter_neighbours(self) -> None:
        """Neighbours known beforehand: else the first probe carries an ARP round trip over the link."""
        run, number = self._namespaces.run, self._place.number
        for end, node in enumerate(self._link.between):
            mac = link_mac(number, 1 - end)
            for version in self._versions:
                neighbour = f"{link_address(number, 1 - end, version)} lladdr {mac}"
                run(node, *f"ip neigh replace {neighbour} dev {self.interface} nud permanent".split())

    def bring_back(self) -> None:
        """Bring both interfaces up again as they were, after they were down or in a bond."""
        for end, node in enumerate(self._link.between):
            if self._place.backend != "tun":
                mac = link_mac(self._place.number, end)
                self._namespaces.run(node, *f"ip link set {self.interface} address {mac}".split())
            self.configure(end)
        if self._place.backend != "tun":
            self._enter_neighbours()

    def configure(self, end: int) -> None:
        """Bring the interface of one node up, with its addresses."""
        run, node = self._namespaces.run, self._link.between[end]
        change = f"mtu {self._link.mtu_bytes} txqueuelen {TX_QUEUE_PACKETS} up"
        run(node, *f"ip link set {self.interface} {change}".split())
        for version in self._versions:
            address = f"{link_address(self._place.number, end, version)}/{PREFIX_BITS[version]}"
            run(node, *f"ip address replace {address} dev {self.interface}{NO_DETECTION[version]}".split())
