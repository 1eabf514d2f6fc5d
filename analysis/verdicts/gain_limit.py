"""The level from which a gain is no longer worth it, such as the size where batching stops paying."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pathlab.analysis.estimators.interval import Interval, Undecided
from pathlab.analysis.estimators.margins import MARGIN_RATIO


@dataclass(frozen=True, slots=True, kw_only=True)
class GainLimit:
    """Where a gain, a ratio of two rates, falls to 1 + margin, as levels ascend.

    ``level`` is the first one whose interval includes or is below 1 + margin. The gain is shown (its interval
    lies above 1 + margin) up to ``shown_to``, None: at no level; it is shown to be gone from ``gone_from``
    on, None: at no level. The true limit lies between these two. ``undecided`` says why there is no
    ``level``: ``beyond-range`` where the gain is shown at every level.
    """

    level: float | None = None
    shown_to: float | None = None
    gone_from: float | None = None
    undecided: Undecided | None = None


def find_gain_limit(
    levels: Sequence[float], gains: Sequence[Interval], margin_ratio: float = MARGIN_RATIO
) -> GainLimit:
    """The limit from the gain's interval at each level, ascending.

    Notes
    -----
    Assumption: the gain does not grow with the level. Then no correction for the number of levels is needed:
    levels are tested in a fixed order from either end, and the first interval that fails ends it, so that
    ``shown_to`` is too high only if the interval at the first level beyond the limit is wrong, and
    ``gone_from`` too low only if that at the last level before it is. Minimum sample: that of the intervals.
    Source: fixed-sequence tests, Maurer, Hothorn and Lehmacher, in Biometrie in der
    chemisch-pharmazeutischen Industrie 6, 1995. In simulation (``tests/statistics/test_gain_limit.py``) the
    limit lies between the two in 95 % or more.
    """
    bound = 1 + margin_ratio
    shown_to = gone_from = None
    for level, gain in zip(levels, gains, strict=True):
        if not _is_shown(gain, bound):
            break
        shown_to = level
    for level, gain in zip(reversed(levels), reversed(gains), strict=True):
        if gain.high is None or gain.high >= bound:
            break
        gone_from = level
    failed = [(level, gain) for level, gain in zip(levels, gains, strict=True) if not _is_shown(gain, bound)]
    if not failed:
        reason = Undecided.BEYOND_RANGE if levels else Undecided.NO_SAMPLES
        return GainLimit(shown_to=shown_to, gone_from=gone_from, undecided=reason)
    level, gain = failed[0]
    return GainLimit(
        level=level if gain.decided else None,
        shown_to=shown_to,
        gone_from=gone_from,
        undecided=gain.undecided,
    )


def _is_shown(gain: Interval, bound: float) -> bool:
    return gain.low is not None and gain.low > bound
