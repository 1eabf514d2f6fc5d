"""The analysis functions on own numbers, without any results: analyze_arrays.py"""

import numpy as np

from pathlab.analysis.estimators.serial import ordered_median_interval
from pathlab.analysis.fits.saturation import fit_saturation
from pathlab.analysis.verdicts.pairs import compare_pairs

rng = np.random.default_rng(1)  # what draws takes its generator: equal seeds give equal results

# A median of values in the order of their cycles, bit/s; the interval allows for serial correlation.
rates = 38e6 * rng.lognormal(0, 0.02, 20)
interval = ordered_median_interval(rates)
if interval.low is not None and interval.high is not None:
    low, high = interval.low / 1e6, interval.high / 1e6
    print(f"median {np.median(rates) / 1e6:.1f} Mbit/s, 95 % CI {low:.1f}-{high:.1f}")

# 8 streams with small windows against 2 with large ones, cycle by cycle.
found = compare_pairs(rates, 1.2 * rates * rng.lognormal(0, 0.02, 20))
print(f"more streams or larger windows: {found.verdict}")

# Throughput over streams, flat from 8 streams on.
streams = np.tile([1, 2, 4, 8, 12, 16], 6)
cycles = np.repeat(np.arange(6), 6)
curve = fit_saturation(
    streams, np.minimum(5e6 * streams, 38e6) * rng.lognormal(0, 0.01, 36), cycles=cycles, rng=rng
)
if curve.capacity.value is None:
    print(f"capacity undecided: {curve.capacity.interval.undecided}")
else:
    print(f"capacity {curve.capacity.value / 1e6:.1f} Mbit/s, 90 % of it from {curve.n_90.value} streams")
