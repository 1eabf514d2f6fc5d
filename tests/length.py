"""How many runs a simulation makes, by ``PATHLAB_TEST_LENGTH``.

It is ``short`` in ``make test``, ``standard`` in the tier of statistics, ``full`` on request. Tests marked
``long`` run at full length alone.
"""

from __future__ import annotations

import os

LENGTHS = ("short", "standard", "full")
LENGTH = os.environ.get("PATHLAB_TEST_LENGTH", "standard")
if LENGTH not in LENGTHS:
    raise ValueError(f"PATHLAB_TEST_LENGTH is {LENGTH!r}, not one of {', '.join(LENGTHS)}")


def choose_runs(standard: int, *, short: int | None = None) -> int:
    """How many runs a simulation makes now: ``short``, by default a quarter, or ``standard``."""
    if LENGTH != "short":
        return standard
    return max(1, standard // 4) if short is None else short
