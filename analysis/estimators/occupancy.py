"""Which members of a bond a hash uses: streams fall on members independently, each with its weight."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.interval import as_amounts
from pathlab.errors import UsageError

#: Sets of members are listed one by one: 2^12 of them.
MAXIMUM_MEMBERS = 12
MAXIMUM_STREAMS = 1_000_000


def as_weights(weights: ArrayLike) -> NDArray[np.float64]:
    """The chance of each member, together 1; ``UsageError`` for none, too many, or a weight not above 0."""
    given = as_amounts(weights, "weights")
    if not 1 <= given.size <= MAXIMUM_MEMBERS or given.min() <= 0:
        raise UsageError(
            f"weights: {given.size} members, or a weight of 0", hint=f"pass 1 to {MAXIMUM_MEMBERS} above 0"
        )
    return np.asarray(given / given.sum())


def check_streams(streams: int) -> None:
    """Raise ``UsageError`` unless there are 1 to a million streams."""
    if not 1 <= streams <= MAXIMUM_STREAMS:
        raise UsageError(f"{streams} streams", hint=f"pass 1 to {MAXIMUM_STREAMS}")


def list_sets(members: int) -> NDArray[np.bool_]:
    """All sets of members, shape (2^members, members); member i is in those whose number has bit i."""
    return np.asarray((np.arange(1 << members)[:, None] >> np.arange(members)) % 2 == 1)


def used_set_chances(weights: ArrayLike, streams: int) -> NDArray[np.float64]:
    """The chance that exactly each set of members has at least one stream, in the order of ``list_sets``.

    Notes
    -----
    Exact: inclusion and exclusion over the subsets (Feller, An Introduction to Probability Theory I, chapter
    IV), by the Moebius transform. Assumption: streams are independent, as with random source ports. Absolute
    error below 1e-12. Cost: members x 2^members.
    """
    shares = as_weights(weights)
    check_streams(streams)
    chances = (list_sets(shares.size) @ shares) ** streams  # that no stream is outside of the set
    for member in range(shares.size):
        halves = chances.reshape(-1, 2, 1 << member)
        halves[:, 1] -= halves[:, 0]
    return np.clip(chances, 0.0, 1.0)


@functools.lru_cache(maxsize=1024)
def idle_chances(weights: tuple[float, ...], streams: int) -> tuple[float, ...]:
    """The chance of 0, 1 ... members - 1 members without a stream."""
    chances = used_set_chances(weights, streams)
    idle = len(weights) - list_sets(len(weights)).sum(axis=1)
    return tuple(np.bincount(idle, weights=chances)[: len(weights)].tolist())
