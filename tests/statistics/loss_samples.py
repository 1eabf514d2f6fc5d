"""Trials with losses of several shapes, for simulations of the search for the lossless rate."""

import math
from collections.abc import Iterator

import numpy as np

from pathlab.analysis.planning.loss_search import LossTrial, RateLoss, SearchRule, evaluate_rate

RATE_BITS_PER_S = 10**7


def draw_trials(
    rng: np.random.Generator,
    packets: int,
    loss_ratio: float,
    *,
    burst: float = 1.0,
    correlation: float = 0.0,
    variation: float = 0.0,
) -> Iterator[tuple[int, int]]:
    """Packets sent and lost, trial by trial.

    Losses come in bursts of geometric length with mean ``burst``. The loss of a trial is log-normal with the
    coefficient of ``variation``, its logarithm a first-order series.
    """
    spread = math.sqrt(math.log1p(variation**2))
    state = rng.normal()
    while True:
        ratio = min(1.0, loss_ratio * math.exp(spread * state - spread**2 / 2))
        bursts = rng.poisson(packets * ratio / burst)
        lost = int(rng.geometric(1 / burst, bursts).sum()) if bursts else 0
        yield packets, min(packets, lost)
        state = correlation * state + math.sqrt(1 - correlation**2) * rng.normal()


def decide_rate(rule: SearchRule, draws: Iterator[tuple[int, int]]) -> RateLoss:
    """Trials until the rate has its verdict, as a search runs them."""
    trials: list[LossTrial] = []
    while True:
        sent, lost = next(draws)
        trials.append(
            LossTrial(rate_bits_per_s=RATE_BITS_PER_S, sent_packets=sent, lost_packets=lost, sent_ratio=1.0)
        )
        found = evaluate_rate(RATE_BITS_PER_S, trials, rule)
        if found.verdict is not None:
            return found
