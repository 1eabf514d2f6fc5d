"""By how much trials of one combination vary within a cycle, for plans."""

from __future__ import annotations

import math

import numpy as np

from pathlab.study.base.selection import Rules, select
from pathlab.study.base.trials import TrialTable


def measure_noise(table: TrialTable) -> float | None:
    """Standard deviation of the logarithm of throughput of single trials, without combination and cycle.

    None unless a condition has two cycles in which at least two combinations were measured.

    Notes
    -----
    Residuals of an additive model of combinations and cycles without interaction, over the cycles that have
    every combination of a condition; squares and degrees of freedom are summed over conditions.
    """
    squares, freedom = 0.0, 0
    for sample in select(table, Rules(as_requested=True)):
        known = sample.take(sample.rates_bits_per_s > 0)
        cells = [part.average_cycles(np.log(part.rates_bits_per_s)) for *_, part in known.by_cell()]
        cycles = sorted(set.intersection(*map(set, cells))) if cells else []
        if len(cells) < 2 or len(cycles) < 2:
            continue
        logs = np.array([[cell[cycle] for cell in cells] for cycle in cycles])
        logs -= logs.mean(axis=1, keepdims=True)
        logs -= logs.mean(axis=0, keepdims=True)
        squares += float((logs**2).sum())
        freedom += (len(cycles) - 1) * (len(cells) - 1)
    return math.sqrt(squares / freedom) if freedom else None
