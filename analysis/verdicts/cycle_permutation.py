"""Which pairs of several combinations differ, where the plan drew their order at random within each cycle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.corrections import ALPHA_RATIO
from pathlab.analysis.estimators.shifts import MINIMUM_PAIRS
from pathlab.errors import UsageError

#: A p-value near 0.05 has a standard error of 0.005.
PERMUTATIONS = 1_999
#: Values that are permuted at once (64 MiB).
BLOCK_VALUES = 8_000_000
#: Statistics that differ by less are equal but for the arithmetic.
ROUNDING_RATIO = 1e-9
Pair = tuple[int, int]
Floats = NDArray[np.float64]


def compare_within_cycles(values: ArrayLike, pairs: Sequence[Pair]) -> tuple[float | None, ...]:
    """The p-value of no difference of each pair of combinations, corrected for all of these pairs.

    ``values``: shape (cycles, combinations), such as logarithms of rates; NaN marks a missing trial, which
    leaves its pairs and not its cycle. ``pairs``: places of two combinations each. None for a pair with fewer
    than 6 cycles that have both, or without variation. Raises ``UsageError`` for another shape, an infinite
    value or a place that does not exist.

    Notes
    -----
    Under the null hypothesis every order of the trials of a cycle was as likely, whatever the noise does over
    time: values are permuted within cycles, among the combinations that the pairs left connect. The
    statistic of a pair is the mean of its differences over its standard deviation in the permutations; that
    of a step the largest. Step by step the pairs leave whose p-value is not above 0.05 (step-down maximum
    statistic); no p-value is below one of the step before. The permutations are a random choice with the same
    seed for all data, and the observed order counts as one of them, so that the test is not liberal.
    Cost: 1,999 times the values, for each step.
    Source: Westfall and Young, Resampling-Based Multiple Testing, 1993; Edgington and Onghena, Randomization
    Tests, 4th ed., 2007.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or np.isinf(table).any():
        raise UsageError("cycles: expected finite values of shape (cycles, combinations), NaN where missing")
    if any(not 0 <= index < table.shape[1] for pair in pairs for index in pair):
        raise UsageError("cycles: a pair names a combination that does not exist")
    random = np.random.default_rng(1)
    left = {index for index, pair in enumerate(pairs) if _is_testable(table, pair)}
    p_values: list[float | None] = [None] * len(pairs)
    least = 0.0  # no p-value is below those of the steps before
    while left:
        observed, largest = _permute(table, {index: pairs[index] for index in left}, random)
        result = {index: max(least, _find_p_value(observed[index], largest)) for index in left}
        different = {index for index in left if result[index] <= ALPHA_RATIO}
        for index in different or left:
            p_values[index] = result[index]
        least = max((result[index] for index in different), default=1.0)
        left = left - different if different else set()
    return tuple(p_values)


def _is_testable(table: Floats, pair: Pair) -> bool:
    differences = table[:, pair[0]] - table[:, pair[1]]
    known = differences[~np.isnan(differences)]
    return known.size >= MINIMUM_PAIRS and bool(np.ptp(known) > 0)


def _find_p_value(observed: float, largest: Floats) -> float:
    reached = int(np.count_nonzero(largest >= observed * (1 - ROUNDING_RATIO)))
    return (1 + reached) / (1 + largest.size)


def _permute(
    table: Floats, pairs: dict[int, Pair], random: np.random.Generator
) -> tuple[dict[int, float], Floats]:
    """The statistic of each pair, and the largest one of each permutation."""
    observed: dict[int, float] = {}
    largest = np.zeros(PERMUTATIONS)
    for members in _list_connected(pairs.values()):
        inside = {index: pair for index, pair in pairs.items() if pair[0] in members}
        part = table[:, members]
        means = {index: np.empty(PERMUTATIONS) for index in inside}
        begin = 0
        for permuted in _draw_permutations(part, random):
            end = begin + permuted.shape[0]
            for index, (first, second) in inside.items():
                at = members.index(first), members.index(second)
                both = ~np.isnan(part[:, at[0]] - part[:, at[1]])
                means[index][begin:end] = (permuted[:, both, at[0]] - permuted[:, both, at[1]]).mean(axis=1)
            begin = end
        for index, (first, second) in inside.items():
            spread = float(means[index].std())
            mean = float(np.nanmean(table[:, first] - table[:, second]))
            observed[index] = abs(mean) / spread if spread > 0 else 0.0
            if spread > 0:
                largest = np.maximum(largest, np.abs(means[index]) / spread)
    return observed, largest


def _list_connected(pairs: Iterable[Pair]) -> list[list[int]]:
    """The combinations that pairs connect, in groups, each ascending."""
    groups: list[set[int]] = []
    for pair in pairs:
        touched = [group for group in groups if group.intersection(pair)]
        groups = [group for group in groups if group not in touched]
        groups.append(set(pair).union(*touched))
    return sorted(sorted(group) for group in groups)


def _draw_permutations(part: Floats, random: np.random.Generator) -> Iterator[Floats]:
    """Permutations within cycles of what was measured in each, shape (some, cycles, combinations)."""
    missing = np.isnan(part)
    targets = np.argsort(missing, axis=1, kind="stable")
    block = max(1, BLOCK_VALUES // max(part.size, 1))
    for begin in range(0, PERMUTATIONS, block):
        count = min(block, PERMUTATIONS - begin)
        keys = random.random((count, *part.shape))
        keys[:, missing] = 2.0  # what is missing stays behind what was measured
        sources = np.argsort(keys, axis=2)
        permuted = np.empty_like(keys)
        spread = np.broadcast_to(part, keys.shape)
        drawn = np.take_along_axis(spread, sources, axis=2)
        np.put_along_axis(permuted, np.broadcast_to(targets, keys.shape), drawn, axis=2)
        yield permuted
