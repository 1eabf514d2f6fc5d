"""Delay and its variability against throughput: where they climb, how they agree, how they are spread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.fits.breakpoints import Breakpoint, find_breakpoint
from pathlab.analysis.fits.distributions import Distributions, fit_distributions
from pathlab.analysis.fits.frequencies import (
    CumulativeClimb,
    FrequencyDecline,
    fit_cumulative_climb,
    fit_frequency_decline,
)
from pathlab.analysis.libraries import stats
from pathlab.study.base.answer import Answer, Spread, make_answer, measure_spread
from pathlab.study.base.selection import NOT_MEASURED, Sample, select
from pathlab.study.base.trials import TrialTable
from pathlab.study.measures import list_measures

#: RV up to which a trial counts as steady (METHOD, throughput-effect).
STEADY_VARIABILITY_RATIO = 0.10
BINS = 20
AGREEMENT_MINIMUM = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class VariabilityFigures:
    """The spread of RV over trials, its mean, and the share of trials with an RV of at most 10 %."""

    spread: Spread
    mean_ratio: float | None
    steady_share_ratio: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputEffect:
    """Where dRTT (ns) and loaded RV climb over throughput (bit/s), and how the two agree with each other.

    ``r_squared_ratio`` is that of the straight line between them, ``agreement_line`` the ends (dRTT, RV) of
    that line, ``spearman_ratio`` their rank correlation.
    """

    n: int
    drtt: Breakpoint
    variability: Breakpoint
    r_squared_ratio: float | None
    spearman_ratio: float | None
    agreement_line: tuple[tuple[float, float], ...]
    loaded_variability: VariabilityFigures
    unloaded_variability: VariabilityFigures
    undecided: Undecided | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantitySpread:
    """One quantity over all trials of a condition: fitted distributions, SLAC's fits in 20 equal bins from 0.

    ``edges`` are in the quantity's unit; empty where there is nothing to bin.
    """

    edges: tuple[float, ...]
    distributions: Distributions
    decline: FrequencyDecline
    climb: CumulativeClimb


def find_effects(table: TrialTable, rng: np.random.Generator) -> tuple[Answer[ThroughputEffect], ...]:
    """The breakpoints of dRTT and of loaded RV over throughput, per condition, over all its cells."""
    return tuple(make_answer(sample, _find_effect(sample, rng)) for sample in select(table))


def describe_distributions(table: TrialTable, rng: np.random.Generator) -> tuple[Answer[QuantitySpread], ...]:
    """The distributions of throughput, dRTT and loaded RV over all trials of a condition.

    They pool its cells, as SLAC's histograms do; ``quantity`` has the store's units in its name. The fits'
    intervals take the trials for independent draws of one distribution: over several cells, or where cycles
    repeat each other, they are narrower than the truth.
    """
    answers = []
    for sample in select(table):
        for measure in list_measures("distributions"):
            values = measure.read(sample)
            part = sample.exclude(np.isnan(values), f"{measure.key}: {NOT_MEASURED}")
            result = _describe(values[~np.isnan(values)], rng)
            answers.append(make_answer(part, result, measure.key))
    return tuple(answers)


def _find_effect(sample: Sample, rng: np.random.Generator) -> ThroughputEffect:
    rates, rise, variability = sample.rates_bits_per_s, sample.rise_ns, sample.measure_variability()

    def climb(values: Floats) -> Breakpoint:
        known = ~np.isnan(values)
        return find_breakpoint(
            rates[known],
            values[known],
            cycles=sample.cycles[known],
            cells=sample.cell_numbers[known],
            rng=rng,
        )

    both = ~np.isnan(rise) & ~np.isnan(variability)
    agreement = _measure_agreement(rise[both], variability[both])
    return ThroughputEffect(
        n=int(both.sum()),
        drtt=climb(rise),
        variability=climb(variability),
        r_squared_ratio=agreement[0],
        spearman_ratio=agreement[1],
        agreement_line=() if agreement[0] is None else _fit_line(rise[both], variability[both]),
        loaded_variability=describe_variability(variability),
        unloaded_variability=describe_variability(sample.measure_variability("unloaded")),
        undecided=agreement[2],
    )


def describe_variability(variability: Floats) -> VariabilityFigures:
    """The figures of trials' RV, in the order of measurement; NaN is left out."""
    known = variability[~np.isnan(variability)]
    return VariabilityFigures(
        spread=measure_spread(known),
        mean_ratio=float(known.mean()) if known.size else None,
        steady_share_ratio=float(np.mean(known <= STEADY_VARIABILITY_RATIO)) if known.size else None,
    )


def _fit_line(x: Floats, y: Floats) -> tuple[tuple[float, float], ...]:
    """The ends of the line of least squares over the range of x."""
    slope, offset = np.polyfit(x, y, 1)
    ends = np.array([x.min(), x.max()])
    return tuple(zip(ends.tolist(), (offset + slope * ends).tolist(), strict=True))


def _measure_agreement(first: Floats, second: Floats) -> tuple[float | None, float | None, Undecided | None]:
    """R squared and Spearman's rank correlation, or why there are none."""
    if first.size < AGREEMENT_MINIMUM:
        return None, None, Undecided.TOO_FEW_SAMPLES if first.size else Undecided.NO_SAMPLES
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return None, None, Undecided.NO_VARIATION
    linear = float(np.corrcoef(first, second)[0, 1]) ** 2
    return linear, float(stats.spearmanr(first, second).statistic), None


def _describe(values: Floats, rng: np.random.Generator) -> QuantitySpread:
    most = float(values.max()) if values.size else 0.0
    edges = np.linspace(0.0, most, BINS + 1) if most > 0 else np.array([0.0, 1.0])
    return QuantitySpread(
        edges=tuple(edges.tolist()) if most > 0 else (),
        distributions=fit_distributions(values, rng=rng),
        decline=fit_frequency_decline(values, edges),
        climb=fit_cumulative_climb(values, edges),
    )
