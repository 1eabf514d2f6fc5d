"""Which of several sufficient settings to prefer: less delay and loss where measured, then the smaller."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pathlab.analysis.estimators.interval import Interval
from pathlab.analysis.estimators.loss import Loss
from pathlab.analysis.estimators.margins import MARGIN_RATIO

#: Differences of loss up to this are too small to matter (half a percentage point).
LOSS_MARGIN_RATIO = MARGIN_RATIO / 10


class Reason(StrEnum):
    """What a preference rests on. The values are stable and machine-readable."""

    DELAY = "less-delay"
    LOSS = "less-loss"
    WINDOW = "smaller-total-window"
    STREAMS = "fewer-streams"


class DifferenceTest(StrEnum):
    """How a difference was shown. The values are stable and machine-readable."""

    INTERVALS = "confidence-intervals"
    RANGES = "ranges-of-trials"  # too few trials for intervals; chance is not ruled out


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One setting: its dRTT over the trials (median, the median's interval, extremes), loss and size.

    Times are in ns; None: not measured. ``total_window_bytes`` is streams x window, None: not known.
    """

    drtt_ns: float | None
    drtt_interval: Interval
    drtt_least_ns: float | None
    drtt_most_ns: float | None
    loss: Loss
    total_window_bytes: float | None
    streams: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """The place of the chosen option, of the rival to name alongside it, and why the one is preferred.

    ``rival`` None: there is none. ``evidence`` is None where a tie-breaker decided.
    """

    chosen: int
    rival: int | None = None
    reason: Reason | None = None
    evidence: DifferenceTest | None = None


def prefer(options: Sequence[Option], delay_margin_ns: float) -> Preference:
    """The option to prefer, and the rival that a reader would think of; at least one option.

    Notes
    -----
    An option is beaten by one that has less dRTT or less loss and is not worse in the other. Less dRTT: the
    intervals of both medians do not overlap and the medians differ by more than ``delay_margin_ns``; where
    one has no interval, the ranges of all trials are farther apart than that. A dRTT below 0 counts as 0.
    Less loss: the intervals do not overlap and the ratios differ by more than half a percentage point. Of
    those that no option beats the one with the least total window is taken, of equal ones that with the
    fewest streams. One whose delay or loss is only less certain than that of a beaten option is left out,
    where that option is no larger and has no more of either by its figures. Ranges of few trials and missing
    figures can let options beat each other in a circle: the same is then done with all of them, and one that
    beats the chosen option is no rival. 95 % intervals that do not overlap differ at about 0.6 % where both
    are equally wide (Schenker and Gentleman, American Statistician 55, 2001), so that no correction is made
    for ten or so options. Ranges of two trials each are apart by chance in one of three pairs: such evidence
    is called low.
    """
    order = sorted(range(len(options)), key=lambda index: _size(options[index]))
    beaten = {
        index
        for index in order
        if any(find_reason(options[other], options[index], delay_margin_ns) for other in order)
    }
    unbeaten = [index for index in order if index not in beaten] or order
    dominated = {
        index for index in unbeaten if any(_dominates(options[other], options[index]) for other in beaten)
    }
    unbeaten = [index for index in unbeaten if index not in dominated] or unbeaten
    chosen = unbeaten[0]
    rest = [index for index in order if index != chosen]
    if not rest:
        return Preference(chosen=chosen)
    won = [index for index in rest if find_reason(options[chosen], options[index], delay_margin_ns)]
    smaller = [index for index in won if _size(options[index]) < _size(options[chosen])]
    tied = [
        index
        for index in unbeaten
        if index != chosen and find_reason(options[index], options[chosen], delay_margin_ns) is None
    ]
    rivals = smaller or tied or won
    if not rivals:
        return Preference(chosen=chosen)
    rival = rivals[0]
    reason = find_reason(options[chosen], options[rival], delay_margin_ns)
    if reason is not None:
        return Preference(chosen=chosen, rival=rival, reason=reason[0], evidence=reason[1])
    same = _size(options[chosen])[0] == _size(options[rival])[0]
    return Preference(chosen=chosen, rival=rival, reason=Reason.STREAMS if same else Reason.WINDOW)


def find_reason(
    first: Option, second: Option, delay_margin_ns: float
) -> tuple[Reason, DifferenceTest] | None:
    """Why the first beats the second by what was measured; None where it does not."""
    faster = _has_less_delay(first, second, delay_margin_ns)
    if _has_less_delay(second, first, delay_margin_ns) or _has_less_loss(second, first):
        return None
    if faster is not None:
        return Reason.DELAY, faster
    return (Reason.LOSS, DifferenceTest.INTERVALS) if _has_less_loss(first, second) else None


def _has_less_delay(first: Option, second: Option, margin_ns: float) -> DifferenceTest | None:
    if first.drtt_ns is None or second.drtt_ns is None:
        return None
    if first.drtt_interval.decided and second.drtt_interval.decided:
        apart = (
            first.drtt_interval.lies_below(second.drtt_interval)
            and _add_delay(second.drtt_ns) - _add_delay(first.drtt_ns) > margin_ns
        )
        return DifferenceTest.INTERVALS if apart else None
    if first.drtt_most_ns is None or second.drtt_least_ns is None:
        return None
    gap_ns = _add_delay(second.drtt_least_ns) - _add_delay(first.drtt_most_ns)
    return DifferenceTest.RANGES if gap_ns > margin_ns else None


def _dominates(first: Option, second: Option) -> bool:
    """Whether the first is no larger, and has no more delay and no more loss by its figures."""
    delays, losses = (first.drtt_ns, second.drtt_ns), (first.loss.loss_ratio, second.loss.loss_ratio)
    if None in (*delays, *losses):
        return False
    ours, theirs = (
        (*_size(item), _add_delay(item.drtt_ns or 0.0), item.loss.loss_ratio or 0.0)
        for item in (first, second)
    )
    return ours != theirs and all(mine <= other for mine, other in zip(ours, theirs, strict=True))


def _add_delay(drtt_ns: float) -> float:
    """What a queue can have added: a dRTT below 0 says that the idle probes met other traffic."""
    return max(0.0, drtt_ns)


def _has_less_loss(first: Option, second: Option) -> bool:
    high, low = first.loss.interval_ratio.high, second.loss.interval_ratio.low
    if high is None or low is None or first.loss.loss_ratio is None or second.loss.loss_ratio is None:
        return False
    return high < low and second.loss.loss_ratio - first.loss.loss_ratio > LOSS_MARGIN_RATIO


def _size(option: Option) -> tuple[float, int]:
    """What the tie-breakers go by: total window, then streams."""
    window = option.total_window_bytes
    return (math.inf if window is None else window, option.streams)
