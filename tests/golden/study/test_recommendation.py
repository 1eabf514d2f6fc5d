"""The recommendation: as the rule says, decided only where the numbers decide."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import pytest

from pathlab.analysis.verdicts.preference import DifferenceTest, Reason
from pathlab.report.flows.recommendation_text import describe_recommendation
from pathlab.store.records import TrialRecord
from pathlab.study.flows.recommendation import Confidence, Recommendation, Reference
from tests.builders.recommendations import KIB, LINE_BITS_PER_S, QUICK, answer, carry, make, rate, sweep
from tests.builders.results import make_quickstart
from tests.golden.conftest import Say

WINDOW = 64 * KIB
ONE, TWO = [(1, WINDOW)], [(1, WINDOW), (2, WINDOW)]


def make_fast(flag: str) -> Recommendation:
    """One stream is faster, and most of its trials have this flag."""

    def change(record: TrialRecord) -> TrialRecord:
        fast = record.streams == 1
        flags = (flag,) if fast and record.cycle else ()
        return replace(record, throughput_bits_per_s=100e6 if fast else 50e6, flags=flags)

    return answer(make(TWO, 8, change))


def swing(record: TrialRecord) -> TrialRecord:
    """One stream may do as well as two."""
    factor = 1 + 0.12 * (-1) ** record.cycle if record.streams == 1 else 1.0
    return replace(record, throughput_bits_per_s=(90.5e6 if record.streams == 1 else 100e6) * factor)


def forget_rates(**columns: int | None) -> Recommendation:
    results = make_quickstart(cycles=2, levels=ONE)
    results.change_trials(throughput_bits_per_s=None, **columns)
    return answer(results)


SITUATIONS: Mapping[str, Callable[[], Recommendation]] = {
    "few cycles": lambda: answer(make_quickstart(cycles=2)),
    "windows limit": lambda: answer(make_quickstart(cycles=6, levels=TWO)),
    "the path limits": lambda: answer(make_quickstart(cycles=6, levels=[(1, 256 * KIB), (2, 256 * KIB)])),
    "the lab limits one": lambda: make_fast("lab-limited"),
    "a host limits one": lambda: make_fast("host-limited"),
    "a host limits all": lambda: answer(make(ONE, 8, lambda one: replace(one, flags=("host-limited",)))),
    "the lab limits all": lambda: answer(make(ONE, 8, rate({(1, 64): 13e6}, flags=("lab", "lab-limited")))),
    "delays do not differ": lambda: sweep({(12, 64): 17.5, (4, 256): 16.5}, 8),
    "a smaller one may do": lambda: answer(make(TWO, 10, swing)),
    "messages without rates": forget_rates,
    "messages without streams": lambda: forget_rates(streams=0, window_requested_bytes=None),
    "all counted too much": lambda: carry({4: 39.4, 8: 39.6}, (4, 8)),
    "some counted too much": lambda: carry({1: 12.0, 4: 39.4, 8: 39.6}, (4, 8)),
    **{f"less delay, {cycles} cycles": partial(sweep, QUICK, cycles) for cycles in (1, 2, 8)},
    **{f"a queue fills, {cycles} cycles": partial(sweep, QUICK, cycles, rising=(4,)) for cycles in (1, 8)},
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_recommendation_is_explained(say: Say, situation: str) -> None:
    found = SITUATIONS[situation]()
    words = describe_recommendation(found)
    say(f"{found.confidence}; {found.more_cycles or 'no'} more cycles")
    say({f"{one.streams} streams": one.exclusion for one in found.excluded})
    say(words.lead)
    say(words.sentences)


@pytest.mark.parametrize("cycles", [1, 2, 8])
def test_of_what_carries_the_same_the_one_with_less_delay_is_recommended(cycles: int) -> None:
    found = sweep(QUICK, cycles)
    assert (found.recommended.levels, found.rival.levels) == ((4, 256_000), (12, 64_000))
    few = cycles < 6
    assert found.preferred_for is Reason.DELAY
    assert found.preferred_by is (DifferenceTest.RANGES if few else DifferenceTest.INTERVALS)
    assert found.confidence is (Confidence.LOW if few else Confidence.HIGH)


def test_delays_that_do_not_differ_leave_it_to_the_total_window() -> None:
    found = sweep({(12, 64): 17.5, (4, 256): 16.5}, 8)
    assert (found.recommended.levels, found.preferred_for) == ((12, 64_000), Reason.WINDOW)


def test_a_smaller_one_that_may_do_as_well_is_not_chosen() -> None:
    found = answer(make(TWO, 10, swing))
    assert found.confidence is Confidence.MEDIUM
    assert found.recommended.streams == 2
    assert [one.levels for one in found.undecided] == [(1, WINDOW)]


@pytest.mark.parametrize("cycles", [1, 8])
def test_a_queue_that_was_still_filling_lowers_the_confidence(cycles: int) -> None:
    found = sweep(QUICK, cycles, rising=(4,))
    assert found.confidence is Confidence.LOW
    assert [one.levels for one in found.still_rising] == [(4, 256_000)]


def test_where_all_counted_too_much_shares_are_of_the_links_payload_rate() -> None:
    found = carry({4: 39.4, 8: 39.6}, (4, 8))
    assert (found.reference, found.reference_bits_per_s) == (Reference.LINK, LINE_BITS_PER_S)
    assert found.confidence is Confidence.LOW
    assert {one.share_ratio for one in found.candidates} == {1.0}
