"""Labs, their pings, and flows of the engine between two of their hosts."""

import json
import os
import statistics
from collections.abc import Iterable
from typing import Any

from pathlab.errors import HostError
from pathlab.lab.lab import Lab
from pathlab.lab.topology import Link, Topology
from pathlab.remote.engine import find_engine
from tests.patience import PATIENCE_S
from tests.require import require, require_namespaces

Record = dict[str, Any]

PAIR = Topology(
    hosts=("a", "b"),
    links=(Link(between=("a", "b"), rate_bits_per_s=40_000_000, delay_ns=20_000_000, queue_bytes=250_000),),
)

RATE_BITS_PER_S = 50_000_000
TWO = Topology(
    hosts=("a", "b"),
    links=2
    * (Link(between=("a", "b"), rate_bits_per_s=RATE_BITS_PER_S, delay_ns=10_000_000, queue_bytes=250_000),),
)


def make_lab(topology: Topology, backend: str = "auto") -> Lab:
    """A lab that is not started yet, or a loud skip."""
    require_namespaces()
    if backend == "tun":
        require(os.access("/dev/net/tun", os.R_OK | os.W_OK), "an accessible /dev/net/tun")
    try:
        return Lab(topology, engine=find_engine(), backend=backend)
    except HostError as error:
        require(False, str(error))
        raise


def ping(lab: Lab, host: str, peer: str, count: int = 20) -> dict[str, Any]:
    """RTTs in ns and the result of our own probes between two hosts of a lab."""
    options = {
        "address": lab.topology.address(peer, host),
        "count": count,
        "interval-ns": 10_000_000,
        "timeout-ns": int(PATIENCE_S * 1e9),
    }
    flags = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    lines = lab.namespaces.run(host, str(find_engine()), "ping", *flags).splitlines()
    records = [json.loads(line) for line in lines]
    rtts = sorted(r["rtt_ns"] for r in records if r["type"] == "probe" and r["rtt_ns"] is not None)
    # A quarter of the way: a machine that stalls delays many probes, and hastens none.
    return {"rtts_ns": rtts, "usual_ns": rtts[len(rtts) // 4] if rtts else None, **records[-1]}


def ping_once(lab: Lab, patience: str = "100ms") -> Record:
    """The result of one probe from a to b's first address."""
    words = ["ping", "--address", "198.18.0.2", "--count", "1", "--timeout", patience, "--output", "json"]
    result: Record = json.loads(lab.namespaces.run("a", str(find_engine()), *words).splitlines()[-1])
    return result


#: Ten intervals of the receiver after slow start.
BY_TIME = ("--warmup", "500ms", "--duration", "1s")
#: As long as it takes.
BY_BYTES = ("--warmup", "0s", "--bytes", "4MB")


def exchange(
    lab: Lab, *flags: str, address: str | None = None, extent: tuple[str, ...] = BY_TIME
) -> tuple[list[Record], list[Record]]:
    """One flow from a to b, of one stream unless ``flags`` say more: the records of sender and receiver.

    To the first link's address unless another is given.
    """
    common = [*extent, "--congestion", "reno", "--output", "json", *flags]
    ours, theirs = os.pipe2(os.O_CLOEXEC)
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    address = address or lab.topology.address("b", "a")
    with os.fdopen(ours, encoding="utf-8") as said:
        words = [str(find_engine()), "receive", "--bind", address, "--interval", "100ms", *common]
        receiver = lab.namespaces.spawn("b", words, (null, theirs, null))
        os.close(theirs)
        os.close(null)
        assert any(json.loads(line)["type"] == "listening" for line in said)
        sent = lab.namespaces.run("a", str(find_engine()), "send", "--address", address, *common)
        received = [json.loads(line) for line in said]
        assert receiver.wait(PATIENCE_S) == 0
    return [json.loads(line) for line in sent.splitlines()], received


def list_rates(received: Iterable[Record]) -> list[float]:
    """Goodput of each of the receiver's steady intervals, bit/s."""
    steady = (one for one in received if one["type"] == "interval" and one["phase"] == "steady")
    return [sum(one["bytes"]) * 8e9 / (one["end_ns"] - one["start_ns"]) for one in steady]


def compute_rate(received: Iterable[Record]) -> float:
    """Median goodput of a receiver's steady intervals, bit/s: a stall of the machine spoils a few."""
    return float(statistics.median(list_rates(received)))


def carry_bytes(lab: Lab, *flags: str, address: str | None = None) -> None:
    """Some megabytes from a to b, however long that takes."""
    assert exchange(lab, *flags, address=address, extent=BY_BYTES)[1][-1]["complete"] is True


def list_delivered_bytes(lab: Lab, way: str) -> list[int]:
    """What each link delivered in a direction since the lab began."""
    return [counted[way]["delivered_bytes"] for counted in lab.counters()]
