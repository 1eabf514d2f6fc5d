"""Throughput against streams, windows and time: comparisons, fits and plans, per condition."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.trend import ChangeBound, bound_change
from pathlab.analysis.fits.optimum import OptimalStreams, find_optimal_streams
from pathlab.analysis.fits.saturation import Saturation, fit_saturation
from pathlab.analysis.fits.surface import Surface, fit_surface
from pathlab.analysis.planning.cycles import CyclePlan, plan_cycles
from pathlab.analysis.verdicts.cycle_permutation import compare_within_cycles
from pathlab.analysis.verdicts.pairs import (
    CostComparison,
    PairedComparison,
    compare_cost,
    compare_pairs,
    correct_comparisons,
    match_pairs,
)
from pathlab.study.base.answer import Answer, StudyOptions, make_answer, make_cell_answer
from pathlab.study.base.selection import BELOW_ONE, NOT_POSITIVE, Rules, Sample, select
from pathlab.study.base.trials import TrialTable
from pathlab.study.measures import list_measures

AUTOTUNED = "autotuned"
Cell = tuple[int, int]  # streams, window requested in bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsVsWindows:
    """Two cells of equal streams x window: ``many`` has more streams, ``large`` larger windows.

    P-values and the verdict allow for all comparisons of the condition: ``pairs.correct_comparisons``.
    """

    product_bytes: int
    many_streams: int
    many_window_bytes: int
    large_streams: int
    large_window_bytes: int
    comparison: PairedComparison
    costs: tuple[CostComparison, ...]

    @property
    def name(self) -> str:
        """``8 x 65536 : 2 x 262144``."""
        many = f"{self.many_streams} x {self.many_window_bytes}"
        return f"{many} : {self.large_streams} x {self.large_window_bytes}"


def compare_streams_and_windows(
    table: TrialTable,
) -> tuple[Answer[StreamsVsWindows], ...]:
    """Every two cells of equal product, cycle by cycle, by ``pairs.compare_pairs`` and ``compare_cost``.

    A cell is named by the window requested; trials whose grant falls short of it are left out and counted.
    """
    answers: list[Answer[StreamsVsWindows]] = []
    for sample in select(table, Rules(as_requested=True, windowed=True)):
        pairs = _find_equal_products(sample)
        if not pairs:
            continue
        spread = {
            cost.key: _by_cycle(sample, cost.read_combination(sample)) for cost in list_measures("pairs")
        }
        rates = _by_cycle(sample, sample.rates_bits_per_s)
        tests = sample.drawn_tests(len(pairs))
        compared = [compare_pairs(rates[many], rates[large], drawn_tests=tests) for many, large in pairs]
        corrected = correct_comparisons(compared, _permute(rates, pairs) if tests else None)
        for (many, large), comparison in zip(pairs, corrected, strict=True):
            result = StreamsVsWindows(
                product_bytes=many[0] * many[1],
                many_streams=many[0],
                many_window_bytes=many[1],
                large_streams=large[0],
                large_window_bytes=large[1],
                comparison=comparison,
                costs=tuple(
                    compare_cost(name, cost[many], cost[large], drawn_tests=sample.drawn_tests(1))
                    for name, cost in spread.items()
                ),
            )
            taken = _in_cell(sample, many) | _in_cell(sample, large)
            selection = sample.take(taken).selection
            answers.append(Answer(condition=sample.condition, selection=selection, result=result))
    return tuple(answers)


def fit_saturations(
    table: TrialTable, rng: np.random.Generator, options: StudyOptions
) -> tuple[Answer[Saturation], ...]:
    """The saturation families for each window, by ``saturation.fit_saturation``."""
    return tuple(
        make_cell_answer(
            part,
            (None, window),
            fit_saturation(
                part.streams, part.rates_bits_per_s, cycles=part.cycles, rng=rng, options=options.fit
            ),
        )
        for sample in select(table, Rules(as_requested=True, windowed=True))
        for window, part in sample.by_window()
    )


def fit_surfaces(
    table: TrialTable,
    rng: np.random.Generator,
    options: StudyOptions,
    saturations: Sequence[Answer[Saturation]],
) -> tuple[Answer[Surface], ...]:
    """The response surface of each condition over streams and windows granted; autotuned ones left out.

    ``saturations`` are those of single windows: the path has one capacity, so that where they contradict the
    surface's (``agree_with_windows``) it is bounded from below alone.
    """
    answers = []
    for sample in select(table, Rules(windowed=True)):
        named = sample.exclude(np.isnan(sample.window_bytes), AUTOTUNED)
        part = named.exclude(~(named.usable_window_bytes >= 1), f"window_granted: {BELOW_ONE}")
        levels = np.stack([part.streams, part.usable_window_bytes], axis=1)
        surface = fit_surface(levels, part.rates_bits_per_s, cycles=part.cycles, rng=rng, options=options.fit)
        alone = [saturation for saturation in saturations if saturation.condition == sample.condition]
        answers.append(make_answer(part, agree_with_windows(surface, alone)))
    return tuple(answers)


def agree_with_windows(surface: Surface, saturations: Sequence[Answer[Saturation]]) -> Surface:
    """The surface without an upper end of its capacity where the fits of single windows contradict it.

    That of the largest total window decides whether throughput still rises, and whether a model fits. None of
    them may put the capacity above the surface's, nor the largest one below it.
    """
    fitted = [
        saturation
        for saturation in saturations
        if saturation.window_bytes is not None and saturation.result.residuals is not None
    ]
    if surface.capacity.value is None or not fitted:
        return surface
    top = max(fitted, key=_find_largest_total).result.capacity
    own, reason = surface.capacity.interval, top.undecided
    lows = [low for item in fitted if (low := item.result.capacity.interval.low) is not None]
    exceeded = own.high is not None and max(lows, default=0.0) > own.high
    if reason is None and (exceeded or top.interval.lies_below(own)):
        reason = Undecided.CONFLICTING_EVIDENCE
    if reason is None:
        return surface
    interval = replace(own, low=max(lows, default=own.low), high=None, undecided=reason)
    return replace(
        surface, capacity=replace(surface.capacity, value=None, interval=interval, undecided=reason)
    )


def _find_largest_total(answer: Answer[Saturation]) -> float:
    """The largest streams x window, bytes, that a window's saturation was fitted to."""
    residuals = answer.result.residuals
    most = residuals.cell_levels[-1][0] if residuals is not None else 0.0
    return most * (answer.window_bytes or 0)


def find_optima(table: TrialTable, rng: np.random.Generator) -> tuple[Answer[OptimalStreams], ...]:
    """For each window the streams with the least dRTT / throughput, by ``optimum.find_optimal_streams``."""
    return tuple(
        make_cell_answer(
            part,
            (None, window),
            find_optimal_streams(
                part.streams, part.rates_bits_per_s, part.rise_ns, cycles=part.cycles, rng=rng
            ),
        )
        for sample in select(table, Rules(as_requested=True, windowed=True))
        for window, part in sample.by_window()
    )


def bound_durations(table: TrialTable) -> tuple[Answer[ChangeBound], ...]:
    """By how much throughput changes over durations, per cell, over the logarithm of the duration.

    A condition that was measured at one duration has one answer, which is undecided.
    """
    answers = []
    for sample in select(table, Rules(as_requested=True, apart="duration_ns")):
        some = sample.exclude(~(sample.get("duration_ns") > 0), f"duration_ns: {NOT_POSITIVE}")
        some = some.exclude(~(some.rates_bits_per_s > 0), f"throughput_bits_per_s: {NOT_POSITIVE}")
        varied = np.unique(some.get("duration_ns")).size > 1
        if not varied:
            result = bound_change(some.rates_bits_per_s, np.log2(some.get("duration_ns")))
            answers.append(make_answer(some, result))
        for streams, window, part in some.by_cell() if varied else ():
            result = bound_change(part.rates_bits_per_s, np.log2(part.get("duration_ns")), cycles=part.cycles)
            answers.append(make_cell_answer(part, (streams, window), result))
    return tuple(answers)


def plan_comparisons(table: TrialTable, difference_ratio: float) -> tuple[Answer[CyclePlan], ...]:
    """Cycles needed to detect a difference between two cells of equal product, by ``planning.plan_cycles``.

    The pilot is the pair's own ratio, cycle by cycle; one without a rate above 0 is left out.
    """
    answers = []
    for sample in select(table, Rules(as_requested=True, windowed=True)):
        rates = _by_cycle(sample, sample.rates_bits_per_s)
        for many, large in _find_equal_products(sample):
            first, second, _ = match_pairs(rates[many], rates[large])
            both = (first > 0) & (second > 0)
            logs = np.log(first[both] / second[both])
            cycles = plan_cycles(logs, difference_ratio, drawn=table.order_drawn)
            answers.append(
                Answer(
                    condition=sample.condition,
                    selection=sample.take(_in_cell(sample, many) | _in_cell(sample, large)).selection,
                    result=cycles,
                    quantity=f"{many[0]} x {many[1]} against {large[0]} x {large[1]}",
                )
            )
    return tuple(answers)


def find_cycle_range(answers: Sequence[Answer[CyclePlan]]) -> tuple[int, int] | None:
    """The fewest and the most cycles that a pair needs; None where no number is known."""
    known = [answer.result.cycles for answer in answers if answer.result.cycles is not None]
    return (min(known), max(known)) if known else None


def find_largest_difference(pairs: Sequence[StreamsVsWindows]) -> StreamsVsWindows | None:
    """The pair whose ratio is the farthest from 1; None where no ratio is known."""
    known = [pair for pair in pairs if pair.comparison.ratio]
    return max(known, key=lambda item: abs(math.log(item.comparison.ratio or 1.0)), default=None)


def _permute(rates: Mapping[Cell, Floats], pairs: Sequence[tuple[Cell, Cell]]) -> tuple[float | None, ...]:
    """The p-value of no difference of each pair, corrected for all, by the draw of the order."""
    cells = sorted({cell for pair in pairs for cell in pair})
    table = np.stack([rates[cell] for cell in cells], axis=1)
    logs = np.log(table, out=np.full_like(table, np.nan), where=table > 0)
    return compare_within_cycles(logs, [(cells.index(many), cells.index(large)) for many, large in pairs])


def _in_cell(sample: Sample, cell: Cell) -> np.ndarray:
    inside: np.ndarray = (sample.streams == cell[0]) & (sample.window_bytes == cell[1])
    return inside


def _find_equal_products(sample: Sample) -> list[tuple[Cell, Cell]]:
    """Pairs (more streams, larger windows) of measured cells of equal product, in its order."""
    streams, windows = sample.streams, sample.window_bytes
    known = ~np.isnan(windows)
    cells = sorted(
        set(zip(streams[known].astype(int).tolist(), windows[known].astype(int).tolist(), strict=True))
    )
    result = [
        (many, large)
        for large, many in combinations(cells, 2)
        if many[0] > large[0] and many[0] * many[1] == large[0] * large[1] > 0
    ]
    return sorted(result, key=lambda pair: (pair[0][0] * pair[0][1], pair[0][0], pair[1][0]))


def _by_cycle(sample: Sample, values: Floats) -> dict[Cell, Floats]:
    """The values of each cell by cycle, NaN where a cycle has none; the mean where it has several."""
    cycles, places = np.unique(sample.cycles, return_inverse=True)
    windows = sample.window_bytes
    known = ~np.isnan(windows) & ~np.isnan(values)
    cells = np.stack([sample.streams, np.nan_to_num(windows)], axis=1)
    levels, rows = np.unique(cells, axis=0, return_inverse=True)
    sums, counts = np.zeros((len(levels), cycles.size)), np.zeros((len(levels), cycles.size))
    np.add.at(sums, (rows.ravel()[known], places[known]), values[known])
    np.add.at(counts, (rows.ravel()[known], places[known]), 1)
    means = np.where(counts > 0, sums / np.where(counts > 0, counts, 1), np.nan)
    return {(int(level[0]), int(level[1])): means[row] for row, level in enumerate(levels)}
