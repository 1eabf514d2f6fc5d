"""The figure of the first screen: throughput and RTT increase of every combination, the answer marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.quantiles import median_interval_minimum
from pathlab.quantities import DisplayUnit
from pathlab.report.base import quantities as of
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import Drawing, LazyPlot, lazy_plot
from pathlab.report.base.names import enumerate_cells
from pathlab.report.base.points import draw_clouds, draw_spreads, gather
from pathlab.report.base.quantities import Quantity
from pathlab.report.flows.views import build_streams_axis, place_streams
from pathlab.report.plots.model import Axis, Layer, Panel, Points, Rule, Scale
from pathlab.report.plots.style import INK_SLOT
from pathlab.store.flags import Flag
from pathlab.study.base.cells import Cell, Levels, MeasuredCondition
from pathlab.study.base.selection import Sample
from pathlab.study.flows.recommendation import Recommendation
from pathlab.units import format_rate, format_time, format_window

TITLE = "Throughput and RTT increase by streams and window"
#: A line that is farther away than this many times the largest value would flatten everything below it.
FAR_FACTOR = 4.0
#: Why the trials of a combination do not count, as a caption says it; any other reason is its own word.
OPEN_WORDS = {
    str(Flag.LAB_LIMITED): "measured while the machine was too busy",
    str(Flag.HOST_LIMITED): "a host's CPU limited the rate",
    str(Flag.HOST_STALLED): "a program was stopped or starved",
}
PANELS = (of.THROUGHPUT, replace(of.RISE_MEAN, label="RTT increase under load (dRTT)"))


def defer_answer_figure(inputs: ReportInputs, condition: MeasuredCondition) -> LazyPlot:
    """The figure ``answer-N`` of a condition."""
    return lazy_plot(condition, "answer", TITLE, plot_answer, inputs, condition)


def plot_answer(inputs: ReportInputs, condition: MeasuredCondition) -> Drawing:
    """Medians with their intervals over streams, a series for each window; over windows for one stream count.

    Trials are drawn where they are too few for an interval. Open markers are provisional, or of combinations
    that measured a host or another window.
    """
    answers = inputs.answers("recommendation", condition)
    scene = _Scene(inputs=inputs, condition=condition, answer=answers[0].result if answers else None)
    result = [(quantity, panel) for quantity in PANELS if (panel := scene.draw_panel(quantity)) is not None]
    return Drawing(
        sentences=tuple(scene.describe([quantity for quantity, _ in result])),
        panels=tuple(panel for _, panel in result),
        empty="no trial with a throughput completed",
    )


@dataclass(frozen=True)
class _Scene:
    """What both panels share: the combinations, their places on the x axis and the answer."""

    inputs: ReportInputs
    condition: MeasuredCondition
    answer: Recommendation | None

    @cached_property
    def provisional(self) -> tuple[Cell, ...]:
        """Combinations whose numbers are no property of the path."""
        candidates = () if self.answer is None else self.answer.candidates
        refused = {
            candidate.levels
            for candidate in candidates
            if candidate.exclusion is not None or not candidate.testable
        }
        return tuple(
            cell for cell in self.condition.measured_cells if not len(cell.sample) or _levels(cell) in refused
        )

    @cached_property
    def firm(self) -> tuple[Cell, ...]:
        """The other combinations."""
        apart = {_levels(cell) for cell in self.provisional}
        return tuple(cell for cell in self.condition.cells if _levels(cell) not in apart)

    @cached_property
    def over_windows(self) -> bool:
        """Whether x is the window: there is one number of streams, and several windows."""
        return len({streams for streams, _ in self.condition.levels}) == 1 < len(self.condition.levels)

    @cached_property
    def axis(self) -> Axis:
        """The x axis, marked at the measured levels; autotuned windows follow the largest size."""
        if not self.over_windows:
            levels = sorted({streams for streams, _ in self.condition.levels})
            scale = Scale.LOG2 if len(levels) > 1 else Scale.LINEAR
            return replace(build_streams_axis(levels), scale=scale)
        windows = self.condition.every_window
        return Axis(
            label="Window",
            scale=Scale.LOG2,
            ticks=tuple(self._place_window(window) for window in windows),
            tick_labels=tuple(format_window(window) for window in windows),
        )

    def _place_window(self, window_bytes: int | None) -> float:
        sizes = [size for size in self.condition.every_window if size is not None]
        return float(2 * sizes[-1] if window_bytes is None else window_bytes)

    def place(self, cells: Sequence[Cell]) -> Floats:
        """The places of combinations of one window on the x axis."""
        if self.over_windows:
            return np.array([self._place_window(cell.window_bytes) for cell in cells])
        streams = np.array([float(cell.streams) for cell in cells])
        windows = self.condition.every_window
        return place_streams(streams, self.axis, windows.index(cells[0].window_bytes), len(windows))

    def list_series(self, cells: Sequence[Cell]) -> Iterator[tuple[str, int, list[Cell]]]:
        """Name, slot and combinations of each series."""
        if self.over_windows:
            if cells:
                streams = cells[0].streams
                yield f"{streams} stream{'' if streams == 1 else 's'}", 0, list(cells)
            return
        for window in self.condition.every_window:
            series = [cell for cell in cells if cell.window_bytes == window]
            if series:
                yield f"window {format_window(window)}", self.inputs.slot(window), series

    def draw_panel(self, quantity: Quantity) -> Panel | None:
        """The panel of one quantity; None where no trial has it."""
        values = quantity.take(self.condition.complete)
        if np.isnan(values).all():
            return None
        unit = quantity.choose_unit(values)
        layers: list[Layer] = [*self._draw_trials(quantity, unit)]
        firm = list(self.list_series(self.firm))
        for name, slot, cells in firm:
            spreads = [cell.measure(quantity.take) for cell in cells]
            curve = draw_spreads(name, self.place(cells), spreads, unit.size, slot)
            layers.append(replace(curve, filled=True))
        layers += self._draw_provisional(quantity, unit, {name for name, _, _ in firm})
        layers += self._draw_lines(quantity, unit, values)
        layers += self._draw_ring(quantity, unit)
        return Panel(
            x=self.axis,
            y=Axis(label=quantity.short or quantity.label, unit=unit.unit, from_zero=True),
            layers=tuple(layers),
            title=quantity.label,
        )

    def _draw_trials(self, quantity: Quantity, unit: DisplayUnit) -> Iterator[Layer]:
        """The trials of combinations whose median has no interval."""
        few = [cell for cell in self.firm if not cell.measure(quantity.take).interval.decided]
        clouds = []
        for name, slot, cells in self.list_series(few):
            across = Quantity(label=self.axis.label, take=self._place_trials)
            clouds.append(gather(name, slot, cells, (across, quantity)))
        for layer in draw_clouds(clouds, (1.0, unit.size), self.inputs.points).layers:
            yield replace(layer, outlier=None)

    def _place_trials(self, sample: Sample) -> Floats:
        """The places of trials of one window on the x axis."""
        placed = np.full(len(sample), np.nan)
        for cell in self.condition.cells:
            placed[np.isin(sample.places, cell.sample.places)] = self.place([cell])[0]
        return placed

    def _draw_provisional(self, quantity: Quantity, unit: DisplayUnit, named: set[str]) -> Iterator[Layer]:
        """Medians of provisional combinations; the legend names a series that has no others."""
        for name, slot, cells in self.list_series(self.provisional):
            middles = [
                replace(cell, sample=_choose_sample(cell)).measure(quantity.take).median for cell in cells
            ]
            known = np.array([np.nan if value is None else value for value in middles])
            yield Points(
                name=name if name in named else f"{name} (provisional)",
                x=self.place(cells),
                y=known / unit.size,
                slot=slot,
                hover=tuple(f"{cell.name}, provisional" for cell in cells),
                legend=name not in named,
                hollow=True,
            )

    def _draw_lines(self, quantity: Quantity, unit: DisplayUnit, values: Floats) -> Iterator[Rule]:
        """The payload rate of the lab's link or the fitted capacity, or the delay of a full queue."""
        name, value = self._find_line(quantity)
        if value is not None and value <= FAR_FACTOR * float(np.nanmax(values)):
            yield Rule(name=name, value=value / unit.size, labelled=True)

    def _find_line(self, quantity: Quantity) -> tuple[str, float | None]:
        """The name and the value of a quantity's reference line; None where it is not known."""
        if quantity is not PANELS[0]:
            link = self.condition.direct_link
            delay = None if link is None else link.full_queue_ns
            return f"delay of a full queue: {format_time(delay)}", delay
        if self.condition.bottleneck is not None:
            rate = self.condition.bottleneck.data_bits_per_s
            return f"link rate minus headers: {format_rate(rate)}", rate
        capacity = None if self.answer is None or self.answer.capacity is None else self.answer.capacity.value
        return f"fitted capacity: {format_rate(capacity)}", capacity

    def _draw_ring(self, quantity: Quantity, unit: DisplayUnit) -> Iterator[Layer]:
        """The ring around the recommended combination."""
        chosen = None if self.answer is None else self.answer.recommended
        if chosen is None:
            return
        median = chosen.throughput_bits_per_s.median if quantity is PANELS[0] else chosen.drtt_ns.median
        cells = [cell for cell in self.condition.measured_cells if _levels(cell) == chosen.levels]
        if median is not None and cells:
            yield Points(
                name="recommended",
                x=self.place(cells),
                y=np.array([median / unit.size]),
                slot=INK_SLOT,
                legend=False,
                callout="recommended",
            )

    def _explain_open(self) -> str:
        """Why combinations are drawn open; without a name where all are for the same reason."""
        named: dict[str, list[Cell]] = {}
        for cell in self.provisional:
            reasons = {str(exclusion.reason) for exclusion in self.condition.count_exclusions(cell)}
            words = " or ".join(sorted(OPEN_WORDS.get(reason, reason) for reason in reasons))
            named.setdefault(words or "not usable", []).append(cell)
        if len(named) == 1:
            return next(iter(named))
        return "; ".join(f"{enumerate_cells(map(_levels, cells))}, {words}" for words, cells in named.items())

    def describe(self, shown: Sequence[Quantity]) -> Iterator[str]:
        """What the marks mean, and what is beyond the axes."""
        cut = any(cell.throughput.interval.cut for cell in self.firm)
        yield f"Markers: medians; bars: 95 % CI{', cut at the range of the trials' if cut else ''}."
        if not all(cell.throughput.interval.decided for cell in self.firm):
            counts = [cell.throughput.n for cell in self.firm if not cell.throughput.interval.decided]
            few = all(count < median_interval_minimum() for count in counts)
            where = (
                f"fewer than {median_interval_minimum()}" if few else "a median has no confidence interval"
            )
            yield f"Dots: single trials, where {where}."
        if self.provisional:
            yield f"Open: {self._explain_open()}."
        for quantity in shown:
            values = quantity.take(self.condition.complete)
            name, value = self._find_line(quantity)
            if value is not None and value > FAR_FACTOR * float(np.nanmax(values)):
                yield f"Beyond the axis: {name}."


def _choose_sample(cell: Cell) -> Sample:
    return cell.shown if len(cell.shown) else cell.complete


def _levels(cell: Cell) -> Levels:
    return cell.streams, cell.window_bytes
