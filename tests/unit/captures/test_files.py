"""pcap and pcapng files: every byte order, resolution and block; scapy's raw readers are the reference."""

import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scapy.utils import RawPcapNgReader, RawPcapReader

from pathlab.captures import pcap, pcapng
from pathlab.captures.capture import open_capture, read_capture
from pathlab.captures.records import NO_TIME_NS, CaptureNotes
from pathlab.errors import StoreError
from tests.builders.packets import (
    build_block,
    build_enhanced,
    build_ethernet,
    build_interface,
    build_ipv4,
    build_option,
    build_section,
    build_tcp,
    write_pcap,
    write_pcapng,
)

RESOLUTION, OFFSET = 9, 14


def read_all(path: Path) -> tuple[CaptureNotes, list[tuple[int, bytes, int]]]:
    """Notes, and of each record time, bytes and original length."""
    notes, batches = open_capture(path)
    found = []
    for batch in batches:
        rows = zip(batch.times_ns, batch.places, batch.captured_bytes, batch.original_bytes, strict=True)
        found += [(int(t), batch.data[at : at + size].tobytes(), int(full)) for t, at, size, full in rows]
    assert notes.records == len(found)
    return notes, found


def _read_time_ns(meta: Any) -> int:
    return int(((meta.tshigh << 32) + meta.tslow) * 10**9 // meta.tsresol)


def make_packets(count: int) -> list[tuple[int, bytes]]:
    random_one = random.Random(1)
    return [
        (1_700_000_000_000_000_000 + 1_234_567_891 * i, random_one.randbytes(random_one.randrange(0, 200)))
        for i in range(count)
    ]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nanoseconds", [True, False])
def test_pcap_agrees_with_scapy(
    tmp_path: Path, order: str, nanoseconds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pcap, "PIECE_BYTES", 1000)  # records cross the pieces
    path = write_pcap(tmp_path / "a.pcap", make_packets(300), order=order, nanoseconds=nanoseconds)
    notes, found = read_all(path)
    assert notes.damage is None
    unit = 1 if nanoseconds else 1000
    with RawPcapReader(str(path)) as reader:
        expected = [
            (meta.sec * 1_000_000_000 + meta.usec * unit, data, meta.wirelen) for data, meta in reader
        ]
    assert found == expected


@pytest.mark.parametrize("order", ["<", ">"])
def test_pcapng_agrees_with_scapy(tmp_path: Path, order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pcapng, "PIECE_BYTES", 1000)
    exponents = [6, 9, 3]
    blocks = [build_section(order)]
    for exponent in exponents:
        option = build_option(RESOLUTION, bytes((exponent,)), order)
        blocks.append(build_interface(order=order, options=option))
    for number, (time_ns, data) in enumerate(make_packets(300)):
        interface = number % 3
        units = time_ns * 10 ** exponents[interface] // 10**9
        blocks.append(build_enhanced(units, data, interface=interface, order=order, original=len(data) + 7))
        if number % 50 == 0:
            blocks.append(build_block(0x0000_0BAD, b"custom", order))
            blocks.append(build_block(0x1234, b"unknown", order))
    path = tmp_path / "a.pcapng"
    path.write_bytes(b"".join(blocks))
    notes, found = read_all(path)
    assert notes.damage is None
    assert notes.skipped_blocks == 6
    with RawPcapNgReader(str(path)) as reader:
        expected = [(_read_time_ns(meta), data, meta.wirelen) for data, meta in reader]
    assert found == expected


def test_resolutions_of_two_and_offsets(tmp_path: Path) -> None:
    options = build_option(RESOLUTION, bytes((0x80 | 30,))) + build_option(OFFSET, struct.pack("<q", 1000))
    units = 5 * (1 << 30) + (1 << 29)
    path = write_pcapng(tmp_path / "a.pcapng", build_enhanced(units, b"x"), options=options)
    assert read_all(path)[1] == [(1_005_500_000_000, b"x", 1)]


def test_picoseconds_do_not_overflow(tmp_path: Path) -> None:
    options = build_option(RESOLUTION, bytes((12,)))
    units = 1_700_000 * 10**12 + 123_456_789_000
    path = write_pcapng(tmp_path / "a.pcapng", build_enhanced(units, b"x"), options=options)
    ((time_ns, _, _),) = read_all(path)[1]
    assert abs(time_ns - (1_700_000 * 10**9 + 123_456_789)) <= 1


@pytest.mark.parametrize(
    ("exponent", "offset_s", "units"),
    [
        (0, 0, 5_000_000_000),
        (6, 0, (1 << 64) - 1),
        (9, 0, 1 << 63),
        (9, 4_000_000_000, 700_000_000 * 10**9),
        (12, 4_600_000_000, 10**12 + 1),
    ],
)
def test_times_that_nanoseconds_cannot_hold_are_none(
    tmp_path: Path, exponent: int, offset_s: int, units: int
) -> None:
    options = build_option(RESOLUTION, bytes((exponent,))) + build_option(OFFSET, struct.pack("<q", offset_s))
    packets = build_enhanced(0, b"x"), build_enhanced(units, b"x")
    path = write_pcapng(tmp_path / "a.pcapng", *packets, options=options)
    assert [time_ns for time_ns, _, _ in read_all(path)[1]] == [offset_s * 10**9, NO_TIME_NS]


@pytest.mark.parametrize("offset_s", [1 << 62, -(1 << 63)])
def test_an_impossible_offset_is_damage_and_left_out(tmp_path: Path, offset_s: int) -> None:
    options = build_option(OFFSET, struct.pack("<q", offset_s))
    path = write_pcapng(tmp_path / "a.pcapng", build_enhanced(3, b"x"), options=options)
    assert read_all(path)[1] == [(3000, b"x", 1)]


def test_blocks_between_packets_do_not_cut_batches(tmp_path: Path) -> None:
    between = build_block(0xBAD, bytes(8)) + build_block(5, struct.pack("<III", 0, 0, 0))
    path = write_pcapng(tmp_path / "a.pcapng", *[build_enhanced(1, b"x"), between] * 100)
    notes, batches = open_capture(path)
    assert [len(batch.places) for batch in batches] == [100]
    assert notes.damage is None


def test_sections_of_different_byte_orders_and_simple_blocks(tmp_path: Path) -> None:
    simple = build_block(3, struct.pack(">I", 70) + b"y" * 50, ">")
    second = build_section(">"), build_interface(order=">", snap_bytes=50)
    packets = build_enhanced(1, b"abc"), build_enhanced(2, b"de", order=">")
    path = write_pcapng(tmp_path / "a.pcapng", packets[0], *second, simple, packets[1])
    notes, found = read_all(path)
    assert found == [(1000, b"abc", 3), (NO_TIME_NS, b"y" * 50, 70), (2000, b"de", 2)]
    assert len(notes.interfaces) == 2


def test_obsolete_packet_blocks(tmp_path: Path) -> None:
    body = struct.pack("<HHIIII", 0, 3, 0, 7, 2, 9) + b"ab\0\0"
    path = write_pcapng(tmp_path / "a.pcapng", build_block(2, body))
    assert read_all(path)[1] == [(7000, b"ab", 9)]


def test_drops_of_interfaces_and_packets(tmp_path: Path) -> None:
    lost = build_option(2, bytes(4)) + build_option(4, struct.pack("<Q", 3))

    def count(drops: int) -> bytes:
        options = build_option(5, struct.pack("<Q", drops)) + build_option(7, struct.pack("<Q", 2))
        return build_block(5, struct.pack("<III", 0, 0, 0) + options)

    packets = build_enhanced(1, b"abc"), build_enhanced(2, b"abc", options=lost)
    notes, batches = open_capture(write_pcapng(tmp_path / "a.pcapng", count(1), *packets, count(5)))
    assert np.concatenate([batch.gaps for batch in batches]).tolist() == [False, True]
    assert notes.dropped_packets == 7


def test_no_counter_of_drops_is_not_zero_drops(tmp_path: Path) -> None:
    notes, _ = read_all(write_pcap(tmp_path / "a.pcap", make_packets(3)))
    assert notes.dropped_packets is None


@pytest.mark.parametrize("size", [10, 30, 45, 100])
def test_a_cut_pcap_is_read_up_to_there(tmp_path: Path, size: int) -> None:
    whole = write_pcap(tmp_path / "a.pcap", [(i, b"x" * 20) for i in range(10)]).read_bytes()
    path = tmp_path / "cut.pcap"
    path.write_bytes(whole[:size])
    notes, found = read_all(path)
    assert len(found) == max(0, size - 24) // 36
    assert (notes.damage or "").startswith("cut within")
    if not found:
        with pytest.raises(StoreError, match=r"is cut within .* and holds no whole packet"):
            read_capture(path)


def make_pcapng(tmp_path: Path) -> tuple[bytes, int]:
    head = build_section() + build_interface()
    return head + b"".join(build_enhanced(i, b"x" * 20) for i in range(10)), len(head)


@pytest.mark.parametrize(
    ("at", "value", "words"),
    [
        (4, b"\x35\0\0\0", "a block of 53 bytes"),
        (4, b"\x10\0\0\0", "a packet's block of 16 bytes"),
        (8, b"\x09\0\0\0", "an interface that is not described"),
        (20, b"\xff\0\0\0", "more bytes than its block has"),
        (48, b"\x09\0\0\0", "the two lengths of a block differ"),
    ],
)
def test_damage_within_a_pcapng(tmp_path: Path, at: int, value: bytes, words: str) -> None:
    data, head = make_pcapng(tmp_path)
    changed = bytearray(data)
    changed[head + 4 * 52 + at : head + 4 * 52 + at + len(value)] = value
    path = tmp_path / "a.pcapng"
    path.write_bytes(changed)
    notes, found = read_all(path)
    assert len(found) == 4
    assert words in (notes.damage or "")
    assert f"byte {head + 4 * 52:,}" in (notes.damage or "")


def test_random_damage_never_ends_in_an_exception(tmp_path: Path) -> None:
    random_one = random.Random(7)
    whole, _ = make_pcapng(tmp_path)
    other = write_pcap(tmp_path / "w.pcap", make_packets(20)).read_bytes()
    path = tmp_path / "a"
    for _ in range(600):
        data = bytearray(random_one.choice((whole, other)))
        for _ in range(random_one.randrange(1, 5)):
            data[random_one.randrange(4, len(data))] = random_one.choice(
                (0, 1, 4, 255, random_one.randrange(256))
            )
        path.write_bytes(data[: random_one.randrange(5, len(data) + 1)])
        read_all(path)


def test_helpers_make_what_scapy_reads_as_tcp() -> None:
    from scapy.layers.inet import TCP
    from scapy.layers.l2 import Ether

    packet = Ether(build_ethernet(build_ipv4(build_tcp(seq=7, window=3))))
    assert (packet[TCP].seq, packet[TCP].window) == (7, 3)
