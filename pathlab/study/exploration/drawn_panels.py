"""Axes and panels of one view, before they are named."""

from __future__ import annotations

from dataclasses import dataclass

from pathlab.study.exploration.exploration import AgainstCurve, ExploredAxis, Facet


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnPanels:
    """What is drawn; ``notes`` say what is not shown. ``against``: None without a baseline."""

    x: ExploredAxis
    ys: tuple[ExploredAxis, ...]
    facets: tuple[Facet, ...]
    notes: tuple[str, ...]
    against: tuple[AgainstCurve, ...] | None = None
