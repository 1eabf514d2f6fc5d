"""More streams against larger windows, at equal streams x window, in pairs within a cycle."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pathlab.analysis.interval import Interval
from pathlab.analysis.quantiles import median_interval, quartiles
from pathlab.report.summary import Cell, PathSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two cells of equal product. ``ratio`` is many-streams over large-window rate, median over cycles."""

    many: Cell  # more streams, smaller windows
    large: Cell  # fewer streams, larger windows
    pairs: int  # cycles in which both were measured
    ratio: float | None
    interval_ratio: Interval

    @property
    def verdict(self) -> str:
        """``streams``, ``windows``, ``no-difference-shown`` or ``undecided`` (too few pairs)."""
        low, high = self.interval_ratio.low, self.interval_ratio.high
        if low is None or high is None:
            return "undecided"
        if low > 1:
            return "streams"
        return "windows" if high < 1 else "no-difference-shown"


def compare_products(summary: PathSummary) -> tuple[Comparison, ...]:
    """Every pair of measured cells with equal streams x window and congestion control, by product."""
    cells = [cell for cell in summary.measured if cell.product_bytes is not None]
    found = [
        compare_cells(many, large)
        for many in cells
        for large in cells
        if many.product_bytes == large.product_bytes
        and many.congestion == large.congestion
        and many.streams > large.streams
    ]
    return tuple(sorted(found, key=lambda c: (c.many.product_bytes or 0, c.many.streams, c.large.streams)))


def compare_cells(many: Cell, large: Cell) -> Comparison:
    """Compare two cells cycle by cycle.

    The interval is the distribution-free one of the median log ratio, so that it needs six cycles at 95 %. It
    assumes that cycles are independent of each other.
    """
    first, second = _rate_by_cycle(many), _rate_by_cycle(large)
    ratios = [
        math.log(first[cycle] / second[cycle])
        for cycle in sorted(first.keys() & second.keys())
        if first[cycle] > 0 and second[cycle] > 0
    ]
    interval, middle = median_interval(ratios), quartiles(ratios).median
    return Comparison(
        many=many,
        large=large,
        pairs=len(ratios),
        ratio=None if middle is None else math.exp(middle),
        interval_ratio=Interval(
            low=None if interval.low is None else math.exp(interval.low),
            high=None if interval.high is None else math.exp(interval.high),
            n=interval.n,
            confidence_ratio=interval.confidence_ratio,
            coverage_ratio=interval.coverage_ratio,
            method=interval.method,
            undecided=interval.undecided,
        ),
    )


def _rate_by_cycle(cell: Cell) -> dict[int, float]:
    return {
        trial.record.cycle: trial.record.throughput_bits_per_s
        for trial in cell.trials
        if trial.record.throughput_bits_per_s is not None
    }
