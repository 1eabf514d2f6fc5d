"""Where the IP header of a record is, for every link type that is read.

Numbers: the registry of link types of draft-ietf-opsawg-pcaplinktype. Layouts: the registry's pages of
LINKTYPE_LINUX_SLL and LINKTYPE_LINUX_SLL2; IEEE 802.1Q for tags.
"""

from __future__ import annotations

import numpy as np

from pathlab.captures.records import Bytes, Integers, view_numbers

NULL, ETHERNET, RAW_OLD, RAW, LOOP, SLL, SLL2 = 0, 1, 12, 101, 108, 113, 276
RAW_OPENBSD, IPV4, IPV6 = 14, 228, 229
LINK_NAMES = {
    NULL: "loopback (BSD)",
    ETHERNET: "Ethernet",
    RAW_OLD: "raw IP",
    RAW_OPENBSD: "raw IP",
    RAW: "raw IP",
    LOOP: "loopback (OpenBSD)",
    SLL: "Linux cooked",
    SLL2: "Linux cooked v2",
    IPV4: "raw IPv4",
    IPV6: "raw IPv6",
}
_TYPE_IPV4, _TYPE_IPV6 = 0x0800, 0x86DD
_TAGS = (0x8100, 0x88A8, 0x9100)
TAGS_MAX = 4
_FAMILY_IPV4, _FAMILIES_IPV6 = 2, (10, 24, 28, 30)  # AF_INET everywhere; AF_INET6 of Linux and the BSDs


def find_ip(data: Bytes, places: Integers, link_type: int) -> tuple[Integers, Integers]:
    """For each record the place of its IP header, and its version: 4, 6, or 0 for anything else.

    Raises KeyError for a link type that is not in ``LINK_NAMES``. The caller checks that what was read is
    within the record: ``data`` has padding behind the last one.
    """
    if link_type not in LINK_NAMES:
        raise KeyError(link_type)
    if link_type in (ETHERNET, SLL, SLL2):
        ahead, type_at = {ETHERNET: (14, 12), SLL: (16, 14), SLL2: (20, 0)}[link_type]
        shorts = view_numbers(data, ">u2")
        kinds = shorts[places + type_at].astype(np.int64)
        found = places + ahead
        for _ in range(TAGS_MAX):
            tagged = np.flatnonzero(np.isin(kinds, _TAGS))
            if not len(tagged):
                break
            kinds[tagged] = shorts[np.minimum(found[tagged] + 2, len(shorts) - 1)]
            found[tagged] += 4
        versions = np.where(kinds == _TYPE_IPV4, 4, np.where(kinds == _TYPE_IPV6, 6, 0))
        return found, versions
    if link_type in (NULL, LOOP):
        found = places + 4
        family = view_numbers(data, ">u4")[places].astype(np.int64)
        swapped = view_numbers(data, "<u4")[places].astype(np.int64)
        family = np.minimum(family, swapped)  # of the machine that captured, in whichever order
        is_ipv6 = np.isin(family, _FAMILIES_IPV6)
        return found, np.where(family == _FAMILY_IPV4, 4, np.where(is_ipv6, 6, 0))
    versions = (data[places] >> 4).astype(np.int64)
    return places.copy(), np.where((versions == 4) | (versions == 6), versions, 0)
