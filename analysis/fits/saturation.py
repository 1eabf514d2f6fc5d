"""Saturation in streams: seven families fitted, compared and, where the data allow it, distinguished.

Estimate: weighted least squares; the scatter is taken as proportional to the rate (or as constant), its
scale from a first round of fits, so that all families share the weights. A family takes part where there
are more stream counts than it has parameters.
Choice: AICc and Akaike weights over trials (Burnham and Anderson, Model Selection, 2nd ed., 2002). The
best family wins unless one with more than a tenth of its weight remains that is not an extension of it:
an extension that gains nothing is no rival. The choice assumes independent trials; effects shared by a
cycle only make it more careful, serial correlation between cycles makes it bolder.
Average: capacity, N_90, curve and band are those of all families by Akaike weight. Their intervals are
percentiles over refits of all families, as many of each as its weight says: multiplier bootstrap over
whole cycles, which keeps effects shared by a cycle, with Student's t for few cycles and an allowance for
their serial correlation (``cells.bound_cycles``). Minimum: 5 cycles.
Source: Burnham and Anderson, sections 4.2 and 4.3; the mixture of tails is that of Turek and Fletcher,
CSDA 56, 2012.
Capacity: the fitted rate that more streams would not exceed, or the curve's peak. Its interval runs from
the highest rate within the measured streams to that and what may be gained beyond them
(``model_average.find_points``). Undecided where that gain may be more than a ninth (still rising): 90 %
of the capacity may then lie beyond the measured streams. Where cells' means deviate from the best family
beyond chance, intervals allow for twice that; beyond 5 % they are undecided (no model fits). An undecided
capacity is bounded from below, by the mean of the cell with the highest fitted rate.
N_90 is the smallest whole N in the measured range whose fitted rate reaches 0.9 of the capacity.
Cost: linear in trials, plus resamples x stream counts; all families share the resamples.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from pathlab.analysis.estimators.cells import Cells, Floats, group_trials
from pathlab.analysis.estimators.interval import Undecided, as_amounts, as_samples, check_lengths
from pathlab.analysis.fits.curve_fit import (
    Estimate,
    FitOptions,
    Noise,
    Problem,
    Replicates,
    Residuals,
    Statement,
    build_problem,
    describe_residuals,
    lack_of_fit,
    replicate_fits,
    total_squares,
)
from pathlab.analysis.fits.least_squares import Fits, fit_knee, fit_many, search_start
from pathlab.analysis.fits.model_average import (
    CAPACITY,
    N_90,
    FitBand,
    Member,
    average_curves,
    average_points,
    draw_band,
    estimate_misfit,
    share_resamples,
)
from pathlab.analysis.fits.models import MODELS, Family, SaturationModel
from pathlab.errors import UsageError

MINIMUM_LEVELS = 3
MINIMUM_TRIALS = 6
# A rival within this difference of AICc has more than a tenth of the best family's weight.
PLAUSIBLE_DIFFERENCE = 2 * math.log(10)
#: A best family of less weight than this is not distinguished from the others and has no own intervals.
TOLD_APART_RATIO = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyFit:
    """One family's fit: identified parameters by symbol, AICc, Akaike weight, p of the lack of fit.

    ``rmse_ratio`` is the residuals' size in units of the fitted rate (of the largest cell's rate where the
    noise is absolute). ``undecided`` says why a family was not fitted.
    """

    family: Family
    formula: str
    parameters: Mapping[str, float] = field(default_factory=dict)
    rmse_ratio: float | None = None
    aicc: float | None = None
    aicc_difference: float | None = None
    weight_ratio: float | None = None
    lack_of_fit_p: float | None = None
    undecided: Undecided | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Saturation:
    """All families, most likely first, the parameters of ``best``, and what all say together.

    ``winner`` is ``None`` with ``undecided`` set where rivals cannot be distinguished. Capacity, N_90, band
    and residuals are averaged over all families by weight. ``parameters`` have intervals only where the
    weight of ``best`` is 0.9 or more.
    """

    n: int
    cycles: int
    fits: tuple[FamilyFit, ...] = ()
    best: Family | None = None
    winner: Family | None = None
    rivals: tuple[Family, ...] = ()
    parameters: tuple[Estimate, ...] = ()
    capacity: Estimate
    n_90: Estimate
    band: FitBand | None = None
    residuals: Residuals | None = None
    undecided: Undecided | None = None

    @property
    def leading_model(self) -> str | None:
        """The winner; with a question mark the best one where rivals cannot be distinguished."""
        return self.winner or (f"{self.best}?" if self.best else None)


def fit_saturation(
    streams: ArrayLike,
    throughput_bits_per_s: ArrayLike,
    *,
    cycles: ArrayLike,
    rng: np.random.Generator,
    options: FitOptions | None = None,
    families: frozenset[Family] = frozenset(Family),
) -> Saturation:
    """Fit the seven saturation families to one window's trials, one value of each argument per trial.

    ``cycles`` numbers the cycle of each trial, in time order. Rates are bit/s, 0 or more; streams whole
    numbers, 1 or more. Raises ``UsageError`` for values that are no such numbers. Undecided: no trials, fewer
    than 6 trials or 3 stream counts, all rates zero or all equal, or rivals that cannot be distinguished.
    """
    options = options or FitOptions()
    counts = _as_counts(streams)
    rates = as_amounts(throughput_bits_per_s, "throughput")
    numbers = as_samples(cycles, "cycles")
    check_lengths(streams=counts, throughput=rates, cycles=numbers)
    reason = _find_shortage(counts, rates)
    if reason is not None:
        return _undecided(reason, rates.size, np.unique(numbers).size, options)
    cells = group_trials(counts[:, None], rates, numbers)
    able = _able_models(cells, families)
    if not able:
        return _undecided(Undecided.TOO_FEW_LEVELS, rates.size, cells.cycles, options)
    problem, fitted = _fit_families(cells, able, options.noise)
    fits = _compare(problem, fitted, families)
    best, rivals = _choose(fits)
    members = _refit(problem, fitted, fits, (rng, options))
    statement = _state(problem, members, options)
    misfit = estimate_misfit(problem, float(fitted[best].squares[0]), len(MODELS[best].symbols))
    capacity, n_90 = average_points(problem, members, misfit, statement, rng)
    return Saturation(
        n=rates.size,
        cycles=problem.cells.cycles,
        fits=fits,
        best=best,
        winner=None if rivals else best,
        rivals=rivals,
        parameters=_estimate_parameters(problem, members[0], statement),
        capacity=capacity,
        n_90=n_90,
        band=draw_band(problem, members, statement, rng),
        residuals=describe_residuals(
            problem, average_curves(members, problem.cells.levels[:, 0], _most(problem))
        ),
        undecided=Undecided.RIVALS if rivals else None,
    )


def _as_counts(streams: ArrayLike) -> Floats:
    counts = as_amounts(streams, "streams", least=1)
    if (counts % 1).any():
        raise UsageError(
            f"streams: {counts[counts % 1 > 0][0]:g} is not a whole number", hint="pass counts of streams"
        )
    return counts


def _find_shortage(counts: Floats, rates: Floats) -> Undecided | None:
    if rates.size == 0:
        return Undecided.NO_SAMPLES
    if rates.max() == 0:
        return Undecided.ALL_ZERO
    if rates.size < MINIMUM_TRIALS:
        return Undecided.TOO_FEW_SAMPLES
    if np.unique(counts).size < MINIMUM_LEVELS:
        return Undecided.TOO_FEW_LEVELS
    if np.ptp(rates) <= 1e-12 * rates.max():
        return Undecided.NO_VARIATION
    return None


def _undecided(reason: Undecided, n: int, cycles: int, options: FitOptions) -> Saturation:
    statement = Statement(n=n, confidence_ratio=options.confidence_ratio)
    return Saturation(
        n=n,
        cycles=cycles,
        capacity=statement.missing(CAPACITY, reason),
        n_90=statement.missing(N_90, reason),
        undecided=reason,
    )


def _most(problem: Problem) -> float:
    return float(problem.cells.levels[-1, 0])


def _curve(problem: Problem, model: SaturationModel, parameters: Floats) -> Floats:
    """The family's rates at the measured stream counts, shape (B, cells)."""
    return model.curve(problem.cells.levels[:, 0], parameters, _most(problem))


def _fit_rows(problem: Problem, model: SaturationModel, data: tuple[Floats, Floats], starts: Floats) -> Fits:
    """Fit each row of the data (targets and weights, (B, cells)) from its own start (B, p)."""
    targets, weights = data
    if model.family is Family.LINEAR_THEN_FLAT:
        return fit_knee(problem.cells.levels[:, 0], targets, weights)
    bounds = (np.array(model.low), np.array(model.high))
    return fit_many(lambda rows: _curve(problem, model, rows), targets, weights, starts, bounds)


def _refit_rows(
    problem: Problem, model: SaturationModel, targets: Floats, weights: Floats, starts: Floats
) -> Floats:
    return _fit_rows(problem, model, (targets, weights), starts).parameters


def _fit(problem: Problem, model: SaturationModel, starts: Floats | None = None) -> Fits:
    """The best of the searches from given starts, or from the family's grid."""
    targets, weights = problem.targets, problem.weights
    if starts is None:
        starts = search_start(
            lambda rows: _curve(problem, model, rows),
            targets,
            weights,
            model.shapes,
            (model.low[0], model.high[0]),
        )
    rows = len(starts)
    data = np.repeat(targets[None], rows, axis=0), np.repeat(weights[None], rows, axis=0)
    result = _fit_rows(problem, model, data, starts)
    best = slice(int(np.argmin(result.squares)), int(np.argmin(result.squares)) + 1)
    return Fits(
        parameters=result.parameters[best], squares=result.squares[best], converged=result.converged[best]
    )


def _able_models(cells: Cells, families: frozenset[Family]) -> tuple[SaturationModel, ...]:
    """The families that the stream counts can carry and whose AICc exists for as many trials."""
    return tuple(
        model
        for family, model in MODELS.items()
        if family in families and len(model.symbols) < min(len(cells.levels), cells.n - 2)
    )


def _fit_families(
    cells: Cells, able: tuple[SaturationModel, ...], noise: Noise
) -> tuple[Problem, dict[Family, Fits]]:
    """Every able family, with weights from the best of a first round."""
    problem = build_problem(cells, None if noise is Noise.ABSOLUTE else cells.means)
    fits = {model.family: _fit(problem, model) for model in able}
    if noise is Noise.ABSOLUTE:
        return problem, fits
    best = min(fits, key=lambda family: float(fits[family].squares[0]))
    problem = build_problem(cells, _curve(problem, MODELS[best], fits[best].parameters)[0])
    return problem, {model.family: _fit(problem, model, fits[model.family].parameters) for model in able}


def _score(problem: Problem, fit: Fits, size: int) -> float:
    """AICc over trials; the variance is a parameter too."""
    n, known = problem.cells.n, size + 1
    squares = total_squares(problem, float(fit.squares[0]))
    return n * math.log(squares / n) + 2 * known + 2 * known * (known + 1) / (n - known - 1)


def _compare(
    problem: Problem, fitted: Mapping[Family, Fits], families: frozenset[Family]
) -> tuple[FamilyFit, ...]:
    """All families by AICc, then those that could not be fitted."""
    sizes = {family: len(MODELS[family].symbols) for family in fitted}
    scores = {family: _score(problem, fit, sizes[family]) for family, fit in fitted.items()}
    least = min(scores.values())
    weights = {family: math.exp((least - score) / 2) for family, score in scores.items()}
    rows = []
    for family in sorted(scores, key=lambda family: (scores[family], sizes[family])):
        model, fit, size = MODELS[family], fitted[family], sizes[family]
        squares = float(fit.squares[0])
        values = _publish(problem, model, fit.parameters)[0]
        rows.append(
            FamilyFit(
                family=family,
                formula=model.formula,
                parameters={
                    name: float(value)
                    for (name, _), value in zip(model.symbols, values, strict=True)
                    if np.isfinite(value)
                },
                rmse_ratio=math.sqrt(total_squares(problem, squares) / (problem.cells.n - size)),
                aicc=scores[family],
                aicc_difference=scores[family] - least,
                weight_ratio=weights[family] / sum(weights.values()),
                lack_of_fit_p=lack_of_fit(problem, squares, size),
            )
        )
    left = [model for family, model in MODELS.items() if family in families and family not in scores]
    rows += [
        FamilyFit(family=model.family, formula=model.formula, undecided=Undecided.TOO_FEW_LEVELS)
        for model in left
    ]
    return tuple(rows)


def _choose(fits: tuple[FamilyFit, ...]) -> tuple[Family, tuple[Family, ...]]:
    """The best family and its rivals: those that the data leave open and that do not merely extend it."""
    best = fits[0].family
    rivals = [
        fit.family
        for fit in fits[1:]
        if fit.aicc_difference is not None
        and fit.aicc_difference <= PLAUSIBLE_DIFFERENCE
        and best not in MODELS[fit.family].holds
    ]
    return best, tuple(rivals)


def _refit(
    problem: Problem,
    fitted: Mapping[Family, Fits],
    fits: tuple[FamilyFit, ...],
    drawing: tuple[np.random.Generator, FitOptions],
) -> tuple[Member, ...]:
    """Every fitted family with its share of the refits, the best first."""
    rng, options = drawing
    weights = {fit.family: fit.weight_ratio for fit in fits if fit.weight_ratio is not None}
    members = []
    for family, resamples in share_resamples(weights, options.resamples).items():
        model, parameters = MODELS[family], fitted[family].parameters
        replicates = Replicates(parameters=parameters)
        if resamples:
            replicates = replicate_fits(
                problem,
                partial(_refit_rows, problem, model),
                (parameters, _curve(problem, model, parameters)[0]),
                rng=rng,
                resamples=resamples,
            )
        members.append(Member(family=family, weight_ratio=weights[family], replicates=replicates))
    return tuple(members)


def _state(problem: Problem, members: tuple[Member, ...], options: FitOptions) -> Statement:
    """Size, confidence and refusal of the intervals: no refits where one family's cycles allow none."""
    reasons = [member.replicates.refused for member in members if member.replicates.refused is not None]
    return Statement(
        n=problem.cells.n,
        confidence_ratio=options.confidence_ratio,
        refused=reasons[0] if reasons else None,
    )


def _publish(problem: Problem, model: SaturationModel, parameters: Floats) -> Floats:
    """Published parameters (B, p); the side of a knee that no cell shows is infinite."""
    values = model.publish(parameters, _most(problem), problem.reference_bits_per_s)
    if model.family is Family.LINEAR_THEN_FLAT:
        knee = values[:, 1] / values[:, 0]
        levels = problem.cells.levels[:, 0]
        values[knee <= levels[0] * (1 + 1e-9), 0] = np.inf
        values[knee >= levels[-1] * (1 - 1e-9), 1] = np.inf
    return values


def _estimate_parameters(problem: Problem, best: Member, statement: Statement) -> tuple[Estimate, ...]:
    """The best family's parameters; without intervals where it is not distinguished from the others."""
    model = MODELS[best.family]
    if best.weight_ratio < TOLD_APART_RATIO and statement.refused is None:
        statement = replace(statement, refused=Undecided.RIVALS)
    values = _publish(problem, model, best.replicates.parameters)
    return tuple(
        statement.estimate(symbol, column[0], column[1:])
        for symbol, column in zip(model.symbols, values.T, strict=True)
    )
