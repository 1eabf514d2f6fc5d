"""The search for the lossless rate: what it claims at each rate, and what it finds on simulated paths."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
import pytest

from pathlab.analysis.planning.loss_search import (
    LossTrial,
    RateVerdict,
    SearchEnding,
    SearchRule,
    SearchState,
    evaluate_search,
)
from tests.length import choose_runs, list_long
from tests.statistics.loss_samples import decide_rate, draw_trials
from tests.statistics.noise import RUNS, check_share

RULE = SearchRule(loss_ratio=1e-3, lowest_bits_per_s=10**7, highest_bits_per_s=10**8)
Path = Callable[[int], tuple[int, int]]  # rate in bit/s -> packets sent and lost


def run_search(rule: SearchRule, path: Path) -> SearchState:
    """Trials one after the other until the search ends."""
    trials: list[LossTrial] = []
    state = evaluate_search(trials, rule)
    while state.next_bits_per_s is not None:
        sent, lost = path(state.next_bits_per_s)
        trials.append(LossTrial(rate_bits_per_s=state.next_bits_per_s, sent_packets=sent, lost_packets=lost))
        assert len(trials) <= rule.trials_bound
        state = evaluate_search(trials, rule)
    return state


@pytest.mark.parametrize(
    ("burst", "trials_max", "enough", "runs"),
    [
        *((*case, RUNS[0]) for case in ((1, 3, 8), (1, 8, 1), (4, 5, 1), (10, 3, 1), (10, 8, 8))),
        *list_long((1, 4, 10), (3, 5, 8), (1, 8), runs=2000),
    ],
)
def test_false_decisions_with_bursts(burst: int, trials_max: int, enough: int, runs: int) -> None:
    """With as few packets as the rule admits, or more, a loss near the limit rarely gets a false verdict."""
    rule = dataclasses.replace(RULE, trials_max=trials_max)
    rng = np.random.default_rng([burst, trials_max, enough])
    packets = enough * rule.packets_per_trial
    for loss_ratio, wrong in ((1.02e-3, RateVerdict.BELOW), (0.98e-3, RateVerdict.ABOVE)):
        verdicts = [
            decide_rate(rule, draw_trials(rng, packets, loss_ratio, burst=burst)).verdict for _ in range(runs)
        ]
        check_share(verdicts.count(wrong), runs, 0.0, 0.05)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.7])
def test_false_decisions_with_a_loss_that_drifts(correlation: float, runs: int) -> None:
    """The project's target of serial correlation: at most 7 % false decisions."""
    rng = np.random.default_rng(int(10 * correlation))
    for loss_ratio, wrong in ((1.02e-3, RateVerdict.BELOW), (0.98e-3, RateVerdict.ABOVE)):
        verdicts = [
            decide_rate(
                RULE, draw_trials(rng, 50_000, loss_ratio, burst=3, correlation=correlation, variation=0.5)
            ).verdict
            for _ in range(runs)
        ]
        check_share(verdicts.count(wrong), runs, 0.0, 0.07)


def test_a_clear_loss_is_decided_soon() -> None:
    rng = np.random.default_rng(5)
    high = [decide_rate(RULE, draw_trials(rng, 20_000, 0.02, burst=3, variation=0.1)) for _ in range(100)]
    assert sum(found.verdict == RateVerdict.ABOVE for found in high) >= 99
    assert sum(found.trials for found in high) <= 350
    low = [decide_rate(RULE, draw_trials(rng, 60_000, 1e-5)) for _ in range(100)]
    assert sum(found.verdict == RateVerdict.BELOW for found in low) >= 95


def link(rng: np.random.Generator, capacity: int, loss_ratio: float, burst: float = 1.0) -> Path:
    """A link that drops what is above its capacity, and a share of all."""
    draws: dict[float, Iterator[tuple[int, int]]] = {}

    def carry(rate: int) -> tuple[int, int]:
        excess = max(0.0, 1 - capacity / rate)
        ratio = loss_ratio + (1 - loss_ratio) * excess
        packets = round(rate * 8 / 11776)  # eight seconds of datagrams of 1472 bytes
        stream = draws.setdefault(rate, draw_trials(rng, packets, ratio, burst=burst))
        return next(stream)

    return carry


@pytest.mark.parametrize(
    ("capacity", "scale"), [(12_300_000, "log"), (48_600_000, "linear"), (97_000_000, "log")]
)
def test_capacity_of_a_link_is_found(capacity: int, scale: Literal["log", "linear"]) -> None:
    rule = dataclasses.replace(RULE, scale=scale, trials_max=8)
    state = run_search(rule, link(np.random.default_rng(capacity), capacity, 0.0))
    assert state.ending == SearchEnding.FOUND
    assert state.below_bits_per_s <= capacity * 1.0011  # what is at most p above is no loss > p
    assert state.above_bits_per_s >= capacity
    assert state.above_bits_per_s <= state.below_bits_per_s * 1.0201
    assert state.trials <= rule.trials_bound
    assert state.trials <= 1.25 * rule.trials_expected


@pytest.mark.parametrize("runs", [choose_runs(40), pytest.param(500, marks=pytest.mark.long)])
@pytest.mark.parametrize("burst", [1, 8])
def test_bracket_holds_the_truth(burst: int, runs: int) -> None:
    """Over whole searches, with losses in bursts at half the limit."""
    rng = np.random.default_rng(burst)
    held = found = 0
    for _ in range(runs):
        state = run_search(RULE, link(rng, 48_600_000, 0.5e-3, burst))
        truth = 48_600_000 * (1 - 0.5e-3) / (1 - 1e-3)
        found += state.ending == SearchEnding.FOUND
        held += (state.below_bits_per_s or 0) <= truth and (state.above_bits_per_s or 10**9) >= truth
    check_share(held, runs, 0.92, 1 - 1e-9)


def test_loss_above_the_limit_at_every_rate() -> None:
    state = run_search(RULE, link(np.random.default_rng(1), 10**9, 0.01))
    assert (state.ending, state.below_bits_per_s) == (SearchEnding.BELOW_LOWEST, None)
    assert state.above_bits_per_s == RULE.lowest_bits_per_s
    everything = run_search(RULE, lambda _rate: (20_000, 20_000))
    assert (everything.ending, everything.trials) == (SearchEnding.BELOW_LOWEST, 3)


def test_no_loss_at_the_highest_rate() -> None:
    state = run_search(RULE, lambda _rate: (40_000, 0))
    assert (state.ending, state.below_bits_per_s) == (SearchEnding.ABOVE_HIGHEST, RULE.highest_bits_per_s)
    assert state.above_bits_per_s is None


def test_loss_at_the_limit_is_undecided() -> None:
    """It is not called found: no rate has a loss on either side."""
    state = run_search(RULE, lambda _rate: (40_000, 40))
    assert (state.ending, state.below_bits_per_s) == (SearchEnding.UNDECIDED, None)
    # Where the loss grows slowly through the limit, the bracket holds what is not distinguished from it.
    slow = run_search(RULE, lambda rate: (40_000, round(40 * (rate / 3e7) ** 2)))
    assert slow.ending == SearchEnding.UNDECIDED
    assert slow.below_bits_per_s < 3e7 < slow.above_bits_per_s
    assert slow.above_bits_per_s > slow.below_bits_per_s * 1.02
    undecided = [rate for rate in slow.rates if rate.verdict == RateVerdict.UNDECIDED]
    lowest, highest = (side(rate.rate_bits_per_s for rate in undecided) for side in (min, max))
    assert lowest <= slow.below_bits_per_s * 1.02
    assert slow.above_bits_per_s <= highest * 1.02
