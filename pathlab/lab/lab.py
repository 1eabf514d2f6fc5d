"""A lab: namespaces, nodes and emulated links made from a topology, as one thing to start and close."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any, Self

from pathlab.errors import HostError
from pathlab.lab.links import EmulatedLink
from pathlab.lab.namespaces import Namespaces, lab_error
from pathlab.lab.netem import NetemLink, is_possible
from pathlab.lab.topology import LinkSettings, Topology, link_address, link_network
from pathlab.lab.wiring import LinkPlace

BACKENDS = ("netem", "tun", "packet")

#: A burst of 10 Gbit/s for 10 ms, by the kernel's account of it (some twice the bytes).
PACKET_BUFFER_BYTES = 24 << 20

#: Buffers autotuning may reach at least; the kernel's usual defaults, so that labs agree between machines.
TCP_RMEM_MAX_BYTES = 6 << 20
TCP_WMEM_MAX_BYTES = 4 << 20

#: IPv6 with the links' own addresses alone: no solicitations of neighbours, which would enter the counts.
QUIET_IPV6 = {"accept_ra": "0", "accept_dad": "0", "addr_gen_mode": "1", "router_solicitations": "0"}
MPTCP_SUBFLOWS = 8
FURTHER_LINK_TABLE = 1000  # and the link's number


class Lab:
    """A running lab. Use as a context manager. All errors are HostError with stage ``lab``."""

    def __init__(self, topology: Topology, *, engine: Path, backend: str = "auto") -> None:
        self.topology = topology
        self.namespaces = Namespaces()
        self._engine = engine
        self._requested_backend = backend
        self._links: list[EmulatedLink | NetemLink] = []
        self.backend = ""
        self.lap_late_p99_ns: list[int | None] = []  # of every lap so far, the latest link

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def start(self) -> None:
        """Make everything; on failure nothing is left behind."""
        try:
            self.namespaces.start()
            self.backend = self._choose_backend()
            self._quieten(None)
            paths = {}
            for node in self.topology.nodes:
                paths[node] = self.namespaces.add_node(node)
                self._prepare_ipv6(node)
                self._set_sysctls(node)
            for number, link in enumerate(self.topology.links):
                ends = (paths[link.between[0]], paths[link.between[1]])
                seed = self.topology.seed + 2 * number
                link_place = LinkPlace(
                    number=number,
                    node_paths=ends,
                    backend=self.backend,
                    seed=seed,
                    ipv6=self.topology.ipv6,
                )
                if self.backend == "netem":
                    self._links.append(NetemLink(self.namespaces, link, link_place))
                else:
                    self._links.append(EmulatedLink(self.namespaces, link, link_place, self._engine))
                self._links[-1].start()
            if len(self.topology.links) > 1:
                self._add_routes()
                self._offer_parallel_links()
        except BaseException:
            self.close()
            raise

    def _choose_backend(self) -> str:
        """netem where the kernel has it and supports what is set, else the engine's emulator.

        Packet sockets come first where their buffers hold what a fast flow sends while the emulator is kept
        from running: the kernel stamps what arrives there, so that round trips are not late by a wake-up.
        Else TUN where it may be opened. A forced one is taken, or refused with what is missing.
        """
        requested, namespaces = self._requested_backend, self.namespaces
        if requested not in ("auto", *BACKENDS):
            raise lab_error(f"unknown back end '{requested}'", f"one of: auto, {', '.join(BACKENDS)}")
        if requested == "netem" and not namespaces.can_use_netem():
            raise lab_error(
                "this kernel has no netem (sch_netem)",
                "load it (modprobe sch_netem), or use the back end 'tun', 'packet' or 'auto'",
            )
        if requested == "tun" and not namespaces.can_use_tun():
            raise lab_error("/dev/net/tun may not be opened here", "use the back end 'packet' or 'auto'")
        if requested != "auto":
            return requested
        directions = [link.direction(end) for link in self.topology.links for end in (0, 1)]
        if all(map(is_possible, directions)) and namespaces.can_use_netem():
            return "netem"
        if namespaces.granted_buffer_bytes() >= PACKET_BUFFER_BYTES or not namespaces.can_use_tun():
            return "packet"
        return "tun"

    def _quieten(self, node: str | None) -> None:
        """No IPv6 on lab links: its solicitations would enter the counts."""
        for scope in ("all", "default"):
            with contextlib.suppress(HostError):  # a kernel without IPv6 has nothing to switch off
                self.namespaces.set_sysctl(node, f"net.ipv6.conf.{scope}.disable_ipv6", "1")

    def _prepare_ipv6(self, node: str) -> None:
        """IPv6 where it is requested, and nothing that a node would send of its own."""
        if not self.topology.ipv6:
            self._quieten(node)
            return
        for key, value in QUIET_IPV6.items():
            self.namespaces.set_sysctl(node, f"net.ipv6.conf.default.{key}", value)
        self.namespaces.set_sysctl(node, "net.ipv6.icmp.ratelimit", "0")

    def _set_sysctls(self, node: str) -> None:
        """Independent trials, room for autotuning on every way, and ICMP errors that are not rationed.

        By default one error a second reports a probe that ended there. The mask takes the errors out of
        both rations, of which an older kernel keeps one for all namespaces.
        """
        self._set_tcp(node)
        set_sysctl = self.namespaces.set_sysctl
        set_sysctl(node, "net.ipv4.tcp_no_metrics_save", "1")
        set_sysctl(node, "net.ipv4.icmp_ratelimit", "0")
        set_sysctl(node, "net.ipv4.icmp_ratemask", "0")
        for scope in ("all", "default"):  # inherited from the machine; parallel links need none
            set_sysctl(node, f"net.ipv4.conf.{scope}.rp_filter", "0")

    def _set_tcp(self, node: str) -> None:
        """What TCP needs for the links as they are: buffers, and ECN where one marks (else only answered)."""
        needed = self._autotuning_bytes()
        receive, send = max(TCP_RMEM_MAX_BYTES, needed), max(TCP_WMEM_MAX_BYTES, needed)
        self.namespaces.set_sysctl(node, "net.ipv4.tcp_rmem", f"4096 131072 {min(receive, 1 << 30)}")
        self.namespaces.set_sysctl(node, "net.ipv4.tcp_wmem", f"4096 16384 {min(send, 1 << 30)}")
        if any(link.direction(end).ecn_bytes for link in self.topology.links for end in (0, 1)):
            self.namespaces.set_sysctl(node, "net.ipv4.tcp_ecn", "1")

    def _autotuning_bytes(self) -> int:
        """Four times the greatest product of rate and round trip between two hosts."""
        products = [0]
        for host in self.topology.hosts:
            for peer in self.topology.hosts:
                with contextlib.suppress(KeyError):  # itself, or nothing joins the two
                    rate_bits_per_s, _ = self.topology.bottleneck(host, peer, multipath=True)
                    rtt_ns = self.topology.idle_rtt_ns(host, peer)
                    products.append(4 * (rate_bits_per_s or 0) * rtt_ns // (8 * 10**9))
        return max(products)

    def _add_routes(self) -> None:
        """Make every node forward, and give it the routes to the links that it is not on."""
        forwarding = {4: "net.ipv4.ip_forward"}
        if self.topology.ipv6:
            forwarding[6] = "net.ipv6.conf.all.forwarding"
        for node in self.topology.nodes:
            for version, key in forwarding.items():
                self.namespaces.set_sysctl(node, key, "1")
                for network, next_hop in self.topology.routes(node, version):
                    self.namespaces.run(node, "ip", "route", "replace", network, "via", next_hop)

    def _offer_parallel_links(self) -> None:
        """Let MPTCP take every further link between two nodes; a connection begins on the first."""
        versions = (4, 6) if self.topology.ipv6 else (4,)
        for number, link in enumerate(self.topology.links):
            first = self.topology.beside(number)[0]
            if number == first:
                continue
            for end, node in enumerate(link.between):
                with contextlib.suppress(HostError):  # a kernel without MPTCP has no such setting
                    limits = f"subflow {MPTCP_SUBFLOWS} add_addr_accepted {MPTCP_SUBFLOWS}"
                    self.namespaces.run(node, *f"ip mptcp limits set {limits}".split())
                    for version in versions:
                        self._offer_address(node, (first, number), end, version)

    def _offer_address(self, node: str, links: tuple[int, int], end: int, version: int) -> None:
        """From its address on a further link a node takes this link to the first one's far end."""
        number = links[1]
        address = link_address(number, end, version)
        for words in (
            f"-{version} rule add from {address} lookup {FURTHER_LINK_TABLE + number}",
            f"mptcp endpoint add {address} subflow",
        ):
            self.namespaces.run(node, "ip", *words.split())
        self._lead_over_further(node, links, end, version)

    def _lead_over_further(self, node: str, links: tuple[int, int], end: int, version: int) -> None:
        first, number = links
        beyond, table = link_address(number, 1 - end, version), FURTHER_LINK_TABLE + number
        words = f"-{version} route replace {link_network(first, version)} via {beyond} table {table}"
        self.namespaces.run(node, "ip", *words.split())

    def restore_link(self, number: int) -> None:
        """Bring a link's interfaces up again with addresses and routes, after they were down or in a bond."""
        self._links[number].bring_back()
        if len(self.topology.links) > 1:
            self._add_routes()
        first = self.topology.beside(number)[0]
        if number != first:
            for end, node in enumerate(self.topology.links[number].between):
                with contextlib.suppress(HostError):  # without MPTCP no way was offered
                    for version in (4, 6) if self.topology.ipv6 else (4,):
                        self._lead_over_further(node, (first, number), end, version)

    def interface(self, number: int) -> str:
        """Name of a link's interface inside both nodes."""
        return self._links[number].interface

    def outer_interface(self, number: int, end: int) -> str:
        """Name of the other end of a node's veth pair, in the lab's own namespace."""
        return self._links[number].outer(end)

    def change_link(self, number: int, end: int, settings: LinkSettings) -> None:
        """Give the direction of a link that starts at an end (0 or 1) other settings, while it runs."""
        self._links[number].change(end, settings)
        self.topology = self.topology.with_direction(number, end, settings)
        for node in self.topology.nodes:
            self._set_tcp(node)

    def counters(self, *, lap: bool = False) -> list[dict[str, Any]]:
        """The emulators' counters, one per link in the topology's order; ``lap`` begins lateness anew."""
        counted = [link.counters(lap=lap) for link in self._links]
        if lap:
            late_ns = [item["late_ns"]["p99"] for item in counted if item["late_ns"] is not None]
            self.lap_late_p99_ns.append(max((late for late in late_ns if late is not None), default=None))
        return counted

    def device_drops(self) -> int:
        """Packets that the links' devices dropped since the start, before the emulators or behind them."""
        places: list[tuple[str | None, str]] = [(node, "wan") for node in self.topology.nodes]
        if self.backend == "packet":  # the outer ends of the veth pairs hand packets over
            places.append((None, "l"))
        drops = 0
        for node, prefix in places:
            for line in self.namespaces.run(node, "cat", "/proc/self/net/dev").splitlines():
                name, _, values = line.strip().partition(":")
                if name.startswith(prefix) and name != "lo":
                    drops += int(values.split()[11])  # transmit drops
        return drops

    def find_fault(self) -> str | None:
        """Which link no longer carries packets, and why; None: all do."""
        faults = (link.find_fault() for link in self._links)
        return next((fault for fault in faults if fault is not None), None)

    def describe(self) -> dict[str, Any]:
        """What the results say about this lab: back end, privilege, the links' settings."""
        return {
            "kind": "emulated",
            "backend": self.backend,
            "privilege": self.namespaces.privilege,
            **self.topology.as_table(),
        }

    def close(self) -> None:
        for link in self._links:
            link.close()
        self._links.clear()
        self.namespaces.close()
