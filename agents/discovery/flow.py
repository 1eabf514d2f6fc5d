"""One flow of probes: a socket whose addresses and ports never change, and the replies that it gets.

Errors from routers are read from the socket's own error queue (IP_RECVERR), the way of tracepath: it names
the router, quotes the probe, carries the kernel's receive stamp, and needs no privilege. So UDP works for
everybody, ICMP where the kernel grants ping sockets or raw ones, TCP SYN where raw sockets are allowed.

The round trip runs from CLOCK_REALTIME read just before the send to the kernel's receive stamp
(SO_TIMESTAMPNS, the same clock), so a late wake-up of this program costs nothing; what the send itself takes
is in it.
"""

from __future__ import annotations

import errno
import ipaddress
import socket
import struct
import time
from typing import Any, List, NamedTuple, Optional, Tuple

from pathlab.agents.discovery import packets
from pathlab.agents.listeners import build_socket_address

# Linux's numbers, which Python's socket module does not name everywhere.
SO_TIMESTAMPNS = 35
IP_MTU_DISCOVER, IP_RECVERR, IP_RECVTTL, IP_MTU, IP_PMTUDISC_PROBE = 10, 11, 12, 14, 3
IPV6_MTU_DISCOVER, IPV6_MTU, IPV6_RECVERR, IPV6_DONTFRAG = 23, 24, 25, 62
_FROM_LOCAL, _FROM_ICMP, _FROM_ICMP6 = 1, 2, 3
_EXTENDED_ERROR = struct.Struct("=IBBBBII")
_READ_BYTES = 65536
_ANCILLARY_BYTES = 512
_MAX_REPLIES = 256  # read at a time, so that a flood of them cannot hold the loop
_HOLD_UP_NS = 100_000
_MAX_CLOCK_READS = 8

# (origin, ICMP type) to what it means; the code is kept alongside it.
_KINDS = {
    (_FROM_ICMP, 11): "time-exceeded",
    (_FROM_ICMP, 3): "unreachable",
    (_FROM_ICMP6, 3): "time-exceeded",
    (_FROM_ICMP6, 1): "unreachable",
    (_FROM_ICMP6, 2): "too-big",
}
_PORT_UNREACHABLE = {_FROM_ICMP: 3, _FROM_ICMP6: 4}
_TOO_BIG_CODE = 4  # of ICMP type 3


def read_clocks() -> Tuple[int, int]:
    """CLOCK_MONOTONIC and CLOCK_REALTIME of one moment, in ns: read again if held up between the two."""
    for _ in range(_MAX_CLOCK_READS):
        monotonic_ns, realtime_ns = time.monotonic_ns(), time.time_ns()
        if time.monotonic_ns() - monotonic_ns < _HOLD_UP_NS:
            break
    return monotonic_ns, realtime_ns


class Target(NamedTuple):
    """Where probes go and how: a numeric address, ``udp``, ``icmp`` or ``tcp``, and the ports to keep."""

    address: str
    method: str
    port: int
    source_port: int  # of flow 0; the others follow

    @property
    def version(self) -> int:
        """Of IP: 4 or 6."""
        return ipaddress.ip_address(self.address.partition("%")[0]).version


class Reply(NamedTuple):
    """One answer. ``number`` is None where the quote was too short to show whose answer it is."""

    number: Optional[int]
    number_bits: int
    kind: str
    code: Optional[int]
    source: Optional[str]
    received_ns: Optional[int]  # the kernel's, CLOCK_REALTIME
    mtu_bytes: Optional[int]
    reply_ttl: Optional[int]
    reply_bytes: Optional[int]


class Flow:
    """A flow's socket. OSError when it cannot be had; then nothing stays open."""

    def __init__(self, target: Target, number: int) -> None:
        self.number = number
        self._method, self._version = target.method, target.version
        self._identity = 0
        self._raw = False
        self._holder: Optional[socket.socket] = None
        self.socket = self._open()
        try:
            self._set_options()
            port = 0 if target.method == "icmp" else target.port
            wanted = target.source_port + number
            self.kept_port = True
            if target.method == "icmp":
                self._identity = wanted & 0xFFFF
                if not self._raw:
                    self._bind(self.socket, self._identity)  # a ping socket's port is its identity
            elif target.method == "udp":
                self._bind(self.socket, wanted)
            elif target.method == "tcp":
                # Nobody else may use the port; an unconnected socket on it leaves the kernel to reset
                # answers.
                self._holder = socket.socket(self._family, socket.SOCK_STREAM)
                self._bind(self._holder, wanted)
            self.socket.connect(build_socket_address(target.address, 0 if self._raw else port))
            if self._method == "icmp" and not self._raw:
                self._identity = int(self.socket.getsockname()[1])
            self.local_address = str(self.socket.getsockname()[0])
            source = self._holder or self.socket
            self.source_port = self._identity if self._method == "icmp" else int(source.getsockname()[1])
            self._ports = (self.source_port, target.port)
            self._pseudo_header = packets.build_pseudo_header(
                *map(_pack, (self.local_address, target.address))
            )
        except BaseException:
            self.close()
            raise

    @property
    def _family(self) -> int:
        return socket.AF_INET if self._version == 4 else socket.AF_INET6

    @property
    def privilege(self) -> str:
        """What kind of socket it is: ``ordinary`` or ``raw``."""
        return "raw" if self._raw else "ordinary"

    @property
    def mtu_bytes(self) -> int:
        """The largest packet that the kernel holds possible towards the target."""
        if self._version == 4:
            return self.socket.getsockopt(socket.IPPROTO_IP, IP_MTU)
        return self.socket.getsockopt(socket.IPPROTO_IPV6, IPV6_MTU)

    def _open(self) -> socket.socket:
        if self._method == "udp":
            return socket.socket(self._family, socket.SOCK_DGRAM)
        if self._method == "tcp":
            self._raw = True
            return socket.socket(self._family, socket.SOCK_RAW, socket.IPPROTO_TCP)
        protocol = socket.IPPROTO_ICMP if self._version == 4 else socket.IPPROTO_ICMPV6
        try:
            return socket.socket(self._family, socket.SOCK_DGRAM, protocol)
        except PermissionError:
            self._raw = True
            return socket.socket(self._family, socket.SOCK_RAW, protocol)

    def _set_options(self) -> None:
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        # Probes are never cut in pieces, and what the kernel learnt of the path does not stop them.
        if self._version == 4:
            self.socket.setsockopt(socket.IPPROTO_IP, IP_RECVERR, 1)
            self.socket.setsockopt(socket.IPPROTO_IP, IP_RECVTTL, 1)
            self.socket.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE)
        else:
            self.socket.setsockopt(socket.IPPROTO_IPV6, IPV6_RECVERR, 1)
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVHOPLIMIT, 1)
            self.socket.setsockopt(socket.IPPROTO_IPV6, IPV6_MTU_DISCOVER, IP_PMTUDISC_PROBE)
            self.socket.setsockopt(socket.IPPROTO_IPV6, IPV6_DONTFRAG, 1)

    def _bind(self, bound: socket.socket, port: int) -> None:
        """Take the flow's own port, else any: then the flow is another one on each run."""
        try:
            bound.bind(("", port))
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
            bound.bind(("", 0))
            self.kept_port = False

    def send(self, number: int, ttl: int, size_bytes: int) -> Tuple[int, int]:
        """Send probe ``number`` as an IP packet of ``size_bytes``; OSError (EMSGSIZE: too large for the
        link).

        Returns CLOCK_MONOTONIC and CLOCK_REALTIME as they were just before, in ns.
        """
        if self._version == 4:
            self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttl)
        else:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, ttl)
        packet = self._build(number, size_bytes - packets.IP_HEADER_BYTES[self._version])
        clocks = read_clocks()
        self.socket.send(packet)
        return clocks

    def _build(self, number: int, length_bytes: int) -> bytes:
        if self._method == "udp":
            return packets.build_udp_payload(number, length_bytes - packets.UDP_HEADER_BYTES)
        if self._method == "icmp":
            return packets.build_echo_request(number, self._identity, length_bytes, self._version)
        return packets.build_syn(self._ports, number, self._pseudo_header)

    def read(self) -> List[Reply]:
        """All replies that wait, errors of routers first; packets of others are left out."""
        replies: List[Reply] = []
        for flags in (socket.MSG_ERRQUEUE, 0):
            for _ in range(_MAX_REPLIES):
                try:
                    data, ancillary, _, source = self.socket.recvmsg(_READ_BYTES, _ANCILLARY_BYTES, flags)
                except BlockingIOError:
                    break
                except OSError:
                    continue  # an error that waits on the socket itself; its packet came through the queue
                reply = (
                    self._read_error(data, ancillary) if flags else self._read_answer(data, ancillary, source)
                )
                if reply is not None:
                    replies.append(reply)
        return replies

    def _read_error(self, data: bytes, ancillary: List[Any]) -> Optional[Reply]:
        error = _find_extended_error(ancillary)
        if error is None:
            return None
        origin, kind, code, info, source = error
        if origin == _FROM_LOCAL:
            return None  # send() has raised it already
        name = _KINDS.get((origin, kind), "other")
        mtu_bytes = None
        if name == "unreachable" and code == _PORT_UNREACHABLE[origin]:
            name = "port-unreachable"
        elif name == "too-big" or (origin == _FROM_ICMP and kind == 3 and code == _TOO_BIG_CODE):
            name, mtu_bytes = "too-big", info or None
        number = self._read_quote(data)
        if number is None and self._method != "udp":
            return None  # raw sockets get the errors of other flows' probes as well
        header = packets.IP_HEADER_BYTES[self._version]
        quoted = len(data) + (packets.UDP_HEADER_BYTES if self._method == "udp" else 0)
        return Reply(
            number=number,
            number_bits=16 if self._method == "icmp" and len(data) < 24 else 32,
            kind=name,
            code=code,
            source=source,
            received_ns=_find_stamp(ancillary),
            mtu_bytes=mtu_bytes,
            reply_ttl=_find_ttl(ancillary),
            reply_bytes=2 * header + packets.ICMP_HEADER_BYTES + quoted,
        )

    def _read_quote(self, data: bytes) -> Optional[int]:
        if self._method == "udp":
            return packets.find_mark(data)
        if self._method == "icmp":
            return packets.parse_echo(data, self._identity)
        return packets.read_quoted_syn(data, self._ports)

    def _read_answer(self, data: bytes, ancillary: List[Any], source: Any) -> Optional[Reply]:
        """A packet of the target itself; ``source`` is the socket's view of its address."""
        size = len(data)
        if self._raw and self._version == 4:
            data = packets.strip_ip_header(data)
        else:
            size += packets.IP_HEADER_BYTES[self._version]
        kind = "answer"
        number: Optional[int]
        if self._method == "udp":
            size += packets.UDP_HEADER_BYTES
            number = packets.find_mark(data)
        elif self._method == "icmp":
            if not data or data[0] != packets.ICMP_ECHO_REPLY[self._version]:
                return None
            kind, number = "echo-reply", packets.parse_echo(data, self._identity)
        else:
            answered = packets.read_syn_answer(data, self._ports)
            kind, number = answered or ("", None)
        if number is None and self._method != "udp":
            return None
        return Reply(
            number=number,
            number_bits=32,
            kind=kind,
            code=None,
            source=str(source[0]),
            received_ns=_find_stamp(ancillary),
            mtu_bytes=None,
            reply_ttl=_find_ttl(ancillary),
            reply_bytes=size,
        )

    def close(self) -> None:
        self.socket.close()
        if self._holder is not None:
            self._holder.close()


def _pack(address: str) -> bytes:
    return ipaddress.ip_address(address.partition("%")[0]).packed


def _find_extended_error(ancillary: List[Any]) -> Optional[Tuple[int, int, int, int, Optional[str]]]:
    """Origin, type, code, info and offender's address of a ``struct sock_extended_err``."""
    kinds = ((socket.IPPROTO_IP, IP_RECVERR), (socket.IPPROTO_IPV6, IPV6_RECVERR))
    data = _find_message(ancillary, kinds, _EXTENDED_ERROR.size)
    if data is None:
        return None
    _, origin, icmp_type, code, _, info, _ = _EXTENDED_ERROR.unpack_from(data)
    return origin, icmp_type, code, info, _read_offender(data[_EXTENDED_ERROR.size :])


def _find_message(ancillary: List[Any], kinds: Tuple[Tuple[int, int], ...], size: int) -> Optional[bytes]:
    """The first control message of one of these levels and types that has so many bytes."""
    packets = (data for level, kind, data in ancillary if (level, kind) in kinds and len(data) >= size)
    return next(packets, None)


def _read_offender(data: bytes) -> Optional[str]:
    """The address in a ``struct sockaddr_in`` or ``sockaddr_in6``, None where it names nobody."""
    if len(data) < 8:
        return None
    (family,) = struct.unpack_from("=H", data)
    if family == socket.AF_INET:
        return socket.inet_ntop(socket.AF_INET, data[4:8])
    if family == socket.AF_INET6 and len(data) >= 24:
        address = socket.inet_ntop(socket.AF_INET6, data[8:24])
        zone = struct.unpack_from("=I", data, 24)[0] if len(data) >= 28 else 0
        return f"{address}%{_name_interface(zone)}" if zone else address
    return None


def _name_interface(index: int) -> str:
    """Its name, as addresses of answers have it; its number where it is gone."""
    try:
        return socket.if_indextoname(index)
    except OSError:
        return str(index)


def _find_stamp(ancillary: List[Any]) -> Optional[int]:
    data = _find_message(ancillary, ((socket.SOL_SOCKET, SO_TIMESTAMPNS),), struct.calcsize("@ll"))
    if data is None:
        return None
    seconds, nanoseconds = struct.unpack_from("@ll", data)
    return int(seconds) * 1_000_000_000 + int(nanoseconds)


def _find_ttl(ancillary: List[Any]) -> Optional[int]:
    kinds = ((socket.IPPROTO_IP, socket.IP_TTL), (socket.IPPROTO_IPV6, socket.IPV6_HOPLIMIT))
    data = _find_message(ancillary, kinds, 4)
    return None if data is None else int(struct.unpack_from("=i", data)[0])
