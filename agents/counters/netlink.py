"""Dumps over rtnetlink: what the kernel says of all objects of a kind in the agent's network namespace.

Source: rtnetlink(7), netlink(7). No privilege is needed.
"""

from __future__ import annotations

import os
import socket
import struct
from typing import Iterator, List, Tuple

_NLMSG = struct.Struct("=IHHII")  # length, type, flags, sequence, port
_ATTRIBUTE = struct.Struct("=HH")  # length, type

_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_NLM_F_REQUEST, _NLM_F_DUMP, _NLM_F_DUMP_INTR = 0x1, 0x300, 0x10
_ATTRIBUTE_TYPE_MASK = 0x3FFF  # without NLA_F_NESTED and NLA_F_NET_BYTEORDER

_RECEIVE_BYTES = 64 * 1024  # the kernel fills at most 32 KiB per datagram of a dump
_SEQUENCE = 1
_ATTEMPTS = 3  # a dump during which objects came or went is requested again


class DumpInterruptedError(ValueError):
    """Objects came or went during a dump, so that it may lack some."""


def parse_messages(data: bytes, answer: int, bodies: List[bytes]) -> bool:
    """Add the bodies of messages of the type ``answer`` to ``bodies``; return whether the dump has ended.

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
            raise DumpInterruptedError("what was read came or went meanwhile")
        if kind in (_NLMSG_ERROR, _NLMSG_DONE):
            (number,) = struct.unpack_from("=i", body) if len(body) >= 4 else (0,)
            if number:
                raise OSError(-number, os.strerror(-number))
            return True
        if kind == answer:
            bodies.append(body)
    return False


def dump(request: int, answer: int, header: bytes, *, most: int, what: str) -> List[bytes]:
    """The bodies of all answers to a dump request of this type with this header.

    OSError or ValueError when they cannot be read, or are more than ``most``; ``what`` names them.
    """
    for _attempt in range(_ATTEMPTS - 1):
        try:
            return _dump(request, answer, header, most, what)
        except DumpInterruptedError:
            continue
    return _dump(request, answer, header, most, what)


def _dump(request: int, answer: int, header: bytes, most: int, what: str) -> List[bytes]:
    bodies: List[bytes] = []
    kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
    head = _NLMSG.pack(_NLMSG.size + len(header), request, _NLM_F_REQUEST | _NLM_F_DUMP, _SEQUENCE, 0)
    with socket.socket(socket.AF_NETLINK, kind, socket.NETLINK_ROUTE) as asking:
        # A dump's next part is made by the very call that reads it: there is nothing to wait for.
        asking.sendto(head + header, (0, 0))
        ended = False
        while not ended:
            data, (sender, _groups) = asking.recvfrom(_RECEIVE_BYTES)
            if sender == 0:  # the kernel
                ended = parse_messages(data, answer, bodies)
            if len(bodies) > most:
                raise ValueError(f"more than {most} {what}")
    return bodies


def walk_attributes(data: bytes) -> Iterator[Tuple[int, bytes]]:
    """Type and value of each attribute. ValueError where one does not fit."""
    at = 0
    while at + _ATTRIBUTE.size <= len(data):
        length, number = _ATTRIBUTE.unpack_from(data, at)
        if not _ATTRIBUTE.size <= length <= len(data) - at:
            raise ValueError(f"an attribute of {length} bytes where {len(data) - at} are left")
        yield number & _ATTRIBUTE_TYPE_MASK, data[at + _ATTRIBUTE.size : at + length]
        at += (length + 3) & ~3
