"""The route is read once a minute, compared with the reading before, and given up where it cannot be read."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from pathlab.campaign.order import plan_rows
from pathlab.discover.route import FlowPath, Route
from pathlab.engines.spec import TrialPath
from pathlab.errors import HostError
from pathlab.runner.campaign.row import RowRunner, RowTask, build_spec
from pathlab.runner.hosts import route_watch as routes
from pathlab.runner.hosts.route_watch import FRESH_S, RENEW_S, RouteWatch
from pathlab.runner.trial.choreography import TrialData
from tests.builders.campaigns import make_sample
from tests.builders.paths import sample_route

PATH = TrialPath(source="a", destination="b", source_address="192.0.2.1", destination_address="192.0.2.9")


def route_over(*hops: str) -> Route:
    flow = FlowPath(flow=0, source_port=1, hops=tuple((hop,) if hop else () for hop in hops), reached=True)
    return dataclasses.replace(sample_route(), flows=(flow,), fingerprint="".join(hops))


class Readings:
    """Stands in for the prober: what is read, in turn, on a clock that the test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *given: Route | HostError) -> None:
        self.given = list(given)
        self.now_s = 100.0
        self.notices: list[str] = []
        monkeypatch.setattr("time.monotonic", lambda: self.now_s)
        monkeypatch.setattr(routes, "RemoteProber", lambda *_args, **_settings: self)
        monkeypatch.setattr(routes, "discover_route", lambda *_: self._next())
        self.watch = RouteWatch(_no_session, lambda event: self.notices.append(event.text))  # type: ignore[union-attr]

    def _next(self) -> Route:
        reading = self.given.pop(0)
        if isinstance(reading, HostError):
            raise reading
        return reading

    def __enter__(self) -> Readings:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def _no_session(_host: str) -> Any:
    return None


def read(watch: Callable[[TrialPath], Any]) -> tuple[str, bool]:
    reading = watch(PATH)
    return reading.route.fingerprint, reading.changed


def test_a_router_that_fell_silent_is_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = Readings(monkeypatch, route_over("r1", "r2"), route_over("", "r2"))
    read(readings.watch.read)
    readings.now_s += FRESH_S
    assert read(readings.watch.read)[1] is False


@pytest.mark.parametrize(("unloaded", "changed"), [(50, False), (500, True)])  # 1 s, 10 s
def test_a_long_pause_reports_what_changed_under_its_trial(
    unloaded: int, changed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings = Readings(monkeypatch, route_over("r1"), route_over("r2"), route_over("r2"))
    campaign = make_sample(probes={"interval": "20ms", "unloaded": unloaded})
    nowhere: Any = None
    runner = RowRunner(campaign, nowhere, readings.watch, nowhere, lambda _event: None)
    data = TrialData(route=readings.watch.read(PATH))
    readings.now_s += RENEW_S
    runner._renew_route(build_spec(campaign, RowTask(row=plan_rows(campaign)[0], attempt=1), PATH), data)
    assert (data.route.route.fingerprint, data.route.changed) == ("r1", changed)
    readings.now_s += RENEW_S
    assert read(readings.watch.read) == ("r2", not changed)  # reported once, and fresh where it was renewed


def test_each_path_has_its_own_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = Readings(monkeypatch, route_over("r1"), route_over("r2"))
    read(readings.watch.read)
    back = dataclasses.replace(PATH, source="b", destination="a")
    reading = readings.watch.read(back)
    assert (reading.route.fingerprint, reading.changed) == ("r2", False)
