"""An exploration in a terminal: title, a table of its points for each facet, and what is not shown."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from pathlab.printed_table import PrintedParagraph, PrintedTable
from pathlab.report.base.phrases import CUT_MARK
from pathlab.report.explorer import figure_csv
from pathlab.report.explorer.figure import FigureTexts, write_subject
from pathlab.study.exploration.exploration import (
    AgainstCurve,
    Exploration,
    ExploredAxis,
    Facet,
    PointState,
)
from pathlab.table_columns import TableColumn
from pathlab.units import NOT_MEASURED

#: More lines of a table than anyone reads; the rest is in the file that --output writes.
ROWS_MAX = 100
#: Significant digits of a value; its range has as many.
DIGITS = 4
WHOLE_MAX = 1e9


class ExplorationPrinter:
    """Prints one exploration; ``colour`` is the label of the column that curves are split by.

    ``selected`` of ``trials`` trials fit the view. Curves of results are named by their letters alone.
    """

    def __init__(
        self, exploration: Exploration, texts: FigureTexts, *, colour: str | None, selected: int, trials: int
    ) -> None:
        self.found, self.texts, self.colour = exploration, texts, colour
        self.selected, self.trials = selected, trials
        self.left_out = 0

    def print_to(self, console: Console) -> None:
        """Print everything; lines are as long as the console is wide."""
        result = self.found
        console.print(PrintedParagraph(write_subject(result, self.texts.statistic), "bold"))
        if result.title:
            console.print(PrintedParagraph(result.title, "dim"))
        console.print(PrintedParagraph(self._count()))
        for facet in result.facets:
            for axis in result.ys:
                self._print_measure(console, facet, axis)
        for axis in result.ys:
            against = [curve for curve in result.against or () if curve.y_column == axis.column]
            if against:
                self._print_against(console, axis, against)
        self._print_notes(console)

    def _count(self) -> str:
        counted = self.selected - sum(count for _, count in self.found.excluded)
        text = f"{counted} of {_name_trials(self.selected)} counted"
        if self.found.excluded:
            reasons = ", ".join(f"{count} {reason}" for reason, count in self.found.excluded)
            text += f"; not counted: {reasons}"
        if self.selected < self.trials:
            text += f". {self.trials - self.selected} of {self.trials} not selected"
        return f"{text}."

    def _print_measure(self, console: Console, facet: Facet, y: ExploredAxis) -> None:
        """The points of one facet and y column, curve by curve."""
        x = self.found.x
        columns = [
            TableColumn(self.colour or "Curve", left=True, wraps=True),
            TableColumn(x.label if x.ticks else _title(x)),
            TableColumn(_title(y)),
            TableColumn(_name_range(self.found.range), priority=1, left=True),
            TableColumn("Trials", priority=2),
        ]
        rows = [
            [
                self._name(curve.name.removesuffix(f", {y.label}")) if self.colour else "",
                format_point_place(x, point.x),
                NOT_MEASURED if point.y is None else format_measure(point.y),
                format_interval_ends(point.low, point.high, point.state) if self.found.range else "",
                str(point.trials),
            ]
            for curve in facet.curves
            if curve.y_column == y.column
            for point in curve.points
        ]
        if rows:
            named = [facet.name, y.label if len(self.found.ys) > 1 else ""]
            console.print()
            self._print_table(console, columns, rows, ", ".join(filter(None, named)))

    def _name(self, name: str) -> str:
        return name.partition(":")[0] if self.texts.by_results else name

    def _print_against(self, console: Console, y: ExploredAxis, curves: Sequence[AgainstCurve]) -> None:
        """Ratios or differences of one y column to the baseline."""
        change = self.texts.name_change()
        unit = f" ({y.unit})" if self.texts.difference and y.unit else ""
        columns = [
            TableColumn("Panel", priority=1, left=True, wraps=True),
            TableColumn(self.colour or "Curve", left=True, wraps=True),
            TableColumn(self.found.x.label),
            TableColumn(f"{change}{unit}"),
            TableColumn("95 % CI", priority=1, left=True),
            TableColumn("Trials", priority=2),
        ]
        rows = [
            [
                curve.facet,
                self._name(curve.name.removesuffix(f", {y.label}")),
                format_point_place(self.found.x, point.x),
                NOT_MEASURED if point.y is None else format_measure(point.y),
                format_interval_ends(point.low, point.high, point.state),
                f"{point.trials} and {point.baseline_trials}",
            ]
            for curve in curves
            for point in curve.points
        ]
        console.print()
        self._print_table(console, columns, rows, f"{y.label}: {change[0].lower()}{change[1:]}")

    def _print_table(
        self, console: Console, columns: Sequence[TableColumn], rows: list[list[str]], title: str
    ) -> None:
        self.left_out += max(0, len(rows) - ROWS_MAX)
        PrintedTable(columns=columns, rows=rows[:ROWS_MAX], title=title, elsewhere="--output").print_to(
            console
        )

    def _print_notes(self, console: Console) -> None:
        result = self.found
        notes = list(result.notes)
        if self.left_out:
            notes.append(f"{self.left_out} more lines: --output FILE.csv has all of them.")
        if result.undecided:
            points = "1 point is" if result.undecided == 1 else f"{result.undecided} points are"
            notes.append(f"{points} undecided: too few trials for an interval.")
        if result.excluded and sum(count for _, count in result.excluded) == self.selected:
            notes.append("No selected trial is usable. Add 'count=all' to include unusable trials.")
        if notes:
            console.print()
        for note in notes:
            console.print(PrintedParagraph(note))


def format_measure(value: float) -> str:
    """A value with four significant digits, a whole one without a point."""
    if value.is_integer() and abs(value) < WHOLE_MAX:
        return f"{value:.0f}"
    text = f"{value:#.{DIGITS}g}".removesuffix(".")
    return f"{value:.0f}" if "e+" in text and abs(value) < WHOLE_MAX else text


def format_interval_ends(low: float | None, high: float | None, state: PointState) -> str:
    """Both ends of a range, and whether it is cut; without one, whether it is undecided."""
    if low is not None and high is not None:
        mark = CUT_MARK if state is PointState.CUT else ""
        return (
            f"{format_measure(low)}–{format_measure(high)}{mark}"
            if low >= 0
            else f"{format_measure(low)} to {format_measure(high)}{mark}"
        )
    return state.value if state in (PointState.UNDECIDED, PointState.PROVISIONAL) else NOT_MEASURED


def format_point_place(axis: ExploredAxis, x: float) -> str:
    """Where a point is on the x axis: its level, its tick's label, or the number."""
    if axis.ticks and axis.tick_labels and x in axis.ticks:
        return axis.tick_labels[axis.ticks.index(x)]
    return figure_csv.format_csv_place(axis, x) if axis.levels or axis.kind == "time" else format_measure(x)


def _title(axis: ExploredAxis) -> str:
    return f"{axis.label} ({axis.unit})" if axis.unit else axis.label


def _name_range(text: str) -> str:
    return "95 % CI" if "confidence" in text or "interval" in text else text.capitalize()


def _name_trials(count: int) -> str:
    return "1 selected trial" if count == 1 else f"{count} selected trials"
