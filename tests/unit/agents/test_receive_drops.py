"""What a host drops of what it receives: counters of interfaces over rtnetlink, and those of UDP.

Messages are made by hand from linux/if_link.h; texts are of Linux 6.18.
"""

import socket
import struct
from pathlib import Path

import pytest

from pathlab.agents.counters import nic_drops, udp
from tests.unit.agents.test_qdiscs import attribute

IFLA_IFNAME, IFLA_STATS64 = 3, 23
UP = 1


def make_link(name: str, stats: bytes | None, flags: int = UP) -> bytes:
    head = struct.pack("=BxHiII", 0, 1, 2, flags, 0)
    more = b"" if stats is None else attribute(IFLA_STATS64, stats)
    return head + attribute(IFLA_IFNAME, name.encode() + b"\0") + attribute(99, b"later") + more


def make_stats(count: int) -> bytes:
    """Counter k of the struct has the value 100 + k."""
    return struct.pack(f"={count}Q", *range(100, 100 + count))


@pytest.mark.parametrize(
    ("stats", "counts"),
    [
        (make_stats(25), {"rx_fifo": 114, "rx_missed": 115, "rx_nohandler": 123}),
        (make_stats(23), {"rx_fifo": 114, "rx_missed": 115}),  # before Linux 4.6
        (make_stats(3), {}),
        (None, {}),
    ],
)
def test_counters_are_those_of_the_kernels_struct(stats: bytes | None, counts: dict[str, int]) -> None:
    assert nic_drops.parse_link(make_link("eth0", stats)) == ("eth0", counts)


def test_an_interface_that_is_down_has_none() -> None:
    assert nic_drops.parse_link(make_link("eth0", make_stats(25), flags=0)) is None


def test_a_broken_message_is_refused() -> None:
    with pytest.raises(ValueError, match="an interface of 3 bytes"):
        nic_drops.parse_link(b"abc")
    with pytest.raises(ValueError, match="an attribute of"):
        nic_drops.parse_link(make_link("eth0", None) + struct.pack("=HH", 90, 1))


def test_only_what_both_readings_have_is_compared() -> None:
    before = {"eth0": {"rx_missed": 5, "rx_fifo": 9}, "old": {"rx_missed": 1}}
    after = {"eth0": {"rx_missed": 8, "rx_fifo": 2}, "new": {"rx_missed": 1}}
    assert nic_drops.compare_nic_drops(before, after) == [
        {"interface": "eth0", "rx_missed": 3, "rx_fifo": None, "rx_nohandler": None}
    ]


def test_this_kernel_states_its_loopback() -> None:
    assert set(nic_drops.read_nic_drops()["lo"]) == set(nic_drops.COUNTERS)


def test_without_ipv6_udp_has_the_counters_of_ipv4(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(path: str) -> str:
        if path.endswith("snmp6"):
            raise FileNotFoundError(path)
        return Path(path).read_text(encoding="utf-8")

    monkeypatch.setattr(udp, "read_text", read)
    assert {name[:4] for name in udp.read_udp_counters()} == {"UdpI", "UdpN", "UdpO", "UdpR", "UdpS", "UdpM"}


def test_a_full_socket_buffer_is_counted() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as full:
        full.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        full.bind(("127.0.0.1", 0))
        before = udp.read_udp_counters()["UdpRcvbufErrors"]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for _ in range(100):
                sender.sendto(bytes(1000), full.getsockname())
        assert udp.read_udp_counters()["UdpRcvbufErrors"] >= before + 50
