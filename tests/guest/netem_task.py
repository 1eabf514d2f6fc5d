"""Runs inside the guest, with ``pathlab.lab`` alone: a lab on netem, trials in it, one answer in JSON."""

from __future__ import annotations

import json
import os
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

from pathlab.lab.bonds import BondedLinks
from pathlab.lab.lab import Lab
from pathlab.lab.namespaces import Namespaces
from pathlab.lab.topology import Link, LinkSettings, Topology

ENGINE = "/bin/pathlab-engine"
TOKEN = "00112233445566778899aabbccddeeff"
RATE_BITS_PER_S, SLOW_BITS_PER_S = 20_000_000, 2_000_000

WAN = Link(
    between=("a", "b"),
    rate_bits_per_s=RATE_BITS_PER_S,
    delay_ns=10_000_000,
    queue_bytes=100_000,
    loss_ratio=0,
)
PAIR = Topology(hosts=("a", "b"), links=(WAN,))
TWICE = Topology(hosts=("a", "b"), links=(WAN, WAN))


def read_records(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def ping(lab: Lab, address: str, count: int) -> dict[str, Any]:
    flags = ["--address", address, "--count", str(count), "--interval", "10ms", "--output", "json"]
    said = lab.namespaces.run("a", ENGINE, "ping", *flags)  # at most its last 20,000 characters
    records = read_records(said[said.index('{"type"') :])
    rtts = sorted(r["rtt_ns"] for r in records if r["type"] == "probe" and r["rtt_ns"] is not None)
    received = records[-1]["received"]
    return {"received": received, "least_ns": rtts[0]}


def run_flow(
    namespaces: Namespaces, address: str, accepting: list[str], connecting: list[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """One flow from a to b: the records of the sender, which may be refused, and of the receiver."""
    common = ["--token", TOKEN, "--output", "json"]
    read_end, write_end = os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    listen = [ENGINE, "receive", "--bind", address, *common, *accepting]
    receiver = namespaces.spawn("b", listen, (null, write_end, 2))
    os.close(write_end)
    with os.fdopen(read_end) as lines:
        for line in lines:
            if json.loads(line)["type"] == "listening":
                break
        send = [ENGINE, "send", "--address", address, *common, *connecting]
        said = namespaces.run("a", "sh", "-c", f"{' '.join(send)}; :")
        received = read_records(lines.read())
    receiver.wait(10)
    return [json.loads(line) for line in said.splitlines() if line.startswith("{")], received


def carry(lab: Lab, address: str, *flags: str, streams: int = 2) -> dict[str, Any]:
    """One trial from a to b; the median rate of ten intervals at the receiver: a stall spoils one or two."""
    common = ["--warmup", "500ms", "--duration", "2s", *flags]
    shape = ["--streams", str(streams), *common]
    _, records = run_flow(lab.namespaces, address, ["--interval", "200ms", *common], shape)
    steady = [one for one in records if one["type"] == "interval" and one["phase"] == "steady"]
    rates = [sum(one["bytes"]) * 8e9 / (one["end_ns"] - one["start_ns"]) for one in steady]
    return {"bits_per_s": statistics.median(rates), "bytes": sum(records[-1]["total_bytes"])}


#: The kernel's bonding as campaigns name it: mode and policy of its hash.
MODES = {
    "balance-rr": ("balance-rr", None),
    "balance-xor-l2": ("balance-xor", "layer2"),
    "balance-xor-l34": ("balance-xor", "layer3+4"),
    "802.3ad": ("802.3ad", "layer3+4"),
}


def bond(lab: Lab, mode: str, policy: str | None) -> dict[str, Any]:
    """The two links of a lab bonded by the kernel; a trial over them, and what is left of it after."""
    before = lab.namespaces.run("a", "ip", "address", "show")
    links = BondedLinks(lab, ("a", "b"))
    links.bond(mode, policy)
    text = lab.namespaces.run("a", "cat", "/proc/net/bonding/bond0")
    counted = [link["forward"]["delivered_bytes"] for link in lab.counters()]
    streams = 8 if policy else 2  # a hash needs several
    carried = carry(lab, links.shared_addresses[1], streams=streams)
    after = [link["forward"]["delivered_bytes"] for link in lab.counters()]
    links.undo()
    alone = ping(lab, TWICE.address("b", "a"), 3)["received"]
    return {
        **carried,
        "links": [late - early for early, late in zip(counted, after, strict=True)],
        "text": text,
        "is_undone": lab.namespaces.run("a", "ip", "address", "show") == before and alone == 3,
    }


def show_netem(lab: Lab) -> list[str]:
    """What the kernel says of the disciplines of both directions of the first link."""
    shown = lab.namespaces.run(None, "tc", "qdisc", "show").splitlines()
    return [line for line in shown if line.startswith("qdisc netem")]


def measure() -> dict[str, Any]:
    """What netem, SCTP and bonds of this kernel do."""
    answer: dict[str, Any] = {"kernel": os.uname().release}
    with Lab(PAIR, engine=Path(ENGINE)) as lab:
        address = PAIR.address("b", "a")
        answer["backend"] = lab.backend
        answer["shown"] = show_netem(lab)
        answer["ping"] = ping(lab, address, 50)
        before = lab.counters()[0]["forward"]["delivered_bytes"]
        answer["tcp"] = carry(lab, address)
        answer["delivered_bytes"] = lab.counters()[0]["forward"]["delivered_bytes"] - before
        answer["sctp"] = carry(lab, address, "--transport", "sctp")
        lab.change_link(0, 1, LinkSettings(delay_ns=30_000_000))  # no rate any more
        answer["changed"] = ping(lab, address, 10)
        lab.change_link(0, 0, replace(WAN.direction(0), rate_bits_per_s=SLOW_BITS_PER_S))
        answer["shown_changed"] = show_netem(lab)
        answer["slow"] = carry(lab, address)
    lossy = Link(
        between=("a", "b"), rate_bits_per_s=None, delay_ns=1_000_000, queue_bytes=None, loss_ratio=0.2
    )
    with Lab(Topology(hosts=("a", "b"), links=(lossy,)), engine=Path(ENGINE), backend="netem") as lab:
        answer["lossy"] = ping(lab, PAIR.address("b", "a"), 400)
    with Lab(TWICE, engine=Path(ENGINE)) as lab:
        answer["bonded"] = {name: bond(lab, *mode) for name, mode in MODES.items()}
    return answer
