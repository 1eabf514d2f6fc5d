"""What is concluded from a route's probes: verdicts, fingerprints, changes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathlab.analysis.estimators.loss import probe_loss
from pathlab.discover.fingerprint import hash_hops
from pathlab.discover.probes import Probe
from pathlab.discover.route import (
    HopVerdict,
    Route,
    RouteOptions,
    build_route,
    classify_hops,
    classify_loss,
    discover_route,
    has_route_changed,
    weigh_ends,
)
from tests.builders.paths import OPENED, SimulatedPath, probe, sample_route

HASHED = ["198.18.0.2", "198.18.0.6"]


@pytest.mark.parametrize(
    ("own", "beyond", "verdict"),
    [
        ((20, 20), [(20, 20)], HopVerdict.ANSWERS),
        ((20, 0), [(20, 0), (20, 18)], HopVerdict.SILENT),
        ((20, 0), [(20, 0)], HopVerdict.NOTHING_BEYOND),
        ((20, 0), [], HopVerdict.NOTHING_BEYOND),
        ((20, 6), [(20, 20)], HopVerdict.LIMITED),
        ((20, 6), [(20, 0), (20, 20)], HopVerdict.LIMITED),
        ((20, 19), [(20, 20)], HopVerdict.UNCLEAR),
        ((20, 15), [(20, 15), (20, 14)], HopVerdict.LOSSY),
        ((20, 15), [(20, 0)], HopVerdict.LOSSY),  # a silent hop beyond says nothing against loss
        ((20, 15), [], HopVerdict.LOSSY),
    ],
)
def test_missing_answers_are_explained_by_the_hops_beyond(
    own: tuple[int, int], beyond: Sequence[tuple[int, int]], verdict: HopVerdict
) -> None:
    assert classify_loss(probe_loss(*own), [probe_loss(*one) for one in beyond]) is verdict


def answering(method: str, *answered: int) -> Route:
    """A route whose hops answered so many of 20 probes; the last is the target."""
    probes = [
        probe(
            ttl,
            1000 if number < count else None,
            **({"kind": "echo-reply"} if ttl == len(answered) and number < count else {}),
        )
        for ttl, count in enumerate(answered, start=1)
        for number in range(20)
    ]
    return build_route({**OPENED, "method": method}, probes, {0: len(answered)}, ("reached", 0, 0))


@pytest.mark.parametrize(
    ("own", "other", "verdicts"),
    [
        ((20, 6), None, (HopVerdict.ANSWERS, HopVerdict.UNCLEAR)),  # hosts ration what answers UDP
        ((7, 6), None, (HopVerdict.UNCLEAR, HopVerdict.UNCLEAR)),
        ((20, 6), (20, 20), (HopVerdict.ANSWERS, HopVerdict.LIMITED)),
        ((7, 6), (8, 20), (HopVerdict.LIMITED, HopVerdict.LIMITED)),
        ((20, 10), (20, 9), (HopVerdict.ANSWERS, HopVerdict.LOSSY)),
        ((11, 10), (9, 10), (HopVerdict.LOSSY, HopVerdict.LOSSY)),
    ],
)
def test_loss_is_shown_by_an_end_that_answers_everything_that_reaches_it(
    own: tuple[int, int], other: tuple[int, int] | None, verdicts: tuple[HopVerdict, ...]
) -> None:
    others = [answering("icmp", *other)] if other is not None else []
    assert tuple(hop.verdict for hop in weigh_ends(answering("udp", *own), others).hops) == verdicts


def test_an_end_elsewhere_says_nothing_of_a_hop_that_is_not_on_its_way() -> None:
    own, other = answering("udp", 7, 20, 6), answering("icmp", 20, 20)
    away = tuple(replace(hop, addresses=("198.18.0.77",)) for hop in other.hops)
    assert weigh_ends(own, [replace(other, hops=away)]).hops[2].verdict is HopVerdict.UNCLEAR


@pytest.mark.parametrize(
    ("answered", "split"),
    [((5, 0, 5, 0), True), ((4, 0), True), ((5, 5), False), ((0, 0), False), ((5, 0, 3), False)],
)
def test_a_hop_that_answers_some_flows_alone_is_not_on_the_way_of_the_others(
    answered: tuple[int, ...], split: bool
) -> None:
    probes = [
        one
        for flow, count in enumerate(answered)
        for number in range(5)
        for one in (
            probe(1, 1000 if number < count else None, flow=flow),
            probe(2, 2000, flow=flow, kind="port-unreachable"),
        )
    ]
    opened = {**OPENED, "source_ports": [53100 + flow for flow in range(len(answered))]}
    route = weigh_ends(build_route(opened, probes, dict.fromkeys(range(len(answered)), 2), ("reached", 0, 0)))
    assert (route.hops[0].verdict is HopVerdict.SPLIT) is split
    assert route.balanced is split


def test_an_end_by_echo_bears_out_its_own_losses() -> None:
    assert weigh_ends(answering("icmp", 20, 10)).hops[1].verdict is HopVerdict.LOSSY


def test_a_hop_nobody_answered_at_has_no_times() -> None:
    first, second = classify_hops(
        [probe(1, None), probe(1, None), probe(2, 5000), probe(2, 9000), probe(2, 6000)]
    )
    assert (first.addresses, first.rtt_min_ns, first.rtt_median_ns) == ((), None, None)
    assert (second.rtt_min_ns, second.rtt_median_ns) == (5000, 6000)
    assert first.loss.loss_ratio == 1.0


def test_probes_that_were_not_sent_are_not_lost() -> None:
    probes = [probe(1, 1000), probe(1, None, unsent="ENETUNREACH")]
    route = build_route(OPENED, probes, {0: 1}, ("silence", 0, 0))
    assert route.hops[0].loss.sent == 1
    assert route.hops[0].verdict is HopVerdict.ANSWERS


def test_a_fingerprint_is_pinned_and_orders_what_has_no_order() -> None:
    hops = [HASHED, [], ["198.18.0.10"]]
    # "2:" and the first 32 digits of sha256sum(1) of this text:
    # '["pathlab-route-2",[["198.18.0.2","198.18.0.6"],["*"],["198.18.0.10"]]]'
    assert hash_hops(hops) == "2:8e4637e0fac1a543eb2e35f1e84df2a2"
    assert hash_hops([HASHED[::-1], *hops[1:]]) == hash_hops(hops)


@given(st.lists(st.lists(st.sampled_from(HASHED), max_size=2, unique=True), max_size=4))
def test_other_hops_have_another_fingerprint(hops: list[list[str]]) -> None:
    own = hash_hops(hops)
    assert own == hash_hops([*hops, [], []])
    assert own != hash_hops([*hops, ["198.18.0.14"]])
    assert own != hash_hops([[], *hops, ["198.18.0.14"]])


@pytest.mark.parametrize("flows", [1, 2, 5])
@pytest.mark.parametrize("method", ["udp", "icmp"])
def test_a_fingerprint_is_that_of_the_first_flow_however_many_there_are(flows: int, method: str) -> None:
    """On a balanced route each flow may see another router, and another flow may answer from further away."""
    probes = [
        probe(ttl, 1000, flow=flow, source=source)
        for flow in range(flows)
        for ttl, source in enumerate(
            ["198.18.0.2", f"198.18.1.{flow}", "198.18.0.10"][: 2 + (flow == 1)], start=1
        )
    ]
    opened = {**OPENED, "method": method, "source_ports": [53100 + flow for flow in range(flows)]}
    last = 3 if flows > 1 else 2  # what is silent on the first flow is still tried on it
    route = build_route(opened, probes, dict.fromkeys(range(flows), last), ("silence", 0, 0))
    assert route.fingerprint == hash_hops([["198.18.0.2"], ["198.18.1.0"]])


def route_of(probes: Sequence[Probe], hops: int) -> Route:
    return build_route(OPENED, probes, {0: hops}, ("reached", 0, 0))


def chain_of(*sources: str | None, **changes: Any) -> Route:
    """A route of one flow; the last hop is the target, None answers nothing."""
    probes = []
    for ttl, source in enumerate(sources, start=1):
        kind = "port-unreachable" if ttl == len(sources) else "time-exceeded"
        answered = {"source": source, "kind": kind} if source else {}
        probes.append(probe(ttl, 1000 * ttl if source else None, **answered, **changes))
    return route_of(probes, len(sources))


def test_a_hop_that_fell_silent_is_no_change() -> None:
    before, after = chain_of("a", "b", "t"), chain_of("a", None, "t")
    assert before.fingerprint != after.fingerprint
    assert has_route_changed(before, after) is False


def test_another_router_or_another_length_is_a_change() -> None:
    assert has_route_changed(chain_of("a", "b", "t"), chain_of("a", "c", "t")) is True
    assert has_route_changed(chain_of("a", "b", "t"), chain_of("a", "b", None, "t")) is True


def test_routes_without_a_hop_in_common_cannot_be_compared() -> None:
    assert has_route_changed(chain_of(None, "t"), chain_of("a")) is None


def test_a_flow_that_meets_two_routers_at_a_hop_is_balanced_per_packet() -> None:
    probes = [probe(1, 1000), probe(1, 1000, source="198.18.0.77"), probe(1, 1000, source="198.18.0.77")]
    route = route_of(probes, 1)
    assert route.flows[0].hops == (("198.18.0.77", "198.18.0.1"),)  # most often first
    assert route.balanced
    assert not sample_route().balanced


def test_a_refusal_ends_a_route_and_names_the_router() -> None:
    probes = [probe(1, 1000), probe(2, 2000, kind="unreachable", code=13)]
    route = build_route(OPENED, probes, {0: 2}, ("refused", 0, 0))
    assert not route.reached
    assert route.flows[0].refused == "198.18.0.2 code 13"


class ForgetfulPath(SimulatedPath):
    """Three hops; the first probes to a hop are lost."""

    def __init__(self, lost: dict[int, int]) -> None:
        super().__init__([1e9, 1e9, 1e9])
        self._left = dict(lost)

    def _probe(self, ttl: int, size_bytes: int) -> Probe:
        if self._left.get(ttl, 0) > 0:
            self._left[ttl] -= 1
            return probe(ttl, None, size_bytes=size_bytes)
        answered = super()._probe(min(ttl, 3), size_bytes)
        return replace(answered, ttl=ttl)


@pytest.mark.parametrize("lost", [{}, {3: 2}, {3: 4}, {3: 2, 4: 2}, {2: 9, 3: 2}])
def test_a_target_whose_first_answers_are_lost_is_no_hop_further(lost: dict[int, int]) -> None:
    """Probes that go further reach the target as well, which looked like one more hop, and like a change."""
    route = discover_route(ForgetfulPath(lost), RouteOptions())
    assert len(route.flows[0].hops) == 3
    assert [hop.is_target for hop in route.hops] == [False, False, True]
    assert route.stopped == "reached"
    assert has_route_changed(discover_route(ForgetfulPath({}), RouteOptions()), route) is False


def test_a_hop_before_the_target_that_never_answers_is_probed_once_more_and_no_oftener() -> None:
    path = ForgetfulPath({2: 10**6})
    route = discover_route(path, RouteOptions(repeats=2))
    assert [plan.repeats for plan in path.plans] == [2, 2, 2, 3]
    assert route.hops[1].verdict is HopVerdict.SILENT
