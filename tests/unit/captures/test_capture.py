"""Headers, options and flows of captures."""

import contextlib
import random
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pathlab.analysis.packets.segments import ECN_CAPABLE, ECN_MARKED, HAS_IP_ID, HAS_TIMESTAMPS, SYN
from pathlab.captures import capture as capture_module
from pathlab.captures import flow_table, pcap
from pathlab.captures.capture import Capture, open_capture, read_capture
from pathlab.captures.records import RecordBatch
from pathlab.errors import PathlabError
from pathlab.study.captures.capture_notices import list_capture_notices
from tests.builders.packets import (
    NULL,
    RAW,
    SLL,
    SLL2,
    build_block,
    build_enhanced,
    build_ethernet,
    build_interface,
    build_ipv4,
    build_ipv6,
    build_option,
    build_tcp,
    sack,
    stamp,
    write_pcap,
    write_pcapng,
)
from tests.length import LENGTH

PPPOE, MPLS = 0x8864, 0x8847


def wrap(kind: int, header: bytes, packet: bytes) -> bytes:
    """An Ethernet frame of this type, with what stands before the packet."""
    return bytes(12) + struct.pack(">H", kind) + header + packet


V4, V6 = build_ipv4(build_tcp(seq=9), payload_bytes=100), build_ipv6(build_tcp(seq=9), payload_bytes=100)

#: Plain, with a checksum, a key, a sequence number, and with all of them.
GRE_PACKETS = [
    (struct.pack(">HH", flags, kind) + bytes(4 * words) + packet, packet)
    for flags, words in ((0, 0), (0x8000, 1), (0x2000, 1), (0x1000, 1), (0xB000, 3))
    for kind, packet in ((0x0800, V4), (0x86DD, V6))
]


def carry(gre: bytes) -> bytes:
    """A packet of IPv4 that holds GRE."""
    return build_ipv4(gre, protocol=47, addresses=("192.0.2.1", "192.0.2.2"))


def carry6(gre: bytes) -> bytes:
    """The same of IPv6."""
    return build_ipv6(gre, first_protocol=47)


def read_frames(folder: Path, frames: Iterable[bytes], **how: Any) -> Capture:
    """What is read of a pcap file with these frames, 1 ns apart."""
    return read_capture(write_pcap(folder / "a.pcap", enumerate(frames), **how))


@pytest.mark.parametrize(
    ("link", "frame", "packet"),
    [
        (1, build_ethernet(V4), V4),
        (1, build_ethernet(V6), V6),
        (1, build_ethernet(V4, tags=(0x8100,)), V4),
        (1, build_ethernet(V6, tags=(0x88A8, 0x8100)), V6),
        (1, build_ethernet(V4, tags=(0x9100, 0x88A8, 0x8100)), V4),
        (1, wrap(PPPOE, b"\x11\0\0\1\0\x8c\0\x21", V4), V4),
        (1, wrap(PPPOE, b"\x11\0\0\1\0\x8c\0\x57", V6), V6),
        (1, wrap(0x8100, b"\0\5\x88\x64\x11\0\0\1\0\x8c\0\x21", V4), V4),
        (1, wrap(MPLS, b"\0\1\x01\x40", V4), V4),
        (1, wrap(MPLS, b"\0\1\x00\x40\0\2\x00\x40\0\3\x01\x40", V6), V6),
        (1, wrap(0x88A8, b"\0\5\x81\0\0\5\x88\x47\0\1\x01\x40", V6), V6),
        (RAW, V4, V4),
        (12, V6, V6),
        (228, V4, V4),
        (229, V6, V6),
        (NULL, struct.pack("<I", 2) + V4, V4),
        (NULL, struct.pack(">I", 30) + V6, V6),
        (108, struct.pack(">I", 24) + V6, V6),
        (SLL, bytes(14) + b"\x08\x00" + V4, V4),
        (SLL2, b"\x86\xdd" + bytes(18) + V6, V6),
        *((1, build_ethernet(carry(gre)), packet) for gre, packet in GRE_PACKETS),
        *((1, build_ethernet(carry6(gre)), packet) for gre, packet in GRE_PACKETS),
        (1, build_ethernet(build_ipv4(V4, protocol=4)), V4),
        (1, build_ethernet(build_ipv4(V6, protocol=41)), V6),
        (1, build_ethernet(carry(b"\0\0\x08\0" + carry(b"\0\0\x08\0" + V4)), tags=(0x8100,)), V4),
        (SLL, bytes(14) + b"\x88\x64\x11\0\0\1\0\x8c\0\x21" + V4, V4),
    ],
)
def test_link_types(tmp_path: Path, link: int, frame: bytes, packet: bytes) -> None:
    capture = read_frames(tmp_path, [frame], link=link)
    (flow,) = capture.flows
    assert str(flow.a) == ("10.0.0.1:1000" if packet is V4 else "[fd00::1]:1000")
    assert flow.payload_bytes == (100, 0)
    assert capture.read_segments(flow)[0].sequences.tolist() == [9]


def test_one_readable_interface_of_two_is_read(tmp_path: Path) -> None:
    blocks = [build_enhanced(1, build_ethernet(V4)), build_enhanced(2, b"x" * 60, interface=1)]
    capture = read_capture(write_pcapng(tmp_path / "a.pcapng", build_interface(147), *blocks))
    assert capture.unread_links == {147: 1}
    (notice,) = list_capture_notices(capture, None)
    assert notice.text.endswith("cannot be read: 147 (one that is private to its user).")
    assert len(capture.flows) == 1


def test_packets_of_two_link_types_keep_their_order(tmp_path: Path) -> None:
    packets = [
        build_enhanced(number, build_ethernet(V4) if number % 2 else V4, interface=(number + 1) % 2)
        for number in range(6)
    ]
    capture = read_capture(write_pcapng(tmp_path / "a.pcapng", build_interface(RAW), *packets))
    there, _ = capture.read_segments(capture.flows[0])
    assert there.times_ns.tolist() == [number * 1000 for number in range(6)]


def test_headers_that_hold_no_segment_are_counted(tmp_path: Path) -> None:
    tcp = build_tcp()
    frames = [
        bytes(12) + b"\x08\x06" + bytes(28),  # ARP
        build_ethernet(build_ipv4(tcp, fragment=0x2000)),  # the first fragment
        build_ethernet(build_ipv4(tcp, fragment=0x0010)),  # a later one
        build_ethernet(build_ipv6(b"\x06\0\0\x01" + bytes(4) + tcp, first_protocol=44)),
        build_ethernet(build_ipv4(bytes(8), protocol=1)),  # ICMP
        build_ethernet(build_ipv4(tcp))[:-1],  # cut within its header
        build_ethernet(V6)[:50],
        build_ethernet(V4)[:10],  # within the addresses: the type is not known
        build_ethernet(V4),
    ]
    capture = read_frames(tmp_path, frames)
    counts = capture.counts
    assert (counts.not_ip, counts.fragments) == ({0x0806: 1}, 3)
    assert (counts.other_protocols, counts.cut) == ({1: 1}, 3)
    assert capture.flows[0].all_packets == 1


SKIPPED = [
    *[wrap(0x0806, b"", bytes(28))] * 3,
    wrap(0x0026, b"\x42\x42\x03", bytes(35)),  # spanning tree
    wrap(0x8863, b"\x11\x09\0\0\0\0", bytes(20)),
    wrap(PPPOE, b"\x11\0\0\1\0\x0a\xc0\x21", bytes(20)),  # LCP
    *[wrap(0x88E5, bytes(6), bytes(40))] * 2,
    wrap(MPLS, b"\0\1\x01\x40", bytes(60)),  # a pseudowire
    build_ethernet(build_ipv4(bytes(40), protocol=47)),
    build_ethernet(build_ipv4(struct.pack(">HHHH", 9, 4789, 58, 0), payload_bytes=50, protocol=17)),
]


@pytest.mark.parametrize("others", [[], [build_ethernet(V4)]], ids=["alone", "beside TCP"])
def test_what_is_skipped_is_named_by_its_type(tmp_path: Path, others: list[bytes]) -> None:
    capture = read_frames(tmp_path, [*SKIPPED, *others])
    texts = {one.kind: one.text for one in list_capture_notices(capture, None)}
    assert texts.pop("encapsulated") == (
        "5 packets are encapsulated and were not read; they may hold TCP: 2 MACsec, 1 VXLAN, "
        "1 MPLS without IP, 1 GRE."
    )
    assert texts.pop("skipped") == (
        "6 packets are neither TCP nor UDP and were left out: 3 ARP, 1 PPPoE discovery, 1 PPPoE control, "
        "1 IEEE 802.3 (such as spanning tree)."
    )
    assert texts.keys() == (set() if others else {"no-tcp"})


def test_extension_headers_and_options_of_ip(tmp_path: Path) -> None:
    tcp = build_tcp(seq=5)
    hop = bytes((43, 1)) + bytes(14)
    routing = bytes((44, 0)) + bytes(6)
    atomic = bytes((51, 0)) + bytes(6)
    authentication = bytes((6, 4)) + bytes(22)
    long = build_ipv6(
        tcp, payload_bytes=7, extensions=hop + routing + atomic + authentication, first_protocol=0
    )
    frames = [build_ethernet(long), build_ethernet(build_ipv4(tcp, payload_bytes=7, options=bytes(8)))]
    capture = read_frames(tmp_path, frames)
    for flow in capture.flows:
        assert capture.read_segments(flow)[0].sequences.tolist() == [5]
        assert flow.payload_bytes == (7, 0)


def test_super_packets_without_a_length_have_that_of_the_link(tmp_path: Path) -> None:
    packets = [build_ipv4(build_tcp(), total_bytes=0), build_ipv6(build_tcp(), length=0)]
    capture = read_frames(tmp_path, map(build_ethernet, packets), original_bytes=100_000)
    payload = [flow.payload_bytes[0] for flow in capture.flows]
    assert payload == [100_000 - 14 - 40, 100_000 - 14 - 60]


def test_padding_of_short_frames_is_no_payload(tmp_path: Path) -> None:
    capture = read_frames(tmp_path, [build_ethernet(build_ipv4(build_tcp())) + bytes(6)])
    assert capture.flows[0].payload_bytes == (0, 0)


def test_options_of_segments(tmp_path: Path) -> None:
    syn = bytes((2, 4, 5, 0xB4, 4, 2, 8, 10)) + bytes(8) + bytes((1, 3, 3, 7, 30, 4, 1, 0))
    headers = [
        build_tcp(flags=SYN, options=syn),
        build_tcp(options=stamp(7, 8)),
        build_tcp(options=stamp(9, 10) + sack((100, 200), (300, 400), (500, 600))),
        build_tcp(options=sack((1, 2)) + bytes((8, 10)) + struct.pack(">II", 3, 4)),
        build_tcp(options=bytes((5, 0, 0, 0))),  # a length that cannot be
        build_tcp(options=bytes((99, 4, 0, 0)) + sack((5, 6))),
    ]
    frames = [
        build_ethernet(build_ipv4(one, ip_id=3, ecn=3 if i == 1 else 2 if i == 2 else 0))
        for i, one in enumerate(headers)
    ]
    capture = read_frames(tmp_path, frames)
    there, back = capture.read_segments(capture.flows[0])
    assert len(back) == 0
    assert there.ts_values.tolist() == [0, 7, 9, 3, 0, 0]
    assert there.ts_echoes.tolist() == [0, 8, 10, 4, 0, 0]
    stamped = [HAS_TIMESTAMPS | HAS_IP_ID] * 4 + [HAS_IP_ID] * 2
    assert (there.marks & (HAS_TIMESTAMPS | HAS_IP_ID)).tolist() == stamped
    assert (there.marks & ECN_MARKED > 0).tolist() == [False, True, False, False, False, False]
    assert (there.marks & ECN_CAPABLE > 0).tolist() == [False, True, True, False, False, False]
    blocks = zip(there.sack_rows, there.sack_ordinals, there.sack_left, there.sack_right, strict=True)
    assert [tuple(map(int, one)) for one in blocks] == [
        (2, 0, 100, 200),
        (2, 1, 300, 400),
        (2, 2, 500, 600),
        (3, 0, 1, 2),
        (5, 0, 5, 6),
    ]
    options = capture.syn_options[0]
    assert (options.mss_bytes, options.window_scale) == (1460, 7)
    assert options.sack_permitted
    assert options.timestamps
    assert options.mptcp


def test_options_that_were_not_captured_are_none_and_incomplete(tmp_path: Path) -> None:
    frame = build_ethernet(build_ipv4(build_tcp(flags=SYN, options=bytes((2, 4, 5, 0xB4, 3, 3, 7, 0)))))
    capture = read_frames(tmp_path, [frame[:-4]])
    options = capture.syn_options[0]
    assert (options.window_scale, options.mss_bytes, options.complete) == (None, 1460, False)
    assert capture.cut_options == 1
    assert read_frames(tmp_path, [frame]).cut_options == 0


def make_flows(count: int) -> Iterator[bytes]:
    for i in range(count):
        ports = (1000 + i % 7, 2000)
        addresses = ("10.0.0.1", "10.0.0.2")
        if i % 3 == 0:
            ports, addresses = ports[::-1], addresses[::-1]
        udp = struct.pack(">HHHH", *ports, 108, 0)
        protocol, header = (17, udp) if i % 5 == 0 else (6, build_tcp(seq=i, ports=ports))
        yield build_ethernet(build_ipv4(header, payload_bytes=100, addresses=addresses, protocol=protocol))


def test_flows_and_their_directions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pcap, "PIECE_BYTES", 3000)
    capture = read_frames(tmp_path, make_flows(1000))
    assert len(capture.flows) == 14
    assert sum(flow.all_packets for flow in capture.flows) == 1000
    seen: list[int] = []
    for flow in capture.flows:
        there, back = capture.read_segments(flow)
        if flow.protocol == "UDP":
            assert len(there) == len(back) == 0
            continue
        assert (len(there), len(back)) == flow.packets
        for side, towards_server in ((there, flow.b.port == 2000), (back, flow.a.port == 2000)):
            assert (np.diff(side.numbers.astype(np.int64)) > 0).all()
            assert all((number % 3 != 0) == towards_server for number in side.sequences.tolist())
            seen += side.sequences.tolist()
    assert sorted(seen) == [i for i in range(1000) if i % 5]


def test_flows_are_the_same_when_all_hashes_collide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = read_frames(tmp_path, make_flows(200)).flows
    monkeypatch.setattr(flow_table, "_MIXERS", (np.uint64(0),) * 5)
    assert read_frames(tmp_path, make_flows(200)).flows == expected


def test_breaks_are_where_the_clock_was_set_back_or_packets_were_lost(tmp_path: Path) -> None:
    lost = build_option(4, struct.pack("<Q", 3))
    times = [10_000, 20_000, 19_500, 30_000, 5_000, 6_000, 7_000]  # microseconds; 0.5 ms is no step
    packets = [
        build_enhanced(t, build_ethernet(V4), options=lost if i == 6 else b"") for i, t in enumerate(times)
    ]
    capture = read_capture(write_pcapng(tmp_path / "a.pcapng", *packets))
    assert capture.breaks.tolist() == [4, 6]
    assert capture.set_back.tolist() == [4]
    assert capture.clock_steps == 1


def test_packets_without_a_time_are_counted(tmp_path: Path) -> None:
    frame = build_ethernet(V4)
    simple = build_block(3, struct.pack("<I", len(frame)) + frame)
    capture = read_capture(write_pcapng(tmp_path / "a.pcapng", simple))
    assert capture.untimed == 1
    assert capture.flows == ()


def test_a_limit_of_packets_bounds_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pcap, "PIECE_BYTES", 3000)
    path = write_pcap(tmp_path / "a.pcap", enumerate([build_ethernet(V4)] * 1000))
    capture = read_capture(path, packets_max=100)
    assert capture.limited
    assert 100 <= capture.flows[0].all_packets < 150
    assert capture.notes.records == capture.flows[0].all_packets


def test_a_limit_of_flows_bounds_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pcap, "PIECE_BYTES", 3000)
    monkeypatch.setattr(capture_module, "FLOWS_MAX", 100)
    scan = (build_ethernet(build_ipv4(build_tcp(ports=(1000 + number, 80)))) for number in range(1000))
    capture = read_frames(tmp_path, scan)
    assert capture.limited
    assert 100 <= len(capture.flows) < 150


def test_what_is_appended_while_a_capture_is_read_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pcap, "PIECE_BYTES", 3000)
    path = write_pcap(tmp_path / "a.pcap", enumerate([build_ethernet(V4)] * 100))
    record = path.read_bytes()[-(16 + len(build_ethernet(V4))) :]
    notes, batches = open_capture(path)

    def read_and_append() -> Iterator[RecordBatch]:
        for batch in batches:
            yield batch
            with path.open("ab") as file:
                file.write(record * 100)

    monkeypatch.setattr(capture_module, "open_capture", lambda _: (notes, read_and_append()))
    capture = read_capture(path)
    assert capture.flows[0].all_packets == 100
    assert capture.notes.damage is None


def test_damaged_headers_never_end_in_an_exception(tmp_path: Path) -> None:
    source = random.Random(34)
    frames = [*SKIPPED, *make_flows(40), *(build_ethernet(carry(gre)) for gre, _ in GRE_PACKETS)]
    whole = write_pcap(tmp_path / "w.pcap", enumerate(frames)).read_bytes()
    path = tmp_path / "a.pcap"
    for _ in range(2000 if LENGTH == "full" else 100):
        data = bytearray(whole)
        for _ in range(source.randrange(1, 8)):
            data[source.randrange(len(data))] = source.choice((0, 1, 4, 255, source.randrange(256)))
        path.write_bytes(data[: source.choice((len(data), source.randrange(5, len(data))))])
        with contextlib.suppress(PathlabError):
            list(list_capture_notices(read_capture(path), None))
