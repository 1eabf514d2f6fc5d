"""Why network interfaces dropped what they received, by an RTM_GETLINK dump over rtnetlink.

Source: rtnetlink(7); linux/if_link.h, IFLA_STATS64, struct rtnl_link_stats64. ``rx_missed``: the host had
no room, such as a full ring; ``rx_fifo``: the device's own buffer overflowed; ``rx_nohandler``: the interface
was an inactive member of a bond. sysfs has the same counters, but those of the namespace that it was mounted
in.
"""

from __future__ import annotations

import socket
import struct
from typing import Any, Dict, List, Mapping, Optional, Tuple

from pathlab.agents.counters import netlink
from pathlab.agents.counters.differences import subtract_named
from pathlab.agents.counters.text import show_name
from pathlab.agents.limits import MAX_COUNTER_NICS

COUNTERS = ("rx_missed", "rx_fifo", "rx_nohandler")

_PLACES = {"rx_fifo": 14, "rx_missed": 15, "rx_nohandler": 23}  # of 64-bit numbers
_IFINFOMSG = struct.Struct("=BxHiII")  # family, type, index, flags, change
_U64 = struct.Struct("=Q")
_RTM_NEWLINK, _RTM_GETLINK = 16, 18
_IFLA_IFNAME, _IFLA_STATS64 = 3, 23
_IFF_UP = 0x1

Counts = Dict[str, int]


def parse_link(body: bytes) -> Optional[Tuple[str, Counts]]:
    """Name and counters of one interface; None of one that is down or has no name. ValueError if broken.

    A counter that the kernel does not have yet is left out.
    """
    if len(body) < _IFINFOMSG.size:
        raise ValueError(f"an interface of {len(body)} bytes, {_IFINFOMSG.size} are needed")
    flags = _IFINFOMSG.unpack_from(body)[3]
    name, counts = "", {}
    for number, value in netlink.walk_attributes(body[_IFINFOMSG.size :]):
        if number == _IFLA_IFNAME:
            name = value.rstrip(b"\0").decode("utf-8", "surrogateescape")
        elif number == _IFLA_STATS64:
            known = {key: at * _U64.size for key, at in _PLACES.items() if (at + 1) * _U64.size <= len(value)}
            counts = {key: int(_U64.unpack_from(value, at)[0]) for key, at in known.items()}
    return (name, counts) if name and flags & _IFF_UP else None


def compare_nic_drops(before: Mapping[str, Counts], after: Mapping[str, Counts]) -> List[Dict[str, Any]]:
    """Per interface its name ``interface`` and the differences; only those that were up at both readings."""
    return [
        {"interface": show_name(name), **subtract_named(COUNTERS, before[name], counts)}
        for name, counts in after.items()
        if name in before
    ]


def read_nic_drops() -> Dict[str, Counts]:
    """The interfaces that are up. OSError or ValueError when they cannot be read, or are too many."""
    header = _IFINFOMSG.pack(socket.AF_UNSPEC, 0, 0, 0, 0)
    bodies = netlink.dump(_RTM_GETLINK, _RTM_NEWLINK, header, most=MAX_COUNTER_NICS, what="interfaces")
    return dict(filter(None, map(parse_link, bodies)))
