"""Whether a rate may be the host's and not the path's."""

from __future__ import annotations

from collections.abc import Iterable

#: Busy share of a core, softirq included, from which it has no time left to speak of.
BUSY_CORE_RATIO = 0.95
#: Share of what the windows or a known line would carry from which they explain a rate, busy core or not.
EXPLAINED_RATIO = 0.9


def is_core_busy(busiest_core_ratios: Iterable[float | None]) -> bool:
    """Whether the busiest core of one of the hosts had no time left; unmeasured ones (None) say nothing."""
    return any(ratio is not None and ratio >= BUSY_CORE_RATIO for ratio in busiest_core_ratios)


def is_host_limited(
    throughput_bits_per_s: float | None,
    busiest_core_ratios: Iterable[float | None],
    bounds_bits_per_s: Iterable[float | None],
) -> bool:
    """Whether a core was busy and no known bound (windows over RTT, a lab's line) explains the rate.

    Notes
    -----
    Evidence and no proof: the core may have been busy with something else. It errs towards distrust of the
    host. Minimum: one trial. Source: METHOD section 4 (limit verdict); the thresholds are this project's.
    """
    if throughput_bits_per_s is None or not is_core_busy(busiest_core_ratios):
        return False
    return all(
        throughput_bits_per_s < EXPLAINED_RATIO * bound for bound in bounds_bits_per_s if bound is not None
    )
