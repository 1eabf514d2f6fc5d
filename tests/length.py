"""How many runs a simulation makes, by ``PATHLAB_TEST_LENGTH``.

It is ``short`` in ``make test``, ``standard`` in the tier of statistics, ``full`` on request. Tests marked
``long`` run at full length alone.
"""

import itertools
import os
from collections.abc import Iterable
from typing import Any

import pytest

LENGTHS = ("short", "standard", "full")
LENGTH = os.environ.get("PATHLAB_TEST_LENGTH", "standard")
if LENGTH not in LENGTHS:
    raise ValueError(f"PATHLAB_TEST_LENGTH is {LENGTH!r}, not one of {', '.join(LENGTHS)}")


def choose_runs(standard: int, *, short: int | None = None) -> int:
    """How many runs a simulation makes now: ``short``, by default a quarter, or ``standard``."""
    if LENGTH != "short":
        return standard
    return max(1, standard // 4) if short is None else short


def list_long(*levels: Iterable[Any], runs: int) -> list[Any]:
    """Every combination of the levels with so many runs, as parameters of a test: at full length alone."""
    return [pytest.param(*case, runs, marks=pytest.mark.long) for case in itertools.product(*levels)]
