"""The stop rule stops when it may, not before, and its intervals are still worth something."""

import numpy as np
import pytest

from pathlab.analysis.planning.stopping import StopRule, evaluate_stop_rule
from tests.length import choose_runs
from tests.statistics.noise import check_share

RULE = StopRule(half_width_ratio=0.05, minimum_cycles=10, maximum_cycles=60)


@pytest.mark.parametrize("runs", [choose_runs(60), pytest.param(1000, marks=pytest.mark.long)])
def test_coverage_at_the_stop(runs: int) -> None:
    """Asking after each cycle costs some of the 95 %; no more than the documentation says."""
    rng = np.random.default_rng(runs)
    held = stopped = 0
    for draws in rng.lognormal(0, 0.1, (runs, 60)):
        cycles = next(n for n in range(10, 61) if evaluate_stop_rule({"cell": draws[:n]}, n, RULE).stop)
        cell = evaluate_stop_rule({"cell": draws[:cycles]}, cycles, RULE).cells[0]
        held += cell.interval.contains(1.0)
        stopped += cell.reached
    check_share(held, runs, 0.92, 1 - 1e-9)
    assert stopped > 0.6 * runs
