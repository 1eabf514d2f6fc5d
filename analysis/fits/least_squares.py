"""Many weighted least-squares fits of one curve at once, which scipy offers one at a time only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Curve = Callable[[Floats], Floats]

MAXIMUM_STEPS = 200
RELATIVE_STEP = 1e-6
LONGEST_STEP = 2.0
TOLERANCE = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class Fits:
    """B fits: parameters (B, p), weighted sums of squares (B,), whether each search ended (B,)."""

    parameters: Floats
    squares: Floats
    converged: NDArray[np.bool_]


def _slopes(curve: Curve, point: Floats, values: Floats) -> Floats:
    """Derivatives of the curve by each parameter, shape (B, m, p)."""
    columns = []
    for index in range(point.shape[1]):
        step = RELATIVE_STEP * np.maximum(np.abs(point[:, index]), 1.0)
        moved = point.copy()
        moved[:, index] += step
        columns.append((curve(moved) - values) / step[:, None])
    return np.stack(columns, axis=2)


def fit_many(
    curve: Curve, targets: Floats, weights: Floats, starts: Floats, bounds: tuple[Floats, Floats]
) -> Fits:
    """Minimise sum w (target - curve)^2 for each row of ``targets`` (B, m) from its own start (B, p).

    Parameters are dimensionless (logarithms and exponents), so that a step is at most 2 in each. Bounds are
    kept by projection. A fit that has not come to its end after 200 steps is marked.

    Notes
    -----
    Levenberg–Marquardt with Marquardt's scaling. Source: Nocedal and Wright, Numerical Optimization, 2nd ed.,
    section 10.3. Cost: B m p^2 a step; finished fits leave the batch.
    """
    low, high = bounds
    point = np.clip(starts, low, high)
    squares = np.sum(weights * (targets - curve(point)) ** 2, axis=1)
    damping = np.full(len(point), 1e-2)
    converged = np.zeros(len(point), dtype=bool)
    for _ in range(MAXIMUM_STEPS):
        active = np.flatnonzero(~converged)
        if active.size == 0:
            break
        here, aim, weight = point[active], targets[active], weights[active]
        values = curve(here)
        slopes = _slopes(curve, here, values)
        weighted = slopes * weight[:, :, None]
        gradient = np.einsum("bmp,bm->bp", weighted, aim - values)
        normal = np.einsum("bmp,bmq->bpq", weighted, slopes)
        step = _solve(normal, gradient, damping[active], (here <= low, here >= high))
        moved = np.clip(here + step, low, high)
        after = np.sum(weight * (aim - curve(moved)) ** 2, axis=1)
        before = squares[active]
        better = after < before
        point[active[better]] = moved[better]
        squares[active[better]] = after[better]
        little = np.abs(before - after) <= TOLERANCE * before + 1e-300
        still = np.max(np.abs(moved - here), axis=1) <= 1e-9
        converged[active] = (better & little) | still | (~better & (damping[active] > 1e8))
        damping[active] = np.clip(damping[active] * np.where(better, 0.2, 6.0), 1e-12, 1e12)
    return Fits(parameters=point, squares=squares, converged=converged)


def _solve(
    normal: Floats, gradient: Floats, damping: Floats, edges: tuple[NDArray[np.bool_], NDArray[np.bool_]]
) -> Floats:
    """Damped steps (B, p), at most 2 in each parameter; a parameter held by its bound does not move."""
    held = (edges[0] & (gradient <= 0)) | (edges[1] & (gradient >= 0))
    free = ~held
    system = normal * (free[:, :, None] & free[:, None, :])
    diagonal = np.einsum("bpp->bp", system)
    largest = np.maximum(diagonal.max(axis=1, keepdims=True), 1e-300)
    # A parameter that the curve hardly feels keeps a small scale of its own instead of a singular system.
    added = damping[:, None] * np.maximum(diagonal, 1e-9 * largest) + 1e-12 * largest
    size = normal.shape[1]
    system = system + np.eye(size) * (added + held * largest)[:, :, None]
    step: Floats = np.linalg.solve(system, (gradient * free)[:, :, None])[:, :, 0]
    return np.clip(step, -LONGEST_STEP, LONGEST_STEP)


def search_start(
    curve: Curve, targets: Floats, weights: Floats, shapes: Floats, rate_bounds: tuple[float, float]
) -> Floats:
    """The best starts (3 at most, each (p,)) among shapes (S, p - 1), the rate's logarithm solved exactly.

    ``curve`` must be proportional to the exponential of its first parameter. ``targets`` and ``weights``:
    (m,).
    """
    trial = np.concatenate([np.zeros((len(shapes), 1)), shapes], axis=1)
    values = curve(trial)
    across = values @ (weights * targets)
    power = (values**2) @ weights
    rate = np.maximum(across / np.maximum(power, 1e-300), np.exp(rate_bounds[0]))
    trial[:, 0] = np.log(rate)
    squares = np.sum(weights * (targets - rate[:, None] * values) ** 2, axis=1)
    return trial[np.argsort(squares, kind="stable")[:3]]


def fit_knee(levels: Floats, targets: Floats, weights: Floats) -> Fits:
    """Exact least squares of min(bN, C) for each row (B, m): logarithms of C and of b N_max / C.

    ``levels`` (m,) ascend. The knee is sought between the smallest and the largest level, where it can be
    seen.

    Notes
    -----
    Either the knee lies on a level, or the two sides are fitted apart and meet between the levels where they
    were cut; all 2m - 1 cases are solved. Cost: B m^2. Source: Hudson, JASA 61, 1966.
    """
    joined = np.minimum(levels[None, :], levels[:, None])
    on_level = ((weights * targets) @ joined.T) / (weights @ (joined**2).T)
    slopes, tops = [on_level], [on_level * levels]
    weighted = np.cumsum(np.stack([weights * levels * targets, weights * levels**2]), axis=2)
    rest = np.cumsum(np.stack([weights * targets, weights])[:, :, ::-1], axis=2)[:, :, ::-1]
    slope = weighted[0, :, :-1] / np.maximum(weighted[1, :, :-1], 1e-300)
    top = rest[0, :, 1:] / np.maximum(rest[1, :, 1:], 1e-300)
    between = (top >= slope * levels[:-1]) & (top <= slope * levels[1:])
    slopes.append(np.where(between, slope, on_level[:, :-1]))
    tops.append(np.where(between, top, on_level[:, :-1] * levels[:-1]))
    slope, top = np.concatenate(slopes, axis=1), np.concatenate(tops, axis=1)
    curves = np.minimum(slope[:, :, None] * levels, top[:, :, None])
    squares = np.einsum("bm,bkm->bk", weights, (targets[:, None, :] - curves) ** 2)
    best = np.argmin(squares, axis=1)
    row = np.arange(len(targets))
    slope, top = np.maximum(slope[row, best], 1e-300), np.maximum(top[row, best], 1e-300)
    return Fits(
        parameters=np.stack([np.log(top), np.maximum(np.log(slope * levels[-1] / top), 0.0)], axis=1),
        squares=squares[row, best],
        converged=np.ones(len(targets), dtype=bool),
    )
