"""Queueing disciplines of the agent's network namespace, by an RTM_GETQDISC dump over rtnetlink.

Source: rtnetlink(7), netlink(7); linux/rtnetlink.h (struct tcmsg, TCA_*), linux/gen_stats.h (TCA_STATS_*).
``noqueue`` is left out: packets pass it by, and its zeros count nothing.
"""

from __future__ import annotations

import os
import socket
import struct
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from pathlab.agents.counters.differences import subtract_named
from pathlab.agents.counters.text import show_name
from pathlab.agents.limits import MAX_COUNTER_QDISCS

COUNTERS = ("bytes", "packets", "drops", "requeues", "overlimits")
HARDWARE_COUNTERS = ("hw_bytes", "hw_packets")

_NLMSG = struct.Struct("=IHHII")  # length, type, flags, sequence, port
_TCMSG = struct.Struct("=BxxxiIII")  # family, ifindex, handle, parent, info
_ATTRIBUTE = struct.Struct("=HH")  # length, type
_BASIC = struct.Struct("=QI")  # bytes, packets
_QUEUE = struct.Struct("=IIIII")  # qlen, backlog, drops, requeues, overlimits
_U64 = struct.Struct("=Q")

_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_RTM_NEWQDISC, _RTM_GETQDISC = 36, 38
_NLM_F_REQUEST, _NLM_F_DUMP, _NLM_F_DUMP_INTR = 0x1, 0x300, 0x10
_TCA_KIND, _TCA_STATS2 = 1, 7
_TCA_STATS_BASIC, _TCA_STATS_QUEUE, _TCA_STATS_BASIC_HW, _TCA_STATS_PKT64 = 1, 3, 7, 8
_ATTRIBUTE_TYPE_MASK = 0x3FFF  # without NLA_F_NESTED and NLA_F_NET_BYTEORDER
_TC_H_ROOT = 0xFFFFFFFF

_RECEIVE_BYTES = 64 * 1024  # the kernel fills at most 32 KiB per datagram of a dump
_SEQUENCE = 1
_ATTEMPTS = 3  # a dump during which qdiscs came or went is requested again


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


class DumpInterruptedError(ValueError):
    """Qdiscs came or went during a dump, so that it may lack some."""


def parse_datagram(data: bytes, qdiscs: Dict[QdiscId, Qdisc]) -> bool:
    """Add the qdiscs of one datagram of a dump to ``qdiscs``; return whether it was the last one.

    OSError with the kernel's reason when it refuses, DumpInterruptedError, ValueError for a broken datagram.
    """
    at = 0
    while at + _NLMSG.size <= len(data):
        length, kind, flags, sequence, _port = _NLMSG.unpack_from(data, at)
        if not _NLMSG.size <= length <= len(data) - at:
            raise ValueError(f"a netlink message of {length} bytes where {len(data) - at} are left")
        body = data[at + _NLMSG.size : at + length]
        at += (length + 3) & ~3
        if sequence != _SEQUENCE:
            continue
        if flags & _NLM_F_DUMP_INTR:
            raise DumpInterruptedError("qdiscs came or went meanwhile")
        if kind in (_NLMSG_ERROR, _NLMSG_DONE):
            (number,) = struct.unpack_from("=i", body) if len(body) >= 4 else (0,)
            if number:
                raise OSError(-number, os.strerror(-number))
            return True
        if kind == _RTM_NEWQDISC:
            identity, qdisc = _parse_qdisc(body)
            qdiscs[identity] = qdisc
    return False


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
    for _attempt in range(_ATTEMPTS - 1):
        try:
            return _dump()
        except DumpInterruptedError:
            continue
    return _dump()


def _dump() -> QdiscReading:
    qdiscs: Dict[QdiscId, Qdisc] = {}
    kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
    with socket.socket(socket.AF_NETLINK, kind, socket.NETLINK_ROUTE) as asking:
        # A dump's next part is made by the very call that reads it: there is nothing to wait for.
        asking.sendto(_encode_request(), (0, 0))
        ended = False
        while not ended:
            data, (sender, _groups) = asking.recvfrom(_RECEIVE_BYTES)
            if sender == 0:  # the kernel
                ended = parse_datagram(data, qdiscs)
            if len(qdiscs) > MAX_COUNTER_QDISCS:
                raise ValueError(f"more than {MAX_COUNTER_QDISCS} qdiscs")
    counting = {identity: qdisc for identity, qdisc in qdiscs.items() if qdisc.kind != "noqueue"}
    return QdiscReading(qdiscs=counting, interfaces=_find_interface_names(counting))


def _encode_request() -> bytes:
    length = _NLMSG.size + _TCMSG.size
    head = _NLMSG.pack(length, _RTM_GETQDISC, _NLM_F_REQUEST | _NLM_F_DUMP, _SEQUENCE, 0)
    return head + _TCMSG.pack(socket.AF_UNSPEC, 0, 0, 0, 0)


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
    for number, value in _walk_attributes(body[_TCMSG.size :]):
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
    for number, value in _walk_attributes(stats):
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


def _walk_attributes(data: bytes) -> Iterator[Tuple[int, bytes]]:
    at = 0
    while at + _ATTRIBUTE.size <= len(data):
        length, number = _ATTRIBUTE.unpack_from(data, at)
        if not _ATTRIBUTE.size <= length <= len(data) - at:
            raise ValueError(f"an attribute of {length} bytes where {len(data) - at} are left")
        yield number & _ATTRIBUTE_TYPE_MASK, data[at + _ATTRIBUTE.size : at + length]
        at += (length + 3) & ~3


def _show_parent(parent: int) -> str:
    return "root" if parent == _TC_H_ROOT else f"{parent >> 16:x}:{parent & 0xFFFF:x}"
