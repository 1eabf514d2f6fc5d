"""Rates of simulated senders, round trip by round trip: losses by chance, and losses beyond a rate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pathlab.analysis.verdicts.flow_reading import FlowReading, measure_rate_spread
from pathlab.analysis.verdicts.limits import Limit, classify_limits
from tests.builders.limits import PLAIN, QUIET
from tests.length import choose_runs

RTT_NS, ROUNDS, ROUNDS_PER_SPAN, SPANS = 20e6, 600, 25, 20
SEGMENT_BYTES = 1448


def simulate(
    streams: int, rng: np.random.Generator, *, loss: float = 0.0, most: float = float("inf")
) -> FlowReading:
    """Reno without a queue: segments lost with chance ``loss``, and those beyond ``most`` a round trip."""
    windows = np.full(streams, 10.0)
    sent, lost, arrived = np.zeros(streams), np.zeros(streams), []
    for number in range(ROUNDS):
        beyond = max(0.0, windows.sum() - most) / windows.sum()
        dropped = rng.binomial(np.maximum(1, windows.astype(int)), min(1.0, loss + beyond))
        if number >= ROUNDS - SPANS * ROUNDS_PER_SPAN:
            sent, lost = sent + windows, lost + dropped
            arrived.append(windows.sum() - dropped.sum())
        windows = np.where(dropped > 0, np.maximum(1.0, windows / 2), windows + 1)
    spans = np.array(arrived).reshape(SPANS, -1).sum(axis=1)
    rates = (sent - lost) * SEGMENT_BYTES * 8e9 / (len(arrived) * RTT_NS)
    return replace(
        QUIET,
        streams=tuple(
            replace(
                PLAIN,
                rate_bits_per_s=float(rate),
                sent_bytes=float(out * SEGMENT_BYTES),
                retransmitted_bytes=float(gone * SEGMENT_BYTES),
                rtt_ns=RTT_NS,
                rtt_min_ns=RTT_NS,
            )
            for rate, out, gone in zip(rates, sent, lost, strict=True)
        ),
        throughput_bits_per_s=float(rates.sum()),
        rtt_loaded_ns=RTT_NS,
        rtt_unloaded_ns=RTT_NS,
        rate_spread_ratio=measure_rate_spread(spans, np.full(SPANS, ROUNDS_PER_SPAN * RTT_NS)),
        rate_spans=SPANS,
    )


@pytest.mark.parametrize("streams", [1, 4, 16, 32])
def test_losses_by_chance_are_no_policer(streams: int) -> None:
    rng = np.random.default_rng(streams)
    runs = choose_runs(40)
    chances = rng.choice([1e-3, 5e-3, 1e-2, 2e-2], runs)
    limits = [classify_limits(simulate(streams, rng, loss=chance)).flow.limit for chance in chances]
    assert limits.count(Limit.RATE_LIMIT) <= 0.05 * runs
    assert limits.count(Limit.CONGESTION) >= 0.8 * runs


@pytest.mark.parametrize(
    ("streams", "most", "named"), [(1, 40, 0.9), (4, 40, 0.5), (8, 160, 0.4), (16, 160, 0.4), (32, 640, 0)]
)
def test_losses_beyond_a_rate_are_a_policers(streams: int, most: float, named: float) -> None:
    """The others are undecided: the losses of many streams leave a rate about as steady."""
    rng = np.random.default_rng(streams)
    runs = choose_runs(20)
    limits = [classify_limits(simulate(streams, rng, most=most)).flow.limit for _ in range(runs)]
    assert limits.count(Limit.CONGESTION) <= 0.1 * runs
    assert limits.count(Limit.RATE_LIMIT) >= named * runs
