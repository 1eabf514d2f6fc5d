"""A path of one hop, whose end answers a closed port as rarely as Linux does, or always."""

import io
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Self, cast

import pytest
from rich.console import Console

from pathlab.discover import path as discovery
from pathlab.discover.capacity import CapacityOptions, measure_capacity
from pathlab.discover.path import LIMITED_END, PathOptions, PathReport, discover_path
from pathlab.discover.probes import Probe, ProbePlan, ProbeTarget, Sent
from pathlab.discover.route import HopVerdict
from pathlab.discover.text import ProgressPrinter
from pathlab.remote.session import Session
from tests.builders.paths import OPENED, SimulatedPath, probe
from tests.unit.discover.test_text import render

RTT_NS = 3_000_000
KINDS = {"udp": "port-unreachable", "icmp": "echo-reply"}


class Host(SimulatedPath):
    """A host one hop away. ``tokens``: answers to UDP that it has left; one comes back every second.

    ``waited_ns`` is the time that passes by its clock: of one flow's probes, one after the other.
    """

    tokens: float = 6.0
    refill_per_s: float = 1.0
    waited_ns = 0.0

    def __init__(self, _session: object, target: ProbeTarget, **_limits: object) -> None:
        super().__init__([20e6])
        ports = [53100 + flow for flow in range(target.flows)]
        self.target = target
        self.opened = {**OPENED, "method": target.method, "source_ports": ports, "address": "198.18.0.1"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def send(self, plan: ProbePlan) -> Sent:
        return Sent(
            probes=tuple(
                self._answer(flow, size, plan)
                for _ in range(plan.repeats)
                for size in plan.sizes_bytes
                for flow in plan.flows
            ),
            late=0,
            ambiguous=0,
        )

    def _answer(self, flow: int, size: int, plan: ProbePlan) -> Probe:
        spent = self.target.method == "udp" and Host.tokens < 1
        took_ns = (plan.timeout_ns if spent else RTT_NS) / len(plan.flows)
        Host.waited_ns += took_ns
        Host.tokens = min(6.0, Host.tokens + Host.refill_per_s * took_ns / 1e9)
        if spent:
            return probe(1, None, flow=flow, size_bytes=size)
        Host.tokens -= self.target.method == "udp"
        return replace(self._probe(1, size), flow=flow, kind=KINDS[self.target.method])


def discover(
    monkeypatch: pytest.MonkeyPatch, *observers: Any, refill_per_s: float = 1.0, **options: Any
) -> PathReport:
    monkeypatch.setattr(discovery, "RemoteProber", Host)
    Host.tokens, Host.refill_per_s, Host.waited_ns = 6.0, refill_per_s, 0.0
    session = cast(Session, SimpleNamespace(host="local"))
    return discover_path(session, "198.18.0.1", PathOptions(**options), observers)


@pytest.mark.parametrize("flows", [1, 4])
def test_a_host_that_limits_its_answers_costs_seconds_and_is_not_lossy(
    flows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"methods": ("udp", "icmp"), "flows": flows}
    report = discover(monkeypatch, in_seconds=True, **options)
    assert Host.waited_ns < 10e9
    assert report.capacity is None
    assert [one.reason for one in report.lost if one.part == "capacity of the hops"] == [LIMITED_END]
    text = render(report, width=200)
    assert "loses packets" not in text
    assert "at least" not in text
    whole = discover(monkeypatch, **options)  # as with --budget
    assert Host.waited_ns > 40e9
    assert whole.capacity is not None


def test_the_end_by_udp_alone_is_undecided_and_not_called_lossy(monkeypatch: pytest.MonkeyPatch) -> None:
    report = discover(monkeypatch, in_seconds=True, methods=("udp",), flows=4)
    assert report.route.hops[0].verdict is HopVerdict.UNCLEAR
    text = render(report, width=200)
    assert "as hosts that limit their answers do" in text
    assert "loses packets" not in text


def test_a_host_that_answers_everything_gets_a_short_series(monkeypatch: pytest.MonkeyPatch) -> None:
    report = discover(monkeypatch, refill_per_s=1e9, in_seconds=True, methods=("udp",), flows=2)
    assert report.capacity.packets == sum(hop.sent for hop in report.capacity.hops)
    assert report.capacity.stopped == "precise"
    assert report.lost == ()


def test_a_longer_path_with_a_limited_hop_is_probed_on() -> None:
    """Only the end of a single hop ends a series: beyond a router that limits its answers others settle."""
    slow = SimulatedPath([100e6, 20e6], answer_ratio={1: 0.5})
    assert measure_capacity(slow, (1, 2), 1500, CapacityOptions()).stopped == "precise"
    assert measure_capacity(slow, (1, 2), 1500, CapacityOptions(stop_limited=True)).stopped == "limited"


def test_steps_are_lines_and_rounds_are_told_rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    out, now_s = io.StringIO(), 0.0

    def read_clock() -> float:
        return now_s

    printer = ProgressPrinter(Console(file=out, width=40), read_clock)
    discover(monkeypatch, printer, methods=("icmp",), flows=1)
    assert out.getvalue() == ""  # over at once
    now_s = 1.0
    discover(monkeypatch, printer, methods=("udp", "icmp"), flows=1, in_seconds=True)
    assert out.getvalue().splitlines()[:2] == ["route to 198.18.0.1 by udp", "path MTU"]
    assert "route to 198.18.0.1 by icmp" in out.getvalue()
    before = len(out.getvalue().splitlines())
    for number in range(1, 42):
        now_s = float(number)
        printer.on_step(f"capacity of the hops: 0 of 3 settled after round {number}, {number} s")
    told = out.getvalue().splitlines()[before:]
    assert [line.rpartition(", ")[2] for line in told] == ["1 s", "11 s", "21 s", "31 s", "41 s"]
