"""A lab as a whole: probes and traffic meet the links' settings, with either back end."""

from __future__ import annotations

import itertools
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from pathlab.errors import HostError
from pathlab.lab.lab import Lab
from pathlab.lab.links import EmulatedLink
from pathlab.lab.namespace_init import EMULATOR_BUFFER_BYTES
from pathlab.lab.topology import Link, LinkSettings, Topology, link_address
from pathlab.remote.engine import find_engine
from tests.require import require, require_namespaces

pytestmark = [pytest.mark.netns, pytest.mark.engine]

PAIR = Topology(
    hosts=("a", "b"),
    links=(Link(between=("a", "b"), rate_bits_per_s=40_000_000, delay_ns=20_000_000, queue_bytes=250_000),),
)


def make_lab(topology: Topology, backend: str = "auto") -> Lab:
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
        "timeout-ns": 2_000_000_000,
    }
    flags = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    lines = lab.namespaces.run(host, str(find_engine()), "ping", *flags).splitlines()
    records = [json.loads(line) for line in lines]
    rtts = sorted(r["rtt_ns"] for r in records if r["type"] == "probe" and r["rtt_ns"] is not None)
    # A quarter of the way: a machine that stalls delays many probes, and hastens none.
    return {"rtts_ns": rtts, "usual_ns": rtts[len(rtts) // 4] if rtts else None, **records[-1]}


@pytest.mark.parametrize("backend", ["tun", "packet"])
def test_an_idle_link_has_its_round_trip(backend: str) -> None:
    with make_lab(PAIR, backend) as lab:
        for host, peer in (("a", "b"), ("b", "a")):
            measured = ping(lab, host, peer)
            assert measured["received"] == 20
            assert measured["usual_ns"] == pytest.approx(40e6, abs=1e6)
            assert measured["rtts_ns"][0] >= 40e6
        (counters,) = lab.counters()
        assert counters["forward"]["arrived_packets"] >= 40
        assert counters["forward"]["write_errors"] == counters["reverse"]["write_errors"] == 0
        described = lab.describe()
        assert described["backend"] == backend
        assert described["links"][0]["rate_bits_per_s"] == 40_000_000


@pytest.mark.parametrize("backend", ["tun", "packet"])
def test_a_chain_of_links_adds_up(backend: str) -> None:
    links = tuple(
        Link(between=ends, rate_bits_per_s=10**8, delay_ns=delay_ns, queue_bytes=100_000)
        for ends, delay_ns in ((("a", "b"), 2_000_000), (("b", "c"), 5_000_000), (("c", "d"), 1_000_000))
    )
    with make_lab(Topology(hosts=("a", "b", "c", "d"), links=links), backend) as lab:
        assert ping(lab, "a", "d")["usual_ns"] == pytest.approx(16e6, abs=1e6)
        assert ping(lab, "d", "b")["usual_ns"] == pytest.approx(12e6, abs=1e6)


def test_eight_hops_and_a_star() -> None:
    nodes = ("a", *(f"r{number}" for number in range(1, 8)), "b")
    pairs = itertools.pairwise(nodes)
    links = tuple(Link(between=pair, rate_bits_per_s=10**8, delay_ns=1_000_000) for pair in pairs)
    with make_lab(Topology(hosts=("a", "b"), routers=nodes[1:-1], links=links)) as lab:
        # Nine emulators on few cores: a stall of the machine must not delay most of the probes.
        assert ping(lab, "a", "b", count=100)["usual_ns"] == pytest.approx(16e6, abs=2e6)
    spokes = tuple(
        Link(between=(host, "hub"), rate_bits_per_s=10**8, delay_ns=delay_ns)
        for host, delay_ns in (("a", 1_000_000), ("b", 2_000_000), ("c", 4_000_000))
    )
    with make_lab(Topology(hosts=("a", "b", "c"), routers=("hub",), links=spokes)) as lab:
        assert ping(lab, "a", "b")["usual_ns"] == pytest.approx(6e6, abs=1e6)
        assert ping(lab, "c", "a")["usual_ns"] == pytest.approx(10e6, abs=1e6)


def test_each_direction_has_its_own_delay_and_parallel_links_their_own_way() -> None:
    reverse = LinkSettings(rate_bits_per_s=10**7, delay_ns=9_000_000)
    first = Link(between=("a", "b"), rate_bits_per_s=10**8, delay_ns=1_000_000, reverse=reverse)
    second = Link(between=("a", "b"), rate_bits_per_s=10**8, delay_ns=2_000_000)
    with make_lab(Topology(hosts=("a", "b"), links=(first, second))) as lab:
        assert ping(lab, "a", "b")["usual_ns"] == pytest.approx(10e6, abs=1e6)
        before = lab.counters()[1]["forward"]["arrived_packets"]
        lab.namespaces.run("a", "ping", "-c", "2", "-i", "0.05", link_address(1, 1))
        counted = lab.counters()
        assert counted[1]["forward"]["arrived_packets"] == before + 2
        assert counted[0]["reverse"]["arrived_packets"] == 20


def test_trials_in_a_lab_are_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = make_lab(PAIR)
    add_node = lab.namespaces.add_node

    def inherit_a_filter(name: str) -> str:
        path = add_node(name)
        for scope in ("all", "default"):
            lab.namespaces.set_sysctl(name, f"net.ipv4.conf.{scope}.rp_filter", "1")
        return path

    monkeypatch.setattr(lab.namespaces, "add_node", inherit_a_filter)
    with lab:
        for host in ("a", "b"):
            assert lab.namespaces.run(host, "cat", "/proc/sys/net/ipv4/tcp_no_metrics_save") == "1\n"
            assert lab.namespaces.run(host, "ip", "-6", "-brief", "address", "show", "dev", "wan0") == ""
            for scope in ("all", "wan0"):
                filtered = lab.namespaces.run(host, "cat", f"/proc/sys/net/ipv4/conf/{scope}/rp_filter")
                assert filtered == "0\n"


def test_a_dead_emulator_is_named() -> None:
    with make_lab(PAIR) as lab:
        link = lab._links[0]
        assert isinstance(link, EmulatedLink)
        process = link._process
        assert process is not None
        process.send_signal(signal.SIGKILL)
        assert process.wait(60) == -signal.SIGKILL
        with pytest.raises(HostError, match=r"^lab: link a-b: the emulator was killed by SIGKILL$"):
            lab.counters()


def test_a_link_that_cannot_be_leaves_no_lab_behind() -> None:
    lost = Topology(
        hosts=("a", "b"), links=(Link(between=("a", "b"), rate_bits_per_s=-1, delay_ns=0, queue_bytes=0),)
    )
    lab = make_lab(lost)
    with pytest.raises(HostError, match=r"link a-b: .*rate_bits_per_s"):
        lab.start()
    with pytest.raises(HostError, match="the lab is gone"):
        lab.namespaces.run("a", "true")


def test_a_forced_back_end_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = make_lab(PAIR)
    monkeypatch.setattr(lab, "_requested_backend", "tun")
    monkeypatch.setattr(lab.namespaces, "can_use_tun", lambda: False)
    with pytest.raises(HostError, match="/dev/net/tun may not be opened here"):
        lab.start()
    with pytest.raises(HostError, match="unknown back end 'fog'"):
        Lab(PAIR, engine=Path("engine"), backend="fog").start()
    lab = make_lab(PAIR, backend="netem")
    monkeypatch.setattr(lab.namespaces, "can_use_netem", lambda: False)
    with pytest.raises(HostError, match="this kernel has no netem"):
        lab.start()


@pytest.mark.parametrize(
    ("buffer_bytes", "tun", "chosen"),
    [(64 << 20, True, "packet"), (8 << 20, True, "tun"), (8 << 20, False, "packet")],
)
def test_packet_sockets_are_chosen_with_large_buffers_or_without_a_tun(
    monkeypatch: pytest.MonkeyPatch, *, buffer_bytes: int, tun: bool, chosen: str
) -> None:
    lab = make_lab(PAIR)
    monkeypatch.setattr(lab.namespaces, "can_use_netem", lambda: False)
    monkeypatch.setattr(lab.namespaces, "granted_buffer_bytes", lambda: buffer_bytes)
    monkeypatch.setattr(lab.namespaces, "can_use_tun", lambda: tun)
    lab.namespaces.start()
    try:
        assert lab._choose_backend() == chosen
    finally:
        lab.close()


def test_the_granted_buffer_is_what_the_kernel_says() -> None:
    with make_lab(PAIR) as lab:
        granted_bytes = lab.namespaces.granted_buffer_bytes()
    allowed_bytes = 2 * int(Path("/proc/sys/net/core/rmem_max").read_text(encoding="ascii"))
    assert granted_bytes in {2 * EMULATOR_BUFFER_BYTES, min(allowed_bytes, 2 * EMULATOR_BUFFER_BYTES)}


def test_an_emulator_that_slept_costs_packets_no_time() -> None:
    """What arrived while it could not run is due by the kernel's stamp, not by when it was read."""
    slow = Topology(
        hosts=("a", "b"),
        links=(Link(between=("a", "b"), rate_bits_per_s=10**9, delay_ns=800_000_000, queue_bytes=250_000),),
    )
    with make_lab(slow, "packet") as lab:
        link = lab._links[0]
        assert isinstance(link, EmulatedLink)
        assert link._process is not None
        words = [
            "ping",
            "--address",
            slow.address("b", "a"),
            "--count",
            "1",
            "--timeout",
            "30s",
            "--output",
            "json",
        ]
        ours, theirs = os.pipe2(os.O_CLOEXEC)
        with Path(os.devnull).open("r+b") as null, os.fdopen(ours, encoding="utf-8") as said:
            link._process.send_signal(signal.SIGSTOP)
            prober = lab.namespaces.spawn(
                "a", [str(find_engine()), *words], (null.fileno(), theirs, null.fileno())
            )
            os.close(theirs)
            records = map(json.loads, said)
            assert any(record["type"] == "start" for record in records)
            begun_ns = time.monotonic_ns()
            assert prober.wait(0.5) is None  # its probe is held for so long
            held_ns = time.monotonic_ns() - begun_ns
            link._process.send_signal(signal.SIGCONT)
            probe = next(record for record in records if record["type"] == "probe")
            assert prober.wait(60) == 0
        assert 1_600_000_000 <= probe["rtt_ns"] < 1_600_000_000 + held_ns // 2
