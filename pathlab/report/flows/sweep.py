"""The chapters on the number of streams: throughput and where it saturates, and what more of them cost."""

from __future__ import annotations

from collections.abc import Iterator

from pathlab.report.base.blocks import Question
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import LazyBlock, LazyFold, LazySection
from pathlab.report.flows.saturation import list_optimum_blocks, list_saturation_blocks
from pathlab.report.flows.views import VIEWS, list_view_blocks
from pathlab.study.base.cells import MeasuredCondition


def _varies(condition: MeasuredCondition) -> bool:
    """Whether one window, at least, was measured with several numbers of streams."""
    windows = [window for _, window in condition.levels]
    return len(windows) > len(set(windows))


def _list_blocks(inputs: ReportInputs) -> Iterator[LazyBlock]:
    for condition in filter(_varies, inputs.conditions):
        yield from list_view_blocks(condition, inputs, VIEWS[:1])
        yield from list_saturation_blocks(inputs, condition)


def _list_cost_blocks(inputs: ReportInputs) -> Iterator[LazyBlock]:
    for condition in filter(_varies, inputs.conditions):
        yield from list_view_blocks(condition, inputs, VIEWS[1:3])
        yield from list_optimum_blocks(inputs, condition)
        spread = tuple(list_view_blocks(condition, inputs, VIEWS[3:]))
        yield LazyFold(title=f"Spread of the RTT: {condition.name}", blocks=spread)


def _find_gap(inputs: ReportInputs) -> str | None:
    if any(map(_varies, inputs.conditions)):
        return None
    return "it needs more than one stream count for a window"


SECTION = LazySection(
    key="streams-sweep",
    title="Number of streams",
    find_gap=_find_gap,
    blocks=_list_blocks,
    question=Question.WHY,
    choose_setting=lambda _: "factors.streams=[1,2,4,8]",
)
COSTS = LazySection(
    key="streams-cost",
    title="Delay and loss by number of streams",
    find_gap=_find_gap,
    blocks=_list_cost_blocks,
    question=Question.COST,
    choose_setting=lambda _: "factors.streams=[1,2,4,8]",
)
