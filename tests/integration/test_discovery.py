"""Paths discovered through a true agent, on loopback: options, privileges, ends, and the subcommand."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from pathlab.discover.path import PathOptions, discover_path
from pathlab.discover.probes import ProbePlan, ProbesRefused, ProbeTarget, RemoteProber, encode_plan
from pathlab.discover.route import HopVerdict, RouteOptions, discover_route
from pathlab.errors import HostError
from pathlab.remote.local import agent_command, start_process
from pathlab.remote.process import ProcessChannel
from pathlab.remote.session import Session
from pathlab.remote.transport import Transport
from tests.command_line import call
from tests.integration.processes import assert_all_end, watching
from tests.lab.wires import open_wires
from tests.patience import PATIENCE_S
from tests.require import require

QUICK = RouteOptions(timeout_ns=10_000_000_000)


class Command(Transport):
    """An agent that any command starts."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command

    def open(self) -> ProcessChannel:
        return start_process(self._command, host="local")

    def close(self) -> None:
        """Nothing is held."""


def start_agent(agent_zip: Path) -> Session:
    """A session with an agent that has no engine: paths need none."""
    return Session(Command(agent_command(agent_zip, None)), host="local", require=("discovery",))


@pytest.fixture(scope="module")
def discoverer(agent_zip: Path) -> Iterator[Session]:
    with start_agent(agent_zip) as opened:
        yield opened


@pytest.fixture
def unprivileged(agent_zip: Path) -> Iterator[Session]:
    """A session with an agent that may open nothing but ordinary sockets."""
    command = agent_command(agent_zip, None)
    if os.getuid() == 0:
        require(shutil.which("setpriv"), "setpriv (util-linux)")
        # Root without a single capability: what it owns it may read, and that is all.
        command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all", *command]
    with Session(Command(command), host="local", require=("discovery",)) as opened:
        yield opened


@pytest.mark.parametrize("address", ["127.0.0.1", "127.9.9.9", "::1"])
def test_loopback_is_one_hop_by_udp(discoverer: Session, address: str) -> None:
    with RemoteProber(discoverer, ProbeTarget(address=address, flows=3), seconds=60) as prober:
        route = discover_route(prober, QUICK)
    assert route.stopped == "reached"
    assert [flow.hops for flow in route.flows] == [((address,),)] * 3
    (hop,) = route.hops
    assert (hop.loss.sent, hop.loss.lost, hop.verdict) == (15, 0, HopVerdict.ANSWERS)
    assert hop.rtt_min_ns > 0
    assert route.privilege == "ordinary"


@pytest.mark.netns
def test_link_local_addresses_are_found_by_all_methods(agent_zip: Path) -> None:
    there = "fe80::2%wan0"
    with open_wires() as wires:
        wires.a.run(
            "ip", "link", "add", "wan0", "type", "veth", "peer", "name", "wan0", "netns", str(wires.b.pid)
        )
        for host, own in ((wires.a, "fe80::1/64"), (wires.b, "fe80::2/64")):
            host.run("ip", "link", "set", "dev", "wan0", "addrgenmode", "none")
            host.run("sh", "-c", "echo 0 > /proc/sys/net/ipv6/conf/wan0/disable_ipv6")
            host.run("ip", "link", "set", "dev", "wan0", "up")
            host.run("ip", "-6", "address", "add", own, "dev", "wan0", "nodad")
        command = wires.a.command(*agent_command(agent_zip, None))
        options = PathOptions(flows=1, route=RouteOptions(), capacity=None)
        with Session(Command(command), host="local", require=("discovery",)) as opened:
            report = discover_path(opened, there, options)
    assert [route.reached for route in report.routes] == [True] * 3
    assert [hop.addresses for hop in report.route.hops] == [(there,)]
    assert report.mtu.mtu_bytes == 1500


def test_an_open_port_ends_a_route_by_tcp_and_by_udp_like_a_closed_one(discoverer: Session) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        options = PathOptions(
            methods=("tcp",), port=port, flows=1, route=QUICK, capacity=None, find_mtu=False
        )
        try:
            report = discover_path(discoverer, "127.0.0.1", options)
        except ProbesRefused as refusal:
            require(False, str(refusal))
        assert report.route.reached
        listener.settimeout(0)
        with pytest.raises(BlockingIOError):
            listener.accept()  # no connection was made


def test_an_ordinary_user_gets_udp_and_learns_what_is_lost(unprivileged: Session) -> None:
    options = PathOptions(flows=2, route=QUICK, capacity=None)
    report = discover_path(unprivileged, "127.0.0.1", options)
    assert "udp" in {route.method for route in report.routes}
    assert report.route.reached
    assert report.mtu.mtu_bytes == 65535
    lost = {one.part: one.reason for one in report.lost}
    assert "CAP_NET_RAW" in lost["route by tcp"]
    if "route by icmp" in lost:  # it depends on net.ipv4.ping_group_range
        assert "net.ipv4.ping_group_range" in lost["route by icmp"]
    with pytest.raises(ProbesRefused, match="CAP_NET_RAW") as caught:
        discover_path(unprivileged, "127.0.0.1", PathOptions(methods=("tcp",), route=QUICK, capacity=None))
    assert caught.value.hint


@pytest.mark.parametrize("target", ["host.invalid", "224.0.0.1", " "], ids=["unknown", "multicast", "blank"])
def test_a_target_that_cannot_be_is_named(discoverer: Session, target: str) -> None:
    with pytest.raises(HostError, match=f"'{target}'"):
        discover_path(discoverer, target, PathOptions(route=QUICK, capacity=None))


def test_a_prober_ends_with_its_controller_and_when_it_is_left(agent_zip: Path) -> None:
    plan = ProbePlan(ttls=(1,), sizes_bytes=(100,))
    with start_agent(agent_zip) as discoverer, contextlib.ExitStack() as stack:
        with RemoteProber(discoverer, ProbeTarget(address="127.0.0.1"), seconds=60) as prober:
            ended = stack.enter_context(watching(int(prober.opened["pid"])))
            assert prober.send(plan).probes[0].rtt_ns is not None
        assert_all_end(ended)
        with RemoteProber(discoverer, ProbeTarget(address="127.0.0.1"), seconds=60) as prober:
            ended = stack.enter_context(watching(int(prober.opened["pid"])))
            discoverer.close()
            assert_all_end(ended)


def test_stop_cuts_a_batch_short_and_ends_in_order(discoverer: Session) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        target = ProbeTarget(address="127.0.0.1", port=silent.getsockname()[1])
        job = discoverer.start_discovery(target.as_options(), seconds=60)
        job.wait_for("open", PATIENCE_S)
        plan = ProbePlan(ttls=(1,), sizes_bytes=(100,), repeats=1000, timeout_ns=20_000_000)
        job.command(json.dumps(encode_plan(plan, 1)))
        silent.settimeout(PATIENCE_S)
        for _ in range(3):
            silent.recv(2000)  # at the third the first two are given up
        job.command("stop")
        end = job.wait(PATIENCE_S)
    assert (end.status, end.fault) == (0, None)
    *probes, last = end.records[1:]
    assert (last["type"], last["complete"]) == ("batch-end", False)
    assert 2 <= len(probes) < 1000
    assert all(probe["rtt_ns"] is None for probe in probes)


def test_end_of_file_ends_it_as_a_controller_that_is_gone(agent_zip: Path) -> None:
    options = json.dumps(ProbeTarget(address="127.0.0.1").as_options())
    done = subprocess.run(
        [*agent_command(agent_zip, None), "--discover", options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 5
    assert json.loads(done.stdout)["type"] == "open"
    assert done.stderr == b""


def test_a_refused_batch_is_reported_in_the_probers_words(discoverer: Session) -> None:
    with (
        RemoteProber(discoverer, ProbeTarget(address="127.0.0.1"), seconds=60) as prober,
        pytest.raises(HostError, match="'ttls': 300 is not within 1 to 255"),
    ):
        prober.send(ProbePlan(ttls=(300,), sizes_bytes=(100,)))


#: No probe over loopback is lost, however busy the machine is.
PATIENT = ("--method", "udp", "--timeout", "10s")


def test_the_subcommand_prints_json_and_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["path", "local", "local", "--both", *PATIENT, "--method", "udp", "--budget", "1s", "--json"]
    said = call([*words, "--figure", "path.svg"], capsys)
    assert (said.status, said.err) == (0, "path.svg\npath-back.svg\n")
    document = json.loads(said.out)
    assert document["address"] == "127.0.0.1"
    assert [(route["method"], route["reached"]) for route in document["routes"]] == [("udp", True)]
    assert document["mtu"]["mtu_bytes"] == 65535
    assert document["capacity"]["packets"] > 0
    assert document["back"]["address"] == document["routes"][0]["local_address"]
    assert document["back"]["routes"][0]["reached"] is True
    for file in ("path.svg", "path-back.svg"):
        assert (tmp_path / file).read_text(encoding="utf-8").startswith("<?xml")
