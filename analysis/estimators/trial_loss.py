"""Loss of packets over repeated trials, with an interval that allows for losses in bursts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.interval import (
    CONFIDENCE_RATIO,
    Interval,
    IntervalBuilder,
    Undecided,
    as_amounts,
    check_confidence,
    check_lengths,
    check_sample_count,
)
from pathlab.analysis.estimators.serial import BOUND_RATIO, order_at
from pathlab.analysis.libraries import special
from pathlab.errors import UsageError

METHOD = "korn-graubard"
#: A lower end below this is 0: no count distinguishes it from none.
LEAST_RATIO = 1e-9
#: Trials without which the variation between trials is not known.
TRIALS_MIN = 2
#: Packets lost together that are assumed where too few bursts were seen to know their length, and the number
#: of bursts from which on it is known.
BURST_ASSUMED_PACKETS = 4.0
BURSTS_KNOWN = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialLoss:
    """Packets of all trials, their loss (0 to 1) and its interval.

    ``dispersion`` is how many times the variance of the loss is that of single losses; it is at least the
    burst assumed. None with fewer than 2 trials.
    """

    trials: int
    sent: int
    lost: int
    loss_ratio: float | None
    dispersion: float | None
    interval_ratio: Interval


def pool_trial_loss(
    sent: ArrayLike,
    lost: ArrayLike,
    *,
    burst_packets: float = 1.0,
    bursts: int | None = None,
    confidence_ratio: float = CONFIDENCE_RATIO,
) -> TrialLoss:
    """Loss over trials, each with ``sent`` packets of which ``lost`` were lost.

    ``bursts``: the number of bursts whose length ``burst_packets`` was measured from; None: it is assumed.

    Raises ``UsageError`` if a trial lost more than it sent, or a number is negative.

    Notes
    -----
    Losses come in bursts, so packets are not independent: a binomial interval over packets is too narrow.
    Trials are the clusters of Korn and Graubard (Survey Methodology 24, 1998): the number of packets is
    divided by the dispersion (Pearson's chi-square over its degrees of freedom, at least
    ``burst_packets``) and by the square of Student's quantile over the normal one, because few trials
    know the dispersion badly. The exact interval of Clopper and Pearson (Biometrika 26, 1934) follows at
    this effective size. Dispersion beyond ``burst_packets`` is a loss that changes from trial to trial: it
    is inflated for a serial correlation of 0.7 (``serial.order_at``), which so few trials cannot exclude.
    Assumption: bursts are short compared with a trial. Where nothing was lost no burst was seen, and
    ``burst_packets`` alone is the assumption. In simulation (``tests/statistics/test_trial_loss.py``) the
    95 % interval holds the loss in 92 % or more, of bursts up to 2.5 times the assumed ones and of a loss
    that is correlated by up to 0.7 from trial to trial.
    Fewer than ``BURSTS_KNOWN`` measured bursts do not show their length: the dispersion is then at least
    ``BURST_ASSUMED_PACKETS``, and Student's quantile has at most as many degrees of freedom as there were
    bursts, if they are longer than that. In simulation (``tests/statistics/test_flow_loss.py``) the 95 %
    interval of one flow holds its loss in 92 % or more of the flows, where bursts of up to the assumed length
    are expected, or four longer ones or more. Where fewer and longer ones are expected, many flows show none
    of them: no interval allows for that.
    Minimum sample: 2 trials.
    """
    check_confidence(confidence_ratio)
    if burst_packets < 1:
        raise UsageError(f"a burst of {burst_packets:g} packets cannot be", hint="1 is a single loss")
    out, gone = as_amounts(sent, "sent"), as_amounts(lost, "lost")
    check_lengths(sent=out, lost=gone)
    if (gone > out).any():
        raise UsageError("a trial lost more packets than it sent", hint="count duplicates apart")
    total, missing, trials = float(out.sum()), float(gone.sum()), int((out > 0).sum())
    builder = IntervalBuilder(n=trials, method=METHOD, confidence_ratio=confidence_ratio)
    reason = check_sample_count(trials, TRIALS_MIN)
    ratio = missing / total if total else None
    dispersion = None
    interval = builder.build_undecided(reason or Undecided.NO_SAMPLES)
    if ratio is not None and reason is None:
        least, freedom = _bound_bursts(burst_packets, bursts, trials)
        excess = max(0.0, _measure_dispersion(out[out > 0], gone[out > 0], ratio) - burst_packets)
        order = order_at(trials, BOUND_RATIO)
        dispersion = max(least, burst_packets + excess * order.inflation_ratio / order.spread_ratio)
        shrink = dispersion * _student_inflation(freedom, confidence_ratio)
        interval = builder.build(*_bound_ratio(missing / shrink, total / shrink, confidence_ratio))
    return TrialLoss(
        trials=trials,
        sent=round(total),
        lost=round(missing),
        loss_ratio=ratio,
        dispersion=dispersion,
        interval_ratio=interval,
    )


def count_packets_to_confirm(
    loss_ratio: float,
    trials: int,
    *,
    burst_packets: float = 1.0,
    confidence_ratio: float = CONFIDENCE_RATIO,
) -> int:
    """Packets of all ``trials`` together that confirm a loss below ``loss_ratio`` if none is lost.

    The inverse of ``pool_trial_loss`` without a loss: of independent packets, known to be so, it would be
    ``-ln((1 - confidence) / 2) / loss``, about 3.7 / loss at 95 %.
    """
    check_confidence(confidence_ratio)
    if not 0 < loss_ratio < 1 or trials < TRIALS_MIN:
        raise UsageError(
            f"a loss of {loss_ratio:g} in {trials} trials cannot be confirmed",
            hint="a loss between 0 and 1, in 2 trials or more",
        )
    single = math.log((1 - confidence_ratio) / 2) / math.log1p(-loss_ratio)
    return math.ceil(single * burst_packets * _student_inflation(trials - 1, confidence_ratio))


def _bound_bursts(burst_packets: float, bursts: int | None, trials: int) -> tuple[float, int]:
    """The least dispersion, and the degrees of freedom at which the dispersion is known."""
    if bursts is None:
        return burst_packets, trials - 1
    least = burst_packets if bursts >= BURSTS_KNOWN else max(burst_packets, BURST_ASSUMED_PACKETS)
    known = bursts if burst_packets > BURST_ASSUMED_PACKETS else trials - 1
    return least, max(1, min(trials - 1, known))


def _measure_dispersion(sent: NDArray[np.float64], lost: NDArray[np.float64], ratio: float) -> float:
    """Pearson's chi-square of equal loss in all trials, over its degrees of freedom."""
    if not 0 < ratio < 1:
        return 0.0
    expected = sent * ratio
    return float(((lost - expected) ** 2 / (expected * (1 - ratio))).sum()) / (sent.size - 1)


def _student_inflation(freedom: int, confidence_ratio: float) -> float:
    upper = (1 + confidence_ratio) / 2
    return float(special.stdtrit(freedom, upper) / special.ndtri(upper)) ** 2


def _bound_ratio(lost: float, sent: float, confidence_ratio: float) -> tuple[float, float]:
    """Clopper and Pearson's interval; counts need not be whole."""
    tail = (1 - confidence_ratio) / 2
    low = 0.0 if lost <= 0 else float(special.betaincinv(lost, sent - lost + 1, tail))
    high = 1.0 if lost >= sent else float(special.betaincinv(lost + 1, sent - lost, 1 - tail))
    return (low if low >= LEAST_RATIO else 0.0), high
