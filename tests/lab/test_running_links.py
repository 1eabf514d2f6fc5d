"""Links that change while they run, whose counters several read at once, with IPv6, joined by MPTCP."""

from __future__ import annotations

import json
import os
import statistics
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pathlab.lab.lab import Lab
from pathlab.lab.topology import Link, LinkSettings, Topology
from pathlab.lab.verdict import evaluate_lab, take_snapshot
from pathlab.remote.engine import find_engine
from tests.lab.test_lab import PAIR, make_lab, ping
from tests.require import require

pytestmark = [pytest.mark.netns, pytest.mark.engine]

Record = dict[str, Any]

LINE_BITS_PER_S = 20_000_000
LINE = Link(between=("a", "b"), rate_bits_per_s=LINE_BITS_PER_S, delay_ns=2_000_000, queue_bytes=60_000)


def test_one_direction_changes_while_the_link_runs() -> None:
    with make_lab(PAIR) as lab:
        lab.change_link(0, 1, LinkSettings(delay_ns=5_000_000, rate_bits_per_s=10**9))
        changed = ping(lab, "a", "b", count=10)
        assert changed["usual_ns"] == pytest.approx(25e6, abs=1e6)
        assert lab.topology.idle_rtt_ns("a", "b") == 25_000_000
        assert lab.namespaces.run("a", "cat", "/proc/sys/net/ipv4/tcp_ecn") != "1\n"
        lab.change_link(0, 0, LinkSettings(loss_ratio=1.0, rate_bits_per_s=10**7, ecn_bytes=30_000))
        assert lab.namespaces.run("a", "cat", "/proc/sys/net/ipv4/tcp_ecn") == "1\n"
        assert ping_once(lab)["received"] == 0
        counted = lab.counters()[0]
    assert counted["forward"]["lost_packets"] == 1
    assert counted["reverse"]["lost_packets"] == 0


def ping_once(lab: Lab, patience: str = "100ms") -> dict[str, object]:
    words = ["ping", "--address", "198.18.0.2", "--count", "1", "--timeout", patience, "--output", "json"]
    result: dict[str, object] = json.loads(
        lab.namespaces.run("a", str(find_engine()), *words).splitlines()[-1]
    )
    return result


def test_a_trial_beside_another_keeps_the_lateness_of_both() -> None:
    with make_lab(PAIR) as lab:
        before = take_snapshot(lab)
        assert ping_once(lab, "10s")["received"] == 1
        take_snapshot(lab)  # another trial begins or ends
        verdict = evaluate_lab(before, take_snapshot(lab), 40_000_000)
    assert verdict.late_p99_ns is not None


def test_what_a_node_does_not_take_is_outside_the_model() -> None:
    with make_lab(PAIR, "packet") as lab:
        before = take_snapshot(lab)
        lab.namespaces.run("b", "ip", "link", "set", "wan0", "down")
        assert ping_once(lab)["received"] == 0
        verdict = evaluate_lab(before, take_snapshot(lab), 40_000_000)
        assert lab.device_drops() == 1
    assert any("lost outside the emulated links" in reason for reason in verdict.reasons)


def test_counters_may_be_read_by_several_at_once() -> None:
    with make_lab(PAIR) as lab, ThreadPoolExecutor(8) as pool:
        reported = list(pool.map(lambda _: lab.counters()[0]["type"], range(200)))
    assert reported == ["counters"] * 200


@pytest.mark.parametrize("backend", ["tun", "packet"])
def test_ipv6_goes_through_a_chain_and_nodes_send_nothing_of_their_own(backend: str) -> None:
    ends = [("a", "r"), ("r", "b")]
    links = tuple(Link(between=pair, rate_bits_per_s=10**8, delay_ns=1_000_000) for pair in ends)
    plan = Topology(hosts=("a", "b"), routers=("r",), links=links, ipv6=True)
    with make_lab(plan, backend) as lab:
        words = ["ping", "--address", plan.address("b", "a", 6), "--count", "10", "--interval", "10ms"]
        lines = lab.namespaces.run("a", str(find_engine()), *words, "--output", "json").splitlines()
        records = [json.loads(line) for line in lines]
        rtts_ns = sorted(record["rtt_ns"] for record in records if record["type"] == "probe")
        assert rtts_ns[2] == pytest.approx(4e6, abs=1e6)
        shown = lab.namespaces.run("r", "ip", "-6", "-brief", "address", "show", "scope", "link")
        assert shown == ""


def exchange(
    lab: Lab, *flags: str, address: str | None = None, seconds: int = 1
) -> tuple[list[Record], list[Record]]:
    """One stream from a to b: the records of the sender and of the receiver, with ten intervals.

    To the first link's address unless another is given.
    """
    times = ["--warmup", "500ms", "--duration", f"{seconds}s", "--congestion", "reno"]
    common = [*times, "--output", "json", *flags]
    ours, theirs = os.pipe2(os.O_CLOEXEC)
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    address = address or lab.topology.address("b", "a")
    with os.fdopen(ours, encoding="utf-8") as said:
        words = [str(find_engine()), "receive", "--bind", address, "--interval", f"{seconds}00ms", *common]
        receiver = lab.namespaces.spawn("b", words, (null, theirs, null))
        os.close(theirs)
        os.close(null)
        assert any(json.loads(line)["type"] == "listening" for line in said)
        sent = lab.namespaces.run("a", str(find_engine()), "send", "--address", address, *common)
        received = [json.loads(line) for line in said]
        assert receiver.wait(60) == 0
    return [json.loads(line) for line in sent.splitlines()], received


def compute_rate(received: list[Record]) -> float:
    """Median goodput of the receiver's steady intervals, bit/s: a stall of the machine spoils a few."""
    intervals = [one for one in received if one["type"] == "interval" and one["phase"] == "steady"]
    rates = (sum(one["bytes"]) * 8e9 / (one["end_ns"] - one["start_ns"]) for one in intervals)
    return float(statistics.median(rates))


def carry(lab: Lab, *flags: str, address: str | None = None, seconds: int = 1) -> float:
    """Goodput of one stream from a to b, bit/s."""
    return compute_rate(exchange(lab, *flags, address=address, seconds=seconds)[1])


def list_subflows(records: list[Record]) -> dict[tuple[str, str], Record]:
    """The latest reading of each subflow by its addresses."""
    intervals = [record for record in records if record["type"] == "interval"]
    return {(one["local"], one["remote"]): one for record in intervals for one in record["subflows"]}


def test_mptcp_takes_both_of_two_links() -> None:
    require(Path("/proc/sys/net/mptcp/enabled").exists(), "MPTCP")
    with make_lab(Topology(hosts=("a", "b"), links=(LINE, replace(LINE)))) as lab:
        sent, received = exchange(lab, "--transport", "mptcp")
        together, _ = lab.topology.bottleneck("a", "b", multipath=True)
        counted = [link["forward"]["delivered_bytes"] for link in lab.counters()]
    assert together == 2 * LINE_BITS_PER_S
    assert 1.1 * LINE_BITS_PER_S < compute_rate(received) < together  # more than one link carries
    ours, theirs = list_subflows(sent), list_subflows(received)
    assert len(ours) == 2
    assert theirs.keys() == {(remote, local) for local, remote in ours}
    assert len({one["id"] for one in ours.values()}) == 2
    # Each subflow is on a link of its own, and its bytes are those that the link delivered, with headers.
    carried = sorted(one["bytes_sent"] - one["bytes_retrans"] for one in ours.values())
    for payload, delivered in zip(carried, sorted(counted), strict=True):
        assert 0.9 * delivered < payload < delivered
    assert sum(one["bytes_received"] for one in theirs.values()) >= received[-1]["total_bytes"][0]


def test_tcp_has_no_subflows() -> None:
    with make_lab(PAIR) as lab:
        sent, received = exchange(lab)
    assert not any("subflows" in record for record in (*sent, *received))
