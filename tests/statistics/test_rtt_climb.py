"""Whether the RTT still rises at the end of a trial: on a filling queue, not on noise or a saw-tooth."""

import numpy as np
import pytest

from pathlab.analysis.estimators.latency import classify_rtt_climb
from tests.length import choose_runs
from tests.statistics.noise import check_share, draw_autoregressive

IDLE_NS, MARGIN_NS = 160e6, 8e6
MOST_RATIO = 0.05


def times(n: int) -> np.ndarray:
    return np.arange(n) * 50e6


@pytest.mark.parametrize("periods", [2.0, 3.5])
def test_a_saw_tooth_is_no_climb(periods: float) -> None:
    """A window that grows until a loss halves it: the end is high, and so it was before."""
    at = np.linspace(0, periods, 400)
    found = classify_rtt_climb(times(400), IDLE_NS + 50e6 * (at % 1.0), MARGIN_NS)
    assert found.rising is False


@pytest.mark.parametrize(("n", "correlation"), [(20, 0.0), (20, 0.8), (40, 0.5), (200, 0.8)])
def test_noise_is_hardly_ever_a_climb(n: int, correlation: float) -> None:
    """Noise of 10 ms about a level that stands; rises below the margin do not count."""
    rng = np.random.default_rng([n, round(10 * correlation)])
    runs = choose_runs(200)
    noise = IDLE_NS + 10e6 * draw_autoregressive(rng, runs, n, correlation)
    found = [classify_rtt_climb(times(n), row, 1e6).rising for row in noise]
    check_share(sum(one is True for one in found), runs, 0.0, MOST_RATIO)
