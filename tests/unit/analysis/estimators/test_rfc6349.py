"""RFC 6349's metrics by the RFC's own examples."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.estimators.payload import Segment
from pathlab.analysis.estimators.rfc6349 import (
    TRANSFER_FIGURES,
    PathFigures,
    TransferMetrics,
    compute_rfc6349_capacity,
    measure_transfers,
)

GIGABIT = PathFigures(bottleneck_bits_per_s=1e9, rtt_ns=25e6)


def measure(path: PathFigures = GIGABIT, **figures: float) -> TransferMetrics:
    """The metrics of one transfer: 1 GB in 10 s, unless told otherwise."""
    known = dict.fromkeys(TRANSFER_FIGURES, float("nan")) | {"transfer_bytes": 1e9, "transfer_s": 10.0}
    return measure_transfers(path, {name: [value] for name, value in (known | figures).items()})


@pytest.mark.parametrize(
    ("bits_per_s", "rtt_ms", "bdp_bits"),
    # RFC 6349, table 1 in section 3.3.1: T1 and T3
    [(1.536e6, 20, 30_720), (1.536e6, 100, 153_600), (44.21e6, 25, 1_105_250)],
)
def test_bandwidth_delay_products_of_the_rfc(bits_per_s: float, rtt_ms: float, bdp_bits: float) -> None:
    found = compute_rfc6349_capacity(PathFigures(bottleneck_bits_per_s=bits_per_s, rtt_ns=rtt_ms * 1e6))
    assert found.bdp_bytes * 8 == pytest.approx(bdp_bits)


def test_achievable_rate_is_packets_a_second_times_their_data() -> None:
    # Gigabit Ethernet, MTU 1500: 1e9 / (1538 x 8) = 81,274.38 packets a second of 1460 bytes
    assert compute_rfc6349_capacity(GIGABIT).achievable_bits_per_s == pytest.approx(
        81_274.38 * 1460 * 8, rel=1e-6
    )
    # 20 bytes of link framing and the time-stamp option of TCP
    other = replace(GIGABIT, segment=Segment(payload_bytes=1448, packet_bytes=1500, link_bytes=20))
    assert compute_rfc6349_capacity(other).achievable_bits_per_s == pytest.approx(1e9 * 1448 / 1520)


def test_metrics_by_the_examples_of_the_rfc() -> None:
    # 2,000 of 102,000 bytes retransmitted: 98.03 %; a mean RTT of 32 ms over 25 ms: 28 %
    found = measure(GIGABIT, sent_bytes=102_000, retransmitted_bytes=2_000, rtt_mean_ns=32e6)
    assert found.efficiency_percent == pytest.approx([98.03], abs=0.01)
    assert found.buffer_delay_percent == pytest.approx([28.0])
    assert found.ideal_s == pytest.approx([8e9 / (1e9 * 1460 / 1538)])
    assert found.transfer_time_ratio == pytest.approx([10 / (8e9 / (1e9 * 1460 / 1538))])


@pytest.mark.parametrize(
    ("figures", "missing"),
    [
        ({}, {"efficiency_percent", "buffer_delay_percent"}),
        ({"transfer_bytes": 0.0}, {"ideal_s", "transfer_time_ratio"}),
        ({"transfer_s": float("nan")}, {"transfer_time_ratio"}),
        ({"transfer_s": 0.0}, {"transfer_time_ratio"}),
        ({"transfer_bytes": -1.0}, {"ideal_s", "transfer_time_ratio"}),
        ({"sent_bytes": 0.0, "retransmitted_bytes": 0.0}, {"efficiency_percent"}),
        ({"sent_bytes": 5.0, "retransmitted_bytes": 9.0}, {"efficiency_percent"}),  # a contradiction
        ({"sent_bytes": 5.0, "retransmitted_bytes": -1.0}, {"efficiency_percent"}),
        ({"rtt_mean_ns": 0.0}, {"buffer_delay_percent"}),
        ({"rtt_mean_ns": -1.0}, {"buffer_delay_percent"}),
    ],
)
def test_a_figure_that_is_missing_or_impossible_gives_no_metric(
    figures: dict[str, float], missing: set[str]
) -> None:
    known = {"sent_bytes": 1.01e9, "retransmitted_bytes": 1e7, "rtt_mean_ns": 32e6} if figures else {}
    found = measure(GIGABIT, **known | figures)
    names = {field.name for field in fields(found) if np.isnan(getattr(found, field.name)[0])}
    assert names == missing


@settings(deadline=None)
@given(st.floats(1e3, 1e12), st.floats(1e3, 1e10), st.floats(1, 1e15), st.floats(1e-3, 1e5))
def test_ratio_is_the_shortfall_of_the_rate(line: float, rtt: float, count: float, length: float) -> None:
    path = PathFigures(bottleneck_bits_per_s=line, rtt_ns=rtt)
    found = measure(path, transfer_bytes=count, transfer_s=length)
    rate = count * 8 / length
    achievable = compute_rfc6349_capacity(path).achievable_bits_per_s
    assert found.transfer_time_ratio == pytest.approx([achievable / rate], rel=1e-9)
