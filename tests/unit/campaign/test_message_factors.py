"""What messages exclude is refused with the plan, by file and key, as the engine would refuse it later."""

from __future__ import annotations

from typing import Any

import pytest

from pathlab.campaign.constraints import parse_constraint
from pathlab.campaign.factors import FACTORS_BY_KEY
from pathlab.campaign.order import plan_rows
from tests.builders.campaigns import list_mistakes, make_sample

THERE = {"source": "local", "destination": "far"}
#: A combination of which each part is allowed.
RATED = {"message": 64, "message_rate": 1000, "batch": "8KiB"}


@pytest.mark.parametrize(
    ("factors", "key", "what"),
    [
        ({"reply": True}, "reply", "reply without message"),
        ({"message_rate": 1000}, "message_rate", "message_rate without message"),
        ({"batch": "1KiB"}, "batch", "batch without message"),
        ({"cork": True}, "cork", "cork without message"),
        ({"encoding": "protobuf"}, "encoding", "encoding without message"),
        ({"placement": "process"}, "placement", "placement without message"),
        ({"wait": "poll"}, "wait", "wait without message"),
        ({"priority": 5}, "priority", "priority without message"),
        ({"transport": "pipe"}, "transport", "this transport without message"),
        ({"message": 64, "direction": "reverse"}, "direction", "messages in direction 'reverse' or 'both'"),
        ({"message": 64, "direction": "both"}, "direction", "messages in direction 'reverse' or 'both'"),
        ({"message": 64, "streams": 257}, "streams", "messages on more than 256 streams"),
        ({"message": 64, "write": "1KiB"}, "write", "write with message, whose size is the write's"),
        ({"message": 64, "pacing": "1Mbit/s"}, "pacing", "pacing with message, which has message_rate"),
        ({"message": 64, "zero_copy": True}, "zero_copy", "zero_copy with message"),
        ({**RATED, "transfer": "1MB"}, "transfer", "transfer with message_rate"),
        (
            {"streams": 2, "message": 64, "transfer": 127},
            "transfer",
            "a transfer of less than a message for each stream",
        ),
        (
            {"message": 64, "batch": "8KiB", "batch_max_delay": "1ms"},
            "batch_max_delay",
            "batch_max_delay without batch and message_rate",
        ),
        (
            {"message": 64, "message_rate": 1000, "batch_min_delay": "1ms"},
            "batch_min_delay",
            "batch_min_delay without batch and message_rate",
        ),
        (
            {**RATED, "batch_min_delay": "2ms", "batch_max_delay": "1ms"},
            "batch_min_delay",
            "a batch_min_delay above batch_max_delay",
        ),
        ({"message": 64, "placement": "fused", "reply": True}, "reply", "reply within one process"),
        ({"message": 64, "placement": "threaded", "reply": True}, "reply", "reply within one process"),
        (
            {"message": 64, "placement": "threaded", "transport": "udp"},
            "transport",
            "a transport within one process",
        ),
        ({"message": 64, "placement": "fused", "batch": "1KiB"}, "batch", "batch in placement 'fused'"),
        (
            {"message": 64, "placement": "fused", "message_rate": 10},
            "message_rate",
            "message_rate in placement 'fused'",
        ),
        (
            {"message": 64, "reply": True, "wait": "poll", "batch": "33KiB"},
            "batch",
            "batches above 32 KiB with reply and wait 'poll'",
        ),
        ({"message": 65_001, "transport": "udp"}, "message", "datagrams above 65000 bytes"),
        ({"message": 64, "batch": 65_001, "transport": "udp"}, "batch", "datagrams above 65000 bytes"),
        ({"message": 64, "cork": True, "transport": "udp"}, "cork", "cork by other transports than TCP"),
        ({"message": 64, "transport": "udp", "congestion": "reno"}, "congestion", "congestion without TCP"),
        ({"message": 64, "transport": "udp", "mss": 536}, "mss", "mss without TCP"),
        ({"message": 64, "transport": "udp", "no_delay": True}, "no_delay", "no_delay without TCP"),
        ({"message": 64, "placement": "fused", "no_delay": True}, "no_delay", "no_delay without TCP"),
        ({"message": 64, "placement": "threaded", "dscp": "EF"}, "dscp", "dscp without IP"),
        *(
            (
                {"message": 64, "window": "1MiB", **where},
                "window",
                "window with pipes, queues and Unix datagrams",
            )
            for where in (
                {"transport": "pipe"},
                {"transport": "unix-datagram"},
                {"transport": "shared-memory", "placement": "process"},
                {"transport": "eventfd"},
                {"placement": "threaded"},
            )
        ),
        ({"transport": "unix", "congestion": "reno"}, "congestion", "congestion without TCP"),
        ({"transport": "unix", "mss": 536}, "mss", "mss without TCP"),
        ({"transport": "unix", "no_delay": True}, "no_delay", "no_delay without TCP"),
        ({"transport": "unix", "dscp": 1}, "dscp", "dscp without IP"),
    ],
)
def test_what_messages_exclude_is_refused_with_the_way_out(
    factors: dict[str, Any], key: str, what: str
) -> None:
    (mistake,) = list_mistakes(factors={"streams": 1, **factors})
    start = f"factors.{key}: native does not support {what}; expected where = "
    assert mistake.startswith(start), mistake
    parsed = parse_constraint(mistake.removeprefix(start).strip('"'))
    assert key in parsed.factors
    assert parsed.holds({key: _find_unset(key) for key in FACTORS_BY_KEY})


def _find_unset(key: str) -> Any:
    factor = FACTORS_BY_KEY[key]
    return 1 if key == "streams" else factor.default


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
