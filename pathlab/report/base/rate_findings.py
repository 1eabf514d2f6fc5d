"""The combinations of results whose median is no single rate, a sentence for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from pathlab.report.base.phrases import format_count
from pathlab.report.base.rate_text import describe_cell_steadiness, describe_hours, describe_modes
from pathlab.study.analyses import Analyses
from pathlab.study.base.answer import Answer
from pathlab.study.base.cells import MeasuredCondition
from pathlab.study.base.trials import Condition
from pathlab.study.flows.order import RateLevels
from pathlab.study.flows.steadiness import CellSteadiness

Result = TypeVar("Result")
Part = tuple[int | None, int | None]  # streams, window
#: Sentences that a list of combinations begins with at most.
SHOWN = 5


def describe_rate_findings(study: Analyses, conditions: Sequence[MeasuredCondition]) -> list[str]:
    """``a → b, 1 × auto: 159 Mbit/s on average, not steady: …``; of many combinations the first ones."""
    texts = list(_list_rates(study, conditions))
    left = len(texts) - SHOWN
    if left > 0:
        where = "pathlab analyze RESULTS --only steadiness --only rate_levels"
        return [*texts[:SHOWN], f"{format_count(left, 'more finding')}: {where}"]
    return texts


def _list_rates(study: Analyses, conditions: Sequence[MeasuredCondition]) -> Iterator[str]:
    steadiness = _by_cell(study.steadiness())
    levels = _by_cell(study.rate_levels())
    for condition in conditions:
        for cell in condition.all_cells:
            key = condition.key, (cell.streams, cell.window_bytes)
            for text in _describe_cell(steadiness.get(key), levels.get(key)):
                yield f"{condition.name}, {cell.name}: {text}."


def _describe_cell(steadiness: CellSteadiness | None, levels: RateLevels | None) -> Iterator[str]:
    if steadiness is not None and (text := describe_cell_steadiness(steadiness)):
        yield text
    if levels is not None:
        yield from describe_rate_levels(levels)


def describe_rate_levels(levels: RateLevels) -> Iterator[str]:
    """The levels, whether they took turns, and the hours at which the rate is low."""
    if levels.modes:
        turns = f", the rate changed between them {format_count(levels.spells - 1, 'time')}"
        yield f"{describe_modes(levels.modes)}{turns}"
    if text := describe_hours(levels.slow_hours):
        yield text


def _by_cell(
    answers: Iterable[Answer[Result]],
) -> dict[tuple[Condition, tuple[int | None, int | None]], Result]:
    return {(answer.condition, (answer.streams, answer.window_bytes)): answer.result for answer in answers}
