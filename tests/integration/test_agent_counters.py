"""What the kernel counts while traffic that the test makes goes by, as an agent samples it."""

import re
import socket
import sys
from typing import Any

import pytest

from pathlab.lab.namespaces import Namespaces
from pathlab.remote.namespace import NamespaceTransport
from pathlab.remote.session import Session
from tests.require import require_engine, require_namespaces

LONG_NS = 10_000_000_000
SENT_BYTES = 4_000_000
PACKETS = 20
PAYLOAD_BYTES = 958  # 1000 bytes with UDP's, IP's and Ethernet's headers
# Everything at once: far more than the queue of 3000 bytes behind 1 kB/s takes.
SEND = f"""
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
    for _ in range({PACKETS}):
        sending.sendto(bytes({PAYLOAD_BYTES}), ("10.9.0.2", 9))
"""


def send_over_loopback(size_bytes: int) -> None:
    """Move bytes over one TCP connection on 127.0.0.1 and back to its end of file."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20.0)
        with socket.create_connection(server.getsockname(), timeout=20.0) as sending:
            receiving, _ = server.accept()
            with receiving:
                receiving.settimeout(20.0)
                left = size_bytes
                while left:
                    left -= sending.send(bytes(min(left, 1 << 15)))
                    receiving.recv(1 << 20)
                sending.shutdown(socket.SHUT_WR)
                while receiving.recv(1 << 20):
                    pass


def find(parts: list[dict[str, Any]], interface: str) -> dict[str, Any]:
    """The one entry of an interface."""
    (found,) = [part for part in parts if part["interface"] == interface]
    return found


def test_traffic_over_loopback_is_counted_at_every_layer(session: Session) -> None:
    watch = session.start_counters(LONG_NS)
    send_over_loopback(SENT_BYTES)
    samples = watch.stop()
    counted = set(samples[-1]) - set(watch.absent)
    assert {"nics", "tcp"} <= counted
    lo = [find(sample["nics"], "lo") for sample in samples]
    assert sum(part["rx_bytes"] for part in lo) >= SENT_BYTES
    assert sum(part["tx_packets"] for part in lo) >= SENT_BYTES // 65536
    assert sum(sample["tcp"].get("ActiveOpens", 0) for sample in samples) >= 1
    assert sum(sample["tcp"].get("OutSegs", 0) for sample in samples) >= SENT_BYTES // 65536
    assert sum(sample["tcp"].get("PassiveOpens", 0) for sample in samples) >= 1
    if "softnet" in counted:
        assert sum(sample["softnet"]["processed"] for sample in samples) >= SENT_BYTES // 65536


@pytest.mark.netns
@pytest.mark.engine
def test_a_shaper_of_a_lab_node_shows_its_drops_and_its_backlog() -> None:
    require_namespaces()
    require_engine()
    with Namespaces() as namespaces:
        namespaces.add_node("a")
        for name in ("all", "default"):
            namespaces.set_sysctl("a", f"net.ipv6.conf.{name}.disable_ipv6", "1")  # no packets but ours
        for command in (
            "ip link add v0 type veth peer name v1",
            "ip address add 10.9.0.1/24 dev v0",
            "ip link set v0 up",
            "ip link set v1 up",
            "ip neighbour add 10.9.0.2 lladdr 02:00:00:00:00:02 dev v0 nud permanent",
            "ip link add down0 type veth peer name down1",
            "tc qdisc add dev v0 root handle 8001: tbf rate 8kbit burst 1600 limit 3000",
        ):
            namespaces.run("a", *command.split())
        with Session(NamespaceTransport(namespaces, "a"), host="a", require=("counters",)) as session:
            watch = session.start_counters(LONG_NS)
            namespaces.run("a", sys.executable, "-c", SEND)
            samples = watch.stop()
        reported = namespaces.run("a", "tc", "-s", "qdisc", "show", "dev", "v0")
    assert "qdiscs" not in watch.absent
    shapers = [find(sample["qdiscs"], "v0") for sample in samples]
    shaper = {key: sum(part[key] for part in shapers) for key in ("bytes", "packets", "drops")}
    assert (shapers[-1]["handle"], shapers[-1]["parent"], shapers[-1]["kind"]) == ("8001:", "root", "tbf")
    assert shaper["drops"] >= 1
    assert shaper["packets"] + shaper["drops"] + shapers[-1]["qlen"] == PACKETS
    assert shaper["bytes"] == shaper["packets"] * (PAYLOAD_BYTES + 42)
    assert shapers[-1]["backlog_bytes"] == shapers[-1]["qlen"] * (PAYLOAD_BYTES + 42)
    dropped = re.search(r"\(dropped (\d+),", reported)
    assert shaper["drops"] == int(dropped.group(1))
    names = {part["interface"] for sample in samples for part in sample["nics"]}
    assert names - {"lo"} == {"v0", "v1"}  # the others are down
    assert "udp" not in watch.absent
    reasons = [find(sample["nic_drops"], "v1") for sample in samples]  # of this namespace, not of the host's
    assert all(part["rx_missed"] == part["rx_fifo"] == 0 for part in reasons)
    handed = ("UdpOutDatagrams", "UdpSndbufErrors")  # the second: dropped by the shaper
    assert sum(sample["udp"].get(name, 0) for sample in samples for name in handed) == PACKETS
    # Interfaces are read before qdiscs: one more packet may have left in between.
    assert 1 <= sum(find(sample["nics"], "v1")["rx_packets"] for sample in samples) <= shaper["packets"]
