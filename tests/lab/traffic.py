"""Small senders and receivers for the lab's hosts: a program apart, since it runs in another namespace.

``python traffic.py ROLE key=value ...`` prints ``ready PORT`` once it listens (receivers) and one JSON object
at the end.
"""

from __future__ import annotations

import hashlib
import json
import random
import socket
import sys
import time

READ_BYTES = 1 << 17
QUIET_S = 0.7
DEADLINE_S = 20.0


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


def receive_tcp(warmup_s: float, steady_s: float) -> dict[str, object]:
    """Take one connection to its end; the bytes of the steady time apart."""
    digest = hashlib.sha256()
    total_bytes = steady_bytes = 0
    with socket.create_server(("", 0)) as server:
        server.settimeout(DEADLINE_S)
        print("ready", server.getsockname()[1], flush=True)  # noqa: T201 -- the protocol of this program
        stream, _ = server.accept()
        with stream:
            stream.settimeout(DEADLINE_S)
            begin = time.monotonic()
            first_at = last_at = 0.0
            while part := stream.recv(READ_BYTES):
                at = time.monotonic() - begin
                digest.update(part)
                total_bytes += len(part)
                if warmup_s <= at < warmup_s + steady_s:
                    steady_bytes += len(part) if first_at else 0
                    first_at = first_at or at
                    last_at = at
    steady = steady_bytes * 8 / (last_at - first_at) if last_at > first_at else None
    return {"bytes": total_bytes, "sha256": digest.hexdigest(), "steady_bits_per_s": steady}


def send_udp(address: str, port: int, count: int, payload_bytes: int, burst: int) -> dict[str, object]:
    """Send numbered datagrams, ``burst`` of them per millisecond."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plug:
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        begin = time.monotonic()
        for number in range(count):
            plug.sendto(number.to_bytes(4, "big").ljust(payload_bytes, b"."), (address, port))
            if number % burst == burst - 1:
                time.sleep(max(0.0, begin + (number + 1) / burst * 1e-3 - time.monotonic()))
    return {"sent": count}


def receive_udp(quiet_s: float) -> dict[str, object]:
    """The numbers that came, in their order, until nothing has come for a while."""
    numbers: list[int] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plug:
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        plug.bind(("", 0))
        plug.settimeout(DEADLINE_S)
        print("ready", plug.getsockname()[1], flush=True)  # noqa: T201 -- the protocol of this program
        try:
            while True:
                numbers.append(int.from_bytes(plug.recv(READ_BYTES)[:4], "big"))
                plug.settimeout(quiet_s)
        except TimeoutError:
            return {"numbers": numbers}


def main(arguments: list[str]) -> None:
    role = arguments[0]
    values = dict(pair.split("=", 1) for pair in arguments[1:])
    peer, port = values.get("address", ""), int(values.get("port", 0))
    if role == "send-tcp":
        outcome = send_tcp(peer, port, int(values.get("size_bytes", 0)), float(values.get("seconds", 0)))
    elif role == "receive-tcp":
        outcome = receive_tcp(float(values.get("warmup_s", 0)), float(values.get("steady_s", 0)))
    elif role == "send-udp":
        outcome = send_udp(
            peer, port, int(values["count"]), int(values["payload_bytes"]), int(values["burst"])
        )
    elif role == "receive-udp":
        outcome = receive_udp(float(values.get("quiet_s", QUIET_S)))
    else:
        raise SystemExit(f"unknown role {role}")
    print(json.dumps(outcome), flush=True)  # noqa: T201 -- the protocol of this program


if __name__ == "__main__":
    main(sys.argv[1:])
