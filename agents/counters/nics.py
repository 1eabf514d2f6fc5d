"""Bytes, packets, errors and drops per network interface that is up, from /proc/net/dev.

Source: proc(5), /proc/net/dev: two lines of headings, then per interface 8 received and 8 transmitted
counters. Its received ``drop`` is the kernel's rx_dropped plus rx_missed_errors. The interfaces are those of
the agent's network namespace. Whether one is up: netdevice(7), SIOCGIFFLAGS.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
from typing import Any, Dict, List, Mapping, Tuple

from pathlab.agents.counters.differences import subtract_columns
from pathlab.agents.counters.text import read_text, show_name
from pathlab.agents.limits import MAX_COUNTER_NICS

COUNTERS = (
    "rx_bytes",
    "rx_packets",
    "rx_errors",
    "rx_dropped",
    "tx_bytes",
    "tx_packets",
    "tx_errors",
    "tx_dropped",
)
NicCounts = Tuple[int, ...]  # one per name in COUNTERS

_COLUMNS = (0, 1, 2, 3, 8, 9, 10, 11)
_FILE_COLUMNS = 16
_SIOCGIFFLAGS = 0x8913
_IFF_UP = 0x1
_IFREQ = struct.Struct("16sh22x")


def parse_nics(text: str) -> Dict[str, NicCounts]:
    """Counts per interface name from the text of /proc/net/dev. ValueError for anything else."""
    lines = text.splitlines()
    if len(lines) < 2 or lines[0].count("|") != 2 or lines[1].count("|") != 2:
        raise ValueError("no headings")
    nics: Dict[str, NicCounts] = {}
    for line in lines[2:]:
        # No name holds a colon; the first number may follow it without a blank.
        name, colon, rest = line.partition(":")
        words = rest.split()
        if not colon or len(words) < _FILE_COLUMNS:
            raise ValueError(
                f"{name.strip() or 'a line'} has {len(words)} numbers, {_FILE_COLUMNS} are needed"
            )
        nics[name.strip()] = tuple(int(words[at]) for at in _COLUMNS)
    return nics


def compare_nics(before: Mapping[str, NicCounts], after: Mapping[str, NicCounts]) -> List[Dict[str, Any]]:
    """Per interface its name ``interface`` and the differences; only those that were up at both readings."""
    return [
        {"interface": show_name(name), **subtract_columns(COUNTERS, before[name], counts)}
        for name, counts in after.items()
        if name in before
    ]


def read_nic_counters() -> Dict[str, NicCounts]:
    """The interfaces that are up. OSError or ValueError when they cannot be read, or are too many."""
    nics = parse_nics(read_text("/proc/net/dev"))
    if len(nics) > MAX_COUNTER_NICS:
        raise ValueError(f"{len(nics)} interfaces, {MAX_COUNTER_NICS} are the most")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as asking:
        return {name: counts for name, counts in nics.items() if _is_up(asking, name)}


def _is_up(asking: socket.socket, name: str) -> bool:
    try:
        answer = fcntl.ioctl(asking, _SIOCGIFFLAGS, _IFREQ.pack(os.fsencode(name), 0))
    except OSError as error:
        if error.errno == errno.ENODEV:
            return False  # removed since the counters were read
        raise
    return bool(_IFREQ.unpack(answer)[1] & _IFF_UP)
