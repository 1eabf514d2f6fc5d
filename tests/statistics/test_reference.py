"""Values from R, from textbooks and from arithmetic by hand; the call or the sum stands beside each."""

import numpy as np
import pytest

from pathlab.analysis.estimators.fairness import jain_index
from pathlab.analysis.estimators.loss import probe_loss
from pathlab.analysis.estimators.quantiles import median_interval, median_interval_minimum, quartiles
from pathlab.analysis.estimators.throughput import effective_window
from pathlab.analysis.libraries import stats
from pathlab.store.steady import measure_steady


@pytest.mark.parametrize(
    ("lost", "sent", "low", "high"),
    [
        # Newcombe, Statistics in Medicine 17, 1998, table I, method 3 (score without correction);
        # R: prop.test(81, 263, correct = FALSE)$conf.int
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_interval_is_newcombes(lost: int, sent: int, low: float, high: float) -> None:
    loss = probe_loss(sent, sent - lost)
    assert loss.loss_ratio == lost / sent
    assert loss.interval_ratio.low == pytest.approx(low, abs=5e-5)
    assert loss.interval_ratio.high == pytest.approx(high, abs=5e-5)


@pytest.mark.parametrize("n", [5, 10, 21, 200])
def test_wilson_interval_holds_most_ratios_as_often_as_it_says_and_rare_losses_less(n: int) -> None:
    """Summed over all outcomes, not drawn."""
    intervals = [probe_loss(n, n - lost).interval_ratio for lost in range(n + 1)]
    ratios = np.linspace(1e-4, 0.5, 2000)
    held = np.array([[interval.contains(ratio) for interval in intervals] for ratio in ratios])
    coverage = np.sum(stats.binom.pmf(np.arange(n + 1), n, ratios[:, None]) * held, axis=1)
    assert 0.95 <= np.mean(coverage) <= 0.956
    assert 0.83 <= np.min(coverage) <= 0.86
    assert 0.15 < n * ratios[np.argmin(coverage)] < 0.2


def test_quartiles_are_rs_type_7() -> None:
    # R: quantile(c(6, 7, 15, 36, 39, 40, 41, 42, 43, 47, 49), c(.25, .5, .75), type = 7)  ->  25.5 40.0 42.5
    found = quartiles([6, 7, 15, 36, 39, 40, 41, 42, 43, 47, 49])
    assert (found.q1, found.median, found.q3, found.iqr) == (25.5, 40.0, 42.5, 17.0)
    # R: quantile(c(7, 15, 36, 39, 40, 41), c(.25, .5, .75), type = 7)  ->  20.25 37.50 39.75
    found = quartiles([7, 15, 36, 39, 40, 41])
    assert (found.q1, found.median, found.q3, found.iqr) == (20.25, 37.5, 39.75, 19.5)


@pytest.mark.parametrize(
    ("shares", "index"),
    [
        ([1, 1, 1, 1], 1.0),
        ([1, 0, 0, 0], 0.25),  # one of n has all: 1/n
        ([3, 3, 0], 2 / 3),  # k of n share equally: k/n
        ([1, 2, 3], 36 / 42),  # (1 + 2 + 3)^2 / (3 (1 + 4 + 9))
        ([5e18, 5e18], 1.0),  # squares beyond 64 bits
    ],
)
def test_jain_index_by_hand(shares: list[float], index: float) -> None:
    assert jain_index(shares) == pytest.approx(index, rel=1e-12)


@pytest.mark.parametrize(
    ("n", "low_rank", "high_rank", "coverage"),
    [
        # R: qbinom(.025, n, .5) is the lower rank; the coverage is 1 - 2 * pbinom(rank - 1, n, .5)
        (6, 1, 6, 1 - 2 / 64),
        (9, 2, 8, 1 - 2 * 10 / 512),
        (10, 2, 9, 1 - 2 * 11 / 1024),
        (21, 6, 16, 0.9733963),
        (200, 86, 115, 0.9599628),
    ],
)
def test_median_interval_takes_the_textbook_ranks(
    n: int, low_rank: int, high_rank: int, coverage: float
) -> None:
    found = median_interval(np.arange(1, n + 1))
    assert (found.low, found.high) == (low_rank, high_rank)
    assert found.coverage_ratio == pytest.approx(coverage, abs=1e-6)


@pytest.mark.parametrize(("confidence", "n"), [(0.95, 6), (0.5, 2), (0.99, 8), (0.9, 5)])
def test_smallest_sample_of_a_median_interval(confidence: float, n: int) -> None:
    assert median_interval_minimum(confidence) == n
    assert median_interval(np.arange(n), confidence).decided
    assert not median_interval(np.arange(n - 1), confidence).decided


def test_rates_by_hand() -> None:
    assert measure_steady([1_000_000, 3_000_000], 2_000_000_000)["throughput_bits_per_s"] == 16e6
    # 4 streams of 64 KiB at 40 ms carry 4 x 65536 x 8 / 0.04 bit/s, and back
    assert effective_window(4 * 65536 * 8 / 0.04, 4, 40e6) == pytest.approx(65536)
