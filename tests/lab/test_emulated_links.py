"""Delays and rates of the emulator between two real network stacks."""

import statistics
from pathlib import Path

import pytest

from tests.lab.emulation import carry_traffic, check_balance, emulate, measure_rtt_ms
from tests.lab.fates import Fate, read_fates
from tests.lab.wires import Wires, use_ecn

pytestmark = [pytest.mark.netns, pytest.mark.engine]


def test_rtt_is_twice_the_delay(wires: Wires, backend: str) -> None:
    with emulate(wires, backend, forward="delay_ns=10000000", reverse="delay_ns=10000000") as emulator:
        rtt_ms = measure_rtt_ms(wires.a)
        result = emulator.stop()
    assert 20.0 <= rtt_ms < 21.0
    assert result["forward"]["arrived_packets"] == result["reverse"]["delivered_packets"] == 25
    assert result["forward"]["delivered_bytes"] == 25 * 84  # IP 20, ICMP 8, payload 56
    assert 0 <= result["late_ns"]["median"] <= result["late_ns"]["p99"] <= result["late_ns"]["max"]
    for direction in (result["forward"], result["reverse"]):
        late_ns = direction["late_ns"]
        assert 0 <= late_ns["median"] <= late_ns["p99"] <= late_ns["max"] <= result["late_ns"]["max"]
    assert result["trace"] is None
    assert 0 < result["cpu_ns"] < result["elapsed_ns"]
    check_balance(result)


def compute_use(fates: list[Fate], rate_bits_per_s: int, longest_idle_ns: int) -> float:
    """How much of the time the link was busy; a longer idle time is a stall of the machine and left out."""
    busy_ns = idle_ns = 0.0
    free_ns = float(fates[0].arrival_ns)
    for fate in fates:
        sent_ns = 8e9 * fate.ip_bytes / rate_bits_per_s
        gap_ns = max(0.0, fate.arrival_ns - free_ns)
        idle_ns += gap_ns if gap_ns <= longest_idle_ns else 0
        busy_ns += sent_ns
        free_ns = max(free_ns, fate.arrival_ns) + sent_ns
    return busy_ns / (busy_ns + idle_ns)


@pytest.mark.parametrize("ecn", [False, True])
def test_codel_holds_the_wait_near_its_target(wires: Wires, ecn: bool, tmp_path: Path) -> None:
    rate_bits_per_s, delay_ns = 20_000_000, 10_000_000
    # Without CoDel one stream would fill these 400 ms of queue.
    link = f"rate_bits_per_s={rate_bits_per_s},delay_ns={delay_ns},queue_bytes=1000000,aqm=codel"
    trace = tmp_path / "trace"
    with emulate(wires, "packet", forward=link, reverse=f"delay_ns={delay_ns}", trace=str(trace)) as emulator:
        if ecn:
            use_ecn(wires)
        carry_traffic(wires, emulator, "tcp", {"size_bytes": 11_000_000})
        result = emulator.stop()
    forward = result["forward"]
    fates = [fate for fate in read_fates(trace, "forward") if fate.held_ns is not None]
    steady = fates[len(fates) // 3 :]  # after slow start
    waits_ns = [(fate.held_ns or 0) - delay_ns for fate in steady if fate.ip_bytes == 1500]
    # One stream that halves its window swings around the target; it neither fills the queue nor idles.
    assert statistics.median(waits_ns) < 12_000_000
    assert statistics.quantiles(waits_ns, n=20)[-1] < 40_000_000
    assert compute_use(steady, rate_bits_per_s, 2 * delay_ns) > 0.7
    assert forward["queue_dropped_packets"] == 0
    assert (forward["aqm_dropped_packets"] == 0) == ecn
    assert (forward["marked_packets"] > 0) == ecn
    check_balance(result)
