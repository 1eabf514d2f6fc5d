"""How many streams a hash needs to use the links of a bond."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.interval import CONFIDENCE_RATIO, as_amounts, check_confidence
from pathlab.analysis.estimators.margins import SUFFICIENT_RATIO
from pathlab.analysis.estimators.occupancy import (
    MAXIMUM_STREAMS,
    as_weights,
    list_sets,
    used_set_chances,
)
from pathlab.errors import UsageError


class HashFields(StrEnum):
    """What a hash sees of a packet."""

    ADDRESSES = "addresses"
    PORTS = "addresses and ports"


class NoStreams(StrEnum):
    """Why no number of streams is enough."""

    ONE_ADDRESS_PAIR = "one-address-pair"
    TOO_MANY = "too-many"


@dataclass(frozen=True, slots=True, kw_only=True)
class HashStreams:
    """Fewest ``streams`` that use ``share_ratio`` of all links with this confidence, and their exact chance.

    ``streams`` and ``chance_ratio`` are None where ``reason`` says why no number is enough.
    """

    links: int
    share_ratio: float
    confidence_ratio: float
    streams: int | None = None
    chance_ratio: float | None = None
    reason: NoStreams | None = None


def use_chance(
    capacities: ArrayLike,
    streams: int,
    *,
    share_ratio: float = SUFFICIENT_RATIO,
    weights: ArrayLike | None = None,
) -> float:
    """The chance that the links with at least one stream have ``share_ratio`` of all capacity.

    ``capacities``: of the links, in any one unit. ``weights``: of the hash, equal by default. Raises
    ``UsageError`` for a value out of range.

    Notes
    -----
    Exact (``occupancy.used_set_chances``). Assumption: a single stream can fill the link it is on, and
    streams are independent of each other.
    """
    size, enough = _find_enough(capacities, share_ratio)
    shares = np.ones(size) if weights is None else as_weights(weights)
    if shares.size != size:
        raise UsageError(f"{size} capacities, {shares.size} weights", hint="pass one weight for each link")
    return float(min(1.0, used_set_chances(shares, streams)[enough].sum()))


def plan_hash_streams(
    capacities: ArrayLike,
    fields: HashFields = HashFields.PORTS,
    *,
    share_ratio: float = SUFFICIENT_RATIO,
    confidence_ratio: float = CONFIDENCE_RATIO,
    weights: ArrayLike | None = None,
) -> HashStreams:
    """The fewest streams between one pair of hosts that use this share of the links with this confidence.

    None for a hash of addresses alone, if there are several links: one pair of hosts has one pair of
    addresses, so all streams share one link. Raises ``UsageError`` as ``use_chance``.

    Notes
    -----
    The chance grows with every stream, so that the least number is found by bisection. Assumption, source:
    as ``use_chance``.
    """
    check_confidence(confidence_ratio)
    sizes, _ = _find_enough(capacities, share_ratio)
    result = HashStreams(links=sizes, share_ratio=share_ratio, confidence_ratio=confidence_ratio)
    if fields is HashFields.ADDRESSES and sizes > 1:
        return replace(result, reason=NoStreams.ONE_ADDRESS_PAIR)

    def chance(streams: int) -> float:
        return use_chance(capacities, streams, share_ratio=share_ratio, weights=weights)

    # Sums of chances are exact to 1e-12: rounding must not ask for one stream more.
    required = confidence_ratio - 1e-12
    high = 1
    while high < MAXIMUM_STREAMS and chance(high) < required:
        high = min(MAXIMUM_STREAMS, 2 * high)
    if chance(high) < required:
        return replace(result, reason=NoStreams.TOO_MANY)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle) >= required else (middle, high)
    return replace(result, streams=high, chance_ratio=chance(high))


def _find_enough(capacities: ArrayLike, share_ratio: float) -> tuple[int, NDArray[np.bool_]]:
    """Number of links, and which sets of links (``list_sets``) have the share of all capacity."""
    sizes = as_amounts(capacities, "capacities")
    as_weights(sizes)  # 1 to 12 links, none without capacity
    if not 0 < share_ratio <= 1:
        raise UsageError(f"share {share_ratio} is not between 0 and 1", hint="pass 0.9 for 90 %")
    carried = list_sets(sizes.size) @ sizes
    return sizes.size, carried >= share_ratio * sizes.sum() * (1 - 1e-12)
