"""Simulated sweeps over streams: true curves of all families, and campaigns of noisy trials."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pathlab.analysis.fits.curve_fit import FitOptions
from pathlab.analysis.fits.models import Family
from pathlab.analysis.fits.saturation import Saturation, fit_saturation

Rows = NDArray[np.float64]

STREAMS = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 20], dtype=float)

# Published parameters of a path of some 100 Mbit/s, and the curve by its published formula, bit/s.
TRUTH: dict[Family, tuple[dict[str, float], Callable[[Rows, dict[str, float]], Rows]]] = {
    Family.LINEAR_THEN_FLAT: ({"b": 12e6, "C": 90e6}, lambda n, p: np.minimum(p["b"] * n, p["C"])),
    Family.LOSS_LIMITED: ({"k": 4e6}, lambda n, p: p["k"] * n),
    Family.LU: ({"a": 1e-16, "b": 4.4e-15}, lambda n, p: n / np.sqrt(p["a"] * n**2 + p["b"])),
    Family.YILDIRIM_POWER: (
        {"a": 5e-18, "b": 4.4e-15, "c": 2.8},
        lambda n, p: n / np.sqrt(p["a"] * n ** p["c"] + p["b"]),
    ),
    Family.YILDIRIM_QUADRATIC: (
        {"a": 4e-16, "b": -2.4e-15, "c": 9e-15},
        lambda n, p: n / np.sqrt(p["a"] * n**2 + p["b"] * n + p["c"]),
    ),
    Family.ALTMAN: ({"C": 1e8}, lambda n, p: p["C"] * (1 - 1 / (1 + 3 * n))),
    Family.UNIVERSAL: (
        {"lambda": 2e7, "sigma": 0.15, "kappa": 0.01},
        lambda n, p: p["lambda"] * n / (1 + p["sigma"] * (n - 1) + p["kappa"] * n * (n - 1)),
    ),
}


def true_rates(family: Family) -> Rows:
    """The family's true rates, bit/s."""
    parameters, curve = TRUTH[family]
    return curve(STREAMS, parameters)


def number_trials(cycles: int) -> tuple[Rows, Rows]:
    """Streams and cycle of each trial of a full sweep, cycle by cycle."""
    return np.tile(STREAMS, cycles), np.repeat(np.arange(cycles, dtype=float), len(STREAMS))


def draw_factors(kind: str, rng: np.random.Generator, cycles: int, cells: int = len(STREAMS)) -> Rows:
    """Factors of mean 1 for each trial, cycle by cycle: 10 % ``normal``, half of it ``shared`` by a cycle."""
    noise = rng.normal(size=(cycles, cells))
    if kind == "shared":
        noise = 0.7 * noise + 0.7 * rng.normal(size=(cycles, 1))
    return np.maximum(1 + 0.1 * noise, 0.0).ravel()


def simulate(
    family: Family, kind: str, cycles: int, rng: np.random.Generator, *, only: bool = False
) -> Saturation:
    streams, numbers = number_trials(cycles)
    rates = np.tile(true_rates(family), cycles) * draw_factors(kind, rng, cycles)
    families = frozenset([family]) if only else frozenset(Family)
    return fit_saturation(
        streams, rates, cycles=numbers, rng=rng, options=FitOptions(resamples=300), families=families
    )
