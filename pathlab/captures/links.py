"""Where the IP header of a record is, for every link type that is read.

Numbers: the registry of link types of draft-ietf-opsawg-pcaplinktype. Layouts: the registry's pages of
LINKTYPE_LINUX_SLL and LINKTYPE_LINUX_SLL2; IEEE 802.1Q for tags, RFC 2516 and 1661 for PPPoE, RFC 3032 for
MPLS.
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
#: Common link types that are not read.
UNREAD_NAMES = {
    9: "PPP",
    50: "PPP over serial lines",
    51: "PPPoE",
    104: "Cisco HDLC",
    105: "IEEE 802.11",
    107: "Frame Relay",
    119: "IEEE 802.11 with a Prism header",
    127: "IEEE 802.11 with radiotap",
    **dict.fromkeys(range(147, 163), "one that is private to its user"),
    187: "Bluetooth",
    195: "IEEE 802.15.4",
    201: "Bluetooth",
    220: "USB",
    227: "CAN",
    239: "NFLOG",
    253: "netlink",
    277: "D-Bus",
}
_TYPE_IPV4, _TYPE_IPV6 = 0x0800, 0x86DD
_TAGS = (0x8100, 0x88A8, 0x9100, 0x9200, 0x9300)
_PPPOE, _MPLS = 0x8864, (0x8847, 0x8848)
_PPP_TYPES = {0x0021: _TYPE_IPV4, 0x0057: _TYPE_IPV6, 0x0281: _MPLS[0], 0x0283: _MPLS[1]}
#: Tags, PPPoE headers and MPLS labels of one packet that are read.
LAYERS_MAX = 8
#: Ethernet types below are lengths of IEEE 802.3; they are counted as 0.
LENGTH_MAX = 0x05DC
NO_TYPE = -1
_FAMILY_IPV4, _FAMILIES_IPV6 = 2, (10, 24, 28, 30)  # AF_INET everywhere; AF_INET6 of Linux and the BSDs


def format_link(number: int) -> str:
    """A link type by its name and number."""
    name = LINK_NAMES.get(number) or UNREAD_NAMES.get(number)
    return f"{number} ({name})" if name else str(number)


def find_ip(data: Bytes, indices: Integers, link_type: int) -> tuple[Integers, Integers, Integers]:
    """For each record the place of its IP header, its version, and its innermost Ethernet type.

    The version is 4, 6, or 0 for anything else; the type is ``NO_TYPE`` for links that have none. Raises
    KeyError for a link type that is not in ``LINK_NAMES``. The caller checks that what was read is within the
    record: ``data`` has padding behind the last one.
    """
    if link_type not in LINK_NAMES:
        raise KeyError(link_type)
    if link_type in (ETHERNET, SLL, SLL2):
        ahead, type_at = {ETHERNET: (14, 12), SLL: (16, 14), SLL2: (20, 0)}[link_type]
        shorts = view_numbers(data, ">u2")
        kinds = shorts[indices + type_at].astype(np.int64)
        result = indices + ahead
        for _ in range(LAYERS_MAX):
            if not _enter_layer(data, kinds, result):
                break
        kinds[kinds <= LENGTH_MAX] = 0
        versions = np.where(kinds == _TYPE_IPV4, 4, np.where(kinds == _TYPE_IPV6, 6, 0))
        return result, versions, kinds
    none = np.full(len(indices), NO_TYPE)
    if link_type in (NULL, LOOP):
        result = indices + 4
        family = view_numbers(data, ">u4")[indices].astype(np.int64)
        swapped = view_numbers(data, "<u4")[indices].astype(np.int64)
        family = np.minimum(family, swapped)  # of the machine that captured, in whichever order
        is_ipv6 = np.isin(family, _FAMILIES_IPV6)
        return result, np.where(family == _FAMILY_IPV4, 4, np.where(is_ipv6, 6, 0)), none
    versions = (data[indices] >> 4).astype(np.int64)
    return indices.copy(), np.where((versions == 4) | (versions == 6), versions, 0), none


def _enter_layer(data: Bytes, kinds: Integers, result: Integers) -> bool:
    """Go from one layer to the next within it, in place; False where no record has a further one.

    MPLS does not say what it carries: behind the last label stands IP where its version says so.
    """
    shorts = view_numbers(data, ">u2")
    last = len(shorts) - 1
    tagged, pppoe = np.flatnonzero(np.isin(kinds, _TAGS)), np.flatnonzero(kinds == _PPPOE)
    labelled = np.flatnonzero(np.isin(kinds, _MPLS))
    kinds[tagged] = shorts[np.minimum(result[tagged] + 2, last)]
    result[tagged] += 4
    protocols = shorts[np.minimum(result[pppoe] + 6, last)]
    inner = np.zeros(len(pppoe), dtype=np.int64)
    for protocol, kind in _PPP_TYPES.items():
        inner[protocols == protocol] = kind
    kinds[pppoe[inner > 0]] = inner[inner > 0]
    result[pppoe[inner > 0]] += 8
    ends = data[np.minimum(result[labelled] + 2, last)] & 1 > 0
    result[labelled] += 4
    bottom = labelled[ends]
    versions = data[np.minimum(result[bottom], last)] >> 4
    kinds[bottom[versions == 4]] = _TYPE_IPV4
    kinds[bottom[versions == 6]] = _TYPE_IPV6
    return bool(len(tagged) or (inner > 0).any() or len(labelled) > len(bottom))
