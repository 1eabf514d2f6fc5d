"""What every chapter is made from: the results, their analyses, and how they are named in figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pathlab.report.source import ResultsSource
from pathlab.report.summary import Summary
from pathlab.study.analyses import Analyses


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """One results file as the chapters read it; ``windows``: in the order of their slots in figures."""

    source: ResultsSource
    study: Analyses
    summary: Summary
    windows: Sequence[int | None]

    def slot(self, window_bytes: int | None) -> int:
        """The slot of a window (None: autotuned) in every figure; windows not planned come last."""
        found = list(self.windows)
        return found.index(window_bytes) if window_bytes in found else len(found)
