"""Facts of this host and of hosts that hide some. Texts of the kernel: tests/golden/agents/test_texts.py."""

import json
import os
import platform
import socket
from pathlib import Path
from typing import Any

import pytest

from pathlab.agents.facts import collect_facts
from pathlab.agents.probes import PROBES
from pathlab.agents.probes.echo import is_permitted
from pathlab.agents.source import Source


@pytest.mark.parametrize(
    ("first", "last", "groups", "permitted"),
    [
        (1, 0, {0}, False),  # the kernel's default: nobody, root's group included
        (0, 2147483647, {1000}, True),
        (100, 200, {99, 201}, False),
        (100, 200, {5, 200}, True),
    ],
)
def test_groups_that_may_ping(first: int, last: int, groups: set[int], permitted: bool) -> None:
    assert is_permitted(first, last, groups) is permitted


def test_this_host_reports_every_fact() -> None:
    facts = collect_facts()
    assert set(facts) == {*PROBES, "unread"}
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    # Against the interpreter's own, independent, sources:
    assert facts["kernel"]["release"] == platform.release()
    assert facts["cpu"]["usable"] == len(os.sched_getaffinity(0))
    assert facts["memory"]["total_bytes"] == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert set(facts["nics"]) == {name for _index, name in socket.if_nameindex()}
    assert facts["capabilities"]["user"] == os.geteuid()


def test_a_host_that_hides_everything_loses_no_key_and_gives_reasons(tmp_path: Path) -> None:
    facts = collect_facts(str(tmp_path))
    assert set(facts) == {*PROBES, "unread"}
    for name in ("kernel", "cpu", "memory", "load", "tcp", "clock", "capabilities", "echo", "frequency"):
        assert facts[name] is None
        assert facts["unread"][name]
    assert "No such file" in facts["unread"]["cpu"][0]


def test_a_probe_that_breaks_spoils_no_other() -> None:
    def break_down(_source: Source) -> dict[str, Any]:
        raise RuntimeError("unheard of")

    facts = collect_facts(probes={"strange": break_down, "kernel": PROBES["kernel"]})
    assert facts["strange"] is None
    assert facts["unread"]["strange"] == ["RuntimeError: unheard of"]
    assert facts["kernel"]["release"]


def test_what_single_files_hide_is_null_with_its_reason(tmp_path: Path) -> None:
    folder = tmp_path / "proc/sys/net/ipv4"
    folder.mkdir(parents=True)
    (folder / "tcp_congestion_control").write_text("cubic\n")
    (folder / "tcp_sack").write_text("1\n")
    (folder / "tcp_ecn").write_text("many\n")
    source = Source(str(tmp_path))
    facts = PROBES["tcp"](source)
    assert (facts["congestion_default"], facts["tcp_sack"]) == ("cubic", 1)
    assert facts["tcp_ecn"] is None
    assert facts["tcp_timestamps"] is None
    assert any("tcp_ecn: 'many' is not an integer" in reason for reason in source.reasons)
    assert any("tcp_timestamps: No such file" in reason for reason in source.reasons)


def test_nics_of_a_recorded_tree(tmp_path: Path) -> None:
    folder = tmp_path / "sys/class/net/eth7"
    for queue in ("rx-0", "rx-1", "tx-0"):
        (folder / "queues" / queue).mkdir(parents=True)
    texts = {"ifindex": "7", "mtu": "9000", "speed": "25000", "duplex": "full", "operstate": "up"}
    for name, text in texts.items():
        (folder / name).write_text(text + "\n")
    driver = tmp_path / "sys/bus/pci/drivers/mlx5_core"
    driver.mkdir(parents=True)
    (folder / "device").mkdir()
    (folder / "device/driver").symlink_to(driver)
    (folder.parent / "bonding_masters").write_text("bond0\n")
    assert PROBES["nics"](Source(str(tmp_path))) == {
        "eth7": {
            "mtu_bytes": 9000,
            "speed_bits_per_s": 25_000_000_000,
            "duplex": "full",
            "state": "up",
            "driver": "mlx5_core",
            "receive_queues": 2,
            "transmit_queues": 1,
            "offloads": None,
        }
    }


def test_governors_of_a_recorded_tree(tmp_path: Path) -> None:
    for number, governor in ((0, "performance"), (1, "powersave"), (2, "performance")):
        folder = tmp_path / f"sys/devices/system/cpu/cpu{number}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_governor").write_text(governor + "\n")
        (folder / "scaling_driver").write_text("intel_pstate\n")
    pstate = tmp_path / "sys/devices/system/cpu/intel_pstate"
    pstate.mkdir()
    (pstate / "no_turbo").write_text("1\n")
    assert PROBES["frequency"](Source(str(tmp_path))) == {
        "scaling": True,
        "governors": ["performance", "powersave"],
        "drivers": ["intel_pstate"],
        "boost": False,
    }
