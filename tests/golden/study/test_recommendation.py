"""The recommendation: as the rule says, decided only where the numbers decide."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pathlab.analysis.verdicts.limits import Limit
from pathlab.analysis.verdicts.preference import DifferenceTest, Reason
from pathlab.report.recommendation_text import (
    describe_recommendation,
)
from pathlab.store.records import TrialRecord
from pathlab.study.recommendation import Confidence
from tests.builders.recommendations import KIB, QUICK, answer, make, rate, sweep
from tests.builders.results import make_quickstart
from tests.golden.conftest import Say


def test_too_few_cycles_are_tentative_and_say_how_many_would_decide(say: Say) -> None:
    found = answer(make_quickstart(cycles=2))
    assert (found.confidence, found.more_cycles) == (Confidence.LOW, 4)
    described = describe_recommendation(found)
    say(described.lead)
    say(described.certainty[0])


def test_a_path_whose_capacity_was_not_reached_is_said_so(say: Say) -> None:
    found = answer(make_quickstart(cycles=6, levels=[(1, 64 * KIB), (2, 64 * KIB)]))
    assert found.best is not None
    assert found.best.limit is Limit.WINDOW
    say(describe_recommendation(found).sentences)
    full = answer(make_quickstart(cycles=6, levels=[(1, 256 * KIB), (2, 256 * KIB)]))
    say(describe_recommendation(full).sentences)


@pytest.mark.parametrize("flag", ["lab-limited", "host-limited"])
def test_what_a_host_or_the_lab_limited_is_never_recommended(say: Say, flag: str) -> None:
    def change(record: TrialRecord) -> TrialRecord:
        fast = record.streams == 1
        return replace(
            record,
            throughput_bits_per_s=100e6 if fast else 50e6,
            flags=(flag,) if fast and record.cycle else (),
        )

    found = answer(make([(1, 64 * KIB), (2, 64 * KIB)], 8, change))
    assert found.recommended is not None
    assert found.recommended.streams == 2
    say([(one.streams, one.exclusion) for one in found.excluded])
    say(describe_recommendation(found).sentences)


def test_where_a_host_limited_everything_nothing_is_recommended(say: Say) -> None:
    found = answer(make([(1, 64 * KIB)], 8, lambda record: replace(record, flags=("host-limited",))))
    assert (found.recommended, found.confidence) == (None, Confidence.NONE)
    say(describe_recommendation(found).lead)


def test_where_the_lab_limited_everything_the_recommendation_is_provisional(say: Say) -> None:
    change = rate({(1, 64): 13e6}, flags=("lab", "lab-limited"))
    words = describe_recommendation(answer(make([(1, 64 * KIB)], 8, change)))
    say(words.lead)
    say(words.certainty[0])


@pytest.mark.parametrize("cycles", [1, 2, 8])
def test_of_what_carries_the_same_the_one_with_less_delay_is_recommended(say: Say, cycles: int) -> None:
    found = sweep(QUICK, cycles)
    assert found.recommended is not None
    assert found.rival is not None
    assert (found.recommended.levels, found.rival.levels) == ((4, 256_000), (12, 64_000))
    few = cycles < 6
    assert found.preferred_for is Reason.DELAY
    assert found.preferred_by is (DifferenceTest.RANGES if few else DifferenceTest.INTERVALS)
    assert found.confidence is (Confidence.LOW if few else Confidence.HIGH)
    described = describe_recommendation(found)
    say(described.sentences[0])
    say(few)
    confidence = described.certainty[0]
    say(confidence)
    say(not few)


def test_delays_that_do_not_differ_leave_it_to_the_total_window(say: Say) -> None:
    found = sweep({(12, 64): 17.5, (4, 256): 16.5}, 8)
    assert found.recommended is not None
    assert found.recommended.levels == (12, 64_000)
    assert found.preferred_for is Reason.WINDOW
    say(describe_recommendation(found).sentences[0])


def test_a_smaller_one_that_may_do_as_well_is_named_and_not_chosen(say: Say) -> None:
    def change(record: TrialRecord) -> TrialRecord:
        swing = 1 + 0.12 * (-1) ** record.cycle if record.streams == 1 else 1.0
        return replace(record, throughput_bits_per_s=(90.5e6 if record.streams == 1 else 100e6) * swing)

    found = answer(make([(1, 64 * KIB), (2, 64 * KIB)], 10, change))
    assert found.confidence is Confidence.MEDIUM
    assert found.recommended is not None
    assert found.recommended.streams == 2
    assert [one.levels for one in found.undecided] == [(1, 64 * KIB)]
    assert found.more_cycles is not None
    say(describe_recommendation(found).certainty[0])


@pytest.mark.parametrize("cycles", [1, 8])
def test_a_queue_that_was_still_filling_is_said_and_lowers_the_confidence(say: Say, cycles: int) -> None:
    found = sweep(QUICK, cycles, rising=(4,))
    assert found.recommended is not None
    assert found.recommended.levels == (4, 256_000)
    assert found.confidence is Confidence.LOW
    assert [one.levels for one in found.still_rising] == [(4, 256_000)]
    described = describe_recommendation(found)
    say(described.sentences)
    say(described.certainty[0])
