"""Runs inside the guest: flows of datagrams that the kernel paces, where a discipline does and where not."""

from __future__ import annotations

import json
import os
from typing import Any

from pathlab.lab.namespaces import Namespaces

ENGINE = "/bin/pathlab-engine"
TOKEN = "00112233445566778899aabbccddeeff"
ADDRESS = "198.18.0.2"
PACKETS_PER_S = 1000
WARMUP_MS, DURATION_MS = 500, 1500


def connect(namespaces: Namespaces) -> None:
    """A pair of devices between the nodes a and b."""
    paths = {node: namespaces.add_node(node) for node in ("a", "b")}
    namespaces.run("a", *f"ip link add v0 type veth peer name v1 netns {paths['b']}".split())
    for number, node in enumerate(("a", "b")):
        device = f"v{number}"
        namespaces.run(node, *f"ip address add 198.18.0.{number + 1}/30 dev {device}".split())
        namespaces.run(node, "ip", "link", "set", device, "up")


def carry(namespaces: Namespaces, *flags: str) -> dict[str, Any]:
    """One flow from a to b: the last record of the sender and of the receiver, and the sender's `ready`."""
    times = ["--warmup", f"{WARMUP_MS}ms", "--duration", f"{DURATION_MS}ms", "--output", "json"]
    common = ["--token", TOKEN, "--transport", "udp", *times]
    read_end, write_end = os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    receiver = namespaces.spawn("b", [ENGINE, "receive", "--bind", ADDRESS, *common], (null, write_end, 2))
    os.close(write_end)
    with os.fdopen(read_end) as lines:
        for line in lines:
            if json.loads(line)["type"] == "listening":
                break
        send = [ENGINE, "send", "--address", ADDRESS, "--datagram-bytes", "200", *common, *flags]
        done = namespaces.run("a", "sh", "-c", f"{' '.join(send)}; :")
        received = [json.loads(line) for line in lines.read().splitlines()]
    receiver.wait(10)
    sent = [json.loads(line) for line in done.splitlines() if line.startswith("{")]
    ready = next((record for record in sent if record["type"] == "ready"), None)
    return {"ready": ready, "sent": sent[-1], "received": received[-1] if received else None}


def measure() -> dict[str, Any]:
    """What becomes of flows by each way of pacing."""
    offered = ("--packets-per-s", str(PACKETS_PER_S))
    answer: dict[str, Any] = {"kernel": os.uname().release}
    with Namespaces() as namespaces:
        connect(namespaces)
        answer["refused"] = carry(namespaces, *offered, "--pacing", "kernel")
        namespaces.run("a", "tc", "qdisc", "replace", "dev", "v0", "root", "fq")
        for by in ("kernel", "txtime", "user"):
            answer[by] = carry(namespaces, *offered, "--pacing", by)
        answer["streams"] = carry(namespaces, *offered, "--pacing", "txtime", "--streams", "4")
    return answer
