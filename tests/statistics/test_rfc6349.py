"""RFC 6349's metrics by the RFC's own examples."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.rfc6349 import (
    PathFigures,
    TransferFigures,
    judge_transfer,
    measure_capacity,
    measure_transfers,
)
from pathlab.errors import UsageError

GIGABIT = PathFigures(bottleneck_bits_per_s=1e9, rtt_ns=25e6)
TRANSFER = TransferFigures(transfer_bytes=1e9, transfer_s=10.0)


@pytest.mark.parametrize(
    ("bits_per_s", "rtt_ms", "bdp_bits"),
    # RFC 6349, table 1 in section 3.3.1: T1 and T3
    [(1.536e6, 20, 30_720), (1.536e6, 100, 153_600), (44.21e6, 25, 1_105_250)],
)
def test_bandwidth_delay_products_of_the_rfc(bits_per_s: float, rtt_ms: float, bdp_bits: float) -> None:
    found = measure_capacity(PathFigures(bottleneck_bits_per_s=bits_per_s, rtt_ns=rtt_ms * 1e6))
    assert found.bdp_bytes * 8 == pytest.approx(bdp_bits)


def test_achievable_rate_is_packets_a_second_times_their_data() -> None:
    # Gigabit Ethernet, MTU 1500: 1e9 / (1538 x 8) = 81,274.38 packets a second of 1460 bytes
    assert measure_capacity(GIGABIT).achievable_bits_per_s == pytest.approx(81_274.38 * 1460 * 8, rel=1e-6)
    # 20 bytes of link framing and the time-stamp option of TCP
    other = replace(GIGABIT, link_bytes=20, header_bytes=52)
    assert measure_capacity(other).achievable_bits_per_s == pytest.approx(1e9 * 1448 / 1520)


def test_metrics_by_the_examples_of_the_rfc() -> None:
    # 2,000 of 102,000 bytes sent again: 98.03 %; a mean RTT of 32 ms over 25 ms: 28 %
    found = judge_transfer(
        GIGABIT, replace(TRANSFER, sent_bytes=102_000, retransmitted_bytes=2_000, rtt_mean_ns=32e6)
    )
    assert found.efficiency_percent == pytest.approx(98.03, abs=0.01)
    assert found.buffer_delay_percent == pytest.approx(28.0)
    assert found.ideal_s == pytest.approx(8e9 / (1e9 * 1460 / 1538))
    assert found.transfer_time_ratio == pytest.approx(10 / (8e9 / (1e9 * 1460 / 1538)))
    assert found.undecided is None


def test_what_was_not_measured_is_none() -> None:
    found = judge_transfer(GIGABIT, TRANSFER)
    assert (found.efficiency_percent, found.buffer_delay_percent) == (None, None)
    nothing = judge_transfer(
        GIGABIT, replace(TRANSFER, transfer_bytes=0, sent_bytes=0, retransmitted_bytes=0)
    )
    assert (nothing.ideal_s, nothing.transfer_time_ratio, nothing.undecided) == (
        None,
        None,
        Undecided.ALL_ZERO,
    )
    assert nothing.efficiency_percent is None


@settings(deadline=None)
@given(st.floats(1e3, 1e12), st.floats(1e3, 1e10), st.floats(1, 1e15), st.floats(1e-3, 1e5))
def test_ratio_is_the_shortfall_of_the_rate(line: float, rtt: float, count: float, length: float) -> None:
    found = judge_transfer(
        PathFigures(bottleneck_bits_per_s=line, rtt_ns=rtt),
        TransferFigures(transfer_bytes=count, transfer_s=length),
    )
    rate = count * 8 / length
    assert found.transfer_time_ratio == pytest.approx(found.capacity.achievable_bits_per_s / rate, rel=1e-9)


@pytest.mark.parametrize(
    "call",
    [
        lambda: measure_capacity(replace(GIGABIT, rtt_ns=0.0)),
        lambda: measure_capacity(replace(GIGABIT, bottleneck_bits_per_s=float("nan"))),
        lambda: measure_capacity(replace(GIGABIT, mtu_bytes=40)),
        lambda: judge_transfer(GIGABIT, replace(TRANSFER, transfer_s=0.0)),
        lambda: judge_transfer(GIGABIT, replace(TRANSFER, transfer_bytes=-1.0)),
        lambda: judge_transfer(GIGABIT, replace(TRANSFER, sent_bytes=1, retransmitted_bytes=2)),
        lambda: judge_transfer(GIGABIT, replace(TRANSFER, rtt_mean_ns=0.0)),
    ],
)
def test_wrong_values_are_refused_with_a_hint(call: object) -> None:
    assert callable(call)
    with pytest.raises(UsageError) as caught:
        call()
    assert caught.value.hint


def test_many_transfers_are_judged_like_each_of_them() -> None:
    nan = float("nan")
    columns = {
        "transfer_bytes": [1e9, 2e8, 0.0, 1e9],
        "transfer_s": [10.0, 3.0, 1.0, nan],
        "sent_bytes": [1.01e9, nan, 5.0, 1e9],
        "retransmitted_bytes": [1e7, 3.0, 9.0, 0.0],
        "rtt_mean_ns": [32e6, nan, 25e6, -1.0],
    }
    found = measure_transfers(GIGABIT, columns)
    first = judge_transfer(GIGABIT, TransferFigures(**{name: row[0] for name, row in columns.items()}))
    second = judge_transfer(GIGABIT, TransferFigures(transfer_bytes=2e8, transfer_s=3.0))
    assert found.ideal_s.tolist() == pytest.approx(
        [first.ideal_s, second.ideal_s, nan, first.ideal_s], nan_ok=True
    )
    ratios = [first.transfer_time_ratio, second.transfer_time_ratio, nan, nan]
    assert found.transfer_time_ratio.tolist() == pytest.approx(ratios, nan_ok=True)
    # more sent again than sent is a contradiction, and no figure
    efficiencies = [first.efficiency_percent, nan, nan, 100.0]
    assert found.efficiency_percent.tolist() == pytest.approx(efficiencies, nan_ok=True)
    delays = [first.buffer_delay_percent, nan, 0.0, nan]
    assert found.buffer_delay_percent.tolist() == pytest.approx(delays, nan_ok=True)
