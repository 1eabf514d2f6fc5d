"""Probes as bytes, held against scapy's, and what is read back from quotes that scapy makes."""

import struct
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathlab.agents.discovery import packets
from pathlab.discover.probes import SMALLEST_BYTES

with warnings.catch_warnings():
    # scapy imports deprecated ciphers of `cryptography`; nothing here uses them.
    warnings.simplefilter("ignore")
    from scapy.layers.inet import ICMP, IP, TCP, UDP, IPerror, TCPerror
    from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
    from scapy.packet import Raw
    from scapy.utils import checksum

SOURCE, TARGET, ROUTER = "198.18.0.1", "198.18.0.10", "198.18.0.2"
SOURCE6, TARGET6 = "2001:db8::1", "2001:db8::a"
NUMBERS = st.integers(min_value=0, max_value=2**32 - 1)


@given(st.binary(max_size=300))
def test_the_checksum_is_scapys(data: bytes) -> None:
    padded = data + b"\0" * (len(data) % 2)
    assert packets.internet_checksum(data) == checksum(padded)


@given(NUMBERS)
def test_a_mark_is_found_again_and_adds_nothing_to_a_checksum(number: int) -> None:
    mark = packets.build_mark(number)
    assert packets.find_mark(mark + b"rest") == number
    assert packets.internet_checksum(mark) == packets.internet_checksum(packets.build_mark(0))


@given(NUMBERS, st.integers(min_value=0, max_value=8 * packets.MARK_BYTES - 1))
def test_a_mark_with_a_flipped_bit_or_cut_short_is_none(number: int, bit: int) -> None:
    mark = bytearray(packets.build_mark(number))
    assert packets.find_mark(bytes(mark[:-1])) is None
    mark[bit // 8] ^= 1 << bit % 8
    assert packets.find_mark(bytes(mark)) is None


@pytest.mark.parametrize("size", [40, 600, 1500])
def test_udp_probes_of_a_flow_and_size_have_one_checksum(size: int) -> None:
    def udp_header(number: int) -> bytes:
        payload = packets.build_udp_payload(number, size - 28)
        packet = bytes(IP(src=SOURCE, dst=TARGET) / UDP(sport=53100, dport=33434) / Raw(payload))
        assert len(packet) == size
        return packet[20:28]

    assert len({udp_header(number) for number in (1, 2, 77, 65535, 65536, 2**32 - 1)}) == 1


@pytest.mark.parametrize("number", [1, 65536 + 7, 2**32 - 1])
@pytest.mark.parametrize("size", [44, 601, 1500])
def test_an_echo_request_is_scapys_and_has_one_checksum(number: int, size: int) -> None:
    ours = packets.build_echo_request(number, 53101, size - 20, 4)
    theirs = bytes(ICMP(type=8, id=53101, seq=number & 0xFFFF) / Raw(ours[8:]))
    assert ours == theirs
    assert ours[:4] == packets.build_echo_request(99, 53101, size - 20, 4)[:4]
    assert packets.parse_echo(ours, 53101) == number
    assert packets.parse_echo(ours, 53102) is None
    assert packets.parse_echo(ours[:8], 53101) == number & 0xFFFF  # the shortest quote there may be


def test_an_echo_request_of_ipv6_is_scapys_but_for_the_checksum() -> None:
    ours = packets.build_echo_request(5, 53100, 24, 6)
    theirs = bytes(IPv6(src=SOURCE6, dst=TARGET6) / ICMPv6EchoRequest(id=53100, seq=5, data=ours[8:]))[40:]
    assert ours[:2] + ours[4:] == theirs[:2] + theirs[4:]
    assert ours[2:4] == b"\0\0"  # the kernel's to fill in


@pytest.mark.parametrize(("layer", "source", "target"), [(IP, SOURCE, TARGET), (IPv6, SOURCE6, TARGET6)])
def test_a_syn_is_scapys(layer: type, source: str, target: str) -> None:
    whole = layer(src=source, dst=target) / TCP(
        sport=53100, dport=443, seq=7, flags="S", window=65535, options=[("MSS", packets.SYN_SEGMENT_BYTES)]
    )
    header = 20 if layer is IP else 40
    addresses = (IP(src=source, dst=target), 12, 16) if layer is IP else (IPv6(src=source, dst=target), 8, 24)
    head, at, middle = bytes(addresses[0]), addresses[1], addresses[2]
    pseudo = packets.build_pseudo_header(head[at:middle], head[middle : 2 * middle - at])
    assert packets.build_syn((53100, 443), 7, pseudo) == bytes(whole)[header:]


def test_a_routers_quote_of_a_syn_names_it() -> None:
    probe = IP(src=SOURCE, dst=TARGET, ttl=1) / TCP(sport=53100, dport=443, seq=0x01020304, flags="S")
    error = IP(src=ROUTER, dst=SOURCE) / ICMP(type=11) / bytes(probe)[:28]
    quoted = IP(bytes(error))[IPerror]
    assert quoted.haslayer(TCPerror) or len(bytes(quoted)) == 28
    segment = bytes(quoted)[20:]
    assert packets.read_quoted_syn(segment, (53100, 443)) == 0x01020304
    assert packets.read_quoted_syn(segment, (53101, 443)) is None
    assert packets.read_quoted_syn(segment[:7], (53100, 443)) is None


@pytest.mark.parametrize(
    ("flags", "ack", "expected"),
    [
        ("SA", 8, ("syn-ack", 7)),
        ("RA", 8, ("reset", 7)),
        ("SA", 0, ("syn-ack", 2**32 - 1)),
        ("A", 8, None),
        ("S", 8, None),
    ],
)
def test_answers_to_a_syn(flags: str, ack: int, expected: tuple[str, int] | None) -> None:
    answer = bytes(IP(src=TARGET, dst=SOURCE) / TCP(sport=443, dport=53100, ack=ack, flags=flags))
    segment = packets.strip_ip_header(answer)
    assert packets.read_syn_answer(segment, (53100, 443)) == expected
    assert packets.read_syn_answer(segment, (53101, 443)) is None
    assert packets.read_syn_answer(segment[:19], (53100, 443)) is None


def test_an_ip_header_with_options_is_stripped_whole() -> None:
    packet = bytes(IP(src=TARGET, dst=SOURCE, options=b"\x94\x04\0\0") / Raw(b"carried"))
    assert packet[0] & 15 == 6
    assert packets.strip_ip_header(packet) == b"carried"
    assert packets.strip_ip_header(b"") == b""


def test_both_sides_agree_on_the_smallest_probes() -> None:
    for method, sizes in SMALLEST_BYTES.items():
        for version, size in sizes.items():
            assert packets.smallest_packet_bytes(method, version) == size
    assert struct.calcsize(">HHIIBBHHH") + 4 == packets.TCP_SYN_BYTES
