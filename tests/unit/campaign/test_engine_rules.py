"""What an engine cannot do is refused with the plan, by file and key, before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders.campaigns import list_mistakes, make_sample

HOSTS: dict[str, Any] = {"far": {"transport": "local"}}
THERE = {"source": "local", "destination": "far"}
BACK = {"source": "far", "destination": "local", "connect_from": "receiver"}


@pytest.mark.parametrize(
    ("level", "what", "constraint"),
    [
        ({"streams": 129}, "more than 128 streams", "streams <= 128"),
        ({"direction": "both"}, "direction 'both'", "direction != 'both'"),
        ({"transport": "mptcp"}, "transports other than 'tcp'", "transport == 'tcp'"),
        ({"window": "513MiB"}, "windows above 512 MiB", "window == 'auto' or window <= 512MiB"),
        ({"write": "2MiB"}, "writes above 1 MiB", "write == 'auto' or write <= 1MiB"),
        ({"mss": "9217B"}, "segments above 9216 bytes", "mss == 'auto' or mss <= 9216"),
        ({"duration": "24h"}, "more than a day of traffic", "warmup + duration <= 86400s"),
        ({"workers": 2}, "workers", "workers == 'auto'"),
        ({"cpus": "0"}, "cpus", "cpus == 'any'"),
        ({"cpus_receiver": "0"}, "cpus_receiver", "cpus_receiver == 'any'"),
    ],
)
def test_what_iperf3_does_not_support_is_refused_with_the_way_out(
    level: dict[str, Any], what: str, constraint: str
) -> None:
    factors = {"streams": 1, "engine": ["native", "iperf3"], **level}
    expected = f"where = \"engine != 'iperf3' or {constraint}\""
    assert list_mistakes(factors=factors) == (
        f"factors.engine: iperf3 does not support {what}; expected {expected}",
    )
    cells = make_sample(factors={**factors, "engine": "native"})
    assert cells.factors.levels("engine") == ("native",)  # which does all of it


def test_the_levels_at_its_limits_are_taken() -> None:
    levels = {"streams": 128, "window": "512MiB", "write": "1MiB", "mss": "9216B", "duration": "86399s"}
    assert make_sample(factors={**levels, "engine": "iperf3"}, trial={"warmup": "1s"})


def test_iperf3_cannot_connect_from_the_receiver() -> None:
    expected = 'expected connect_from = "sender", or another engine in [factors]'
    factors = {"streams": [1, 2], "engine": ["native", "iperf3"]}
    assert list_mistakes(factors=factors, hosts=HOSTS, paths=[THERE, BACK]) == (
        f"paths.1.connect_from: iperf3 cannot connect from the receiver; {expected}",
    )
    assert make_sample(factors={"streams": 1}, hosts=HOSTS, paths=[THERE, BACK])


def test_control_and_explicit_rows_are_checked_as_well() -> None:
    control = {"every": 2, "engine": "iperf3", "workers": 2}
    factors = {"streams": [1, 2], "engine": ["native"], "workers": ["auto"]}
    (mistake,) = list_mistakes(factors=factors, control=control)
    assert mistake.startswith("factors.engine: iperf3 does not support workers; ")
    rows = [{"streams": 1, "engine": "native"}, {"streams": 200, "engine": "iperf3"}]
    (mistake,) = list_mistakes(factors={}, design="explicit", rows=rows)
    assert mistake.startswith("factors.engine: iperf3 does not support more than 128 streams; ")


REQUEST = {"message": "64B", "reply": True, "no_delay": True}


@pytest.mark.parametrize(("engine", "more"), [("iperf3", {}), ("tcp-python", REQUEST)])
@pytest.mark.parametrize(("key", "value"), [("max_rate", "40Mbit/s"), ("max_bytes", "1GiB")])
def test_an_engine_that_keeps_no_cap_of_a_host_is_refused(
    key: str, value: str, engine: str, more: dict[str, Any]
) -> None:
    hosts = {"far": {"transport": "local", key: value}}
    factors = {"streams": 1, "engine": [engine], **more}
    refused = f"hosts.far.{key}: {engine} does not keep it; expected no {key}, or another engine"
    assert refused in list_mistakes(factors=factors, hosts=hosts, paths=[THERE])
    assert make_sample(factors={"streams": 1}, hosts=hosts, paths=[THERE])
