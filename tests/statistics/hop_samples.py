"""Simulated round trips to the hops of a path."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pathlab.analysis.fits.per_hop import HopSamples

Wait = Callable[[np.random.Generator, int], NDArray[np.float64]]
SIZES = np.linspace(600, 1500, 16)
RATES = (100e6, 20e6, 50e6)
DELAYS_NS = (1e6, 3e6, 2e6)
REPLY_BYTES = 576


def draw(
    rng: np.random.Generator, repeats: int, wait: Wait, rates: tuple[float, ...] = RATES
) -> list[HopSamples]:
    hops = []
    for hop in range(1, len(rates) + 1):
        sizes = np.tile(SIZES, repeats)
        slope = sum(8e9 / rate for rate in rates[:hop])
        rtt_ns = 2 * sum(DELAYS_NS[:hop]) + slope * (sizes + REPLY_BYTES) + wait(rng, sizes.size)
        hops.append(HopSamples(hop=hop, sizes_bytes=sizes, rtt_ns=rtt_ns, reply_bytes=REPLY_BYTES))
    return hops
