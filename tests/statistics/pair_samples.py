"""Simulated cycles with a trial of each side."""

from __future__ import annotations

import numpy as np

from pathlab.analysis.verdicts.pairs import PairedComparison, compare_pairs


def compare(streams: object, windows: object) -> PairedComparison:
    return compare_pairs(np.asarray(streams, dtype=float), np.asarray(windows, dtype=float))


def draw_cycles(
    rng: np.random.Generator, n: int, ratio: float = 1.0, spread: float = 0.1
) -> tuple[np.ndarray, np.ndarray]:
    """Rates of both sides in bit/s: the cycles differ, each trial has log-normal noise of its own."""
    cycle = 5e8 * rng.lognormal(0, 0.2, n)
    return cycle * ratio * rng.lognormal(0, spread, n), cycle * rng.lognormal(0, spread, n)
