"""The seven saturation families of METHOD section 4: curve, bounds, starts and published parameters.

Every curve is fitted in internal parameters (B fits at once, shape (B, p)): the logarithm of a rate first,
then the shape, for streams counted as they are and rates in units of a reference rate. ``publish`` turns them
into the symbols and units of the source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Family(StrEnum):
    """Names of the saturation families. The values are stable and machine-readable."""

    LINEAR_THEN_FLAT = "linear-then-flat"
    LOSS_LIMITED = "loss-limited"
    LU = "lu"
    YILDIRIM_POWER = "yildirim-power"
    YILDIRIM_QUADRATIC = "yildirim-quadratic"
    ALTMAN = "altman"
    UNIVERSAL = "universal-scalability"


@dataclass(frozen=True, slots=True, kw_only=True)
class SaturationModel:
    """One family.

    ``curve(streams, parameters, most)`` gives rates of shape (B, streams) in the reference rate; ``most`` is
    the largest number of streams measured, which scales the shape parameters. ``shapes`` are where a search
    starts (S, p - 1). ``publish(parameters, most, rate)`` gives (B, p) in ``symbols``, each a name and a
    unit. ``capacity(parameters, most)`` is the supremum of the curve over all N >= 1 in the reference rate,
    infinite where it has none. ``holds`` are the families that this one contains as special or limiting
    cases.
    """

    family: Family
    formula: str
    source: str
    symbols: tuple[tuple[str, str], ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    shapes: Floats
    curve: Callable[[Floats, Floats, float], Floats]
    publish: Callable[[Floats, float, float], Floats]
    capacity: Callable[[Floats, float], Floats]
    holds: frozenset[Family] = frozenset()


def _column(parameters: Floats, index: int) -> Floats:
    return parameters[:, index, None]


def _grid(*axes: Floats) -> Floats:
    """Every combination of the axes, shape (S, axes)."""
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


def _first_capacity(parameters: Floats, most: float) -> Floats:  # noqa: ARG001
    return np.exp(parameters[:, 0])


def _no_capacity(parameters: Floats, most: float) -> Floats:  # noqa: ARG001
    return np.full(len(parameters), np.inf)


def _flat_curve(streams: Floats, parameters: Floats, most: float) -> Floats:
    ratio = np.exp(_column(parameters, 1)) * streams / most
    return np.exp(_column(parameters, 0)) * np.minimum(ratio, 1.0)


def _flat_publish(parameters: Floats, most: float, rate: float) -> Floats:
    top = np.exp(parameters[:, 0]) * rate
    return np.stack([top * np.exp(parameters[:, 1]) / most, top], axis=1)


def _linear_curve(streams: Floats, parameters: Floats, most: float) -> Floats:
    return np.exp(_column(parameters, 0)) * streams / most


def _linear_publish(parameters: Floats, most: float, rate: float) -> Floats:
    return np.exp(parameters[:, :1]) * rate / most


def _root_curve(streams: Floats, parameters: Floats, most: float) -> Floats:
    ratio = streams / most
    return np.exp(_column(parameters, 0)) * ratio / np.sqrt(1 + np.exp(_column(parameters, 1)) * ratio**2)


def _root_publish(parameters: Floats, most: float, rate: float) -> Floats:
    b = (most / (np.exp(parameters[:, 0]) * rate)) ** 2
    return np.stack([np.exp(parameters[:, 1]) * b / most**2, b], axis=1)


def _root_capacity(parameters: Floats, most: float) -> Floats:  # noqa: ARG001
    return np.exp(parameters[:, 0] - parameters[:, 1] / 2)


def _power_curve(streams: Floats, parameters: Floats, most: float) -> Floats:
    ratio = streams / most
    below = 1 + np.exp(_column(parameters, 1)) * ratio ** _column(parameters, 2)
    return np.exp(_column(parameters, 0)) * ratio / np.sqrt(below)


def _power_publish(parameters: Floats, most: float, rate: float) -> Floats:
    b = (most / (np.exp(parameters[:, 0]) * rate)) ** 2
    exponent = parameters[:, 2]
    return np.stack([np.exp(parameters[:, 1]) * b / most**exponent, b, exponent], axis=1)


def _power_capacity(parameters: Floats, most: float) -> Floats:
    # The curve turns where aN^c = 2b/(c - 2); it has no limit for c < 2.
    power = parameters[:, 2]
    turning = power > 2
    beyond = np.where(turning, power - 2, 1.0)
    ratio = np.exp((np.log(2 / beyond) - parameters[:, 1]) / power)
    peak = _at_or_past(_power_curve, parameters, most, ratio)
    return np.where(turning, peak, np.inf)


def _quadratic_terms(parameters: Floats) -> tuple[Floats, Floats]:
    """The terms of 1 + linear u + square u^2, which stays above 0 for every u."""
    square = np.exp(parameters[:, 1])
    return np.exp(parameters[:, 2]) - 1.998 * np.sqrt(square), square


def _quadratic_curve(streams: Floats, parameters: Floats, most: float) -> Floats:
    ratio = streams / most
    linear, square = _quadratic_terms(parameters)
    below = 1 + linear[:, None] * ratio + square[:, None] * ratio**2
    return np.exp(_column(parameters, 0)) * ratio / np.sqrt(below)


def _quadratic_publish(parameters: Floats, most: float, rate: float) -> Floats:
    linear, square = _quadratic_terms(parameters)
    c = (most / (np.exp(parameters[:, 0]) * rate)) ** 2
    return np.stack([square * c / most**2, linear * c / most, c], axis=1)


def _quadratic_capacity(parameters: Floats, most: float) -> Floats:
    linear, square = _quadratic_terms(parameters)
    turning = linear < 0
    ratio = np.where(turning, -2 / np.where(turning, linear, -1.0), 1.0)
    limit = np.exp(parameters[:, 0]) / np.sqrt(square)
    return np.where(turning, _at_or_past(_quadratic_curve, parameters, most, ratio), limit)


def _altman_curve(streams: Floats, parameters: Floats, most: float) -> Floats:  # noqa: ARG001
    return np.exp(_column(parameters, 0)) * (1 - 1 / (1 + 3 * streams))


def _altman_publish(parameters: Floats, most: float, rate: float) -> Floats:  # noqa: ARG001
    return np.exp(parameters[:, :1]) * rate


def _universal_curve(streams: Floats, parameters: Floats, most: float) -> Floats:
    contention = np.exp(_column(parameters, 1)) / most * (streams - 1)
    coherence = np.exp(_column(parameters, 2)) / most**2 * streams * (streams - 1)
    return np.exp(_column(parameters, 0)) * streams / most / (1 + contention + coherence)


def _universal_publish(parameters: Floats, most: float, rate: float) -> Floats:
    first = np.exp(parameters[:, 0]) * rate / most
    return np.stack([first, np.exp(parameters[:, 1]) / most, np.exp(parameters[:, 2]) / most**2], axis=1)


def _universal_capacity(parameters: Floats, most: float) -> Floats:
    contention, coherence = np.exp(parameters[:, 1]) / most, np.exp(parameters[:, 2]) / most**2
    ratio = np.sqrt(np.maximum(1 - contention, 0) / coherence) / most
    return _at_or_past(_universal_curve, parameters, most, ratio)


def _at_or_past(
    curve: Callable[[Floats, Floats, float], Floats], parameters: Floats, most: float, ratio: Floats
) -> Floats:
    """The curve at its turning point (a share of ``most``), or at one stream where it turns before."""
    return curve(np.maximum(ratio * most, 1.0)[:, None], parameters, most)[:, 0]


_RATE = (-12.0, 12.0)
_SHAPE = np.linspace(-6, 10, 9)
_SLOPE = ("b", "bit/s per stream")
_LINEAR_CASE = frozenset({Family.LOSS_LIMITED})

MODELS: Mapping[Family, SaturationModel] = MappingProxyType(
    {
        model.family: model
        for model in (
            SaturationModel(
                family=Family.LINEAR_THEN_FLAT,
                formula="T = min(bN, C)",
                source="METHOD section 4",
                symbols=(_SLOPE, ("C", "bit/s")),
                low=(_RATE[0], 0.0),
                high=(_RATE[1], 12.0),
                shapes=np.linspace(0, 6, 25)[:, None],
                curve=_flat_curve,
                publish=_flat_publish,
                capacity=_first_capacity,
                holds=_LINEAR_CASE,
            ),
            SaturationModel(
                family=Family.LOSS_LIMITED,
                formula="T = kN",
                source="Mathis et al., CCR 27, 1997; Hacker, Athey and Noble, IPDPS 2002",
                symbols=(("k", "bit/s per stream"),),
                low=_RATE[:1],
                high=_RATE[1:],
                shapes=np.empty((1, 0)),
                curve=_linear_curve,
                publish=_linear_publish,
                capacity=_no_capacity,
            ),
            SaturationModel(
                family=Family.LU,
                formula="T = N / sqrt(aN^2 + b)",
                source="Lu, Qiao, Dinda and Bustamante, IPDPS 2005",
                symbols=(("a", "(bit/s)^-2"), ("b", "streams^2 (bit/s)^-2")),
                low=(_RATE[0], -14.0),
                high=(_RATE[1], 20.0),
                shapes=_SHAPE[:, None],
                curve=_root_curve,
                publish=_root_publish,
                capacity=_root_capacity,
                holds=_LINEAR_CASE,
            ),
            SaturationModel(
                family=Family.YILDIRIM_POWER,
                formula="T = N / sqrt(aN^c + b)",
                source="Yildirim, Yin and Kosar, IEEE TPDS 22, 2011",
                symbols=(
                    ("a", "streams^(2-c) (bit/s)^-2"),
                    ("b", "streams^2 (bit/s)^-2"),
                    ("c", "1"),
                ),
                low=(_RATE[0], -14.0, 0.05),
                high=(_RATE[1], 20.0, 12.0),
                shapes=_grid(_SHAPE, np.array([1.0, 1.5, 2.0, 2.5, 3.5, 5.0])),
                curve=_power_curve,
                publish=_power_publish,
                capacity=_power_capacity,
                holds=_LINEAR_CASE | {Family.LU},
            ),
            SaturationModel(
                family=Family.YILDIRIM_QUADRATIC,
                formula="T = N / sqrt(aN^2 + bN + c)",
                source="Yildirim, Yin and Kosar, IEEE TPDS 22, 2011",
                symbols=(
                    ("a", "(bit/s)^-2"),
                    ("b", "streams (bit/s)^-2"),
                    ("c", "streams^2 (bit/s)^-2"),
                ),
                low=(_RATE[0], -14.0, -10.0),
                high=(_RATE[1], 20.0, 14.0),
                shapes=_grid(_SHAPE, np.linspace(-4, 8, 7)),
                curve=_quadratic_curve,
                publish=_quadratic_publish,
                capacity=_quadratic_capacity,
                holds=_LINEAR_CASE | {Family.LU, Family.ALTMAN},
            ),
            SaturationModel(
                family=Family.ALTMAN,
                formula="T = C (1 - 1/(1 + 3N))",
                source="Altman, Barman, Tuffin and Vojnovic, INFOCOM 2006",
                symbols=(("C", "bit/s"),),
                low=_RATE[:1],
                high=_RATE[1:],
                shapes=np.empty((1, 0)),
                curve=_altman_curve,
                publish=_altman_publish,
                capacity=_first_capacity,
            ),
            SaturationModel(
                family=Family.UNIVERSAL,
                formula="T = lambda N / (1 + sigma(N-1) + kappa N(N-1))",
                source="Gunther, Guerrilla Capacity Planning, 2007, chapter 4",
                symbols=(
                    ("lambda", "bit/s per stream"),
                    ("sigma", "1"),
                    ("kappa", "1"),
                ),
                low=(_RATE[0], -12.0, -12.0),
                high=(_RATE[1], 14.0, 14.0),
                shapes=_grid(np.linspace(-8, 6, 8), np.linspace(-8, 6, 8)),
                curve=_universal_curve,
                publish=_universal_publish,
                capacity=_universal_capacity,
                holds=_LINEAR_CASE | {Family.ALTMAN},
            ),
        )
    }
)
