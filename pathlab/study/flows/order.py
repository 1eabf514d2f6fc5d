"""What order and repetition show: drift, serial correlation, levels, hours, outliers, precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.modes import Mode, find_modes
from pathlab.analysis.estimators.outliers import Outliers, name_level_outliers, name_outliers
from pathlab.analysis.estimators.serial import (
    Autocorrelation,
    EffectiveSize,
    SerialEstimate,
    measure_autocorrelation,
    measure_effective_size,
    serial_median,
)
from pathlab.analysis.planning.stopping import StopDecision, StopRule, evaluate_stop_rule
from pathlab.analysis.verdicts.drift import Drift, find_drift
from pathlab.analysis.verdicts.slow_hours import SlowHours, find_slow_hours
from pathlab.study.base.answer import Answer, make_answer, make_cell_answer
from pathlab.study.base.selection import CONTROL, NOT_POSITIVE, Rules, Sample, select
from pathlab.study.base.trials import TrialTable

EPOCH = pd.Timestamp(0, tz="UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class SerialFigures:
    """How far one cell's trials, in the order of their cycles, repeat each other (bit/s)."""

    autocorrelation: Autocorrelation
    size: EffectiveSize
    median: SerialEstimate


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedOutliers:
    """Outliers by the rule, on logarithms of rates; the trials that they are. None of them was dropped."""

    outliers: Outliers
    trial_ids: tuple[int, ...]

    @property
    def known_trial_ids(self) -> tuple[int, ...] | None:
        """The outliers; None where they are undecided."""
        return self.trial_ids if self.outliers.undecided is None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLevels:
    """The levels that the rates of one cell lie about, and the hours of the day at which they are low.

    ``modes``: empty where one level explains them, else that of the most trials first, with the trials of
    each in ``trial_ids``. ``spells``: how many times in the order of measurement the rates came to a level.
    ``undecided`` is about the levels. Of rates above 0.
    """

    n: int
    modes: tuple[Mode, ...]
    trial_ids: tuple[tuple[int, ...], ...]
    spells: int
    slow_hours: SlowHours
    undecided: Undecided | None = None


def find_drifts(table: TrialTable) -> tuple[Answer[Drift], ...]:
    """Drift of each condition over the campaign, by ``drift.find_drift``.

    Control rows of the plan are taken one by one. Of the design itself, controls are each cycle's median of
    trial / its cell's median, at the cycle's mean starting time: every cell is its own control.
    """
    return tuple(make_answer(sample, _find_drift(sample)) for sample in select(table, Rules(controls=True)))


def describe_series(table: TrialTable) -> tuple[Answer[SerialFigures], ...]:
    """Serial correlation of every cell's throughput, in the order of its cycles."""
    answers = []
    for sample in select(table, Rules(as_requested=True)):
        for streams, window, part in sample.by_cell():
            rates = part.rates_bits_per_s[np.argsort(part.cycles, kind="stable")]
            figures = SerialFigures(
                autocorrelation=measure_autocorrelation(rates),
                size=measure_effective_size(rates),
                median=serial_median(rates),
            )
            answers.append(make_cell_answer(part, (streams, window), figures))
    return tuple(answers)


def find_strongest_correlation(answers: Sequence[Answer[SerialFigures]]) -> Answer[SerialFigures] | None:
    """The cell whose effective size is the least share of its trials; None where none is known."""
    known = [answer for answer in answers if answer.result.size.effective is not None]
    return min(known, key=lambda item: (item.result.size.effective or 0.0) / item.result.size.n, default=None)


def find_outliers(table: TrialTable) -> tuple[Answer[NamedOutliers], ...]:
    """The outliers of every cell's throughput; rates of 0 have no logarithm and are left out."""
    answers = []
    for every in select(table, Rules(as_requested=True)):
        sample = every.exclude(~(every.rates_bits_per_s > 0), f"throughput_bits_per_s: {NOT_POSITIVE}")
        for streams, window, part in sample.by_cell():
            result, marks = mark_outliers(part.rates_bits_per_s, logarithmic=True)
            ids = part.get("trial_id")[marks]
            named = NamedOutliers(outliers=result, trial_ids=tuple(int(number) for number in ids))
            answers.append(make_cell_answer(part, (streams, window), named))
    return tuple(answers)


def find_rate_levels(table: TrialTable, rng: np.random.Generator) -> tuple[Answer[RateLevels], ...]:
    """The levels of every cell's throughput, and the hours at which it is low, where times are known."""
    answers = []
    for every in select(table, Rules(as_requested=True)):
        sample = every.exclude(~(every.rates_bits_per_s > 0), f"throughput_bits_per_s: {NOT_POSITIVE}")
        for streams, window, part in sample.by_cell():
            answers.append(make_cell_answer(part, (streams, window), _find_levels(part, rng)))
    return tuple(answers)


def _find_levels(part: Sample, rng: np.random.Generator) -> RateLevels:
    times = _read_stamps(part)
    order = np.argsort(times, kind="stable")  # unknown ones last
    rates, ids, times = part.rates_bits_per_s[order], part.get("trial_id")[order], times[order]
    result, known = find_modes(rates), np.isfinite(times)
    numbers = np.array(result.numbers)
    return RateLevels(
        n=result.n,
        modes=result.modes,
        trial_ids=tuple(
            tuple(ids[numbers == number].astype(int).tolist()) for number in range(len(result.modes))
        ),
        spells=result.spells,
        slow_hours=find_slow_hours(times[known], rates[known], rng),
        undecided=result.undecided,
    )


def mark_outliers(values: Floats, *, logarithmic: bool) -> tuple[Outliers, NDArray[np.bool_]]:
    """The outliers of one cell's figures, and which they are; on logarithms if so, which values of 0 lack.

    NaN is left out. Of rates about several levels, outliers are those of their own level.
    """
    usable = np.flatnonzero(~np.isnan(values) & ((values > 0) | (not logarithmic)))
    levels = find_modes(values[usable]).numbers if logarithmic else ()
    taken = np.log(values[usable]) if logarithmic else values[usable]
    outliers = name_level_outliers(taken, levels) if levels else name_outliers(taken)
    marks = np.zeros(values.size, dtype=bool)
    marks[usable[list(outliers.places)]] = True
    return outliers, marks


def evaluate_precision(table: TrialTable, rule: StopRule) -> tuple[Answer[StopDecision], ...]:
    """Whether each condition's cells are known well enough to stop, by ``stopping.evaluate_stop_rule``."""
    answers = []
    for sample in select(table, Rules(as_requested=True)):
        cells: Mapping[str, Floats] = {
            f"{streams} x {'auto' if window is None else window}": part.rates_bits_per_s
            for streams, window, part in sample.by_cell()
        }
        result = evaluate_stop_rule(cells, int(np.unique(sample.cycles).size), rule)
        answers.append(make_answer(sample, result))
    return tuple(answers)


def _find_drift(sample: Sample) -> Drift:
    cells = np.stack([sample.streams, np.nan_to_num(sample.window_bytes, nan=-1.0)], axis=1)
    rates = sample.rates_bits_per_s
    relative = np.full(rates.size, np.nan)
    if rates.size:
        _, places = np.unique(cells, axis=0, return_inverse=True)
        for cell in range(int(places.max()) + 1):
            inside = places.ravel() == cell
            median = float(np.median(rates[inside]))
            if median > 0:
                relative[inside] = rates[inside] / median
    started = _read_times(sample)
    usable = ~np.isnan(relative) & ~np.isnan(started)
    cycles = np.arange(rates.size)[usable] if sample.condition.get(CONTROL) else sample.cycles[usable]
    controls = np.array([np.median(group) for group in _split_by(cycles, relative[usable])])
    times = np.array([np.mean(group) for group in _split_by(cycles, started[usable])])
    order = np.argsort(times, kind="stable")
    apart = np.diff(times[order], prepend=-np.inf) > 0
    return find_drift(times[order][apart], controls[order][apart])


def _split_by(numbers: NDArray[np.generic], values: Floats) -> list[Floats]:
    """The values of each number, ascending by number; those of one number in the order given."""
    order = np.argsort(numbers, kind="stable")
    begins = np.flatnonzero(np.diff(numbers[order])) + 1
    return np.split(values[order], begins) if values.size else []


def _read_times(sample: Sample) -> Floats:
    """Seconds of each start since the first one; NaN where it cannot be read."""
    times = _read_stamps(sample)
    return times - np.nanmin(times) if np.isfinite(times).any() else times


def _read_stamps(sample: Sample) -> Floats:
    """Seconds of each start since 1970 (UTC); NaN where it cannot be read."""
    column = sample.table.frame["started_utc"].iloc[sample.places]
    stamps = pd.to_datetime(column, utc=True, errors="coerce", format="ISO8601")
    return np.asarray((stamps - EPOCH) / pd.Timedelta(seconds=1), dtype=np.float64)
