"""What the emulator does to packets: families, segmentation offloads, marks, and its trace."""

from pathlib import Path
from typing import Any

import pytest

from tests.lab.emulation import build_command, carry_traffic, check_balance, emulate, launch
from tests.lab.fates import Fate, read_fates
from tests.lab.wires import ADDRESS6_B, ADDRESS_B, Wires, address_ipv6, plug_cables, use_ecn

pytestmark = [pytest.mark.netns, pytest.mark.engine]

_ECT0 = 2
_UDP_IP_BYTES = {ADDRESS_B: 28, ADDRESS6_B: 48}


@pytest.mark.parametrize(("address", "slice_ns"), [(ADDRESS_B, 0), (ADDRESS6_B, 0), (ADDRESS6_B, 200_000)])
def test_bytes_survive_a_bad_path(
    wires: Wires, backend: str, address: str, slice_ns: int, tmp_path: Path
) -> None:
    bad = (
        f"rate_bits_per_s=300000000,delay_ns=500000,loss_ratio=0.005,jitter_ns=100000,reorder_ratio=0.01,"
        f"reorder_ns=1000000,duplicate_ratio=0.01,slice_ns={slice_ns}"
    )
    trace = tmp_path / "trace"
    with emulate(wires, backend, forward=bad, reverse="delay_ns=500000", trace=str(trace)) as emulator:
        if address == ADDRESS6_B:
            address_ipv6(wires)
        sent, heard = carry_traffic(wires, emulator, "tcp", {"size_bytes": 6 << 20}, address=address)
        result = emulator.stop()
    assert heard["bytes"] == sent["bytes"] == 6 << 20
    assert heard["sha256"] == sent["sha256"]
    forward = result["forward"]
    assert forward["lost_packets"] > 0
    assert forward["duplicated_packets"] > 0
    # Segments of 1500 bytes at most were costed, and they did come as super-packets.
    fates = read_fates(trace, "forward")
    assert max(fate.ip_bytes for fate in fates) == 1500
    assert sum(fate.segment for fate in fates) > len(fates) / 2
    check_balance(result)


@pytest.mark.parametrize("address", [ADDRESS_B, ADDRESS6_B])
def test_segmented_datagrams_arrive_whole(wires: Wires, backend: str, address: str, tmp_path: Path) -> None:
    count, payload_bytes, burst = 2000, 1200, 40
    link = "rate_bits_per_s=100000000,delay_ns=2000000,loss_ratio=0.02,duplicate_ratio=0.02,slice_ns=500000"
    trace = tmp_path / "trace"
    with emulate(wires, backend, forward=link, trace=str(trace)) as emulator:
        if address == ADDRESS6_B:
            address_ipv6(wires)
        sender = {"count": count, "payload_bytes": payload_bytes, "burst": burst}
        _, heard = carry_traffic(wires, emulator, "segmented-udp", sender, address=address)
        result = emulator.stop()
    assert heard["damaged"] == 0
    assert heard["numbers"] == sorted(heard["numbers"])
    # Each datagram was decided about, and the trace says how; what else there is are reports of IPv6 groups.
    fates = [fate for fate in read_fates(trace, "forward") if fate.segment]
    assert len(fates) == count
    assert sum(fate.fate == "lost" for fate in fates) > 0
    assert sum(fate.duplicated for fate in fates) > 0
    assert [fate.ip_bytes for fate in fates[burst - 2 : burst]] == [
        payload_bytes + _UDP_IP_BYTES[address],
        77 + _UDP_IP_BYTES[address],
    ]
    expected = [
        number
        for number, fate in enumerate(fates)
        for _ in range((fate.fate == "delivered") * (1 + fate.duplicated))
    ]
    assert heard["numbers"] == expected
    check_balance(result)


@pytest.mark.parametrize("kind", ["udp", "segmented-udp"])
@pytest.mark.parametrize("address", [ADDRESS_B, ADDRESS6_B])
def test_marks_reach_the_receiver(wires: Wires, backend: str, address: str, kind: str) -> None:
    # 300 datagrams come within some 10 ms, and one leaves per 0.65 ms: all but the first meet more than ten
    # kilobytes. Those that are marked leave together, three at a time.
    link = "rate_bits_per_s=15000000,ecn_bytes=10000,slice_ns=2000000"
    with emulate(wires, backend, forward=link) as emulator:
        if address == ADDRESS6_B:
            address_ipv6(wires)
        sender = {"count": 300, "payload_bytes": 1200, "burst": 30, "codepoint": _ECT0}
        _, heard = carry_traffic(wires, emulator, kind, sender, address=address)
        result = emulator.stop()
    marked = result["forward"]["marked_packets"]
    assert 0 < marked < 300
    assert heard["codepoints"] == [0, 0, 300 - marked, marked]
    assert heard["damaged"] == 0
    assert heard["numbers"] == list(range(300))
    check_balance(result)


def test_packets_of_others_are_not_marked(wires: Wires) -> None:
    with emulate(wires, "packet", forward="rate_bits_per_s=15000000,ecn_bytes=1000") as emulator:
        sender = {"count": 100, "payload_bytes": 1200, "burst": 100}
        _, heard = carry_traffic(wires, emulator, "udp", sender)
        result = emulator.stop()
    assert heard["codepoints"] == [100, 0, 0, 0]
    assert result["forward"]["marked_packets"] == 0
    check_balance(result)


def test_tcp_with_ecn_loses_nothing(wires: Wires, backend: str) -> None:
    link = "rate_bits_per_s=40000000,delay_ns=5000000,queue_bytes=1000000,ecn_bytes=60000,slice_ns=50000"
    with emulate(wires, backend, forward=link, reverse="delay_ns=5000000") as emulator:
        use_ecn(wires)
        sent, heard = carry_traffic(wires, emulator, "tcp", {"size_bytes": 8 << 20})
        result = emulator.stop()
    assert heard["sha256"] == sent["sha256"]
    assert result["forward"]["marked_packets"] > 10
    assert result["forward"]["queue_dropped_packets"] == 0
    check_balance(result)


def _fates_of_a_run(wires: Wires, trace: Path, seed: int) -> list[Fate]:
    link = (
        "delay_ns=1000000,loss_ratio=0.05,duplicate_ratio=0.03,reorder_ratio=0.04,reorder_ns=3000000,"
        "ge_enter_ratio=0.01,ge_leave_ratio=0.2,ge_loss_ratio=0.5"
    )
    with emulate(wires, "packet", forward=link, seed=str(seed), trace=str(trace)) as emulator:
        sender = {"count": 3000, "payload_bytes": 60, "burst": 10}
        _, heard = carry_traffic(wires, emulator, "udp", sender)
        result = emulator.stop()
    check_balance(result)
    fates = read_fates(trace, "forward")
    assert result["trace"] == {"records": len(fates), "skipped_records": 0, "error": None}
    delivered = [number for number, fate in enumerate(fates) if fate.fate == "delivered"]
    assert sorted(set(heard["numbers"])) == delivered
    assert len(heard["numbers"]) == len(delivered) + sum(fate.duplicated for fate in fates)
    return fates


def _decisions(fates: list[Fate]) -> list[tuple[Any, ...]]:
    """A trace without the times of arrival, which are the host's.

    They also move a delay by microseconds: a packet never leaves before the previous one, which another core
    may have stamped later.
    """
    return [(fate.ip_bytes, fate.fate, fate.duplicated, _round_to_ms(fate.held_ns)) for fate in fates]


def _round_to_ms(time_ns: int | None) -> int | None:
    return None if time_ns is None else round(time_ns / 1e6)


def test_the_seed_decides_the_trace(wires: Wires, tmp_path: Path) -> None:
    first = _decisions(_fates_of_a_run(wires, tmp_path / "first", 11))
    again = _decisions(_fates_of_a_run(wires, tmp_path / "again", 11))
    other = _decisions(_fates_of_a_run(wires, tmp_path / "other", 12))
    assert len(first) == 3000
    assert first == again
    assert first != other
    assert {held_ms for *_, held_ms in first} == {None, 1, 4}


def test_the_trace_is_bounded(wires: Wires, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    with emulate(wires, "packet", trace=str(trace), trace_limit_bytes=str(16 + 24 * 50)) as emulator:
        sender = {"count": 200, "payload_bytes": 60, "burst": 10}
        carry_traffic(wires, emulator, "udp", sender)
        # What is in the file is complete while the emulator runs.
        counters = emulator.ask_counters()
        assert len(read_fates(trace, "forward")) == 50
        emulator.stop()
    assert counters["trace"] == {"records": 50, "skipped_records": 150, "error": None}
    assert trace.stat().st_size == 16 + 24 * 50


def test_a_trace_that_cannot_be_is_named(wires: Wires, tmp_path: Path) -> None:
    plug_cables(wires)
    missing = tmp_path / "nowhere" / "trace"
    with launch(build_command(wires, "packet", {"trace": str(missing)})) as emulator:
        emulator.expect("hello")
        error = emulator.expect("error")
        assert emulator.wait() == 3
    assert error["stage"] == "trace"
    assert str(missing)[:100] in error["text"]
