"""Goes from an IP header to that of the packet within it: IP in IP (RFC 2003, 2473, 4213) and GRE.

Sources of GRE: RFC 2784, and RFC 2890 for its key and sequence number.
"""

from __future__ import annotations

import numpy as np

from pathlab.captures.records import Bytes, Integers, view_numbers

#: Tunnels within tunnels that are entered.
TUNNELS_MAX = 4
_GRE = 47
#: IP versions by the protocol number of IP, and by the Ethernet type that GRE states.
_VERSIONS = {4: 4, 41: 6}
_GRE_VERSIONS = {0x0800: 4, 0x86DD: 6}
#: Flags of GRE that bring four bytes each: checksum, key, sequence number; and what no version 0 has.
_GRE_WORDS, _GRE_OTHER = (0x8000, 0x2000, 0x1000), 0x4C07


def enter_tunnels(data: Bytes, ip: Integers, versions: Integers, ends: Integers) -> None:
    """Move IP headers and their versions to those of the innermost packets that were captured, in place.

    A fragment and a packet with extension headers of IPv6 stay as they are, and so does what is not IP.
    """
    for _ in range(TUNNELS_MAX):
        rows, headers, inner = _find_inner(data, ip, versions)
        entered = (inner > 0) & (headers + 20 <= ends[rows])
        if not entered.any():
            return
        ip[rows[entered]], versions[rows[entered]] = headers[entered], inner[entered]


def _find_inner(data: Bytes, ip: Integers, versions: Integers) -> tuple[Integers, Integers, Integers]:
    """Rows of tunnels, the places of what is in them, and its version of IP, 0 for anything else."""
    shorts = view_numbers(data, ">u2")
    last = len(shorts) - 1
    indices = np.minimum(ip, last - 20)
    is_ipv4 = versions == 4
    protocols = np.where(is_ipv4, data[indices + 9], data[indices + 6]).astype(np.int64)
    whole = ~is_ipv4 | (shorts[indices + 6] & 0x3FFF == 0)
    rows = np.flatnonzero((versions > 0) & whole & np.isin(protocols, (*_VERSIONS, _GRE)))
    size = np.where(is_ipv4[rows], (data[indices[rows]] & 15).astype(np.int64) * 4, 40)
    headers = ip[rows] + np.maximum(size, 20)
    inner = np.zeros(len(rows), dtype=np.int64)
    for protocol, version in _VERSIONS.items():
        inner[protocols[rows] == protocol] = version
    of_gre = np.flatnonzero(protocols[rows] == _GRE)
    at = np.minimum(headers[of_gre], last - 2)
    flags = shorts[at].astype(np.int64)
    for kind, version in _GRE_VERSIONS.items():
        inner[of_gre[(shorts[at + 2] == kind) & (flags & _GRE_OTHER == 0)]] = version
    headers[of_gre] += 4 + 4 * sum(flags & word > 0 for word in _GRE_WORDS)
    return rows, headers, inner
