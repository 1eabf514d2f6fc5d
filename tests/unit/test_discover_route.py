"""What is concluded from a route's probes: verdicts, fingerprints, changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathlab.analysis.loss import probe_loss
from pathlab.discover.probes import Probe
from pathlab.discover.route import (
    Route,
    Verdict,
    build_route,
    compare_routes,
    hash_route,
    judge_hops,
    judge_loss,
)
from tests.unit.path_samples import OPENED, probe, sample_route

HASHED = ["198.18.0.2", "198.18.0.6"]


@pytest.mark.parametrize(
    ("own", "beyond", "verdict"),
    [
        ((20, 20), [(20, 20)], Verdict.ANSWERS),
        ((20, 0), [(20, 0), (20, 18)], Verdict.SILENT),
        ((20, 0), [(20, 0)], Verdict.NOTHING_BEYOND),
        ((20, 0), [], Verdict.NOTHING_BEYOND),
        ((20, 6), [(20, 20)], Verdict.LIMITED),
        ((20, 6), [(20, 0), (20, 20)], Verdict.LIMITED),
        ((20, 19), [(20, 20)], Verdict.UNCLEAR),
        ((20, 15), [(20, 15), (20, 14)], Verdict.LOSSY),
        ((20, 15), [(20, 0)], Verdict.LOSSY),  # a silent hop beyond says nothing against loss
        ((20, 15), [], Verdict.LOSSY),
    ],
)
def test_missing_answers_are_told_by_the_hops_beyond(
    own: tuple[int, int], beyond: Sequence[tuple[int, int]], verdict: Verdict
) -> None:
    assert judge_loss(probe_loss(*own), [probe_loss(*one) for one in beyond]) is verdict


def test_a_hop_nobody_answered_at_has_no_times() -> None:
    first, second = judge_hops(
        [probe(1, None), probe(1, None), probe(2, 5000), probe(2, 9000), probe(2, 6000)]
    )
    assert (first.addresses, first.rtt_min_ns, first.rtt_median_ns) == ((), None, None)
    assert (second.rtt_min_ns, second.rtt_median_ns) == (5000, 6000)
    assert first.loss.loss_ratio == 1.0


def test_probes_that_were_not_sent_are_not_lost() -> None:
    probes = [probe(1, 1000), probe(1, None, unsent="ENETUNREACH")]
    route = build_route(OPENED, probes, {0: 1}, ("silence", 0, 0))
    assert route.hops[0].loss.sent == 1
    assert route.hops[0].verdict is Verdict.ANSWERS


def test_a_fingerprint_is_pinned_and_orders_what_has_no_order() -> None:
    one = hash_route("udp", "198.18.0.10", [[HASHED, []]])
    assert one == hash_route("udp", "198.18.0.10", [[HASHED[::-1], []]])
    # The first 32 digits of sha256sum(1) of this text:
    # '["pathlab-route-1","udp","198.18.0.10",[[["198.18.0.2","198.18.0.6"],["*"]]]]'
    assert one == "652d7dd2407dbfa2f0eeb37b397c691e"


@given(st.lists(st.lists(st.lists(st.sampled_from(HASHED), max_size=2, unique=True), max_size=4), max_size=3))
def test_different_routes_have_different_fingerprints(flows: list[list[list[str]]]) -> None:
    own = hash_route("udp", "198.18.0.10", flows)
    assert own == hash_route("udp", "198.18.0.10", flows)
    assert own != hash_route("udp", "198.18.0.10", [*flows, [["198.18.0.14"]]])
    assert own != hash_route("tcp", "198.18.0.10", flows)


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
    assert compare_routes(before, after).changed is False


def test_another_router_or_another_length_is_a_change() -> None:
    other = compare_routes(chain_of("a", "b", "t"), chain_of("a", "c", "t"))
    assert (other.changed, other.differences) == (True, ("flow 0, hop 2: b became c",))
    longer = compare_routes(chain_of("a", "b", "t"), chain_of("a", "b", "b", "t"))
    assert longer.changed is True
    assert longer.differences[-1] == "flow 0: 3 hops became 4"


def test_routes_without_a_hop_in_common_cannot_be_compared() -> None:
    assert compare_routes(chain_of(None, "t"), chain_of("a")).changed is None


def test_a_flow_that_meets_two_routers_at_a_hop_is_balanced_per_packet() -> None:
    probes = [probe(1, 1000), probe(1, 1000, source="198.18.0.77"), probe(1, 1000, source="198.18.0.77")]
    route = route_of(probes, 1)
    assert route.flows[0].hops == (("198.18.0.77", "198.18.0.1"),)  # most often first
    assert route.flows[0].balanced_per_packet
    assert route.balanced
    assert not sample_route().balanced


def test_a_refusal_ends_a_route_and_names_the_router() -> None:
    probes = [probe(1, 1000), probe(2, 2000, kind="unreachable", code=13)]
    route = build_route(OPENED, probes, {0: 2}, ("refused", 0, 0))
    assert not route.reached
    assert route.flows[0].refused == "198.18.0.2 code 13"
