"""Small senders and receivers for the lab's hosts: a program apart, since it runs in another namespace.

``python traffic.py ROLE key=value ...`` prints ``ready PORT`` once it listens (receivers) and one JSON object
at the end.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import select
import socket
import sys
import threading
import time

READ_BYTES = 1 << 17
SLOW_READ_BYTES = 20_000
#: After the last datagram has left the emulator; the kernel has it in the socket within much less.
QUIET_S = 0.2
#: Ends what fails already; tests that wait for it have patience of their own.
DEADLINE_S = 300.0
# The socket module does not know this option of UDP (linux/udp.h).
UDP_SEGMENT = 103
SHORT_BYTES = 77


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def send_tcp(address: str, port: int, size_bytes: int, seconds: float) -> dict[str, object]:
    """Send seeded random bytes: ``size_bytes`` of them, or as many as go into ``seconds``."""
    chunk = random.Random(port).randbytes(1 << 16)
    digest = hashlib.sha256()
    sent_bytes = 0
    with socket.create_connection((address, port), timeout=DEADLINE_S) as stream:
        # The same on every machine; the default differs.
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
        end = time.monotonic() + (seconds or DEADLINE_S)
        while (not size_bytes or sent_bytes < size_bytes) and time.monotonic() < end:
            part = chunk[: size_bytes - sent_bytes] if size_bytes else chunk
            stream.sendall(part)
            digest.update(part)
            sent_bytes += len(part)
    return {"bytes": sent_bytes, "sha256": digest.hexdigest()}


def receive_tcp(address: str) -> dict[str, object]:
    """Take one connection to its end. ``address`` tells the family."""
    digest = hashlib.sha256()
    total_bytes = 0
    with socket.create_server((address, 0), family=_family(address)) as server:
        server.settimeout(DEADLINE_S)
        print("ready", server.getsockname()[1], flush=True)  # noqa: T201 -- the protocol of this program
        stream, _ = server.accept()
        with stream:
            stream.settimeout(DEADLINE_S)
            while part := stream.recv(READ_BYTES):
                digest.update(part)
                total_bytes += len(part)
    return {"bytes": total_bytes, "sha256": digest.hexdigest()}


def _relay(source: socket.socket, sink: socket.socket, pause_s: float) -> None:
    """Pass bytes on to their end, a few at a time."""
    with contextlib.suppress(OSError):  # the other way ended both
        while part := source.recv(SLOW_READ_BYTES if pause_s else READ_BYTES):
            sink.sendall(part)
            time.sleep(pause_s)
        sink.shutdown(socket.SHUT_WR)


def relay_slowly(address: str, port: int, buffer_bytes: int, pause_s: float) -> dict[str, object]:
    """Take one connection and pass it on to a port of this host, reading little of it at a time."""
    with socket.socket(_family(address)) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)  # before a window is offered
        server.bind((address, 0))
        server.listen()
        server.settimeout(DEADLINE_S)
        print("ready", server.getsockname()[1], flush=True)  # noqa: T201 -- the protocol of this program
        stream, _ = server.accept()
        with stream, socket.create_connection((address, port), timeout=DEADLINE_S) as onward:
            stream.settimeout(DEADLINE_S)
            back = threading.Thread(target=_relay, args=(onward, stream, 0.0))
            back.start()
            _relay(stream, onward, pause_s)
            back.join()
    return {}


def make_datagram(number: int, size_bytes: int) -> bytes:
    """The datagram of this number: the number and bytes that follow from it."""
    return number.to_bytes(4, "big") + random.Random(number).randbytes(size_bytes - 4)


def open_udp(address: str) -> socket.socket:
    plug = socket.socket(_family(address), socket.SOCK_DGRAM)
    for buffer in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        plug.setsockopt(socket.SOL_SOCKET, buffer, 4 << 20)
    return plug


def mark_capable(plug: socket.socket, codepoint: int) -> None:
    """Send with this ECN field (RFC 3168)."""
    if plug.family == socket.AF_INET6:
        plug.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, codepoint)
    else:
        plug.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, codepoint)


def send_udp(
    target: tuple[str, int], count: int, payload_bytes: int, burst: int, codepoint: int
) -> dict[str, object]:
    """Send numbered datagrams, ``burst`` of them per millisecond."""
    datagrams = [make_datagram(number, payload_bytes) for number in range(count)]
    with open_udp(target[0]) as plug:
        mark_capable(plug, codepoint)
        begin = time.monotonic()
        for number, datagram in enumerate(datagrams):
            plug.sendto(datagram, target)
            if number % burst == burst - 1:
                time.sleep(max(0.0, begin + (number + 1) / burst * 1e-3 - time.monotonic()))
    return {"sent": count}


def send_segmented_udp(
    target: tuple[str, int], count: int, payload_bytes: int, burst: int, codepoint: int
) -> dict[str, object]:
    """Likewise, but each burst is one call that the kernel cuts into datagrams; its last one is short."""
    with open_udp(target[0]) as plug:
        mark_capable(plug, codepoint)
        plug.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, payload_bytes)
        begin = time.monotonic()
        for first in range(0, count, burst):
            numbers = range(first, min(first + burst, count))
            whole = b"".join(make_datagram(number, payload_bytes) for number in numbers[:-1])
            plug.sendto(whole + make_datagram(numbers[-1], SHORT_BYTES), target)
            time.sleep(max(0.0, begin + (numbers[-1] + 1) / burst * 1e-3 - time.monotonic()))
    return {"sent": count}


def _codepoint(ancillary: list[tuple[int, int, bytes]]) -> int:
    kinds = ((socket.IPPROTO_IP, socket.IP_TOS), (socket.IPPROTO_IPV6, socket.IPV6_TCLASS))
    return next(
        int.from_bytes(octet, sys.byteorder) & 3 for level, kind, octet in ancillary if (level, kind) in kinds
    )


def receive_udp(address: str) -> dict[str, object]:
    """The numbers that came, in their order, until stdin ends and no more come.

    ``damaged`` counts datagrams whose bytes do not belong to their number, ``codepoints`` their ECN fields.
    """
    came: list[tuple[bytes, list[tuple[int, int, bytes]]]] = []
    with open_udp(address) as plug:
        if plug.family == socket.AF_INET6:
            plug.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
        else:
            plug.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        plug.bind((address, 0))
        print("ready", plug.getsockname()[1], flush=True)  # noqa: T201 -- the protocol of this program
        while plug in select.select([plug, sys.stdin], [], [], DEADLINE_S)[0]:
            came.append(plug.recvmsg(READ_BYTES, 256)[:2])
        plug.settimeout(QUIET_S)
        with contextlib.suppress(TimeoutError):
            while True:
                came.append(plug.recvmsg(READ_BYTES, 256)[:2])
    # Looked at afterwards, so that the socket's buffer does not fill meanwhile.
    numbers = [int.from_bytes(datagram[:4], "big") for datagram, _ in came]
    damaged = sum(
        datagram != make_datagram(number, len(datagram))
        for number, (datagram, _) in zip(numbers, came, strict=True)
    )
    fields = [_codepoint(ancillary) for _, ancillary in came]
    return {"numbers": numbers, "damaged": damaged, "codepoints": [fields.count(value) for value in range(4)]}


def main(arguments: list[str]) -> None:
    role = arguments[0]
    values = dict(pair.split("=", 1) for pair in arguments[1:])
    peer, port = values.get("address", ""), int(values.get("port", 0))
    if role == "send-tcp":
        outcome = send_tcp(peer, port, int(values.get("size_bytes", 0)), float(values.get("seconds", 0)))
    elif role == "receive-tcp":
        outcome = receive_tcp(peer)
    elif role == "relay-slowly":
        buffer_bytes, pause_s = int(values["buffer_bytes"]), float(values["pause_s"])
        outcome = relay_slowly(peer, port, buffer_bytes, pause_s)
    elif role in ("send-udp", "send-segmented-udp"):
        send = send_udp if role == "send-udp" else send_segmented_udp
        count, payload_bytes, burst = (int(values[key]) for key in ("count", "payload_bytes", "burst"))
        outcome = send((peer, port), count, payload_bytes, burst, int(values.get("codepoint", 0)))
    elif role == "receive-udp":
        outcome = receive_udp(peer)
    else:
        raise SystemExit(f"unknown role {role}")
    print(json.dumps(outcome), flush=True)  # noqa: T201 -- the protocol of this program


if __name__ == "__main__":
    main(sys.argv[1:])
