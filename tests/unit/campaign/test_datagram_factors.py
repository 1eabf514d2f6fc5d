"""What a UDP flow excludes is refused with the plan, by file and key, and what it has reaches the engine."""

from typing import Any

from pathlab.campaign.order import plan_rows
from pathlab.engines.settings import find_refused, flow_options, list_settings
from pathlab.engines.spec import Allowed
from tests.builders.campaigns import make_sample, make_spec

ALLOWED = Allowed(probe_method="icmp", congestion=None)
FLOW: dict[str, Any] = {"transport": "udp"}


def test_the_names_of_ecn_bits_are_their_numbers() -> None:
    campaign = make_sample(factors={"streams": 1, **FLOW, "ecn": ["Not-ECT", "ECT1", "ect0", "CE", "none"]})
    assert sorted((row.cell.ecn for row in plan_rows(campaign)), key=str) == [0, 1, 2, 3, None]


def find_flags(direction: str, connects: str = "sender", **levels: Any) -> dict[str, dict[str, Any]]:
    """The flags of both ends of a UDP flow that are its own."""
    spec = make_spec({}, transport="udp", direction=direction, **levels)
    names = {"datagram-bytes", "gso", "gro", "pacing", "rate-bits-per-s", "ecn"}
    return {
        end: {
            name: value
            for name, value in flow_options(
                spec, ALLOWED, sends=end == "sender", connects=end == connects
            ).items()
            if name in names
        }
        for end in ("sender", "receiver")
    }


def test_each_flag_reaches_the_ends_that_need_it() -> None:
    levels: dict[str, Any] = {"datagram_bytes": 1000, "gso": True, "gro": True, "ecn": 2}
    levels |= {"pacing_bits_per_s": 10**6, "pacing_by": "user"}
    stated = {"datagram-bytes": 1000, "gso": "yes"}
    paced = {"rate-bits-per-s": 10**6, "pacing": "user"}
    assert find_flags("forward", **levels) == {
        "sender": {**stated, **paced, "ecn": 2},
        "receiver": {"gro": "yes", "ecn": 2},
    }
    assert find_flags("forward", "receiver", **levels) == {
        "sender": {**paced, "ecn": 2},
        "receiver": {**stated, "gro": "yes", "ecn": 2},
    }
    assert find_flags("both", **levels) == {
        "sender": {**stated, **paced, "gro": "yes", "ecn": 2},
        "receiver": {**paced, "gro": "yes", "ecn": 2},
    }


def test_what_an_end_did_not_grant_is_a_flag() -> None:
    spec = make_spec({}, transport="udp", datagram_bytes=1000, gso=True, gro=True, ecn=1)
    granted = {"bytes": 1000, "gso": True, "gro": True, "pacing": "off"}
    sockets = [{"stream": 0, "traffic_class": 1}]

    def find(sender: dict[str, Any], receiver: dict[str, Any]) -> list[str]:
        ready = [
            {"transport": "udp", "sockets": sockets, "datagrams": granted | stated}
            for stated in (sender, receiver)
        ]
        return find_refused(list_settings(spec, *ready))

    assert find({}, {}) == []
    assert find({"gro": False}, {}) == []  # the sender takes none
    assert find({"gso": False}, {"gso": False}) == ["gso-not-granted"]
    assert find({}, {"gro": False}) == ["gro-not-granted"]
    sockets[0]["traffic_class"] = 0
    assert find({}, {}) == ["ecn-not-granted"]


def test_pacing_is_granted_where_the_way_requested_was_taken() -> None:
    def find(by: str, stated: str) -> list[str]:
        spec = make_spec({}, transport="udp", pacing_bits_per_s=10**6, pacing_by=by)
        ready = {"transport": "udp", "datagrams": {"pacing": stated}}
        return find_refused(list_settings(spec, ready, {"transport": "udp"}))

    assert find("auto", "user") == find("kernel", "kernel") == []
    assert find("txtime", "user") == ["pacing-by-not-granted"]
