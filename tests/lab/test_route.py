"""Routes against the lab's settings: chains, balanced ways, silence, rationing, loss, MTU, changes."""

import os
from collections.abc import Iterator

import pytest

from pathlab.discover.mtu import find_path_mtu
from pathlab.discover.path import PathOptions, discover_path
from pathlab.discover.probes import METHODS, RemoteProber
from pathlab.discover.route import HopVerdict, Route, RouteOptions, discover_route, has_route_changed
from pathlab.lab.lab import Lab
from pathlab.lab.topology import Link, Topology
from tests.lab.fixtures import SharedLabs
from tests.lab.labs import make_lab
from tests.lab.paths import chain, probing, session_in

pytestmark = [pytest.mark.netns, pytest.mark.engine]

#: Hosts of a chain, as its links number their addresses (four to a link, the first end first).
FORWARD = [("198.18.0.2",), ("198.18.0.6",), ("198.18.0.10",)]
BACKWARD = [("198.18.0.9",), ("198.18.0.5",), ("198.18.0.1",)]
DIAMOND = Topology(
    hosts=("a", "b", "c", "d", "e"),
    links=tuple(
        Link(between=(ends[0], ends[1]), rate_bits_per_s=10**8, delay_ns=200_000, queue_bytes=200_000)
        for ends in ("ab", "bc", "bd", "ce", "de")
    ),
)
#: The emulator starts a delivery early by what it usually takes: one that is quicker arrives before its time.
EARLY_NS = 50_000
#: A stall of the machine makes no answer late.
PATIENT_NS = 5_000_000_000
PATIENT = RouteOptions(timeout_ns=PATIENT_NS)
#: Where not every probe is answered, each that is not takes this long.
BRIEF = RouteOptions(timeout_ns=300_000_000)
#: There a stall of the machine makes late what is under way: one probe of each flow.
LATE_OF_A_FLOW = 1


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A prober waits longer than it would after quick answers: for paths where every probe is answered."""
    monkeypatch.setattr("pathlab.discover.route.SHORTEST_TIMEOUT_NS", PATIENT_NS)


@pytest.fixture
def three_hops(shared_labs: SharedLabs) -> Lab:
    return shared_labs.lend(chain((100, 100, 100)))


@pytest.fixture
def diamond() -> Iterator[Lab]:
    """Two equal ways from b to e, chosen by ports; e's own links are their far ends."""
    with make_lab(DIAMOND) as lab:
        lab.namespaces.set_sysctl("b", "net.ipv4.fib_multipath_hash_policy", "1")
        lead(lab, "b", "198.18.0.6", "198.18.0.10")
        lead(lab, "d", "198.18.0.18")
        yield lab


def lead(lab: Lab, node: str, *next_hops: str) -> None:
    """Send what is for e's first address over these next hops, in equal shares."""
    words = [word for hop in next_hops for word in ("nexthop", "via", hop)]
    lab.namespaces.run(node, "ip", "route", "replace", "198.18.0.12/30", *words)


def find_route(
    lab: Lab, ends: str, method: str = "udp", flows: int = 2, options: RouteOptions = PATIENT
) -> Route:
    with probing(lab, (ends[0], ends[-1]), method, flows) as prober:
        return discover_route(prober, options)


def silence(lab: Lab, node: str, kind: str) -> None:
    """Drop ICMP messages of a kind that a node sends itself."""
    for command in (
        "add table inet quiet",
        "add chain inet quiet out { type filter hook output priority 0 ; }",
        f"add rule inet quiet out icmp type {kind} drop",
    ):
        lab.namespaces.run(node, "nft", *command.split())


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("method", METHODS)
def test_a_chain_is_found_in_both_directions(three_hops: Lab, method: str) -> None:
    for ends, expected in (("ad", FORWARD), ("da", BACKWARD)):
        route = find_route(three_hops, ends, method)
        assert route.stopped == "reached"
        assert [list(flow.hops) for flow in route.flows] == [expected, expected]
        assert not route.balanced
        assert [hop.verdict for hop in route.hops] == [HopVerdict.ANSWERS] * 3
        assert [hop.is_target for hop in route.hops] == [False, False, True]
        least = [hop.rtt_min_ns for hop in route.hops]
        delays_ns = (400_000, 1_200_000, 1_800_000) if ends == "ad" else (600_000, 1_400_000, 1_800_000)
        for rtt_ns, delay_ns in zip(least, delays_ns, strict=True):
            assert delay_ns - EARLY_NS < rtt_ns < delay_ns + 5_000_000
        assert route.stamps == ("kernel-receive",)
        assert all(hop.loss.sent == 10 for hop in route.hops)


@pytest.mark.usefixtures("patient")
def test_flows_show_both_ways_of_a_balanced_route_and_each_keeps_to_one(diamond: Lab) -> None:
    route = find_route(diamond, "ae", flows=8)
    assert route.balanced
    assert all(len(addresses) == 1 for flow in route.flows for addresses in flow.hops)
    middles = {flow.hops[1] for flow in route.flows}
    assert middles == {("198.18.0.6",), ("198.18.0.10",)}
    again = find_route(diamond, "ae", flows=8)
    assert again.fingerprint == route.fingerprint
    assert has_route_changed(route, again) is False


@pytest.mark.usefixtures("patient")
def test_a_route_that_changes_is_noticed(diamond: Lab) -> None:
    lead(diamond, "b", "198.18.0.6")
    before = find_route(diamond, "ae")
    lead(diamond, "b", "198.18.0.10")
    after = find_route(diamond, "ae")
    assert (before.flows[0].hops[1], after.flows[0].hops[1]) == (("198.18.0.6",), ("198.18.0.10",))
    assert has_route_changed(before, after) is True
    assert before.fingerprint != after.fingerprint


def test_a_router_that_never_answers_is_silent_and_not_lossy() -> None:
    with make_lab(chain((100, 100, 100))) as lab:
        silence(lab, "b", "time-exceeded")
        route = find_route(lab, "ad", options=BRIEF)
    first, *beyond = route.hops
    assert (first.verdict, first.addresses, first.rtt_min_ns) == (HopVerdict.SILENT, (), None)
    assert all(hop.loss.lost <= LATE_OF_A_FLOW * 2 for hop in beyond)
    assert [list(flow.hops) for flow in route.flows] == [[(), *FORWARD[1:]]] * 2


def test_a_router_that_rations_its_answers_is_distinguished_from_a_lossy_path() -> None:
    options = RouteOptions(timeout_ns=100_000_000, repeats=20)
    with make_lab(chain((100, 100, 100))) as lab:
        lab.namespaces.set_sysctl("b", "net.ipv4.icmp_ratemask", "6168")
        lab.namespaces.set_sysctl("b", "net.ipv4.icmp_ratelimit", "1000")
        with probing(lab, ("a", "d"), flows=4) as prober:
            route = discover_route(prober, options)
    first, *beyond = route.hops
    assert first.verdict is HopVerdict.LIMITED
    assert first.loss.lost > 40
    assert all(hop.loss.lost <= LATE_OF_A_FLOW * 4 for hop in beyond)


def test_a_lossy_link_loses_to_every_hop_beyond_it() -> None:
    options = RouteOptions(timeout_ns=100_000_000, repeats=50)
    with (
        make_lab(chain((100, 100), losses=(0.0, 0.3))) as lab,
        probing(lab, ("a", "c"), "icmp", flows=4) as prober,
    ):
        route = discover_route(prober, options)
    first, last = route.hops
    assert first.loss.lost <= LATE_OF_A_FLOW * 4
    assert last.verdict is HopVerdict.LOSSY
    # Probes and answers each pass the link; 200 probes, four standard errors.
    assert last.loss.loss_ratio == pytest.approx(1 - 0.7**2, abs=4 * (0.25 / 200) ** 0.5)


def test_a_target_behind_a_filter_ends_in_silence_and_says_so() -> None:
    with make_lab(chain((100, 100))) as lab:
        silence(lab, "c", "destination-unreachable")
        options = PathOptions(
            methods=("udp",), flows=1, route=RouteOptions(timeout_ns=50_000_000), capacity=None
        )
        with session_in(lab, "a") as session:
            report = discover_path(session, lab.topology.address("c", "b"), options)
    assert report.route.stopped == "silence"
    assert not report.route.reached
    assert [hop.addresses for hop in report.route.hops] == [("198.18.0.2",)]
    assert {"end of the route by udp", "path MTU"} <= {one.part for one in report.lost}


def mtu_of(prober: RemoteProber) -> tuple[int | None, str | None, bool]:
    found = find_path_mtu(prober, timeout_ns=100_000_000)
    return found.mtu_bytes, found.limited_by, found.black_hole


@pytest.mark.parametrize("method", ["udp", "icmp"])
def test_the_mtu_of_a_path_is_that_of_its_narrowest_link(method: str) -> None:
    with make_lab(chain((100, 100, 100), mtus=(1500, 1400, 1280))) as lab:
        with probing(lab, ("a", "d"), method) as prober:
            assert mtu_of(prober) == (1280, "198.18.0.6", False)
        with probing(lab, ("d", "a"), method) as prober:
            assert mtu_of(prober) == (1280, None, False)


def test_a_black_hole_is_searched_and_named() -> None:
    with make_lab(chain((100, 100), mtus=(1500, 1300))) as lab:
        silence(lab, "b", "destination-unreachable")
        with probing(lab, ("a", "c")) as prober:
            assert mtu_of(prober) == (1300, None, True)


@pytest.mark.usefixtures("patient")
def test_ping_sockets_find_the_route_without_raw_ones() -> None:
    with make_lab(chain((100, 100, 100))) as lab:
        lab.namespaces.set_sysctl("a", "net.ipv4.ping_group_range", f"{os.getgid()} {os.getgid()}")
        with probing(lab, ("a", "d"), "icmp", flows=3) as prober:
            route = discover_route(prober, PATIENT)
            mtu = find_path_mtu(prober)
    assert route.privilege == "ordinary"
    assert [list(flow.hops) for flow in route.flows] == [FORWARD] * 3
    assert len({flow.source_port for flow in route.flows}) == 3
    assert mtu.mtu_bytes == 1500


def test_a_router_that_refuses_ends_the_route_and_is_named(three_hops: Lab) -> None:
    run = three_hops.namespaces.run
    run("c", "ip", "route", "add", "prohibit", "203.0.113.0/24")
    for node, next_hop in (("a", "198.18.0.2"), ("b", "198.18.0.6")):
        run(node, "ip", "route", "add", "203.0.113.0/24", "via", next_hop)
    options = PathOptions(methods=("udp",), flows=1, route=PATIENT, capacity=None)
    with session_in(three_hops, "a") as session:
        report = discover_path(session, "203.0.113.9", options)
    assert report.route.stopped == "refused"
    assert not report.route.reached
    assert report.route.flows[0].hops == (("198.18.0.2",), ("198.18.0.6",))
    lost = {one.part: one.reason for one in report.lost}
    assert "198.18.0.6 code 13" in lost["end of the route by udp"]


@pytest.mark.usefixtures("patient")
def test_a_whole_path_is_described_by_all_methods(three_hops: Lab) -> None:
    with session_in(three_hops, "a") as session:
        report = discover_path(session, "198.18.0.10", PathOptions(capacity=None, route=PATIENT))
    assert [route.method for route in report.routes] == list(METHODS)
    assert all(route.reached for route in report.routes)
    assert report.lost == ()
    assert report.mtu.mtu_bytes == 1500
    assert report.address == "198.18.0.10"
