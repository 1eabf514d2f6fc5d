"""A lab: namespaces, nodes and emulated links made from a topology, as one thing to start and close."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pathlab.errors import HostError
from pathlab.lab.links import EmulatedLink
from pathlab.lab.namespaces import Namespaces, lab_error
from pathlab.lab.netem import NetemLink, is_possible
from pathlab.lab.topology import Link, Topology
from pathlab.lab.wiring import LinkPlace

BACKENDS = ("netem", "tun", "packet")

#: A burst of 10 Gbit/s for 10 ms, by the kernel's account of it (some twice the bytes).
PACKET_BUFFER_BYTES = 24 << 20

#: Buffers autotuning may reach at least; the kernel's usual defaults, so that labs agree between machines.
TCP_RMEM_MAX_BYTES = 6 << 20
TCP_WMEM_MAX_BYTES = 4 << 20


class Lab:
    """A running lab. Use as a context manager. All errors are HostError with stage ``lab``."""

    def __init__(self, topology: Topology, *, engine: Path, backend: str = "auto") -> None:
        self.topology = topology
        self.namespaces = Namespaces()
        self._engine = engine
        self._asked_backend = backend
        self._links: list[EmulatedLink | NetemLink] = []
        self.backend = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
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
                self._quieten(node)
                self._set_sysctls(node)
            for number, link in enumerate(self.topology.links):
                ends = (paths[link.between[0]], paths[link.between[1]])
                seed = self.topology.seed + 2 * number
                place = LinkPlace(number=number, node_paths=ends, backend=self.backend, seed=seed)
                self._links.append(self._make_link(link, place))
                self._links[-1].start()
            if len(self.topology.links) > 1:
                self._add_routes()
        except BaseException:
            self.close()
            raise

    def _make_link(self, link: Link, place: LinkPlace) -> EmulatedLink | NetemLink:
        if self.backend == "netem":
            return NetemLink(self.namespaces, link, place)
        return EmulatedLink(self.namespaces, link, place, self._engine)

    def _choose_backend(self) -> str:
        """netem where the kernel has it and knows what is asked, else the engine's emulator.

        Packet sockets come first where their buffers hold what a fast flow sends while the emulator is kept
        from running: the kernel stamps what arrives there, so that round trips are not late by a wake-up.
        Else TUN where it may be opened. A forced one is taken, or refused with what is missing.
        """
        asked, namespaces = self._asked_backend, self.namespaces
        if asked not in ("auto", *BACKENDS):
            raise lab_error(f"unknown back end '{asked}'", f"one of: auto, {', '.join(BACKENDS)}")
        if asked == "netem" and not namespaces.can_use_netem():
            raise lab_error(
                "this kernel has no netem (sch_netem)",
                "load it (modprobe sch_netem), or use the back end 'tun', 'packet' or 'auto'",
            )
        if asked == "tun" and not namespaces.can_use_tun():
            raise lab_error("/dev/net/tun may not be opened here", "use the back end 'packet' or 'auto'")
        if asked != "auto":
            return asked
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

    def _set_sysctls(self, node: str) -> None:
        """Independent trials, room for autotuning on every way, and ICMP errors that are not rationed.

        By default one a second tells a sender that its probe ended there. The mask takes the errors out of
        both rations, of which an older kernel keeps one for all namespaces.
        """
        needed = self._autotuning_bytes()
        receive, send = max(TCP_RMEM_MAX_BYTES, needed), max(TCP_WMEM_MAX_BYTES, needed)
        set_sysctl = self.namespaces.set_sysctl
        set_sysctl(node, "net.ipv4.tcp_no_metrics_save", "1")
        set_sysctl(node, "net.ipv4.tcp_rmem", f"4096 131072 {min(receive, 1 << 30)}")
        set_sysctl(node, "net.ipv4.tcp_wmem", f"4096 16384 {min(send, 1 << 30)}")
        set_sysctl(node, "net.ipv4.icmp_ratelimit", "0")
        set_sysctl(node, "net.ipv4.icmp_ratemask", "0")

    def _autotuning_bytes(self) -> int:
        """Four times the greatest product of rate and round trip between two hosts."""
        products = [0]
        for host in self.topology.hosts:
            for peer in self.topology.hosts:
                with contextlib.suppress(KeyError):  # itself, or nothing joins the two
                    rate_bits_per_s, _ = self.topology.bottleneck(host, peer)
                    rtt_ns = self.topology.idle_rtt_ns(host, peer)
                    products.append(4 * (rate_bits_per_s or 0) * rtt_ns // (8 * 10**9))
        return max(products)

    def _add_routes(self) -> None:
        """Make every node forward, and tell it the way to the links that it is not on."""
        for node in self.topology.nodes:
            self.namespaces.set_sysctl(node, "net.ipv4.ip_forward", "1")
            for network, next_hop in self.topology.routes(node):
                self.namespaces.run(node, "ip", "route", "add", network, "via", next_hop)

    def counters(self, *, lap: bool = False) -> list[dict[str, Any]]:
        """The emulators' counters, one per link in the topology's order; ``lap`` begins lateness anew."""
        return [link.counters(lap=lap) for link in self._links]

    def device_drops(self) -> int:
        """Packets that the devices of the links dropped before the emulators saw them, since the start."""
        drops = 0
        for node in self.topology.nodes:
            for line in self.namespaces.run(node, "cat", "/proc/self/net/dev").splitlines():
                name, _, values = line.partition(":")
                if name.strip().startswith("wan"):
                    drops += int(values.split()[11])  # transmit drops
        return drops

    def is_alive(self) -> bool:
        """Whether every link still carries packets."""
        return all(link.is_alive() for link in self._links)

    def describe(self) -> dict[str, Any]:
        """What the results say about this lab: back end, privilege, the links' truth."""
        return {
            "kind": "emulated",
            "backend": self.backend,
            "privilege": self.namespaces.privilege,
            **self.topology.as_table(),
        }

    def close(self) -> None:
        """End emulators and namespaces; safe to call twice."""
        for link in self._links:
            link.close()
        self._links.clear()
        self.namespaces.close()
