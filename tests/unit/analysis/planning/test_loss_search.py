"""The steps of the search: each state from the trials alone, hosts that limit, rules that cannot be."""

from pathlab.analysis.planning.loss_search import (
    LossTrial,
    RateVerdict,
    SearchRule,
    evaluate_rate,
    evaluate_search,
)

MBIT = 10**6
RULE = SearchRule(loss_ratio=0.01, lowest_bits_per_s=10 * MBIT, highest_bits_per_s=100 * MBIT)


def trial(
    rate: int, lost: int = 0, *, host: int | None = 0, sent_ratio: float = 1.0, usable: bool = True
) -> LossTrial:
    return LossTrial(
        rate_bits_per_s=rate,
        sent_packets=20_000,
        lost_packets=lost,
        host_lost_packets=host,
        sent_ratio=sent_ratio,
        usable=usable,
    )


def test_first_the_ends_then_the_middle() -> None:
    trials: list[LossTrial] = []
    assert evaluate_search(trials, RULE).next_bits_per_s == 10 * MBIT
    trials += [trial(10 * MBIT)] * 2
    assert evaluate_search(trials, RULE).next_bits_per_s == 10 * MBIT
    trials += [trial(10 * MBIT)]
    assert evaluate_search(trials, RULE).next_bits_per_s == 100 * MBIT
    trials += [trial(100 * MBIT, 10_000)] * 3
    state = evaluate_search(trials, RULE)
    assert state.next_bits_per_s == 31_620_000  # sqrt(10 * 100), in four digits
    assert (state.below_bits_per_s, state.above_bits_per_s) == (10 * MBIT, 100 * MBIT)
    assert state.ending is None
    assert evaluate_search([*trials, *[trial(31_620_000)] * 2], RULE).next_bits_per_s == 31_620_000
    linear = SearchRule(
        loss_ratio=0.01, lowest_bits_per_s=10 * MBIT, highest_bits_per_s=100 * MBIT, scale="linear"
    )
    assert evaluate_search(trials, linear).next_bits_per_s == 55 * MBIT


def test_a_sender_that_does_not_reach_the_rate() -> None:
    short = evaluate_rate(MBIT, [trial(MBIT, sent_ratio=0.9)] * 2, RULE)
    assert short.verdict == RateVerdict.SENDER
    assert short.all_lost.trials == 0  # says nothing about the path
    assert evaluate_rate(MBIT, [trial(MBIT, sent_ratio=0.995)] * 3, RULE).verdict == RateVerdict.BELOW
    once = [trial(MBIT, sent_ratio=0.9)] + [trial(MBIT)] * 3
    assert evaluate_rate(MBIT, once, RULE).verdict == RateVerdict.BELOW
    lossy = [trial(MBIT, 200)] * 3
    now_and_then = [*lossy[:1], once[0], *lossy, once[0]]
    assert evaluate_rate(MBIT, now_and_then, RULE).verdict == RateVerdict.UNDECIDED
    disturbed = [trial(MBIT, sent_ratio=0.9, usable=False)] * 9
    assert evaluate_rate(MBIT, disturbed, RULE).verdict is None


def test_what_the_receiving_host_lost_is_not_the_path() -> None:
    assert evaluate_rate(MBIT, [trial(MBIT, 2000, host=2000)] * 3, RULE).verdict == RateVerdict.RECEIVER
    assert evaluate_rate(MBIT, [trial(MBIT, 2000, host=1000)] * 3, RULE).verdict == RateVerdict.ABOVE
    unknown = evaluate_rate(MBIT, [trial(MBIT, 2000, host=None)] * 3, RULE)
    assert (unknown.verdict, unknown.is_host_known) == (RateVerdict.ABOVE, False)


def test_trials_that_say_nothing_end_as_undecided() -> None:
    disturbed = trial(MBIT, 4000, usable=False)
    few = evaluate_rate(MBIT, [disturbed] * 9, RULE)
    assert few.verdict is None
    found = evaluate_rate(MBIT, [disturbed] * 10, RULE)
    assert (found.verdict, found.unusable) == (RateVerdict.UNDECIDED, 10)
    made_up = evaluate_rate(MBIT, [disturbed] * 6 + [trial(MBIT)] * 3, RULE)
    assert (made_up.verdict, made_up.all_lost.trials) == (RateVerdict.BELOW, 3)
    above = evaluate_rate(MBIT, [disturbed] * 6 + [trial(MBIT, 4000)] * 3, RULE)
    assert above.verdict == RateVerdict.ABOVE


def test_a_disturbed_trial_can_show_a_loss_below_the_limit_alone() -> None:
    """What a lab at its limit loses comes on top of the path's loss."""
    clean = evaluate_rate(MBIT, [trial(MBIT, usable=False)] * 3, RULE)
    assert (clean.verdict, clean.unusable) == (RateVerdict.BELOW, 3)
    assert evaluate_rate(MBIT, [trial(MBIT, 4000, host=4000, usable=False)] * 5, RULE).verdict is None


def test_a_trial_that_a_safety_limit_ended_is_the_last_at_its_rate() -> None:
    aborted = LossTrial(rate_bits_per_s=MBIT, sent_packets=0, lost_packets=0, aborted=True)
    assert evaluate_rate(MBIT, [aborted], RULE).verdict == RateVerdict.UNDECIDED


def test_trials_after_a_verdict_do_not_change_it() -> None:
    found = evaluate_rate(MBIT, [trial(MBIT)] * 3 + [trial(MBIT, 20_000)] * 2, RULE)
    assert (found.verdict, found.trials) == (RateVerdict.BELOW, 3)
