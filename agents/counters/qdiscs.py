"""Queueing disciplines of the agent's network namespace, by an RTM_GETQDISC dump over rtnetlink.

Source: linux/rtnetlink.h (struct tcmsg, TCA_*), linux/gen_stats.h (TCA_STATS_*).
``noqueue`` is left out: packets pass it by, and its zeros count nothing.
"""

from __future__ import annotations

import socket
import struct
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from pathlab.agents.counters import netlink
from pathlab.agents.counters.differences import subtract_named
from pathlab.agents.counters.text import show_name
from pathlab.agents.limits import MAX_COUNTER_QDISCS

COUNTERS = ("bytes", "packets", "drops", "requeues", "overlimits")
HARDWARE_COUNTERS = ("hw_bytes", "hw_packets")

_TCMSG = struct.Struct("=BxxxiIII")  # family, ifindex, handle, parent, info
_BASIC = struct.Struct("=QI")  # bytes, packets
_QUEUE = struct.Struct("=IIIII")  # qlen, backlog, drops, requeues, overlimits
_U64 = struct.Struct("=Q")

_RTM_NEWQDISC, _RTM_GETQDISC = 36, 38
_TCA_KIND, _TCA_STATS2 = 1, 7
_TCA_STATS_BASIC, _TCA_STATS_QUEUE, _TCA_STATS_BASIC_HW, _TCA_STATS_PKT64 = 1, 3, 7, 8
_TC_H_ROOT = 0xFFFFFFFF


class QdiscId(NamedTuple):
    """Which qdisc, as the kernel numbers it. The children of a default mq all have handle 0."""

    interface_index: int
    handle: int
    parent: int


class Qdisc(NamedTuple):
    """One qdisc: its counts by the names in COUNTERS and HARDWARE_COUNTERS, and its levels now."""

    kind: str
    counts: Dict[str, int]
    backlog_bytes: Optional[int]
    qlen: Optional[int]


class QdiscReading(NamedTuple):
    """All qdiscs, and the names of their interfaces by index."""

    qdiscs: Dict[QdiscId, Qdisc]
    interfaces: Dict[int, str]


def parse_datagram(data: bytes, qdiscs: Dict[QdiscId, Qdisc]) -> bool:
    """Add the qdiscs of one datagram of a dump to ``qdiscs``; return whether it was the last one.

    Raises as ``netlink.parse_messages``.
    """
    bodies: List[bytes] = []
    ended = netlink.parse_messages(data, _RTM_NEWQDISC, bodies)
    qdiscs.update(map(_parse_qdisc, bodies))
    return ended


def compare_qdiscs(before: QdiscReading, after: QdiscReading) -> List[Dict[str, Any]]:
    """Per qdisc its ``interface``, ``handle``, ``parent``, ``kind``, differences and levels.

    Only those that were there, with the same kind, at both readings. ``backlog_bytes`` and ``qlen`` (packets)
    are levels at the later one. The hardware's counts are there for a qdisc that counts them apart.
    """
    result: List[Dict[str, Any]] = []
    for identity, qdisc in after.qdiscs.items():
        old = before.qdiscs.get(identity)
        name = after.interfaces.get(identity.interface_index)
        if old is None or old.kind != qdisc.kind or name is None:
            continue
        hardware = [counter for counter in HARDWARE_COUNTERS if counter in qdisc.counts]
        entry = {
            "interface": show_name(name),
            "handle": f"{identity.handle >> 16:x}:",
            "parent": _show_parent(identity.parent),
            "kind": qdisc.kind,
            **subtract_named([*COUNTERS, *hardware], old.counts, qdisc.counts),
            "backlog_bytes": qdisc.backlog_bytes,
            "qlen": qdisc.qlen,
        }
        result.append(entry)
    return result


def read_qdiscs() -> QdiscReading:
    """What the kernel shows now. OSError or ValueError when it cannot be read, or are too many."""
    header = _TCMSG.pack(socket.AF_UNSPEC, 0, 0, 0, 0)
    bodies = netlink.dump(
        _RTM_GETQDISC, _RTM_NEWQDISC, header, most=MAX_COUNTER_QDISCS, what="queueing disciplines"
    )
    qdiscs = dict(map(_parse_qdisc, bodies))
    counting = {identity: qdisc for identity, qdisc in qdiscs.items() if qdisc.kind != "noqueue"}
    return QdiscReading(qdiscs=counting, interfaces=_find_interface_names(counting))


def _find_interface_names(qdiscs: Dict[QdiscId, Qdisc]) -> Dict[int, str]:
    names: Dict[int, str] = {}
    for index in {identity.interface_index for identity in qdiscs}:
        try:
            names[index] = socket.if_indextoname(index)
        except OSError:
            continue  # removed since the dump
    return names


def _parse_qdisc(body: bytes) -> Tuple[QdiscId, Qdisc]:
    if len(body) < _TCMSG.size:
        raise ValueError(f"a qdisc of {len(body)} bytes, {_TCMSG.size} are needed")
    _family, index, handle, parent, _info = _TCMSG.unpack_from(body)
    kind, stats = "", b""
    for number, value in netlink.walk_attributes(body[_TCMSG.size :]):
        if number == _TCA_KIND:
            kind = value.rstrip(b"\0").decode("ascii", "backslashreplace")
        elif number == _TCA_STATS2:
            stats = value
    return QdiscId(index, handle, parent), _parse_stats(kind, stats)


def _parse_stats(kind: str, stats: bytes) -> Qdisc:
    counts: Dict[str, int] = {}
    backlog_bytes: Optional[int] = None
    qlen: Optional[int] = None
    prefix = ""
    for number, value in netlink.walk_attributes(stats):
        if number in (_TCA_STATS_BASIC, _TCA_STATS_BASIC_HW) and len(value) >= _BASIC.size:
            prefix = "hw_" if number == _TCA_STATS_BASIC_HW else ""
            counts[prefix + "bytes"], counts[prefix + "packets"] = _BASIC.unpack_from(value)
        elif number == _TCA_STATS_PKT64 and len(value) >= _U64.size:
            # Follows the basic counts whose 32 bits of packets it replaces.
            (counts[prefix + "packets"],) = _U64.unpack_from(value)
        elif number == _TCA_STATS_QUEUE and len(value) >= _QUEUE.size:
            qlen, backlog_bytes, counts["drops"], counts["requeues"], counts["overlimits"] = (
                _QUEUE.unpack_from(value)
            )
    return Qdisc(kind=kind, counts=counts, backlog_bytes=backlog_bytes, qlen=qlen)


def _show_parent(parent: int) -> str:
    return "root" if parent == _TC_H_ROOT else f"{parent >> 16:x}:{parent & 0xFFFF:x}"
