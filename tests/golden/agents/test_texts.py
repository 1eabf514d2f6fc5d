"""What an agent reads from texts of the kernel and of programs, and what it refuses as none.

The texts of tests/data/kernel were recorded with `cat` on a Debian 12 guest (AMD EPYC, 2 CPUs, virtio) under
Linux 6.18, some zeros of counters made other numbers. Those of other processors and of bonds follow the
kernel's own output formats: arch/arm64/kernel/cpuinfo.c, arch/x86/kernel/cpu/proc.c, arch/riscv/kernel/cpu.c,
drivers/net/bonding/bond_procfs.c.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from pathlab.agents.activity import parse_process, parse_waited_us
from pathlab.agents.counters.cpu import parse_core_ticks
from pathlab.agents.counters.nics import parse_nics
from pathlab.agents.counters.softnet import parse_softnet
from pathlab.agents.counters.tcp import parse_group
from pathlab.agents.counters.udp import parse_snmp6
from pathlab.agents.listeners import check_numeric_address, parse_ports
from pathlab.agents.probes.bonds import parse_bond
from pathlab.agents.probes.buffers import parse_triple
from pathlab.agents.probes.capabilities import parse_effective
from pathlab.agents.probes.cpu import parse_cpuinfo
from pathlab.agents.probes.echo import parse_group_range
from pathlab.agents.probes.load import parse_loadavg
from pathlab.agents.probes.memory import parse_meminfo
from pathlab.agents.probes.nics import parse_speed
from pathlab.agents.probes.release import parse_release
from pathlab.agents.probes.virtualisation import has_hypervisor_flag, parse_cgroup
from tests.builders.kernel_texts import KERNEL, read_kernel_text
from tests.golden.conftest import Say


def parse_tcp(text: str) -> dict[str, int]:
    return parse_group(text, "Tcp")


def parse_tcp_ext(text: str) -> dict[str, int]:
    return parse_group(text, "TcpExt")


PARSERS: Mapping[str, Callable[[str], Any]] = {
    "cpuinfo": parse_cpuinfo,
    "bonding": parse_bond,
    "net": parse_nics,
    "softnet_stat": parse_softnet,
    "snmp": parse_tcp,
    "netstat": parse_tcp_ext,
    "stat": parse_core_ticks,
}


@pytest.mark.parametrize("name", sorted(path.name for path in KERNEL.iterdir()))
def test_recorded(say: Say, name: str) -> None:
    found = PARSERS[name.partition("-")[0]](read_kernel_text(name))
    say(found if isinstance(found, Mapping) else map(str, found))


HEADINGS = "".join(read_kernel_text("net-dev").splitlines(keepends=True)[:2])
SIXTEEN = " ".join(str(number) for number in range(1, 17))
SOFTNET = "00000001 00000000 00000003 0 0 0 0 0 0 0 0"
TEXTS: Mapping[Callable[[Any], Any], tuple[Any, ...]] = {
    parse_cpuinfo: ("Hardware : BCM2835\n",),
    has_hypervisor_flag: ("flags : fpu hypervisor lahf\n", "flags : fpu\n", "model name : hypervisor\n"),
    parse_meminfo: ("MemTotal:  24684096 kB\nMemAvailable: 24 kB\nHugePages_Total:   0\nSwapTotal: 0 kB\n",),
    parse_loadavg: ("0.15 0.14 0.09 1/88 7597\n", "0.15 0.14"),
    parse_release: ('PRETTY_NAME="Debian GNU/Linux 12"\nID=debian\n# ID=other\n\nBAD="open\nnothing\n',),
    parse_triple: ("4096\t131072\t33554432", "4096 131072"),
    parse_group_range: ("1\t0", "0\t2147483647", "1"),
    # -1: virtio, and an interface without carrier, which some drivers print unsigned
    parse_speed: (None, "", "-1", "4294967295", "0", "1000", "100000"),
    # bit 12 = 0x1000, bit 13 = 0x2000, bit 23 = 0x800000 (linux/capability.h)
    parse_effective: (
        "Name:\tpython3\n",
        *(
            f"CapPrm:\tffffffffffffffff\nCapEff:\t{mask:016x}\n"
            for mask in (0, 0x1FFFEFFFFFF, 1 << 12, 1 << 13, 1 << 23)
        ),
    ),
    # a controller's name is no path
    parse_cgroup: (
        "9:name=systemd:/\n0::/\n",
        "0::/system.slice/docker-0a1b.scope\n",
        "11:cpu:/kubepods/besteffort/pod1/docker-2\n",
        "0::/machine.slice/libpod-77.scope\n",
        "4:memory:/lxc/web\n",
        "4:docker:/\n",
    ),
    parse_bond: ("Linux\n",),
    parse_nics: (
        HEADINGS,
        f"{HEADINGS}eth0.7:{SIXTEEN} 17\n",  # a number may touch the colon, and a later kernel add columns
        "",
        f"eth0: {SIXTEEN}\n",
        f"{HEADINGS}eth0 {SIXTEEN}\n",
        f"{HEADINGS}  eth0: 1 2 3\n",
        f"{HEADINGS}  eth0: a{SIXTEEN[1:]}\n",
    ),
    parse_softnet: (
        f"{SOFTNET} 00000000\n",  # a kernel that numbers no lines
        f"{SOFTNET} 0 00000000\n{SOFTNET} 0 00000002\n",  # core 1 of 3 is off: the kernel skips its line
        "",
        "00000001 00000002\n",
        "00000001 0000000g 00000000\n",
        "1 2 3\n\n1 2 3\n",
    ),
    parse_tcp: (
        "",
        "TcpExt: TW\nTcpExt: 1\n",
        "Tcp: InSegs\n",
        "Tcp: InSegs OutSegs\nTcp: 5\n",
        "Tcp: InSegs\nTcp: five\n",
    ),
    parse_core_ticks: ("", "intr 1\n", "cpu  1 2 3 4 5 6 7 8\n", "cpu0 1 2 3\n", "cpu0 a b c d e f g h\n"),
    parse_snmp6: (
        "Ip6InReceives \t123\nUdp6InDatagrams \t7\nUdp6RcvbufErrors \t2\nUdpLite6InErrors \t9\n",
        "Udp6InErrors\n",
    ),
    parse_process: ("7 (a) b (c\n) R 3 1 1 0 -1 0 0 0 0 0 40 2 0 0 20 0", "", "7 a R 3", "7 (a) R 3 1"),
    parse_waited_us: ("some avg10=0.00 total=7\nfull avg10=0.00 total=0\n", "full avg10=0.00 total=0"),
    parse_ports: ("0", "7000-7002", "65535", "", "x", "-1", "1-", "70000", "1-70000", "9-5", "1,2", "1 "),
    check_numeric_address: (
        *("127.0.0.1", "::1", "fe80::1%eth0.7"),
        *("", None, 7, "host", "127.0.0.1\n", "::1'", "::1%eth0\nport 1"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("parse", TEXTS, ids=lambda parse: parse.__name__)
def test_short(say: Say, parse: Callable[[Any], Any]) -> None:
    for text in TEXTS[parse]:
        try:
            found = str(parse(text))
        except ValueError as error:
            found = f"refused: {error}"
        say(f"{text!r}: {found}")
