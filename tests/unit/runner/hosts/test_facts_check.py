"""What `pathlab hosts check` makes of a host's facts; facts as probes give them, changed one at a time."""

from __future__ import annotations

from typing import Any

import pytest

from pathlab.runner.hosts.facts_check import HostCheck, check_facts
from pathlab.runner.hosts.pair_check import list_pairs

MIB = 1 << 20


def facts(**changes: Any) -> dict[str, Any]:
    """Facts of a host at which nothing is to be fixed."""
    good: dict[str, Any] = {
        "buffers": {
            "rmem_max_bytes": 64 * MIB,
            "wmem_max_bytes": 64 * MIB,
            "tcp_rmem": {"min_bytes": 4096, "default_bytes": 131072, "max_bytes": 64 * MIB},
            "tcp_wmem": {"min_bytes": 4096, "default_bytes": 16384, "max_bytes": 64 * MIB},
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
            "lo": {"mtu_bytes": 65536, "speed_bits_per_s": None, "state": "unknown", "offloads": {}},
            "eth0": {
                "mtu_bytes": 1500,
                "speed_bits_per_s": 10**10,
                "state": "up",
                "offloads": {"tso": True, "gso": True, "gro": True},
            },
            "eth1": {"mtu_bytes": 1500, "speed_bits_per_s": None, "state": "down", "offloads": {}},
        },
        "unread": {},
    }
    return {**good, **changes}


def find(checks: list[HostCheck], item: str) -> HostCheck:
    (found,) = [check for check in checks if check.item == item]
    return found


def test_a_host_at_which_all_is_well_has_nothing_to_fix() -> None:
    checks = check_facts(facts(), nic=None)
    assert {check.state for check in checks} == {"ok"}
    assert all(check.fix is None for check in checks)
    assert [check.item for check in checks if check.item.startswith("NIC")] == ["NIC eth0"]
    assert "10 Gbit/s" in find(checks, "NIC eth0").found


def test_small_windows_come_with_the_lines_that_raise_them_and_no_other() -> None:
    buffers = facts()["buffers"] | {
        "wmem_max_bytes": 212992,
        "tcp_wmem": {"min_bytes": 1, "default_bytes": 2, "max_bytes": 3},
    }
    check = find(check_facts(facts(buffers=buffers), nic=None), "windows")
    assert check.state == "limited"
    assert "208 KiB" in check.found
    assert check.fix is not None
    assert f'net.core.wmem_max={16 * MIB} net.ipv4.tcp_wmem="1 2 {16 * MIB}"' in check.fix
    assert "rmem" not in check.fix


@pytest.mark.parametrize(
    ("fact", "value", "item", "fix"),
    [
        ("clock", {"current": "hpet", "available": ["tsc", "hpet"]}, "clock", "echo tsc >"),
        ("clock", {"current": "acpi_pm", "available": ["acpi_pm"]}, "clock", None),
        ("frequency", {"scaling": True, "governors": ["powersave"]}, "CPU frequency", "performance"),
        (
            "tcp",
            {
                "congestion_default": "bbr",
                "congestion_available": ["bbr", "cubic"],
                "congestion_settable": ["bbr"],
            },
            "congestion control",
            'tcp_allowed_congestion_control="bbr cubic"',
        ),
    ],
)
def test_what_is_less_than_it_could_be_is_reported(fact: str, value: Any, item: str, fix: str | None) -> None:
    check = find(check_facts(facts(**{fact: value}), nic=None), item)
    assert check.state == "limited"
    assert (check.fix is None) == (fix is None)
    assert fix is None or fix in str(check.fix)


def test_window_scaling_that_is_off_is_reported() -> None:
    tcp = facts()["tcp"] | {"tcp_window_scaling": 0}
    assert "64 KiB" in find(check_facts(facts(tcp=tcp), nic=None), "window scaling").found


@pytest.mark.parametrize("fact", ["buffers", "tcp", "clock", "frequency"])
def test_what_could_not_be_read_is_said_and_not_made_up(fact: str) -> None:
    checks = check_facts(facts(**{fact: None, "unread": {fact: ["EACCES here"]}}), nic=None)
    (unread,) = [check for check in checks if check.state == "limited"]
    assert "EACCES here" in unread.found
    assert check_facts({"unread": {}}, nic=None)


def test_the_named_interface_is_looked_at_and_no_other() -> None:
    assert find(check_facts(facts(), nic="eth1"), "NIC eth1").state == "limited"
    missing = find(check_facts(facts(), nic="eth7"), "NIC eth7")
    assert missing.state == "missing"
    assert "eth0, eth1" in missing.found
    assert [check.item for check in check_facts(facts(), nic="eth1") if "NIC" in check.item] == ["NIC eth1"]


def test_every_pair_in_both_directions_and_a_host_alone_with_this_machine() -> None:
    assert list_pairs(["a", "b"]) == [("a", "b"), ("b", "a")]
    assert len(list_pairs(["a", "b", "c"])) == 6
    assert list_pairs(["a"]) == [("local", "a"), ("a", "local")]
    assert list_pairs(["local"]) == []
