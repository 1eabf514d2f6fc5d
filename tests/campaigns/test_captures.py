"""``pathlab-engine capture``: what it records of a flow, at both ends, and how it fails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from tests.lab.captured import (
    INTERFACE,
    PACKET,
    PORT,
    SECTION,
    STATISTICS,
    capturing,
    read_blocks,
    read_statistics,
    record_transfer,
    start_in,
    stop_capture,
    transfer,
)
from tests.lab.emulation import emulate
from tests.lab.wires import ADDRESS6_A, ADDRESS6_B, ADDRESS_A, ADDRESS_B, Wires, address_ipv6, plug_cables
from tests.native.engine import MS, Ending, Flag, build_command, run, start_command
from tests.patience import PATIENCE_S
from tests.require import require_faulty_engine

if TYPE_CHECKING:
    from scapy.packet import Packet

pytestmark = [pytest.mark.engine, pytest.mark.netns]

HELLO_BYTES = 84  # of each stream, before its data


@pytest.fixture
def link(wires: Wires) -> Iterator[Wires]:
    """Two hosts and a link of 20 Mbit/s and 4 ms between them."""
    plug_cables(wires)
    spec = "rate_bits_per_s=20000000,delay_ns=2000000,queue_bytes=200000"
    with emulate(wires, "packet", forward=spec, reverse=spec):
        yield wires


def read_scapy(file: Path) -> list[tuple[bytes, Any]]:
    """Bytes and metadata of each packet, as scapy reads them."""
    from scapy.utils import RawPcapNgReader

    with RawPcapNgReader(str(file)) as reader:
        return list(reader)


def read_packets(file: Path) -> list[tuple[Packet, int]]:
    """Each packet of the file, and its length before the capture cut it."""
    from scapy.layers.inet import IP
    from scapy.layers.inet6 import IPv6

    packets: list[tuple[Packet, int]] = []
    for data, metadata in read_scapy(file):
        assert (metadata.linktype, metadata.tsresol) == (101, 10**9)
        packets.append((IP(data) if data[0] >> 4 == 4 else IPv6(data), metadata.wirelen))
    return packets


def count_stream_bytes(packets: list[tuple[Packet, int]]) -> list[int]:
    """Payload of each connection towards PORT by its sequence numbers, in the order of its SYNs."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for packet, _ in packets:
        tcp = packet["TCP"]
        if tcp.dport == PORT and tcp.flags.S:
            first.setdefault(tcp.sport, tcp.seq)
        if tcp.dport == PORT and tcp.flags.F:
            payload_bytes = packet.len - 4 * packet.ihl - 4 * tcp.dataofs
            last[tcp.sport] = max(
                last.get(tcp.sport, 0), (tcp.seq + payload_bytes - first[tcp.sport]) % 2**32
            )
    return [last[port] - 1 for port in first]


def test_both_ends_of_a_flow_are_recorded_from_the_first_syn_to_the_end(link: Wires, tmp_path: Path) -> None:
    recorded = record_transfer(link, tmp_path, streams=2)
    for file, end in (
        (recorded.sender_file, recorded.sender_capture),
        (recorded.receiver_file, recorded.receiver_capture),
    ):
        packets = read_packets(file)
        result = end.last
        assert (result["complete"], result["reason"], result["dropped_packets"]) == (True, None, 0)
        assert (result["captured_packets"], result["file_bytes"]) == (len(packets), file.stat().st_size)
        assert result["cpu_ns"] > 0
        assert packets[0][0]["TCP"].flags == "S"
        carried = count_stream_bytes(packets)
        assert sorted(carried) == sorted(HELLO_BYTES + count for count in recorded.sent.last["total_bytes"])
        statistics = read_statistics(file)
        assert (statistics.accepted, statistics.dropped) == (len(packets), 0)
        assert statistics.recorded == len(packets)
        kinds = [kind for kind, _ in read_blocks(file)]
        assert (kinds[0], kinds[1], kinds[-1]) == (SECTION, INTERFACE, STATISTICS)
        assert (kinds.count(PACKET), file.stat().st_mode & 0o777) == (len(packets), 0o600)


def test_headers_alone_are_recorded_with_whole_lengths_and_times_of_the_run(
    link: Wires, tmp_path: Path
) -> None:
    recorded = record_transfer(link, tmp_path)
    lengths = []
    for packet, whole_bytes in read_packets(recorded.sender_file):
        headers_bytes = 4 * packet.ihl + 4 * packet["TCP"].dataofs
        assert len(bytes(packet)) == headers_bytes
        assert whole_bytes == packet.len
        lengths.append(whole_bytes - headers_bytes)
    # The sender's stack hands super-packets to the interface, which are longer than its MTU.
    assert max(lengths) > 1500
    [start] = recorded.sent.of("start")
    times = [(metadata.tshigh << 32) + metadata.tslow for _, metadata in read_scapy(recorded.sender_file)]
    assert times == sorted(times)
    began_ns = recorded.sender_capture.of("ready")[0]["realtime_ns"]
    assert began_ns < times[0] < start["realtime_ns"] < times[-1]
    assert times[-1] - start["realtime_ns"] < 20_000 * MS


def test_ipv6(link: Wires, tmp_path: Path) -> None:
    address_ipv6(link)
    recorded = record_transfer(link, tmp_path, address=ADDRESS6_B)
    packets = read_packets(recorded.receiver_file)
    assert {(packet.src, packet.dst) for packet, _ in packets} == {
        (ADDRESS6_A, ADDRESS6_B),
        (ADDRESS6_B, ADDRESS6_A),
    }
    assert all(len(bytes(packet)) == 40 + 4 * packet["TCP"].dataofs for packet, _ in packets)
    assert all(whole_bytes == 40 + packet.plen for packet, whole_bytes in packets)


def test_datagrams_have_the_first_bytes_of_their_payload(link: Wires, tmp_path: Path) -> None:
    script = (
        "import socket, sys\n"
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for i in range(50): s.sendto(i.to_bytes(8, 'big') + b'x' * 992, (sys.argv[1], 4000 + i))\n"
    )
    file = tmp_path / "udp.pcapng"
    ports = range(4010, 4018)  # those of others are not recorded
    flags: dict[str, Flag] = {
        "address": ADDRESS_A,
        "peer": ADDRESS_B,
        "protocol": "tcp,udp",
        "port": ",".join(map(str, ports)),
    }
    with capturing(link.b, file, **flags) as capture:
        link.a.run(sys.executable, "-c", script, ADDRESS_B)
        link.b.run(sys.executable, "-c", script, "10.91.0.99")  # to nobody of ours
        link.a.run("ping", "-c", "1", ADDRESS_B)  # all datagrams before it have come
        end = stop_capture(capture)
    packets = read_packets(file)
    assert end.last["captured_packets"] == len(packets) == len(ports)
    assert [packet["UDP"].dport for packet, _ in packets] == list(ports)
    assert [bytes(packet["UDP"].payload)[:8] for packet, _ in packets] == [
        (port - 4000).to_bytes(8, "big") for port in ports
    ]
    assert {(len(bytes(packet)), whole_bytes) for packet, whole_bytes in packets} == {(20 + 8 + 16, 1028)}


def test_on_the_loopback_each_packet_is_recorded_once(wires: Wires, tmp_path: Path) -> None:
    wires.a.run("ip", "link", "set", "dev", "lo", "up")
    file = tmp_path / "lo.pcapng"
    with capturing(wires.a, file) as capture:
        transfer(Wires(a=wires.a, b=wires.a, middle=wires.middle), address="127.0.0.1", duration_ns=50 * MS)
        stop_capture(capture)
    packets = read_packets(file)
    assert [packet["TCP"].flags for packet, _ in packets[:2]] == ["S", "SA"]
    assert sum(packet["TCP"].flags == "S" for packet, _ in packets) == 1


def test_a_full_ring_loses_packets_and_counts_them(link: Wires, tmp_path: Path) -> None:
    whole, lossy = tmp_path / "whole.pcapng", tmp_path / "lossy.pcapng"
    with capturing(link.b, whole) as patient, capturing(link.b, lossy, ring_bytes=2 * 131072) as capture:
        capture.process.send_signal(signal.SIGSTOP)
        transfer(link, mss_bytes=100, streams=4, duration_ns=600 * MS)
        link.a.run("ping", "-c", "1", ADDRESS_B)  # behind the last packets of the flow
        capture.process.send_signal(signal.SIGCONT)
        ends = [stop_capture(patient).last, stop_capture(capture).last]
    assert ends[0]["dropped_packets"] == 0
    assert ends[1]["dropped_packets"] > 0
    assert ends[1]["complete"] is True
    assert ends[1]["captured_packets"] + ends[1]["dropped_packets"] == ends[0]["captured_packets"]
    assert len(read_packets(lossy)) == ends[1]["captured_packets"]
    statistics = read_statistics(lossy)
    assert (statistics.accepted, statistics.dropped, statistics.recorded) == (
        ends[0]["captured_packets"],
        ends[1]["dropped_packets"],
        ends[1]["captured_packets"],
    )


def test_a_disk_that_fills_ends_the_capture_and_leaves_whole_blocks(link: Wires, tmp_path: Path) -> None:
    copy = tmp_path / "copy.pcapng"
    engine = build_command("capture", file="/mnt/x.pcapng", port=PORT, keep_free_bytes=0, control="stdin")
    mount = "mount -t tmpfs -o size=300k none /mnt || exit 9"
    script = f'{mount}; "$@"; status=$?; cp /mnt/x.pcapng {copy}; exit $status'
    command = link.b.command("unshare", "--mount", "sh", "-c", script, "sh", *engine)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        while '"ready"' not in process.stdout.readline():
            assert process.poll() is None
        transfer(link, mss_bytes=100, streams=8, duration_ns=1000 * MS)
        output, _ = process.communicate("stop\n", timeout=PATIENCE_S)
    assert process.returncode == 6, output
    assert "(--keep-free-bytes)" in output
    assert '"complete":false' in output
    assert read_blocks(copy)


def test_without_the_privilege_one_line_says_how_to_give_it(wires: Wires, tmp_path: Path) -> None:
    wires.a.run("ip", "link", "set", "dev", "lo", "up")
    engine = build_command("capture", file=str(tmp_path / "x"), port=PORT)
    without = ["setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw", *engine]
    done = subprocess.run(
        wires.a.command(*without), capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 3
    assert done.stderr.startswith("pathlab-engine capture: recording packets needs CAP_NET_RAW")
    assert "fix: " in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "x").exists()


def test_a_user_namespace_without_a_network_is_named(tmp_path: Path) -> None:
    engine = build_command("capture", file=str(tmp_path / "x"), port=PORT)
    enter = ["unshare", "--user", "--map-root-user"]
    done = subprocess.run([*enter, *engine], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 3
    assert "`unshare --user --map-root-user --net`" in done.stderr


def test_the_capture_ends_when_its_interface_goes_down(link: Wires, tmp_path: Path) -> None:
    with capturing(link.a, tmp_path / "x", interface="wan0") as capture:
        link.a.run("ip", "link", "set", "dev", "wan0", "down")
        end = capture.finish()
    assert (end.status, "interface" in end.last["reason"]) == (5, True)


@pytest.mark.parametrize("how", ["stdin", "signal"])
def test_the_capture_ends_with_its_controller(wires: Wires, tmp_path: Path, how: str) -> None:
    wires.a.run("ip", "link", "set", "dev", "lo", "up")
    with capturing(wires.a, tmp_path / "x") as capture:
        if how == "stdin":
            capture.close_stdin()
        else:
            capture.process.send_signal(signal.SIGTERM)
        end = capture.finish()
    assert (end.status, end.last["complete"]) == (5, False)
    assert read_blocks(tmp_path / "x")


def test_a_bridge_is_recorded_and_its_ports_are_not(wires: Wires, tmp_path: Path) -> None:
    wires.a.run("sh", "-c", "echo 0 > /proc/sys/net/ipv6/conf/default/disable_ipv6")
    for command in (
        "link add br0 type bridge",
        "link add port0 type veth peer name far0",
        "link set port0 master br0",
        "link set port0 up",
        "link set br0 up",
        "address add 10.9.0.1/24 dev br0",
        "address add fe80::9/64 dev port0 nodad",  # as the kernel gives one to ports
        "address add fe80::a/64 dev far0 nodad",  # an unnumbered interface, as routers have them
    ):
        wires.a.run("ip", *command.split())
    with start_in(wires.a, "capture", file=str(tmp_path / "x"), port=PORT, time_limit_ns=MS) as capture:
        interfaces = capture.expect("ready")["interfaces"]
    assert "br0" in interfaces
    assert "far0" in interfaces
    assert "port0" not in interfaces


def test_an_unknown_interface_and_an_existing_file_are_refused(wires: Wires, tmp_path: Path) -> None:
    ending = run("capture", file=str(tmp_path / "x"), port=80, interface="nosuch0")
    assert (ending.status, ending.last["stage"]) == (3, "interface")
    wires.a.run("ip", "link", "set", "dev", "lo", "up")
    (tmp_path / "x").write_text("mine", encoding="utf-8")
    with start_in(wires.a, "capture", file=str(tmp_path / "x"), port=80) as capture:
        ending = capture.finish()
    assert (ending.status, ending.last["errno_name"]) == (3, "EEXIST")
    assert (tmp_path / "x").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("fault", "status", "named"),
    [
        ("calloc:ENOMEM@1", 6, "memory"),
        ("calloc:ENOMEM@2", 6, "memory"),
        ("calloc:ENOMEM@3", 6, "memory"),
        ("socket:EMFILE@1", 3, "packet socket"),
        ("setsockopt:ENOMEM@1", 3, "filter"),
        ("setsockopt:EINVAL@2", 3, "--ring-bytes"),
        ("setsockopt:ENOMEM@3", 3, "--ring-bytes"),
        ("mmap:ENOMEM@1", 3, "--ring-bytes"),
        ("bind:ENOMEM@1", 3, "interface"),
    ],
)
def test_a_failing_call_is_one_line_and_leaves_no_file(
    wires: Wires, tmp_path: Path, fault: str, status: int, named: str
) -> None:
    ending = run_faulty(wires, tmp_path, fault)
    assert ending.status == status, ending
    assert named in ending.stderr
    assert ending.stderr.count("\n") == 1, ending.stderr
    assert not (tmp_path / "x").exists()


def run_faulty(wires: Wires, folder: Path, fault: str) -> Ending:
    """A capture of 50 ms on a quiet loopback to ``folder/x``; the fault must have applied."""
    wires.a.run("ip", "link", "set", "dev", "lo", "up")
    environment = {"PATHLAB_FAULTS": fault, "PATHLAB_FAULTS_APPLIED": str(folder / "applied")}
    flags: dict[str, Flag] = {"port": PORT, "time_limit_ns": 50 * MS, "keep_free_bytes": 0}
    engine = build_command("capture", require_faulty_engine(), file=str(folder / "x"), **flags)
    with mock.patch.dict(os.environ, environment), start_command(wires.a.command(*engine)) as capture:
        ending = capture.finish()
    assert (folder / "applied").read_text(encoding="utf-8").strip() == fault
    return ending


def test_a_short_write_is_continued(wires: Wires, tmp_path: Path) -> None:
    ending = run_faulty(wires, tmp_path, "write:short@3")  # after two records
    assert (ending.status, ending.last["file_bytes"]) == (0, (tmp_path / "x").stat().st_size)
    assert [kind for kind, _ in read_blocks(tmp_path / "x")] == [SECTION, INTERFACE, STATISTICS]


def test_a_failed_write_ends_the_capture_and_leaves_what_was_whole(wires: Wires, tmp_path: Path) -> None:
    ending = run_faulty(wires, tmp_path, "write:ENOSPC@3")
    assert (ending.status, ending.last["complete"], ending.last["file_bytes"]) == (6, False, 0)
    assert "No space left on device" in ending.last["reason"]
    assert (tmp_path / "x").stat().st_size == 0
