"""The search for a path's MTU against paths that answer by a rule."""

from collections.abc import Callable

import pytest

from pathlab.discover.mtu import TRIES, find_path_mtu
from pathlab.discover.probes import Probe, ProbePlan, ProbeTarget, RemoteProber, Sent
from tests.builders.paths import OPENED, probe

Rule = Callable[[int], Probe]


class RuledPath(RemoteProber):
    """A prober whose answer depends on the size alone; ``sizes`` are those sent."""

    def __init__(self, rule: Rule, *, mtu_bytes: int = 1500, method: str = "udp") -> None:
        self.target = ProbeTarget(address="198.18.0.10", method=method)
        self.opened = {**OPENED, "mtu_bytes": mtu_bytes}
        self.sizes: list[int] = []
        self._rule = rule

    def send(self, plan: ProbePlan) -> Sent:
        (size,) = plan.sizes_bytes
        self.sizes.append(size)
        return Sent(probes=(self._rule(size),), late=0, ambiguous=0)


def arrived(size: int) -> Probe:
    return probe(9, 1000, size_bytes=size, kind="port-unreachable")


def too_big(size: int, mtu_bytes: int | None, source: str = "r") -> Probe:
    return probe(9, 1000, size_bytes=size, kind="too-big", mtu_bytes=mtu_bytes, source=source)


def test_a_path_as_wide_as_its_first_link_takes_two_probes() -> None:
    path = RuledPath(arrived)
    found = find_path_mtu(path)
    assert (found.mtu_bytes, found.limited_by, found.black_hole) == (1500, None, False)
    assert path.sizes == [40, 1500]


def test_routers_lead_down_one_after_the_other() -> None:
    def answer(size: int) -> Probe:
        if size > 1400:
            return too_big(size, 1400, "r1")
        return too_big(size, 1280, "r2") if size > 1280 else arrived(size)

    path = RuledPath(answer)
    found = find_path_mtu(path)
    assert (found.mtu_bytes, found.limited_by, found.black_hole) == (1280, "r2", False)
    assert path.sizes == [40, 1500, 1400, 1280]


@pytest.mark.parametrize("mtu", [41, 576, 1003, 1499])
def test_a_router_that_names_no_mtu_is_searched_around(mtu: int) -> None:
    path = RuledPath(lambda size: arrived(size) if size <= mtu else too_big(size, None))
    found = find_path_mtu(path)
    assert (found.mtu_bytes, found.limited_by, found.black_hole) == (mtu, "r", False)
    assert len(path.sizes) < 16


@pytest.mark.parametrize("mtu", [576, 1492])
def test_a_black_hole_is_found_by_halving(mtu: int) -> None:
    found = find_path_mtu(RuledPath(lambda size: arrived(size) if size <= mtu else probe(9, None)))
    assert (found.mtu_bytes, found.limited_by, found.black_hole) == (mtu, None, True)


def test_a_router_that_names_ever_smaller_sizes_cannot_hold_the_search() -> None:
    path = RuledPath(lambda size: arrived(size) if size <= 100 else too_big(size, size - 1), mtu_bytes=9000)
    assert find_path_mtu(path).mtu_bytes == 100
    assert len(path.sizes) < 40


def test_a_router_that_names_more_than_was_sent_is_not_believed() -> None:
    path = RuledPath(lambda size: arrived(size) if size <= 1000 else too_big(size, 65535))
    assert find_path_mtu(path).mtu_bytes == 1000


def test_a_packet_that_the_first_link_does_not_take_is_no_black_hole() -> None:
    path = RuledPath(lambda size: arrived(size) if size <= 1492 else probe(9, None, unsent="EMSGSIZE"))
    found = find_path_mtu(path)
    assert (found.mtu_bytes, found.limited_by, found.black_hole) == (1492, "the first link", False)


def test_a_silent_target_and_tcp_have_no_mtu_but_a_reason() -> None:
    silent = find_path_mtu(RuledPath(lambda _size: probe(9, None)))
    assert (silent.mtu_bytes, silent.reason) == (None, "the target does not answer even the smallest probe")
    tcp = find_path_mtu(RuledPath(arrived, method="tcp"))
    assert tcp.mtu_bytes is None
    assert tcp.reason is not None


@pytest.mark.parametrize("lost", [{1500}, {1500, 770}, {1500, 770, 1135}])
def test_losses_are_not_taken_for_a_black_hole(lost: set[int]) -> None:
    """Every try of a size was lost when it was first sought; afterwards packets of its size arrive."""
    tries: dict[int, int] = {}

    def answer(size: int) -> Probe:
        tries[size] = tries.get(size, 0) + 1
        return probe(9, None) if size in lost and tries[size] <= TRIES else arrived(size)

    found = find_path_mtu(RuledPath(answer))
    assert (found.mtu_bytes, found.limited_by, found.black_hole) == (1500, None, False)
