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
from tests.builders.recommendations import KIB, LINE_BITS_PER_S, QUICK, answer, carry, make, rate, sweep
from tests.builders.results import make_quickstart


def test_the_least_product_that_carries_enough_is_recommended() -> None:
    found = answer(make_quickstart(cycles=8))
    assert found.confidence is Confidence.HIGH
    assert found.recommended is not None
    assert found.recommended.size_bytes == 256 * KIB
    enough = {one.levels: one.enough for one in found.candidates}
    assert enough == {
        (streams, window * KIB): streams * window >= 256 for streams in (1, 2, 4, 8) for window in (64, 256)
    }
    assert found.capacity is not None
    assert found.recommended.share_ratio == pytest.approx(1.0, abs=0.01)
    assert found.recommended.limit is Limit.PATH_CAPACITY
    assert found.more_cycles is None


def test_of_equal_products_the_one_with_less_delay_wins_then_the_one_with_fewer_streams() -> None:
    levels = [(1, 256 * KIB), (4, 64 * KIB)]
    flat = rate({(1, 256): 50e6, (4, 64): 50e6})

    def delay(record: TrialRecord) -> TrialRecord:
        more = 30e6 if record.streams == 1 else 5e6
        return replace(flat(record), loaded_rtt_mean_ns=(record.unloaded_rtt_mean_ns or 0) + more)

    slow = answer(make(levels, 8, delay)).recommended
    even = answer(make(levels, 8, lambda record: replace(flat(record), loaded_rtt_mean_ns=9e7))).recommended
    assert slow is not None
    assert even is not None
    assert (slow.streams, even.streams) == (4, 1)


def test_too_few_cycles_are_tentative_and_say_how_many_would_decide() -> None:
    found = answer(make_quickstart(cycles=2))
    assert (found.confidence, found.more_cycles) == (Confidence.LOW, 4)
    described = describe_recommendation(found)
    assert described.lead.startswith("Tentatively, use ")
    assert "(2 trials, too few for a confidence interval). Adds " in described.lead
    assert described.certainty[0] == "Confidence: low - only 2 trials each. 4 more cycles should settle it."


def test_three_cycles_decide_nothing_even_if_they_agree() -> None:
    found = answer(make([(1, 64 * KIB), (2, 64 * KIB)], 3, rate({(1, 64): 1e8, (2, 64): 1e8})))
    assert (found.confidence, found.more_cycles) == (Confidence.LOW, 3)


def test_a_path_whose_capacity_was_not_reached_is_said_so() -> None:
    found = answer(make_quickstart(cycles=6, levels=[(1, 64 * KIB), (2, 64 * KIB)]))
    assert found.best is not None
    assert found.best.limit is Limit.WINDOW
    assert any("held by its windows" in text for text in describe_recommendation(found).sentences)
    full = answer(make_quickstart(cycles=6, levels=[(1, 256 * KIB), (2, 256 * KIB)]))
    assert not any("held by its windows" in text for text in describe_recommendation(full).sentences)


def test_a_smaller_one_that_may_do_as_well_is_named_and_not_chosen() -> None:
    def change(record: TrialRecord) -> TrialRecord:
        swing = 1 + 0.12 * (-1) ** record.cycle if record.streams == 1 else 1.0
        return replace(record, throughput_bits_per_s=(90.5e6 if record.streams == 1 else 100e6) * swing)

    found = answer(make([(1, 64 * KIB), (2, 64 * KIB)], 10, change))
    assert found.confidence is Confidence.MEDIUM
    assert found.recommended is not None
    assert found.recommended.streams == 2
    assert [one.levels for one in found.undecided] == [(1, 64 * KIB)]
    assert found.more_cycles is not None
    assert "1 × 64 KiB may carry enough too (undecided)" in describe_recommendation(found).certainty[0]


@pytest.mark.parametrize(
    ("flag", "reason"),
    [("lab-limited", "the emulation was overloaded"), ("host-limited", "a host was at its limit")],
)
def test_what_a_host_or_the_lab_limited_is_never_recommended(flag: str, reason: str) -> None:
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
    assert [(one.streams, one.exclusion) for one in found.excluded] == [(1, reason)]
    assert f"Not considered: 1 × 64 KiB ({reason})." in describe_recommendation(found).sentences


def test_where_a_host_limited_everything_nothing_is_recommended() -> None:
    found = answer(make([(1, 64 * KIB)], 8, lambda record: replace(record, flags=("host-limited",))))
    assert (found.recommended, found.confidence) == (None, Confidence.NONE)
    assert (
        describe_recommendation(found).lead
        == "Nothing can be recommended: a host was at its limit in the only combination."
    )


def test_where_the_lab_limited_everything_the_recommendation_is_provisional() -> None:
    change = rate({(1, 64): 13e6}, flags=("lab", "lab-limited"))
    words = describe_recommendation(answer(make([(1, 64 * KIB)], 8, change)))
    assert words.lead.startswith(
        "Provisional: use 1 stream with a 64 KiB window: about 13.0 Mbit/s (8 trials, provisional). Adds "
    )
    assert words.certainty[0] == (
        "Confidence: low - provisional, no trial is usable. The machine could not keep up with the "
        "emulation, so repeat it on an idle machine: pathlab run CAMPAIGN --new --wait-idle 2m."
    )


def test_a_loopback_fallback_recommends_nothing() -> None:
    found = answer(make([(1, 64 * KIB)], 8, lambda record: replace(record, flags=("loopback-fallback",))))
    assert found.recommended is None
    assert "no network" in describe_recommendation(found).lead


@pytest.mark.parametrize("cycles", [1, 2, 8])
def test_of_what_carries_the_same_the_one_with_less_delay_is_recommended(cycles: int) -> None:
    found = sweep(QUICK, cycles)
    assert found.recommended is not None
    assert found.rival is not None
    assert (found.recommended.levels, found.rival.levels) == ((4, 256_000), (12, 64_000))
    few = cycles < 6
    assert found.preferred_for is Reason.DELAY
    assert found.preferred_by is (DifferenceTest.RANGES if few else DifferenceTest.INTERVALS)
    assert found.confidence is (Confidence.LOW if few else Confidence.HIGH)
    described = describe_recommendation(found)
    assert described.sentences[0].startswith(
        "12 × 64 kB carries the same within 0.1 % by its median (equivalence undecided) but adds 48.6 ms "
        "instead of 16.5 ms."
    )  # equal rates have no variation
    assert described.sentences[0].endswith("the difference is not tested.") == few
    confidence = described.certainty[0]
    assert confidence.startswith("Confidence: low - only " if few else "Confidence: high - ")
    assert confidence.endswith("too little or adds more delay or loss.") == (not few)


def test_delays_that_do_not_differ_leave_it_to_the_total_window() -> None:
    found = sweep({(12, 64): 17.5, (4, 256): 16.5}, 8)
    assert found.recommended is not None
    assert found.recommended.levels == (12, 64_000)
    assert found.preferred_for is Reason.WINDOW
    assert describe_recommendation(found).sentences[0] == (
        "4 × 256 kB carries the same within 0.1 % by its median (equivalence undecided), and no difference "
        "in delay or loss was shown (adds 16.5 ms against 17.5 ms). The rule prefers the smaller total "
        "window."
    )


@pytest.mark.parametrize(
    ("cycles", "factor", "equivalent", "words"),
    [
        (20, 1.0, True, "carries the same but"),
        (2, 1.0, None, "(equivalence undecided) but"),  # medians as close, and too few trials to say so
        (20, 1.08, False, "% more but"),
    ],
)
def test_a_rival_carries_the_same_only_where_a_test_shows_it(
    cycles: int, factor: float, equivalent: bool | None, words: str
) -> None:
    levels = [(1, 64 * KIB), (1, 256 * KIB)]
    found = answer(make(levels, cycles, rate({(1, 64): 50e6, (1, 256): 50e6 * factor}, loaded_sent=None)))
    assert found.rival is not None
    assert found.rival_rate is not None
    assert (found.rival.window_bytes, found.rival_rate.equivalent) == (256 * KIB, equivalent)
    assert found.rival_rate.median_ratio == pytest.approx(factor, rel=0.04)
    sentence = describe_recommendation(found).sentences[0]
    assert words in sentence
    assert ("carries the same but" in sentence) == (equivalent is True)


def test_shares_of_the_best_and_of_the_link_are_part_of_the_answer() -> None:
    found = carry({1: 12.0, 2: 36.2, 4: 38.0}, cycles=20)
    assert found.recommended is not None
    assert found.best is not None
    assert (found.recommended.streams, found.best.streams) == (2, 4)
    assert found.share_of_best_ratio == pytest.approx(36.2 / 38.0, rel=1e-3)
    assert found.share_of_link_ratio == pytest.approx(38e6 / LINE_BITS_PER_S, rel=1e-3)
    assert found.recommended.cpu_s_per_gb is not None


@pytest.mark.parametrize("cycles", [1, 8])
def test_a_queue_that_was_still_filling_is_said_and_lowers_the_confidence(cycles: int) -> None:
    found = sweep(QUICK, cycles, rising=(4,))
    assert found.recommended is not None
    assert found.recommended.levels == (4, 256_000)
    assert found.confidence is Confidence.LOW
    assert [one.levels for one in found.still_rising] == [(4, 256_000)]
    described = describe_recommendation(found)
    trials = "1 of 1 trial" if cycles == 1 else "3 of 3 trials"
    assert any(f"With 4 × 256 kB the RTT was still rising at the end of the steady window ({trials})" in text
               for text in described.sentences)  # fmt: skip
    assert "Longer trials should settle it" in described.certainty[0]


def test_a_rival_whose_queue_was_filling_is_said_and_changes_nothing() -> None:
    found = sweep(QUICK, 8, rising=(12,))
    assert found.confidence is Confidence.HIGH
    assert [one.levels for one in found.still_rising] == [(12, 64_000)]
