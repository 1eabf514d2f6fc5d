"""Which congestion controls this process may set: the sysctl names those of ordinary users alone."""

from __future__ import annotations

import socket


def may_set_congestion(name: str) -> bool:
    """Whether this process may set a congestion control on its sockets; tried on one."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        except OSError:
            return False
    return True
