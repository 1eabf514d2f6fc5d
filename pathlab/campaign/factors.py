"""Factor levels expanded into cells."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from pathlab.campaign.model import Factors


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One combination of factor levels; None leaves the choice to the kernel."""

    streams: int
    window_bytes: int | None
    congestion: str | None


def expand_cells(factors: Factors) -> tuple[Cell, ...]:
    """Return every combination of the levels, streams varying slowest, each in the order given."""
    combinations = itertools.product(factors.streams, factors.window_bytes, factors.congestion)
    return tuple(Cell(streams=s, window_bytes=w, congestion=c) for s, w, c in combinations)
