"""Loss of probes as a proportion with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from pathlab.analysis.estimators.interval import (
    CONFIDENCE_RATIO,
    Interval,
    IntervalBuilder,
    Undecided,
)
from pathlab.analysis.estimators.trial_loss import pool_trial_loss
from pathlab.errors import UsageError

METHOD = "wilson"

#: Trials from which on the loss of a combination has an interval.
TRIALS_MIN = 3
#: No trial sends more probes; a stored count beyond it is an error of the program that wrote it.
PROBES_MAX = 2**40


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Probes sent and lost, the ratio (0 to 1) and its interval; ``None`` and undecided if none was sent."""

    sent: int
    lost: int
    loss_ratio: float | None = None
    interval_ratio: Interval
    undecided: Undecided | None = None


def probe_loss(sent: int, received: int) -> Loss:
    """Ratio of probes without an answer, with the Wilson score interval.

    Raises ``UsageError`` if a count is negative or more was received than sent.

    Notes
    -----
    Assumption: independent probes of equal loss probability; bursts of loss make the true interval wider.
    Minimum sample: 1 probe. The interval never leaves 0 to 1 and does not collapse when nothing was lost. Its
    coverage goes up and down with the true ratio, about 95 % on the whole (5 to 1,000 probes); where some 0.2
    of all probes are lost on average, so that one lost is bad luck, it is as low as 83 to 86 %.
    Source: Wilson, JASA 22, 1927, without continuity correction.
    """
    if not 0 <= received <= sent:
        raise UsageError(
            f"probes: {received} received of {sent} sent", hint="count duplicates and late answers apart"
        )
    builder = IntervalBuilder(n=sent, method=METHOD)
    if sent == 0:
        none = builder.build_undecided(Undecided.NO_SAMPLES)
        return Loss(sent=0, lost=0, interval_ratio=none, undecided=Undecided.NO_SAMPLES)
    lost = sent - received
    interval = builder.build(*_compute_wilson(lost, sent))
    return Loss(sent=sent, lost=lost, loss_ratio=lost / sent, interval_ratio=interval)


def _compute_wilson(lost: int, sent: int) -> tuple[float, float]:
    """Both ends of the interval: the ratios whose score is the normal quantile, or less."""
    quantile = NormalDist().inv_cdf((1 + CONFIDENCE_RATIO) / 2)
    weight = quantile**2 / sent
    ratio = lost / sent
    middle = ratio + weight / 2
    reach = quantile * math.sqrt(ratio * (1 - ratio) / sent + weight / (4 * sent))
    low, high = (middle - reach) / (1 + weight), (middle + reach) / (1 + weight)
    return 0.0 if lost == 0 else low, 1.0 if lost == sent else high


def pool_loss(sent: ArrayLike, received: ArrayLike) -> Loss:
    """Loss over the probes of several trials, whose interval is over trials; NaN: not counted.

    Both arrays have one count for each trial, in time order. Trials with counts that cannot be (below 0, more
    received than sent, beyond ``PROBES_MAX``) add nothing. Fewer than 3 trials have no interval (too few
    samples): Student's quantile of two would make it nearly all that a loss can be.

    Notes
    -----
    Outages lose many probes of one trial together, so that trials are the samples: ``pool_trial_loss`` of
    single losses. In simulation (``tests/statistics/test_probe_loss.py``) two combinations with the same
    outages have intervals that do not overlap in less than 1 % of campaigns. No interval allows for an outage
    that no trial met.
    """
    out, back = np.asarray(sent, dtype=np.float64), np.asarray(received, dtype=np.float64)
    known = (back >= 0) & (out >= back) & (out <= PROBES_MAX)
    trial_loss = pool_trial_loss(out[known], out[known] - back[known])
    interval = trial_loss.interval_ratio
    if trial_loss.sent and trial_loss.trials < TRIALS_MIN:
        builder = IntervalBuilder(n=trial_loss.trials, method=interval.method)
        interval = builder.build_undecided(Undecided.TOO_FEW_SAMPLES)
    return Loss(
        sent=trial_loss.sent,
        lost=trial_loss.lost,
        loss_ratio=trial_loss.loss_ratio,
        interval_ratio=interval,
        undecided=None if trial_loss.sent else Undecided.NO_SAMPLES,
    )
