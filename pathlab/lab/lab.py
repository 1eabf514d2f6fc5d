"""A lab: namespaces, nodes and emulated links made from a topology, as one thing to start and close."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pathlab.errors import HostError
from pathlab.lab.links import BACKENDS, EmulatedLink, LinkPlace
from pathlab.lab.namespaces import Namespaces, lab_error
from pathlab.lab.topology import Topology

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
        self._links: list[EmulatedLink] = []
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
            for host in self.topology.hosts:
                paths[host] = self.namespaces.add_node(host)
                self._quieten(host)
                self._set_tcp_sysctls(host)
            for number, link in enumerate(self.topology.links):
                ends = (paths[link.between[0]], paths[link.between[1]])
                seed = self.topology.seed + 2 * number
                place = LinkPlace(number=number, node_paths=ends, backend=self.backend, seed=seed)
                self._links.append(EmulatedLink(self.namespaces, link, place, self._engine))
                self._links[-1].start()
            if len(self.topology.links) > 1:
                self._add_routes()
        except BaseException:
            self.close()
            raise

    def _choose_backend(self) -> str:
        """TUN where it may be opened, else packet sockets; a forced one is taken as it is."""
        if self._asked_backend == "auto":
            return "tun" if self.namespaces.can_use_tun() else "packet"
        if self._asked_backend not in BACKENDS:
            raise lab_error(
                f"unknown back end '{self._asked_backend}'", f"one of: auto, {', '.join(BACKENDS)}"
            )
        if self._asked_backend == "tun" and not self.namespaces.can_use_tun():
            raise lab_error("/dev/net/tun may not be opened here", "use the back end 'packet' or 'auto'")
        return self._asked_backend

    def _quieten(self, node: str | None) -> None:
        """No IPv6 on lab links: its solicitations would enter the counts."""
        for scope in ("all", "default"):
            with contextlib.suppress(HostError):  # a kernel without IPv6 has nothing to switch off
                self.namespaces.set_sysctl(node, f"net.ipv6.conf.{scope}.disable_ipv6", "1")

    def _set_tcp_sysctls(self, host: str) -> None:
        """Independent trials, and room for autotuning on every link of the host."""
        products = [
            4 * (link.rate_bits_per_s or 0) * 2 * link.delay_ns // (8 * 10**9)
            for link in self.topology.links
            if host in link.between
        ]
        receive, send = max([TCP_RMEM_MAX_BYTES, *products]), max([TCP_WMEM_MAX_BYTES, *products])
        set_sysctl = self.namespaces.set_sysctl
        set_sysctl(host, "net.ipv4.tcp_no_metrics_save", "1")
        set_sysctl(host, "net.ipv4.tcp_rmem", f"4096 131072 {min(receive, 1 << 30)}")
        set_sysctl(host, "net.ipv4.tcp_wmem", f"4096 16384 {min(send, 1 << 30)}")

    def _add_routes(self) -> None:
        """Make every host forward, and tell it the way to the links that it is not on."""
        for host in self.topology.hosts:
            self.namespaces.set_sysctl(host, "net.ipv4.ip_forward", "1")
            for network, next_hop in self.topology.routes(host):
                self.namespaces.run(host, "ip", "route", "add", network, "via", next_hop)

    def counters(self) -> list[dict[str, Any]]:
        """The emulators' counters, one per link in the topology's order."""
        return [link.counters() for link in self._links]

    def describe(self) -> dict[str, Any]:
        """What the results say about this lab: back end, privilege, the links' truth."""
        return {
            "kind": "emulated",
            "backend": self.backend,
            "privilege": self.namespaces.privilege,
            "seed": self.topology.seed,
            "links": self.topology.as_facts(),
        }

    def close(self) -> None:
        """End emulators and namespaces; safe to call twice."""
        for link in self._links:
            link.close()
        self._links.clear()
        self.namespaces.close()
