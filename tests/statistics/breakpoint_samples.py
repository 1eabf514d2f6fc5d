"""Simulated trials whose delay rises faster beyond a throughput."""

import numpy as np

from pathlab.analysis.fits.breakpoints import Breakpoint, find_breakpoint
from tests.statistics.noise import draw_autoregressive

BREAK, BEFORE, AFTER = 60e6, 2e-8, 8.2e-7


def simulate(
    kind: str, cycles: int, trials: int, rng: np.random.Generator, *, broken: bool = True
) -> Breakpoint:
    """DRTT, ms, over throughput, bit/s: scatter constant, growing with the throughput, or serial.

    ``serial`` is shared by the trials of a cycle at 0.5, ``serial cells`` is each cell's own at 0.7, ``serial
    both`` half of each at 0.7.
    """
    numbers, cells = np.repeat(np.arange(cycles), trials), np.tile(np.arange(trials), cycles)
    x = rng.uniform(10e6, 90e6, numbers.size)
    noise = rng.normal(size=x.size)
    if kind == "skewed":
        noise = (rng.lognormal(-0.045, 0.3, x.size) - 1) * x / 2e7
    elif kind == "serial":
        noise = 0.7 * (noise + draw_autoregressive(rng, 1, cycles)[0][numbers] * np.sqrt(0.75))
    elif kind in {"serial cells", "serial both"}:
        x = (x[:trials])[cells] + rng.uniform(-1e6, 1e6, numbers.size)
        own, shared = (draw_autoregressive(rng, rows, cycles, 0.7).T * np.sqrt(0.51) for rows in (trials, 1))
        noise = (own if kind == "serial cells" else np.sqrt(0.5) * (own + shared)).ravel()
    y = 5 + BEFORE * x + (AFTER - BEFORE) * np.maximum(0, x - BREAK) * broken + 2 * noise
    return find_breakpoint(x, y, cycles=numbers, cells=cells, rng=rng)
