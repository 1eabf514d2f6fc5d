"""UDP's counters of the agent's network namespace, over IPv4 and IPv6, from /proc/net/snmp and snmp6.

Source: Linux, net/ipv4/proc.c and net/ipv6/proc.c. Names are the kernel's behind ``Udp`` and ``Udp6``, as
nstat shows them: ``UdpRcvbufErrors`` and ``Udp6RcvbufErrors`` count datagrams for which a socket's buffer had
no room.
"""

from __future__ import annotations

from typing import Dict

from pathlab.agents.counters.tcp import parse_group
from pathlab.agents.counters.text import read_text

_V6 = "Udp6"


def parse_snmp6(text: str) -> Dict[str, int]:
    """The counters of UDP in the text of /proc/net/snmp6: a name and a number in each line.

    ValueError for anything else.
    """
    words = [line.split() for line in text.splitlines() if line.startswith(_V6)]
    if any(len(pair) != 2 for pair in words):
        raise ValueError("a line that is not a name and a number")
    return {name: int(number) for name, number in words}


def read_udp_counters() -> Dict[str, int]:
    """Those of IPv4 and, where the kernel has it, of IPv6. OSError or ValueError when they cannot be read."""
    counters = {
        f"Udp{name}": count for name, count in parse_group(read_text("/proc/net/snmp"), "Udp").items()
    }
    try:
        return {**counters, **parse_snmp6(read_text("/proc/net/snmp6"))}
    except FileNotFoundError:
        return counters
