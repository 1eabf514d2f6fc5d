"""Ports of servers: which are free here, and whether a socket belongs to certain processes.

A socket counts as a server's only when its address and port are right and a process of the server's tree
holds it: proc(5), ``/proc/net/tcp`` and the links of ``/proc/PID/fd``.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import socket
import struct
import time
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Set, Tuple

from pathlab.agents.protocol import quote

POLL_S = 0.01
_ADDRESS = re.compile(r"[0-9A-Fa-f:.]{2,45}(%[A-Za-z0-9._-]{1,15})?")
_PORTS = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")
#: The files of a protocol, and the state of a socket that takes what comes: include/net/tcp_states.h.
_TABLES = {"tcp": (("tcp", "tcp6"), "0A"), "udp": (("udp", "udp6"), "07")}
_KINDS = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}
_MAPPED = b"\0" * 10 + b"\xff\xff"


def parse_ports(text: str) -> range:
    """``0`` (any), ``N`` or ``N-M``. ValueError for anything else."""
    match = _PORTS.fullmatch(text)
    first, last = (int(match.group(1)), int(match.group(2) or match.group(1))) if match else (1, 0)
    if not first <= last <= 65535:
        raise ValueError(f"'{text[:20]}' is not a port or range of ports")
    return range(first, last + 1)


def check_numeric_address(text: object) -> str:
    """An IPv4 or IPv6 address, maybe with its zone, that no file or command reads as more. ValueError."""
    if not isinstance(text, str) or not _ADDRESS.fullmatch(text):
        raise ValueError(f"{quote(text)} is not an address")
    return text


def build_socket_address(address: str, port: int) -> "Tuple[Any, ...]":
    """A numeric address as ``socket`` takes it, with the zone of a link-local one. OSError: no such zone."""
    where: "Tuple[Any, ...]" = socket.getaddrinfo(
        address, port, type=socket.SOCK_DGRAM, flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
    )[0][4]
    return where


def find_free_port(address: str, ports: range, protocol: str = "tcp") -> int:
    """The first port that is free now at a numeric address; a server takes it a moment later. OSError."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    fault: OSError = OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
    for port in ports:
        with socket.socket(family, _KINDS[protocol]) as probe:
            if protocol == "tcp":
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(build_socket_address(address, port))
            except OSError as error:
                fault = error
                continue
            return int(probe.getsockname()[1])
    raise fault


def list_descendants(root: int) -> List[int]:
    """The process and all below it that can be seen now, parents before their children."""
    children: Dict[int, List[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{name}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    result = [root]
    for pid in result:  # grows meanwhile
        result += children.get(pid, [])
    return result


def find_listeners(protocol: str, root: int, port: Optional[int] = None) -> Set[Tuple[str, int]]:
    """Addresses and ports on which the processes from ``root`` down take what comes; at ``port`` alone."""
    sockets = _read_sockets(protocol, port)
    if not sockets:
        return set()
    return {sockets[inode] for inode in _list_inodes(list_descendants(root)) if inode in sockets}


def await_listener(
    protocol: str,
    address: str,
    port: Optional[int],
    *,
    root: int,
    timeout_s: float,
    wait: Callable[[float], bool],
) -> Optional[int]:
    """The port at ``address`` that a process from ``root`` down listens on; None: none within the time.

    ``port`` None: any port. ``wait`` is called between two looks with the seconds to wait; after false there
    is one last look.
    """
    wanted = normalize_address(address)
    deadline_s = time.monotonic() + timeout_s
    last = False
    while True:
        for result, number in sorted(find_listeners(protocol, root, port)):
            if result == wanted:
                return number
        if last:
            return None
        left_s = deadline_s - time.monotonic()
        last = left_s <= 0 or not wait(min(POLL_S, left_s))


def normalize_address(address: str) -> str:
    """An address as this module writes it: without a zone, and IPv4 where it is mapped into IPv6."""
    bare = address.partition("%")[0]
    family, _, _, _, where = socket.getaddrinfo(bare, None, flags=socket.AI_NUMERICHOST)[0]
    return _format_address(socket.inet_pton(family, str(where[0])))


def _format_address(packed: bytes) -> str:
    if packed.startswith(_MAPPED) and len(packed) == 16:
        packed = packed[len(_MAPPED) :]
    return socket.inet_ntop(socket.AF_INET6 if len(packed) == 16 else socket.AF_INET, packed)


def list_peers(port: int) -> Set[Tuple[str, int]]:
    """Address and port of the other end of each TCP connection at a port of this host, closing ones too."""
    return {
        _parse_place(row[2])
        for row in _read_rows(_TABLES["tcp"][0])
        if int(row[1].partition(":")[2], 16) == port and row[3] != _TABLES["tcp"][1]
    }


def _read_sockets(protocol: str, port: Optional[int]) -> Dict[int, Tuple[str, int]]:
    """Address and port of each socket that takes what comes, by inode."""
    result: Dict[int, Tuple[str, int]] = {}
    names, state = _TABLES[protocol]
    for row in _read_rows(names):
        if row[3] == state and port in (None, int(row[1].partition(":")[2], 16)):
            result[int(row[9])] = _parse_place(row[1])
    return result


def _read_rows(names: Iterable[str]) -> Iterator[List[str]]:
    """The rows of tables of sockets, proc(5), as words."""
    for name in names:
        try:
            with open(f"/proc/self/net/{name}", encoding="ascii") as lines:
                rows = [line.split() for line in lines][1:]
        except OSError:
            continue  # a host without IPv6
        yield from rows


def _parse_place(text: str) -> Tuple[str, int]:
    """An address and a port as the kernel prints them; each 32-bit word is in the host's byte order."""
    words, _, number = text.partition(":")
    parts = [int(words[at : at + 8], 16) for at in range(0, len(words), 8)]
    return _format_address(struct.pack(f"={len(parts)}I", *parts)), int(number, 16)


def _list_inodes(pids: List[int]) -> Set[int]:
    """Inodes of the sockets that these processes hold; of one that ended, or may not be read, none."""
    inodes: Set[int] = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            for name in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    target = os.readlink(f"/proc/{pid}/fd/{name}")
                    if target.startswith("socket:["):
                        inodes.add(int(target[8:-1]))
    return inodes
