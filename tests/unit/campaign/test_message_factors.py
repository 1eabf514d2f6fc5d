"""What messages exclude is refused with the plan, by file and key, as the engine would refuse it later."""

from typing import Any

from pathlab.campaign.order import plan_rows
from tests.builders.campaigns import list_mistakes, make_sample

THERE = {"source": "local", "destination": "far"}
#: A combination of which each part is allowed.
RATED = {"message": 64, "message_rate": 1000, "batch": "8KiB"}


def test_messages_of_every_kind_are_taken() -> None:
    delayed = {**RATED, "batch_min_delay": "1ms", "batch_max_delay": "1ms", "cork": True}
    for factors in (
        {"message": [4, "64KiB"], "encoding": ["fixed", "protobuf"], "priority": ["none", 98]},
        {**delayed, "reply": [True, False], "wait": ["block", "poll"], "no_delay": True},
        {"message": 64, "transport": ["unix", "pipe", "shared-memory", "eventfd", "unix-datagram"]},
        {"message": 65_000, "transport": "udp", "message_rate": [100, "max"], "window": "1MiB", "dscp": "EF"},
        {"message": 64, "transport": ["tcp", "unix"], "window": "1MiB"},
        {"message": 64, "placement": ["host", "process", "threaded", "fused"], "workers": 1},
        {"message": 64, "transfer": "1MB", "streams": 256},
        {"transport": ["tcp", "unix"]},
    ):
        assert make_sample(factors={"streams": 1, **factors})


STAR = {"source": "local", "destination": "far", "sinks": ["c", "d"]}
SINKS: dict[str, Any] = {name: {"transport": "local"} for name in ("far", "c", "d")}


def test_several_receivers_share_the_streams_of_messages() -> None:
    factors = {"streams": [3, 6], "message": 64, "transport": ["tcp", "udp"]}
    campaign = make_sample(factors=factors, hosts=SINKS, paths=[STAR])
    assert campaign.paths[0].hosts == ("local", "far", "c", "d")
    assert plan_rows(campaign)[0].settings["sinks"] == "c, d"


def test_caps_on_rates_are_refused_with_messages() -> None:
    hosts = {"far": {"transport": "local", "max_rate": "40Mbit/s"}}
    what = "messages are not paced; expected a message_rate instead, or no message"
    factors = {"streams": 1, "message": ["none", 64]}
    assert list_mistakes(factors=factors, hosts=hosts, paths=[THERE]) == (f"hosts.far.max_rate: {what}",)
    assert list_mistakes(factors=factors, budget={"rate": "1Mbit/s"}) == (f"budget.rate: {what}",)
    assert make_sample(factors={"streams": 1, "message": "none"}, hosts=hosts, paths=[THERE])
