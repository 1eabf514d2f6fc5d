"""Whether a bond's members are used as by a good hash: bad luck, or a polarised hash."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.corrections import ALPHA_RATIO, holm_levels
from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.margins import MARGIN_RATIO
from pathlab.analysis.estimators.occupancy import as_weights, check_streams, idle_chances
from pathlab.errors import UsageError

#: Draws of each Monte-Carlo test: p-values are multiples of 1 / 10,000.
DRAWS = 9999
MAXIMUM_COUNTS = 4_000_000
#: A polarised hash is one that sends this share of all streams to one member and spreads the others.
FIXED_RATIO = 0.5


class HashVerdict(StrEnum):
    """The use of the members against that by a good hash."""

    EVEN = "even"
    BAD_LUCK = "bad luck"
    POLARISED = "polarised"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class HashTest:
    """The members of a bond in several trials, against streams that fall on them independently.

    ``p_value``: how often a good hash is as uneven. ``polarised_p_value``: how often a hash that sends half
    of all streams to one member is as even. ``uneven``: a member was idle, or one had more streams than its
    weight by more than the margin.

    ``verdict``: polarised where the first is below alpha; else, where the second is, ``bad luck`` if the use
    was uneven and ``even`` if it was not; otherwise undecided.
    """

    trials: int
    members: int
    streams: int
    uneven: bool
    verdict: HashVerdict
    p_value: float | None = None
    polarised_p_value: float | None = None
    undecided: Undecided | None = None


def evaluate_counts(
    counts: ArrayLike, *, rng: np.random.Generator, weights: ArrayLike | None = None
) -> HashTest:
    """The streams on each member in each trial; shape (trials, members).

    ``weights``: of the hash, equal by default. Raises ``UsageError`` for counts that are no whole numbers or
    for a trial without a stream.

    Notes
    -----
    Monte-Carlo test of two statistics, of which the smaller p-value is doubled: chi-square of each trial,
    summed, which shows streams that share a fate; and chi-square of all trials' sums, which shows a member
    that is always preferred. Valid for any number of streams and trials: p = (1 + draws as extreme) /
    (1 + draws). Assumption: a good hash places streams independently (multinomial), in every trial anew, as
    random source ports do. Minimum sample: none; too few are undecided, since a polarised hash is then as
    likely. In simulation (``tests/statistics/test_hash_shares.py``) a good hash is called polarised in 5 % at
    most. Source: Besag and Clifford, Biometrika 78, 1991.
    """
    table = _as_counts(counts)
    shares = _take_weights(weights, table.shape[1])
    streams = table.sum(axis=1)
    seen = _measure_unevenness(table[None], streams, shares)
    favoured = np.argmax(table.sum(axis=0) / shares)
    biased = (1 - FIXED_RATIO) * shares
    biased[favoured] += FIXED_RATIO
    p_values = []
    for chances, sign in ((shares, 1), (biased, -1)):
        extreme = np.zeros(seen.shape[1], dtype=np.int64)
        for draws in _split_draws(table.size):
            tables = rng.multinomial(streams, chances, (draws, streams.size))
            # rounding must not set equal tables apart
            distance = sign * (_measure_unevenness(tables, streams, shares) - seen)
            extreme += (distance >= -1e-9).sum(axis=0)
        p_values.append(min(1.0, 2 * float((1 + extreme).min()) / (1 + DRAWS)))
    largest = float(np.median((table / streams[:, None] / shares).max(axis=1)))
    return _decide(
        HashTest(
            trials=table.shape[0],
            members=table.shape[1],
            streams=int(streams.sum()),
            uneven=largest > 1 + MARGIN_RATIO,
            p_value=p_values[0],
            polarised_p_value=p_values[1],
            verdict=HashVerdict.UNDECIDED,
        ),
        ALPHA_RATIO,
    )


def evaluate_used(used: ArrayLike, streams: Sequence[int], *, weights: ArrayLike | None = None) -> HashTest:
    """Which members carried data in each trial, shape (trials, members), and the streams of each trial.

    For streams whose members are not known one by one: streams that fill their link share it in whatever
    numbers they are, so that bytes do not show how many streams each member has, only whether it has one.
    Raises ``UsageError`` for a trial in which no member was used.

    Notes
    -----
    Exact: the total of idle members over all trials against the convolution of the trials' distributions
    (``occupancy.idle_chances``). Assumption: as ``evaluate_counts``. A single stream per trial says nothing.
    """
    table = np.asarray(used, dtype=bool)
    if table.ndim != 2 or table.shape[0] != len(streams) or not table.any(axis=1).all():
        raise UsageError(
            f"used members: shape {table.shape} for {len(streams)} trials, or a trial without any",
            hint="pass (trials, members), each trial with at least one member in use",
        )
    for count in streams:
        check_streams(count)
    shares = _take_weights(weights, table.shape[1])
    idle = int((~table).sum())
    biased = (1 - FIXED_RATIO) * shares + FIXED_RATIO * np.eye(shares.size)
    good = _sum_idle(shares, streams)
    polarised = [_sum_idle(chances, streams) for chances in biased]
    return _decide(
        HashTest(
            trials=table.shape[0],
            members=table.shape[1],
            streams=int(sum(streams)),
            uneven=idle > 0,
            p_value=min(1.0, float(good[idle:].sum())),
            polarised_p_value=min(1.0, max(float(chances[: idle + 1].sum()) for chances in polarised)),
            verdict=HashVerdict.UNDECIDED,
        ),
        ALPHA_RATIO,
    )


def correct_hash_tests(hash_tests: Sequence[HashTest]) -> tuple[HashTest, ...]:
    """The same tests with verdicts at the levels of Holm's procedure over all of them."""
    levels = holm_levels(
        [item.p_value for item in hash_tests], [item.polarised_p_value for item in hash_tests]
    )
    return tuple(_decide(item, level) for item, level in zip(hash_tests, levels, strict=True))


def _split_draws(size: int) -> Iterator[int]:
    """Draws in portions that hold at most a few million counts of tables of this size."""
    portion = max(1, MAXIMUM_COUNTS // size)
    for begin in range(0, DRAWS, portion):
        yield min(portion, DRAWS - begin)


def _as_counts(counts: ArrayLike) -> NDArray[np.int64]:
    given = np.asarray(counts)
    table = given.astype(np.int64)
    if given.ndim != 2 or (table != given).any() or table.min(initial=0) < 0 or not table.any(axis=1).all():
        raise UsageError(
            f"streams of members: shape {given.shape}, or no whole numbers, or a trial without a stream",
            hint="pass (trials, members), each trial with at least one stream",
        )
    return table


def _take_weights(weights: ArrayLike | None, members: int) -> NDArray[np.float64]:
    shares = as_weights(np.ones(members) if weights is None else weights)
    if shares.size != members:
        raise UsageError(f"{members} members, {shares.size} weights", hint="pass one weight for each member")
    return shares


def _measure_unevenness(
    tables: NDArray[np.int64], streams: NDArray[np.int64], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Both chi-squares of each table, shape (tables, 2)."""
    expected = streams[:, None] * shares
    total = expected.sum(axis=0)
    apart = ((tables - expected) ** 2 / expected).sum(axis=(1, 2))
    pooled = ((tables.sum(axis=1) - total) ** 2 / total).sum(axis=1)
    return np.stack([apart, pooled], axis=1)


def _sum_idle(shares: NDArray[np.float64], streams: Sequence[int]) -> NDArray[np.float64]:
    """The chance of 0, 1, 2 ... idle members in all trials together."""
    total = np.ones(1)
    for count in streams:
        total = np.convolve(total, idle_chances(tuple(shares.tolist()), count))
    return total


def _decide(hash_test: HashTest, level: float) -> HashTest:
    """The test with the verdict that its p-values allow at this level."""
    good, polarised = hash_test.p_value, hash_test.polarised_p_value
    if good is None or polarised is None or hash_test.members < 2:
        return replace(hash_test, verdict=HashVerdict.UNDECIDED, undecided=Undecided.TOO_FEW_LEVELS)
    if good < level:
        return replace(hash_test, verdict=HashVerdict.POLARISED, undecided=None)
    if polarised < level:
        verdict = HashVerdict.BAD_LUCK if hash_test.uneven else HashVerdict.EVEN
        return replace(hash_test, verdict=verdict, undecided=None)
    return replace(hash_test, verdict=HashVerdict.UNDECIDED, undecided=Undecided.INCONCLUSIVE)
