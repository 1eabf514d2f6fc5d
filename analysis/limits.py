"""Whether a rate may be the host's and not the path's."""

from __future__ import annotations

from collections.abc import Iterable

#: Busy share of a core, softirq included, from which it has no time left to speak of.
BUSY_CORE_RATIO = 0.95
#: Share of what the windows or a known line would carry from which they explain a rate, busy core or not.
EXPLAINED_RATIO = 0.9
#: Share of what a host carries over its own loopback from which a rate may be the host's.
CEILING_RATIO = 0.8


def is_core_busy(busiest_core_ratios: Iterable[float | None]) -> bool:
    """Whether the busiest core of one of the hosts had no time left; unmeasured ones (None) say nothing."""
    return any(ratio is not None and ratio >= BUSY_CORE_RATIO for ratio in busiest_core_ratios)


def is_host_limited(
    throughput_bits_per_s: float | None,
    busiest_core_ratios: Iterable[float | None],
    bounds_bits_per_s: Iterable[float | None],
    ceiling_bits_per_s: float | None = None,
) -> bool:
    """Whether a host was at its limit and no known bound (windows over RTT, a lab's line) explains the rate.

    At its limit: a core had no time left, or the rate is near what the host carries over its own loopback
    (``ceiling_bits_per_s``, None where that was not measured).

    Notes
    -----
    Evidence and no proof: the core may have been busy with something else, and loopback spares a network
    card's work (a real path's ceiling is lower) but runs both ends on one host (it may be higher). It errs
    towards distrust of the host. Minimum: one trial. Source: METHOD section 4 (limit verdict); the thresholds
    are this project's.
    """
    if throughput_bits_per_s is None:
        return False
    near_ceiling = (
        ceiling_bits_per_s is not None and throughput_bits_per_s >= CEILING_RATIO * ceiling_bits_per_s
    )
    if not near_ceiling and not is_core_busy(busiest_core_ratios):
        return False
    return all(
        throughput_bits_per_s < EXPLAINED_RATIO * bound for bound in bounds_bits_per_s if bound is not None
    )
