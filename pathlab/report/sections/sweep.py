"""The chapter on the number of streams: every figure against it, and where throughput saturates."""

from __future__ import annotations

from collections.abc import Iterator

from pathlab.report.inputs import ReportInputs
from pathlab.report.sections.lazy import LazyBlock, LazySection
from pathlab.report.sections.saturation import outline_saturation
from pathlab.report.sections.views import outline_views
from pathlab.study.cells import MeasuredCondition


def _varies(condition: MeasuredCondition) -> bool:
    """Whether one window, at least, was measured with several numbers of streams."""
    windows = [window for _, window in condition.levels]
    return len(windows) > len(set(windows))


def _outline(inputs: ReportInputs) -> Iterator[LazyBlock]:
    for condition in filter(_varies, inputs.conditions):
        yield from outline_views(condition, inputs)
        yield from outline_saturation(inputs, condition)


def _find_gap(inputs: ReportInputs) -> str | None:
    if any(map(_varies, inputs.conditions)):
        return None
    return "it needs more than one stream count for a window"


SECTION = LazySection(key="streams-sweep", title="Number of streams", find_gap=_find_gap, outline=_outline)
