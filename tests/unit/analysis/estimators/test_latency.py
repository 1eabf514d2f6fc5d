"""Round trips that rise: measured queues, lost probes and reasons."""

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.latency import classify_rtt_climb

IDLE_NS, MARGIN_NS = 160e6, 8e6
#: Loaded probes of streams-sweep, profile quick, in ms: 4 x 256 kB, whose queue was filling, and 12 x 64 kB.
FILLING = (
    *(162.5, 162.1, 165.0, 165.0, 166.6, 168.6, 169.1, 170.3, 172.8, 174.4),
    *(175.0, 176.5, 178.8, 180.9, 181.0, 182.6, 185.0, 186.3, 187.1, 188.7),
)
FILLED = (
    *(197.0, 199.1, 201.1, 203.1, 208.0, 208.0, 207.6, 208.5, 209.7, 210.9),
    *(210.9, 210.6, 210.2, 211.1, 210.7, 210.3, 211.2, 210.8, 210.9, 211.3),
)


def times(n: int) -> np.ndarray:
    return np.arange(n) * 50e6


def test_measured_queues_that_fill_and_that_have_filled() -> None:
    filling = classify_rtt_climb(times(20), 1e6 * np.array(FILLING), MARGIN_NS)
    assert filling.rising
    assert filling.rise_ns == pytest.approx(13e6, rel=0.1)
    assert classify_rtt_climb(times(20), 1e6 * np.array(FILLED), MARGIN_NS).rising is False


def test_lost_probes_are_left_out_and_too_few_are_undecided() -> None:
    holes = 1e6 * np.array(FILLING)
    holes[[3, 11]] = np.nan
    assert classify_rtt_climb(times(20), holes, MARGIN_NS).n == 18
    holes[4:] = np.nan
    found = classify_rtt_climb(times(20), holes, MARGIN_NS)
    assert (found.rising, found.undecided) == (None, Undecided.TOO_FEW_SAMPLES)
