"""Queueing disciplines out of rtnetlink datagrams.

RECORDED is one message of a dump by Linux 6.18 (x86-64), of a tbf to which ten packets of 1000 bytes were
sent; `tc -s qdisc show` said of it: "qdisc tbf 8001: dev v0 root … Sent 1000 bytes 1 pkt (dropped 6,
overlimits 9 requeues 0) backlog 3000b 3p". All other datagrams are made by hand from linux/rtnetlink.h and
gen_stats.h.
"""

import errno
import struct
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathlab.agents.counters.netlink import DumpInterruptedError
from pathlab.agents.counters.qdiscs import (
    Qdisc,
    QdiscId,
    QdiscReading,
    compare_qdiscs,
    parse_datagram,
    read_qdiscs,
)
from tests.require import require

RECORDED = bytes.fromhex(
    "bc0000002400020001000000c6520000000000000300000000000180ffffffff0300000008000100746266002c00020028000100"
    "0001000000000000e8030000000000000000000000000000b80b000040787d010000000005000c00000000003000070014000100"
    "e80300000000000001000000000000001800030003000000b80b00000600000000000000090000002c000300e803000000000000"
    "010000000600000009000000000000000000000003000000b80b000000000000"
)
ROOT = 0xFFFFFFFF
TBF = Qdisc(
    kind="tbf",
    counts={"bytes": 1000, "packets": 1, "drops": 6, "requeues": 0, "overlimits": 9},
    backlog_bytes=3000,
    qlen=3,
)


def message(kind: int, body: bytes, *, flags: int = 2, sequence: int = 1) -> bytes:
    data = struct.pack("=IHHII", 16 + len(body), kind, flags, sequence, 4711) + body
    return data + bytes(-len(data) % 4)


def attribute(number: int, value: bytes) -> bytes:
    data = struct.pack("=HH", 4 + len(value), number) + value
    return data + bytes(-len(data) % 4)


def qdisc_body(index: int, handle: int, parent: int, *attributes: bytes) -> bytes:
    return struct.pack("=BxxxiIII", 0, index, handle, parent, 0) + b"".join(attributes)


DONE = message(3, struct.pack("=i", 0))


def test_a_recorded_message_reads_as_the_tool_of_the_kernel_read_it() -> None:
    require(sys.byteorder == "little", "a little-endian host for bytes recorded on one")
    qdiscs: dict[QdiscId, Qdisc] = {}
    assert not parse_datagram(RECORDED, qdiscs)
    assert qdiscs == {QdiscId(3, 0x80010000, ROOT): TBF}
    assert parse_datagram(DONE, qdiscs)
    assert len(qdiscs) == 1


def test_hardware_counts_stand_apart_and_64_bits_of_packets_replace_32() -> None:
    stats = (
        attribute(1, struct.pack("=QI", 10**13, 5)),
        attribute(8, struct.pack("=Q", 2**32 + 5)),
        attribute(7, struct.pack("=QI4x", 70, 7)),
        attribute(3, struct.pack("=IIIII", 1, 2, 3, 4, 5)),
        attribute(6, b""),
        attribute(99, b"of a later kernel"),
    )
    kind, old = attribute(1, b"fq_codel\0"), attribute(3, b"old")
    body = qdisc_body(2, 0, 1, kind, attribute(0x8007, b"".join(stats)), old)
    qdiscs: dict[QdiscId, Qdisc] = {}
    assert parse_datagram(message(36, body) + DONE, qdiscs)
    counts = {"bytes": 10**13, "packets": 2**32 + 5, "hw_bytes": 70, "hw_packets": 7}
    counts |= {"drops": 3, "requeues": 4, "overlimits": 5}
    assert qdiscs == {QdiscId(2, 0, 1): Qdisc(kind="fq_codel", counts=counts, backlog_bytes=2, qlen=1)}


def test_a_qdisc_without_statistics_has_none_rather_than_zeros() -> None:
    qdiscs: dict[QdiscId, Qdisc] = {}
    parse_datagram(message(36, qdisc_body(2, 0, ROOT, attribute(1, b"odd\0"))), qdiscs)
    reading = QdiscReading(qdiscs=qdiscs, interfaces={2: "eth0"})
    nothing = dict.fromkeys(("bytes", "packets", "drops", "requeues", "overlimits", "backlog_bytes", "qlen"))
    identity = {"interface": "eth0", "handle": "0:", "parent": "root", "kind": "odd"}
    assert compare_qdiscs(reading, reading) == [{**identity, **nothing}]


def test_what_answers_another_question_is_passed_over() -> None:
    qdiscs: dict[QdiscId, Qdisc] = {}
    stray = message(36, qdisc_body(2, 0, ROOT, attribute(1, b"tbf\0")), sequence=8)
    assert not parse_datagram(stray + message(3, b"", sequence=8) + message(16, b"link"), qdiscs)
    assert qdiscs == {}


@pytest.mark.parametrize("kind", [2, 3])
def test_the_kernels_refusal_is_an_error_with_its_number(kind: int) -> None:
    with pytest.raises(PermissionError) as caught:
        parse_datagram(message(kind, struct.pack("=i", -errno.EPERM) + bytes(16)), {})
    assert caught.value.errno == errno.EPERM


def test_a_dump_that_others_changed_is_recognised() -> None:
    with pytest.raises(DumpInterruptedError):
        parse_datagram(message(3, bytes(4), flags=0x12), {})


BROKEN = (
    RECORDED[:100],
    struct.pack("=IHHII", 8, 36, 2, 1, 0),
    message(36, b"short"),
    message(36, qdisc_body(1, 0, 0, struct.pack("=HH", 3, 1))),
    message(36, qdisc_body(1, 0, 0, struct.pack("=HH", 40, 1))),
)


@given(st.binary(max_size=200), st.integers(min_value=0, max_value=len(RECORDED)))
def test_any_bytes_end_in_qdiscs_or_a_known_error(data: bytes, keep: int) -> None:
    for candidate in (data, RECORDED[:keep] + data, message(36, data)):
        try:
            parse_datagram(candidate, {})
        except (ValueError, OSError):
            continue


def test_differences_and_levels_by_interface_and_handle() -> None:
    counts = {"bytes": 4000, "packets": 4, "drops": 2, "requeues": 0, "overlimits": 30}
    later = TBF._replace(counts=counts, backlog_bytes=0, qlen=0)
    here, replaced = QdiscId(3, 0x80010000, ROOT), QdiscId(3, 0x00100000, 0x80010001)
    gone, new = QdiscId(4, 0x80020000, ROOT), QdiscId(5, 0x80030000, ROOT)
    other = TBF._replace(kind="fq")
    before = QdiscReading(qdiscs={here: TBF, replaced: TBF, gone: TBF}, interfaces={3: "v0", 4: "v1"})
    after = QdiscReading(qdiscs={here: later, replaced: other, new: TBF}, interfaces={3: "v0", 5: "v2"})
    identity = {"interface": "v0", "handle": "8001:", "parent": "root", "kind": "tbf"}
    grown = {"bytes": 3000, "packets": 3, "requeues": 0, "overlimits": 21}
    backwards = {"drops": None}
    assert compare_qdiscs(before, after) == [
        {**identity, **grown, **backwards, "backlog_bytes": 0, "qlen": 0}
    ]
    child = QdiscReading(qdiscs={replaced: TBF}, interfaces={3: "v0"})
    (entry,) = compare_qdiscs(child, child)
    assert (entry["handle"], entry["parent"]) == ("10:", "8001:1")
    # Its interface went between the dump and the question for its name.
    assert compare_qdiscs(before, after._replace(interfaces={})) == []


def test_a_dump_that_is_interrupted_is_requested_again_but_not_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outcomes: list[list[bytes] | Exception] = [DumpInterruptedError(), DumpInterruptedError(), []]

    def dump(*_request: object) -> list[bytes]:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr("pathlab.agents.counters.netlink._dump", dump)
    assert read_qdiscs() == QdiscReading(qdiscs={}, interfaces={})
    outcomes[:] = [DumpInterruptedError() for _ in range(3)]
    with pytest.raises(DumpInterruptedError):
        read_qdiscs()
    assert outcomes == []
