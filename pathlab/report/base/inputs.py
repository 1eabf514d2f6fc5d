"""The inputs of every chapter: the results, their conditions and analyses, and the colours of windows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pathlab.study.analyses import Analyses
from pathlab.study.base.answer import Answer
from pathlab.study.base.cells import MeasuredCondition
from pathlab.study.base.registry import ANALYSES
from pathlab.study.base.trials import StudySource
from pathlab.study.flows.recommendation import LIMIT_TRIALS

#: Trials drawn in one figure, and in all figures of one kind.
POINTS_PER_FIGURE = 400
POINTS_IN_ALL = 1600
POINTS_LEAST = 120


@dataclass(frozen=True)
class ReportInputs:
    """One results file as the chapters read it."""

    study: Analyses

    @property
    def source(self) -> StudySource:
        """The source of trials and series."""
        return self.study.study_source

    @cached_property
    def conditions(self) -> tuple[MeasuredCondition, ...]:
        """Every condition with a complete trial of a stream of bytes, control rows left out."""
        return tuple(
            condition
            for condition in self.study.conditions()
            if condition.number and not condition.key.is_of_messages
        )

    @cached_property
    def message_conditions(self) -> tuple[MeasuredCondition, ...]:
        """Every condition with a complete trial of messages, which have chapters of their own."""
        return tuple(
            condition
            for condition in self.study.conditions()
            if condition.number and condition.key.is_of_messages
        )

    @cached_property
    def windows(self) -> list[int | None]:
        """Every window that was planned, in the order of their slots in figures: autotuned last."""
        result = {cell.window_bytes for condition in self.study.conditions() for cell in condition.all_cells}
        return sorted(result, key=lambda size: (size is None, size or 0))

    @property
    def points(self) -> int:
        """Trials that one figure may draw: fewer, where there are many conditions."""
        most = POINTS_IN_ALL // max(len(self.conditions), 1)
        return int(np.clip(most, POINTS_LEAST, POINTS_PER_FIGURE))

    def slot(self, window_bytes: int | None) -> int:
        """The slot of a window (None: autotuned) in every figure; windows not planned come last."""
        return self.windows.index(window_bytes) if window_bytes in self.windows else len(self.windows)

    def answers(self, name: str, condition: MeasuredCondition | None = None) -> tuple[Answer[Any], ...]:
        """The answers of an analysis, by its name in the registry; computed once.

        ``condition``: only those on it.
        """
        result: tuple[Answer[Any], ...]
        if name == "limits":
            result = self.study.limits(LIMIT_TRIALS)
        elif name == "warm_up":
            result = self.study.warm_up(LIMIT_TRIALS)
        else:
            result = ANALYSES[name](self.study)
        return tuple(item for item in result if condition is None or item.condition == condition.key)


def find_first_number(conditions: Iterable[MeasuredCondition]) -> int:
    """The number of a figure that several conditions share: that of the one measured first."""
    return min(condition.number for condition in conditions)
