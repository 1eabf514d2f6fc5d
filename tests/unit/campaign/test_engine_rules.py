"""What an engine cannot do is refused with the plan, by file and key, before anything runs."""

from typing import Any

import pytest

from tests.builders.campaigns import list_mistakes, make_sample

THERE = {"source": "local", "destination": "far"}


def test_the_levels_at_its_limits_are_taken() -> None:
    levels = {"streams": 128, "window": "512MiB", "write": "1MiB", "mss": "9216B", "duration": "86399s"}
    assert make_sample(factors={**levels, "engine": "iperf3"}, trial={"warmup": "1s"})


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
