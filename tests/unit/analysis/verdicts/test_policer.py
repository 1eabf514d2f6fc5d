"""Rates of simulated senders, round trip by round trip: losses by chance, and losses beyond a rate."""

from dataclasses import replace

import numpy as np
import pytest

from pathlab.analysis.verdicts.flow_reading import FlowReading, measure_rate_spread, measure_synchrony
from pathlab.analysis.verdicts.limits import Limit, classify_limits
from pathlab.errors import UsageError
from tests.builders.limits import PLAIN, QUIET
from tests.length import choose_runs

RTT_NS, ROUNDS, ROUNDS_PER_SPAN, SPANS = 20e6, 600, 25, 20
SEGMENT_BYTES = 1448


def simulate(
    streams: int,
    rng: np.random.Generator,
    *,
    loss: float = 0.0,
    most: float = float("inf"),
    bucket: float = 0.0,
    burst: float = 0.0,
) -> FlowReading:
    """Reno without a queue: segments lost with chance ``loss``, and those beyond ``most`` a round trip.

    ``bucket``: segments that a policer saves up while less arrives. ``burst``: of so many segments on average
    that follow each other, of any streams, the losses of ``loss`` are made.
    """
    windows, tokens = np.full(streams, 10.0), bucket
    sent, lost, arrived = np.zeros(streams), [], []
    for number in range(ROUNDS):
        total = windows.sum()
        beyond = max(0.0, total - most - tokens) / total
        if bucket:
            tokens = min(bucket, max(0.0, tokens + most - total))
        segments = np.maximum(1, windows.astype(int))
        if burst:
            bursts = rng.geometric(1 / burst, rng.poisson(loss * total / burst))
            dropped = rng.multivariate_hypergeometric(segments, min(int(bursts.sum()), int(segments.sum())))
        else:
            dropped = rng.binomial(segments, min(1.0, loss + beyond))
        if number >= ROUNDS - SPANS * ROUNDS_PER_SPAN:
            sent += windows
            lost.append(dropped)
            arrived.append(total - dropped.sum())
        windows = np.where(dropped > 0, np.maximum(1.0, windows / 2), windows + 1)
    spans = np.array(arrived).reshape(SPANS, -1).sum(axis=1)
    losses = np.array(lost).reshape(SPANS, -1, streams).sum(axis=1)
    lost_segments = losses.sum(axis=0)
    rates = (sent - lost_segments) * SEGMENT_BYTES * 8e9 / (len(arrived) * RTT_NS)
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
            for rate, out, gone in zip(rates, sent, lost_segments, strict=True)
        ),
        throughput_bits_per_s=float(rates.sum()),
        rtt_loaded_ns=RTT_NS,
        rtt_unloaded_ns=RTT_NS,
        rate_spread_ratio=measure_rate_spread(spans, np.full(SPANS, ROUNDS_PER_SPAN * RTT_NS)),
        rate_spans=SPANS,
        loss_synchrony_ratio=measure_synchrony(losses),
    )


@pytest.mark.parametrize("burst", [0.0, 3.0, 30.0])
@pytest.mark.parametrize("streams", [1, 4, 16, 32, 64])
def test_losses_by_chance_are_no_policer(streams: int, burst: float) -> None:
    rng = np.random.default_rng([streams, int(burst)])
    runs = choose_runs(40)
    chances = rng.choice([1e-3, 5e-3, 1e-2, 2e-2], runs)
    limits = [
        classify_limits(simulate(streams, rng, loss=chance, burst=burst)).flow.limit for chance in chances
    ]
    assert limits.count(Limit.RATE_LIMIT) <= 0.05 * runs
    assert limits.count(Limit.CONGESTION) >= 0.8 * runs


@pytest.mark.parametrize(
    ("streams", "most", "bucket", "named"),
    [
        *[(1, 40, 0, 0.9), (4, 40, 0, 0.5), (8, 160, 0, 0.4), (16, 160, 0, 0.4), (32, 640, 0, 0.4)],
        *[(64, 1280, 0, 0.4), (128, 1280, 0, 0.5), (4, 80, 80, 0.6), (16, 160, 1000, 0.8)],
        *[(32, 640, 640, 0.9), (32, 640, 6400, 0.8), (128, 2560, 2560, 0.9)],
    ],
)
def test_losses_beyond_a_rate_are_a_policers(streams: int, most: float, bucket: float, named: float) -> None:
    """The others are undecided: their losses leave a rate about as steady."""
    rng = np.random.default_rng([streams, int(bucket)])
    runs = choose_runs(20)
    limits = [
        classify_limits(simulate(streams, rng, most=most, bucket=bucket)).flow.limit for _ in range(runs)
    ]
    assert limits.count(Limit.CONGESTION) <= 0.1 * runs
    assert limits.count(Limit.RATE_LIMIT) >= named * runs


def test_synchrony_counts_the_streams_that_lose_together() -> None:
    alone = np.zeros((8, 4))
    alone[np.arange(8), np.arange(8) % 4] = 6
    together = np.repeat(np.array([0.0, 9, 0, 0, 9, 0, 0, 9])[:, None], 4, axis=1)
    assert measure_synchrony(together) == pytest.approx(4)
    assert measure_synchrony(alone) == pytest.approx(0)  # never two at once
    assert measure_synchrony(alone[:, :1]) == pytest.approx(1)
    assert (measure_synchrony(np.zeros((9, 3))), measure_synchrony(together[:7])) == (None, None)
    with pytest.raises(UsageError, match="not known"):
        measure_synchrony([[float("nan")] * 2] * 8)
