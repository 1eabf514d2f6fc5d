"""Parsers of host facts on recorded text, checked by hand.

Unless a case says otherwise, texts were recorded with `cat FILE` on a Debian 12 guest (AMD EPYC, 2 CPUs,
virtio) under Linux 6.18. The Raspberry Pi, two-socket and RISC-V texts follow the kernel's own output formats
(arch/arm64/kernel/cpuinfo.c, arch/x86/kernel/cpu/proc.c, arch/riscv/kernel/cpu.c).
"""

from __future__ import annotations

import json
import os
import platform
import socket
from pathlib import Path
from typing import Any

import pytest

from pathlab.agents.facts import collect_facts
from pathlab.agents.probes import PROBES
from pathlab.agents.probes.buffers import parse_triple
from pathlab.agents.probes.capabilities import parse_effective
from pathlab.agents.probes.cpu import parse_cpuinfo
from pathlab.agents.probes.echo import is_permitted, parse_group_range
from pathlab.agents.probes.load import parse_loadavg
from pathlab.agents.probes.memory import parse_meminfo
from pathlab.agents.probes.nics import parse_speed
from pathlab.agents.probes.release import parse_release
from pathlab.agents.probes.virtualisation import has_hypervisor_flag, parse_cgroup
from pathlab.agents.source import Source

CPUINFO = """\
processor\t: 0
vendor_id\t: AuthenticAMD
model name\t: AMD EPYC
physical id\t: 0
siblings\t: 2
core id\t\t: 0
cpu cores\t: 2
flags\t\t: fpu vme de pse tsc msr hypervisor lahf_lm
power management:

processor\t: 1
vendor_id\t: AuthenticAMD
model name\t: AMD EPYC
physical id\t: 0
core id\t\t: 1
flags\t\t: fpu vme de pse tsc msr hypervisor lahf_lm
power management:

"""

TWO_SOCKETS = "".join(
    f"processor\t: {number}\nmodel name\t: Xeon\nphysical id\t: {socket_}\ncore id\t\t: {core}\n\n"
    for number, (socket_, core) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1), (0, 0), (0, 1), (1, 0), (1, 1)])
)

ARM = """\
processor\t: 0
BogoMIPS\t: 108.00
Features\t: fp asimd
CPU implementer\t: 0x41
CPU part\t: 0xd08

processor\t: 1
CPU implementer\t: 0x41
CPU part\t: 0xd08

"""

RISCV = "processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdc\nuarch\t\t: sifive,u74-mc\n\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CPUINFO, {"model": "AMD EPYC", "logical": 2, "cores": 2, "sockets": 1}),
        (TWO_SOCKETS, {"model": "Xeon", "logical": 8, "cores": 4, "sockets": 2}),
        (ARM, {"model": "implementer 0x41 part 0xd08", "logical": 2, "cores": None, "sockets": None}),
        (
            ARM + "Hardware\t: BCM2835\nModel\t\t: Raspberry Pi 4 Model B Rev 1.4\n",
            {"model": "Raspberry Pi 4 Model B Rev 1.4", "logical": 2, "cores": None, "sockets": None},
        ),
        (RISCV, {"model": "sifive,u74-mc", "logical": 1, "cores": None, "sockets": None}),
    ],
)
def test_cpuinfo(text: str, expected: dict[str, Any]) -> None:
    assert parse_cpuinfo(text) == expected


def test_cpuinfo_without_processors_is_refused() -> None:
    with pytest.raises(ValueError, match="no processor"):
        parse_cpuinfo("Hardware : BCM2835\n")


def test_meminfo_is_in_bytes() -> None:
    text = "MemTotal:  24684096 kB\nMemAvailable: 24265636 kB\nHugePages_Total:   0\nSwapTotal: 0 kB\n"
    # 24684096 x 1024 = 25276514304; 24265636 x 1024 = 24848011264
    assert parse_meminfo(text) == {"MemTotal": 25276514304, "MemAvailable": 24848011264, "SwapTotal": 0}


def test_loadavg() -> None:
    assert parse_loadavg("0.15 0.14 0.09 1/88 7597\n") == {
        "minute_1": 0.15,
        "minute_5": 0.14,
        "minute_15": 0.09,
        "tasks_running": 1,
        "tasks": 88,
    }
    with pytest.raises(ValueError, match="4 are needed"):
        parse_loadavg("0.15 0.14")


def test_release_unquotes_and_passes_over_what_is_no_assignment() -> None:
    text = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\nVERSION_ID="12"\n'
    text += '# ID=other\n\nBAD="open\nnothing\n'
    assert parse_release(text) == {
        "PRETTY_NAME": "Debian GNU/Linux 12 (bookworm)",
        "ID": "debian",
        "VERSION_ID": "12",
    }


def test_buffers() -> None:
    assert parse_triple("4096\t131072\t33554432") == {
        "min_bytes": 4096,
        "default_bytes": 131072,
        "max_bytes": 33554432,
    }
    with pytest.raises(ValueError, match="three numbers"):
        parse_triple("4096 131072")


@pytest.mark.parametrize(
    ("text", "groups", "permitted"),
    [
        ("1\t0", {0}, False),  # the kernel's default: nobody, root's group included
        ("0\t2147483647", {1000}, True),
        ("100\t200", {99, 201}, False),
        ("100\t200", {5, 200}, True),
    ],
)
def test_ping_group_range(text: str, groups: set[int], permitted: bool) -> None:
    assert is_permitted(*parse_group_range(text), groups) is permitted


def test_malformed_ping_group_range_is_refused() -> None:
    with pytest.raises(ValueError, match="two numbers"):
        parse_group_range("1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, None),
        ("", None),
        ("-1", None),  # virtio, and an interface without carrier
        ("4294967295", None),  # the same from drivers that print it unsigned
        ("0", None),
        ("1000", 1_000_000_000),
        ("100000", 100_000_000_000),
    ],
)
def test_speed(text: str | None, expected: int | None) -> None:
    assert parse_speed(text) == expected


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        # bit 12 = 0x1000, bit 13 = 0x2000, bit 23 = 0x800000 (linux/capability.h)
        ("0000000000000000", {"net_admin": False, "net_raw": False, "sys_nice": False}),
        ("000001fffeffffff", {"net_admin": True, "net_raw": True, "sys_nice": True}),
        ("0000000000002000", {"net_admin": False, "net_raw": True, "sys_nice": False}),
        ("0000000000001000", {"net_admin": True, "net_raw": False, "sys_nice": False}),
        ("0000000000800000", {"net_admin": False, "net_raw": False, "sys_nice": True}),
    ],
)
def test_effective_capabilities(mask: str, expected: dict[str, bool]) -> None:
    assert parse_effective(f"CapPrm:\tffffffffffffffff\nCapEff:\t{mask}\n") == expected


def test_capabilities_without_the_line_are_refused() -> None:
    with pytest.raises(ValueError, match="CapEff"):
        parse_effective("Name:\tpython3\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("9:name=systemd:/\n0::/\n", None),
        ("0::/system.slice/docker-0a1b.scope\n", "docker"),
        ("11:cpu:/kubepods/besteffort/pod1/docker-2\n", "kubernetes"),
        ("0::/machine.slice/libpod-77.scope\n", "podman"),
        ("4:memory:/lxc/web\n", "lxc"),
        ("4:docker:/\n", None),  # the controller's name is no path
    ],
)
def test_cgroup(text: str, expected: str | None) -> None:
    assert parse_cgroup(text) == expected


def test_hypervisor_flag() -> None:
    assert has_hypervisor_flag(CPUINFO)
    assert not has_hypervisor_flag(CPUINFO.replace(" hypervisor", ""))
    assert not has_hypervisor_flag("model name : hypervisor\n")


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
    assert facts["congestion_default"] == "cubic"
    assert facts["tcp_sack"] == 1
    assert facts["tcp_ecn"] is None
    assert facts["tcp_timestamps"] is None
    assert any("tcp_ecn: 'many' is no integer" in reason for reason in source.reasons)
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
