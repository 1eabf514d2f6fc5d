"""What both ends state of the factors of messages, and which of them were not granted."""

from typing import Any

from pathlab.engines.settings import find_refused, flow_options, list_settings
from pathlab.engines.spec import Allowed
from tests.builders.campaigns import make_spec

BOTH = {
    "bytes": 64,
    "encoding": "fixed",
    "carrier": None,
    "placement": "apart",
    "replies": False,
    "wait": "block",
}


def find_flags(sender: dict[str, Any], receiver: dict[str, Any], **levels: Any) -> list[str]:
    """Flags of a trial whose ends state this of messages."""
    ready = [
        {"type": "ready", "transport": "tcp", "messages": {**BOTH, "priority": None, **stated}}
        for stated in (sender, receiver)
    ]
    return find_refused(list_settings(make_spec({}, message_bytes=64, **levels), *ready))


def test_a_priority_that_one_end_was_not_granted_is_a_flag() -> None:
    granted = {"priority": 5}
    assert find_flags(granted, granted, priority=5) == []
    assert find_flags(granted, {}, priority=5) == ["priority-not-granted"]
    assert find_flags({}, granted, priority=5) == ["priority-not-granted"]
    assert find_flags({}, {}) == []  # none requested
    lines = {
        line["name"]: line
        for line in list_settings(
            make_spec({}, message_bytes=64, priority=5), {"messages": BOTH}, {"messages": granted}
        )
    }
    expected = {"name": "priority", "requested": "5", "sender": "0", "receiver": "5"}
    assert lines["priority"] == expected


def test_what_carries_messages_is_the_transport_that_was_granted() -> None:
    pipe = {"carrier": "pipe"}
    assert find_flags(pipe, pipe, transport="pipe") == []
    assert find_flags(pipe, {}, transport="pipe") == ["transport-not-granted"]


def test_an_end_without_messages_states_nothing_of_them() -> None:
    ready = {"type": "ready", "transport": "tcp"}
    lines = {line["name"]: line for line in list_settings(make_spec({}), ready, ready)}
    for name in ("message_bytes", "reply", "priority", "wait", "placement", "batch_bytes"):
        assert (lines[name]["sender"], lines[name]["receiver"]) == (None, None)
    assert find_refused(list(lines.values())) == []


def test_each_end_is_bound_to_its_own_cores_and_reads_only_those() -> None:
    spec, allowed = (
        make_spec({}, cpus_sender="0-1", cpus_receiver="2"),
        Allowed(probe_method="icmp", congestion=None),
    )
    assert [flow_options(spec, allowed, sends=sends, connects=sends)["pin"] for sends in (True, False)] == [
        "0,1",
        "2",
    ]
    lines = list_settings(spec, {"cores": [0, 1]}, {"cores": [2]})
    stated = {line["name"]: (line["sender"], line["receiver"]) for line in lines}
    assert (stated["cpus_sender"], stated["cpus_receiver"]) == (("0,1", None), (None, "2"))
    assert find_refused(lines) == []
    lines = list_settings(spec, {"cores": [0, 1]}, {"cores": [3]})
    assert find_refused(lines) == ["cpus-receiver-not-granted"]
    for sends in (True, False):
        assert flow_options(make_spec({}, cpus="3"), allowed, sends=sends, connects=sends)["pin"] == "3"
