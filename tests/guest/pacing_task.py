"""Runs inside the guest: flows of datagrams that the kernel paces, where a discipline does and where not."""

from __future__ import annotations

import os
from typing import Any

from pathlab.lab.namespaces import Namespaces
from tests.guest.netem_task import run_flow

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
    times = ["--transport", "udp", "--warmup", f"{WARMUP_MS}ms", "--duration", f"{DURATION_MS}ms"]
    sent, received = run_flow(namespaces, ADDRESS, times, [*times, "--datagram-bytes", "200", *flags])
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
