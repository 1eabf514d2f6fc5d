"""What every chapter is made from: the results, their analyses, and how they are named in figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pathlab.report.source import ResultsSource
from pathlab.report.summary import Summary
from pathlab.study.analyses import Analyses
from pathlab.study.answer import Answer
from pathlab.study.registry import ANALYSES

#: A page is written after every run: of each cell's trials so many are read for its limit and its warm-up.
TRIALS_PER_CELL = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """One results file as the chapters read it; ``windows``: in the order of their slots in figures."""

    source: ResultsSource
    study: Analyses
    summary: Summary
    windows: Sequence[int | None]
    known: dict[str, tuple[Answer[Any], ...]] = field(default_factory=dict)  # analyses done so far, by name

    def slot(self, window_bytes: int | None) -> int:
        """The slot of a window (None: autotuned) in every figure; windows not planned come last."""
        found = list(self.windows)
        return found.index(window_bytes) if window_bytes in found else len(found)

    def answers(self, name: str) -> tuple[Answer[Any], ...]:
        """The answers of an analysis, by its name in ``pathlab.study.document``; computed once."""
        if name not in self.known:
            if name == "limits":
                self.known[name] = self.study.limits(TRIALS_PER_CELL)
            elif name == "warm_up":
                self.known[name] = self.study.warm_up(TRIALS_PER_CELL)
            else:
                self.known[name] = ANALYSES[name](self.study)
        return self.known[name]
