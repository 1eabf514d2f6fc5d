"""What `pathlab hosts check` makes of a host's facts. Its lines: tests/golden/runner/test_host_lines.py."""

from typing import Any

import pytest

from pathlab.errors import HostError, Stage
from pathlab.runner.hosts import capture_check
from pathlab.runner.hosts.facts_check import HostCheck, check_facts
from pathlab.runner.hosts.host_check import describe_failure
from pathlab.runner.hosts.pair_check import list_pairs
from tests.builders.campaigns import make_sample
from tests.unit.runner.hosts.test_technology_check import CheckedHost, make_rows, open_session

MIB = 1 << 20
BUFFER = {"min_bytes": 4096, "default_bytes": 131072, "max_bytes": 64 * MIB}


def facts(**changes: Any) -> dict[str, Any]:
    """Facts as probes give them, of a host at which nothing is to be fixed."""
    nic: dict[str, Any] = {"mtu_bytes": 1500, "speed_bits_per_s": None, "state": "down", "offloads": {}}
    up = {"state": "up", "offloads": {"tso": True, "gso": True, "gro": True}}
    good: dict[str, Any] = {
        "buffers": {
            **{"rmem_max_bytes": 64 * MIB, "wmem_max_bytes": 64 * MIB},
            **{"tcp_rmem": BUFFER, "tcp_wmem": {**BUFFER, "default_bytes": 16384}},
        },
        "tcp": {
            "congestion_default": "cubic",
            "congestion_available": ["reno", "cubic"],
            "congestion_settable": ["reno", "cubic"],
            "tcp_window_scaling": 1,
        },
        "clock": {"current": "tsc", "available": ["tsc", "hpet"]},
        "frequency": {"scaling": True, "governors": ["performance"]},
        "cpu": {"usable": 8},
        "nics": {
            "lo": {**nic, "mtu_bytes": 65536, "state": "unknown"},
            "eth0": {**nic, **up, "speed_bits_per_s": 10**10},
            "eth1": nic,
        },
        "unread": {},
    }
    return {**good, **changes}


def find(checks: list[HostCheck], item: str) -> HostCheck:
    (found,) = [check for check in checks if check.item == item]
    return found


def test_the_named_interface_is_looked_at_and_no_other() -> None:
    assert find(check_facts(facts(), nic="eth1"), "NIC eth1").state == "limited"
    assert find(check_facts(facts(), nic="eth7"), "NIC eth7").state == "missing"
    assert [check.item for check in check_facts(facts(), nic="eth1") if "NIC" in check.item] == ["NIC eth1"]


def test_every_pair_in_both_directions_and_a_host_alone_with_this_machine() -> None:
    assert list_pairs(["a", "b"]) == [("a", "b"), ("b", "a")]
    assert len(list_pairs(["a", "b", "c"])) == 6
    assert list_pairs(["a"]) == [("local", "a"), ("a", "local")]
    assert list_pairs(["local"]) == []


REFUSED = "recording packets needs CAP_NET_RAW; fix: run as root, or `sudo setcap cap_net_raw+ep /x/engine`"


def test_a_row_has_one_fix_and_what_a_program_advises_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    error = HostError(REFUSED, host="far", stage=Stage.ENGINE, hint="look at the host")
    monkeypatch.setattr(capture_check, "find_refusal", lambda _session: REFUSED)
    refused = capture_check.check_host_captures(open_session(CheckedHost("far")))
    for check in (refused, describe_failure(error, "captures")):
        assert check.found.endswith("recording packets needs CAP_NET_RAW")
        assert check.fix == "run as root, or `sudo setcap cap_net_raw+ep /x/engine`"
    plain = HostError("is gone", host="far", stage=Stage.ENGINE, hint="look at the host")
    assert describe_failure(plain, "captures").fix == "look at the host"
    campaign = make_sample(on_missing="fail", trial={"capture": "headers"})
    with pytest.raises(HostError) as caught:
        capture_check.find_unable(campaign, make_rows("native"), lambda host: open_session(CheckedHost(host)))
    assert "fix:" not in str(caught.value)
    assert str(caught.value.hint).startswith("run as root")
