"""pathlab-engine against iperf3 and neper, and against itself: rates and CPU, as ratios with their range.

``python benchmarks/engine.py --help`` says how; README.md alongside it says what the columns mean.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from comparisons import plan_groups
from outcome import translate_faults
from rounds import Comparison, run_comparison
from testbeds import TESTBEDS

from tools import find_tools


@translate_faults
def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; 0 also where a target is missed, 2 for a wrong option, 3 where it cannot run."""
    comparison = Comparison(
        program="benchmarks/engine.py",
        about=__doc__,
        groups={testbed: plan_groups() for testbed in TESTBEDS},
        seconds=3,
        quiet_s=0.5,
    )
    return run_comparison(comparison, arguments, *find_tools("iperf3", "neper"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
