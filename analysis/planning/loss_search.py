"""The search for the highest rate whose loss stays at or below a limit: trials in, next step out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from pathlab.analysis.estimators.interval import CONFIDENCE_RATIO
from pathlab.analysis.estimators.trial_loss import TrialLoss, count_packets_to_confirm, pool_trial_loss
from pathlab.errors import UsageError

Scale = Literal["log", "linear"]
#: Trials before the first look at a rate's loss.
TRIALS_BEFORE_VERDICT = 3
#: Trials in which the sender falls short before the rate is beyond it, if they are half of all as well.
SHORT_TRIALS = 2
#: Trials that say nothing are made up for, until a rate has had this many times its trials.
TRIES_PER_TRIAL = 2
#: A sender may miss the offered rate by half the resolution, and by no more than this.
SHORTFALL_MAX_RATIO = 0.02
#: Digits of a rate that is tried.
RATE_DIGITS = 4


class RateVerdict(StrEnum):
    """What the trials at one rate show. The values are stable and machine-readable."""

    BELOW = "below"  # loss <= the limit
    ABOVE = "above"  # loss > the limit
    SENDER = "sender-limited"  # the sending host did not reach the rate
    RECEIVER = "receiver-limited"  # beyond the limit only with what the receiving host lost
    UNDECIDED = "undecided"


class SearchEnding(StrEnum):
    """How a finished search ended. The values are stable and machine-readable."""

    FOUND = "found"
    ABOVE_HIGHEST = "above-highest"  # loss <= the limit at the highest rate
    BELOW_LOWEST = "below-lowest"  # loss > the limit at the lowest rate
    SENDER = "sender-limited"
    RECEIVER = "receiver-limited"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRule:
    """What is searched for, and how surely.

    A rate is confirmed by ``TRIALS_BEFORE_VERDICT`` to ``trials_max`` trials; those that are not usable come
    on top, up to as many again. ``burst_packets``: packets
    that are lost together, as ``pool_trial_loss`` takes them. Rates are in bit/s of payload.
    """

    loss_ratio: float
    lowest_bits_per_s: int
    highest_bits_per_s: int
    resolution_ratio: float = 0.02
    trials_max: int = 5
    burst_packets: float = 4.0
    scale: Scale = "log"

    def __post_init__(self) -> None:
        """Raise ``UsageError`` for a rule that no trial can meet."""
        if not 0 < self.loss_ratio < 1 or not 0 < self.resolution_ratio < 1 or self.burst_packets < 1:
            raise UsageError("search: a share is out of range", hint="shares between 0 and 1, bursts from 1")
        if not 0 < self.lowest_bits_per_s < self.highest_bits_per_s:
            raise UsageError("search: the lowest rate is not below the highest", hint="lowest < highest")
        if self.trials_max < TRIALS_BEFORE_VERDICT:
            raise UsageError(
                f"search: {self.trials_max} trials confirm no rate",
                hint=f"{TRIALS_BEFORE_VERDICT} or more trials at each rate",
            )

    @property
    def confidence_ratio(self) -> float:
        """Confidence of one look, so that all looks at a rate together err in 5 % at most (Bonferroni)."""
        looks = self.trials_max - TRIALS_BEFORE_VERDICT + 1
        return 1 - (1 - CONFIDENCE_RATIO) / looks

    @property
    def shortfall_ratio(self) -> float:
        """The share of the offered rate that a sender may miss."""
        return min(SHORTFALL_MAX_RATIO, self.resolution_ratio / 2)

    @property
    def packets_per_trial(self) -> int:
        """Packets that a trial needs so that ``trials_max`` without a loss confirm the limit."""
        total = count_packets_to_confirm(
            self.loss_ratio,
            self.trials_max,
            burst_packets=self.burst_packets,
            confidence_ratio=self.confidence_ratio,
        )
        return -(-total // self.trials_max)

    @property
    def steps(self) -> int:
        """Rates between lowest and highest that bisection tries."""
        low, high = self.lowest_bits_per_s, self.highest_bits_per_s
        if self.scale == "log":
            gap = math.log(high / low) / math.log1p(self.resolution_ratio)
        else:
            gap = (high - low) / (low * self.resolution_ratio)
        return max(0, math.ceil(math.log2(gap))) if gap > 1 else 0

    @property
    def trials_expected(self) -> int:
        """Trials of a search in which most rates are decided at the first or the second look."""
        return (2 + self.steps) * min(self.trials_max, TRIALS_BEFORE_VERDICT + 1)

    @property
    def trials_bound(self) -> int:
        """Trials that no search exceeds: both ends of an undecided range bisected, half not usable."""
        return (2 + 2 * (self.steps + 1)) * self.trials_max * TRIES_PER_TRIAL


@dataclass(frozen=True, slots=True, kw_only=True)
class LossTrial:
    """One trial of a search.

    ``host_lost_packets`` are those of ``lost_packets`` that the receiving host lost; None: not known. Where
    not ``is_host_complete`` it may have lost more.
    ``sent_ratio`` is the rate sent over the rate offered; None: not known. ``usable`` False: something
    besides the path may have lost packets, as a lab at its limit does; such a trial can show no more than
    that the path loses less. ``aborted``: a safety limit ended it, so the rate is not tried again.
    """

    rate_bits_per_s: int
    sent_packets: int
    lost_packets: int
    host_lost_packets: int | None = None
    is_host_complete: bool = True
    sent_ratio: float | None = None
    usable: bool = True
    aborted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLoss:
    """What the trials at one rate show. ``verdict``: None until it is clear, or no trial is left.

    ``all_lost`` counts every lost packet of ``choose_counted``, ``path_lost`` those that the receiving host
    did not lose as far as its counters show; unless ``is_host_known`` it may have lost some of them.
    ``short`` are the trials in which the sender did not reach the rate, ``unusable`` others that are not
    usable.
    """

    rate_bits_per_s: int
    trials: int
    short: int
    unusable: int
    all_lost: TrialLoss
    path_lost: TrialLoss
    is_host_known: bool
    verdict: RateVerdict | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchState:
    """Where a search is. ``rates`` ascend; ``next_bits_per_s`` is None when it has ended.

    ``below_bits_per_s`` is the highest rate with a confirmed loss <= the limit, ``above_bits_per_s`` the
    lowest beyond it at which ``limit`` was found: a loss above the limit, or a host that could not keep up.
    """

    rates: tuple[RateLoss, ...] = ()
    next_bits_per_s: int | None = None
    ending: SearchEnding | None = None
    below_bits_per_s: int | None = None
    above_bits_per_s: int | None = None
    limit: RateVerdict | None = None
    trials: int = field(default=0)

    @property
    def is_attributed(self) -> bool:
        """Whether a loss above the limit at ``above_bits_per_s`` is known to be the path's."""
        above = next((rate for rate in self.rates if rate.rate_bits_per_s == self.above_bits_per_s), None)
        return above is None or above.verdict != RateVerdict.ABOVE or above.is_host_known


def evaluate_search(trials: Iterable[LossTrial], rule: SearchRule) -> SearchState:
    """What the trials show, in the order in which they were run, and the rate to try next.

    The same trials always give the same state, so a search continues from what is stored.

    Notes
    -----
    The lowest and the highest rate come first. Then the gap between the highest rate confirmed below the
    limit and the lowest one not confirmed is halved until it is within the resolution; next to undecided
    rates the gap up to the lowest confirmed one is halved as well.
    Assumption: loss does not fall when the rate rises. The confidence, 95 %, is that of each rate; a search
    decides about several.
    Source: METHOD 17; bisection as in RFC 2544 section 26.1, with repeated trials instead of one.
    """
    known: dict[int, list[LossTrial]] = {}
    for trial in trials:
        known.setdefault(trial.rate_bits_per_s, []).append(trial)
    rates = tuple(evaluate_rate(rate, known[rate], rule) for rate in sorted(known))
    count = sum(rate.trials for rate in rates)
    waiting = next((rate for rate in rates if rate.verdict is None), None)
    if waiting is not None:
        low, high, limit = _find_bracket(rates)
        return SearchState(
            rates=rates,
            next_bits_per_s=waiting.rate_bits_per_s,
            below_bits_per_s=low,
            above_bits_per_s=high,
            limit=limit,
            trials=count,
        )
    return _choose_next(rates, rule, count)


def evaluate_rate(rate_bits_per_s: int, trials: Sequence[LossTrial], rule: SearchRule) -> RateLoss:
    """What the trials at one rate show, those after its verdict left out."""
    result = _look(rate_bits_per_s, trials[:1], rule)
    for count in range(2, len(trials) + 1):
        if result.verdict is not None:
            break
        result = _look(rate_bits_per_s, trials[:count], rule)
    return result


def _look(rate_bits_per_s: int, trials: Sequence[LossTrial], rule: SearchRule) -> RateLoss:
    short = [trial for trial in trials if trial.usable and is_short(trial, rule)]
    counted = choose_counted(trials, rule)
    used = [trial for trial in counted if trial.usable]
    is_host_known = bool(counted) and all(
        trial.host_lost_packets is not None and trial.is_host_complete for trial in counted
    )
    all_lost = _pool(counted, [trial.lost_packets for trial in counted], rule)
    on_path = [max(0, trial.lost_packets - (trial.host_lost_packets or 0)) for trial in counted]
    path_lost = _pool(counted, on_path, rule)
    unusable = sum(not trial.usable for trial in trials)
    is_last = len(trials) - unusable >= rule.trials_max or len(trials) >= TRIES_PER_TRIAL * rule.trials_max
    verdict = None
    if any(trial.aborted for trial in trials):
        verdict = RateVerdict.UNDECIDED
    elif len(short) >= SHORT_TRIALS and 2 * len(short) >= len(trials):
        verdict = RateVerdict.SENDER
    elif len(counted) >= TRIALS_BEFORE_VERDICT:
        verdict = _classify(all_lost, path_lost, rule.loss_ratio, is_last=is_last)
        if len(used) < len(counted) and verdict != RateVerdict.BELOW:
            verdict = None
    if verdict is None and is_last:
        verdict = RateVerdict.UNDECIDED
    return RateLoss(
        rate_bits_per_s=rate_bits_per_s,
        trials=len(trials),
        short=len(short),
        unusable=unusable,
        all_lost=all_lost,
        path_lost=path_lost,
        is_host_known=is_host_known,
        verdict=verdict,
    )


def choose_counted(trials: Sequence[LossTrial], rule: SearchRule) -> list[LossTrial]:
    """The trials whose loss is that of the rate: the usable ones, or all where too few are usable."""
    sent = [
        trial
        for trial in trials
        if trial.sent_packets > 0 and not trial.aborted and not is_short(trial, rule)
    ]
    usable = [trial for trial in sent if trial.usable]
    return usable if len(usable) >= TRIALS_BEFORE_VERDICT else sent


def _pool(trials: Sequence[LossTrial], lost: Sequence[int], rule: SearchRule) -> TrialLoss:
    return pool_trial_loss(
        [trial.sent_packets for trial in trials],
        lost,
        burst_packets=rule.burst_packets,
        confidence_ratio=rule.confidence_ratio,
    )


def is_short(trial: LossTrial, rule: SearchRule) -> bool:
    """Whether the sender did not reach the offered rate."""
    return trial.sent_ratio is not None and trial.sent_ratio < 1 - rule.shortfall_ratio


def _classify(
    all_lost: TrialLoss, path_lost: TrialLoss, loss_ratio: float, *, is_last: bool
) -> RateVerdict | None:
    """On which side of the limit the intervals lie; None: neither."""
    whole, path = all_lost.interval_ratio, path_lost.interval_ratio
    if whole.low is None or whole.high is None or path.low is None or path.high is None:
        return None
    if whole.high <= loss_ratio:
        return RateVerdict.BELOW
    if path.low > loss_ratio:
        return RateVerdict.ABOVE
    if whole.low > loss_ratio and (is_last or path.high <= loss_ratio):
        return RateVerdict.RECEIVER
    return None


_HARD = (RateVerdict.ABOVE, RateVerdict.SENDER, RateVerdict.RECEIVER)


def _find_bracket(rates: Sequence[RateLoss]) -> tuple[int | None, int | None, RateVerdict | None]:
    """The highest rate below the limit, the lowest beyond it, and what was found there."""
    hard = next((rate for rate in rates if rate.verdict in _HARD), None)
    above = None if hard is None else hard.rate_bits_per_s
    below = [
        rate.rate_bits_per_s
        for rate in rates
        if rate.verdict == RateVerdict.BELOW and (above is None or rate.rate_bits_per_s < above)
    ]
    return max(below, default=None), above, None if hard is None else hard.verdict


def _choose_next(rates: tuple[RateLoss, ...], rule: SearchRule, count: int) -> SearchState:
    """The next rate, or the ending, where every rate tried has its verdict."""
    verdicts = {rate.rate_bits_per_s: rate.verdict for rate in rates}
    low, high, limit = _find_bracket(rates)

    def end(ending: SearchEnding | None, following: int | None = None) -> SearchState:
        return SearchState(
            rates=rates,
            next_bits_per_s=following,
            ending=ending,
            below_bits_per_s=low,
            above_bits_per_s=high,
            limit=limit,
            trials=count,
        )

    first = verdicts.get(rule.lowest_bits_per_s)
    if first is None:
        return end(None, rule.lowest_bits_per_s)
    if first != RateVerdict.BELOW:
        return end(_ENDINGS_AT_LOWEST[first])
    last = verdicts.get(rule.highest_bits_per_s)
    if last is None:
        return end(None, rule.highest_bits_per_s)
    if last == RateVerdict.BELOW or low is None:
        return end(SearchEnding.ABOVE_HIGHEST)
    open_rates = [
        rate for rate, verdict in verdicts.items() if rate > low and verdict == RateVerdict.UNDECIDED
    ]
    open_rates = [rate for rate in open_rates if high is None or rate < high]
    following = _halve(low, min([*open_rates, *([] if high is None else [high])]), rule)
    if following is None and open_rates and high is not None:
        following = _halve(max(open_rates), high, rule)
    if following is not None:
        return end(None, following)
    if high is None or limit is None or _halve(low, high, rule) is not None:
        return end(SearchEnding.UNDECIDED)
    return end(_ENDINGS[limit])


_ENDINGS = {
    RateVerdict.ABOVE: SearchEnding.FOUND,
    RateVerdict.SENDER: SearchEnding.SENDER,
    RateVerdict.RECEIVER: SearchEnding.RECEIVER,
}
_ENDINGS_AT_LOWEST = {
    **_ENDINGS,
    RateVerdict.ABOVE: SearchEnding.BELOW_LOWEST,
    RateVerdict.UNDECIDED: SearchEnding.UNDECIDED,
}


def _halve(low: int, high: int, rule: SearchRule) -> int | None:
    """The rate in the middle; None where the gap is within the resolution."""
    if high <= low * (1 + rule.resolution_ratio):
        return None
    middle = math.sqrt(low * high) if rule.scale == "log" else (low + high) / 2
    digits = RATE_DIGITS - 1 - math.floor(math.log10(middle))
    rounded = int(round(middle, digits))
    return rounded if low < rounded < high else (int(middle) if low < int(middle) < high else None)
