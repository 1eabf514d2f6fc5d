"""The recommendation: as the rule says, decided only where the numbers decide, in the same words anywhere."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from pathlab.analysis.estimators.interval import Interval, Undecided, undecided_interval
from pathlab.analysis.fits.curve_fit import Estimate
from pathlab.analysis.verdicts.limits import Limit
from pathlab.analysis.verdicts.preference import DifferenceTest, Reason
from pathlab.report.formats.terminal import render_summary
from pathlab.report.recommendation_text import (
    LIMITS,
    RULE,
    describe_recommendation,
    format_expected,
    shorten_recommendation,
)
from pathlab.report.report_builder import gather_inputs
from pathlab.report.sections.notices import list_notices
from pathlab.report.sections.opening import build_opening
from pathlab.store.records import TrialRecord
from pathlab.study.answer import measure_spread
from pathlab.study.candidates import build_candidates
from pathlab.study.recommendation import Confidence, Recommendation, Reference, recommend
from tests.unit.synthetic_results import SyntheticResults, make_quickstart

KIB = 1024
Change = Callable[[TrialRecord], TrialRecord]


def answer(results: SyntheticResults) -> Recommendation:
    (found,) = gather_inputs(results).study.recommend()
    return found.result


def make(levels: Sequence[tuple[int, int | None]], cycles: int, change: Change) -> SyntheticResults:
    """Cells with 1 % of noise of their own, every trial passed through ``change``."""
    results = make_quickstart(cycles=cycles, levels=levels, environment={})
    rng = np.random.default_rng(3)
    for number, record in enumerate(results.records):
        changed = change(record)
        rate = (changed.throughput_bits_per_s or 0.0) * float(np.exp(rng.normal(0, 0.01)))
        results.records[number] = replace(changed, throughput_bits_per_s=rate)
    return SyntheticResults(results.campaign, results.plan(), results.records, {})


def rate(values: dict[tuple[int, int], float], **others: Any) -> Change:
    """Trials with the rate of their cell."""

    def change(record: TrialRecord) -> TrialRecord:
        value = values[record.streams, (record.window_requested_bytes or 0) // KIB]
        return replace(record, throughput_bits_per_s=value, **others)

    return change


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


def test_ninety_percent_of_the_best_suffice_where_there_is_no_capacity() -> None:
    levels = [(1, 64 * KIB), (2, 64 * KIB), (4, 64 * KIB)]
    found = answer(make(levels, 20, rate({(1, 64): 80e6, (2, 64): 93e6, (4, 64): 100e6})))
    assert found.capacity is None
    assert found.reference_bits_per_s == pytest.approx(100e6, rel=0.02)
    assert [one.enough for one in found.candidates] == [False, True, True]
    assert [one.equivalent for one in found.candidates] == [False, False, True]
    assert found.recommended is not None
    assert (found.recommended.streams, found.confidence) == (2, Confidence.HIGH)


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
    told = describe_recommendation(found)
    assert told.lead.startswith("Tentatively, use ")
    assert told.lead.endswith("(2 trials, too few for a confidence interval).")
    assert dict(told.facts)["Confidence"] == "low - only 2 trials each. 4 more cycles should settle it"


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
    assert (
        "whether 1 × 64 KiB would as well is undecided"
        in dict(describe_recommendation(found).facts)["Confidence"]
    )


@pytest.mark.parametrize(
    ("flag", "reason"),
    [("lab-limited", "the lab was at its limit"), ("host-limited", "a host was at its limit")],
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
    assert f"Not considered: 1 × 64 KiB, since {reason}." in describe_recommendation(found).sentences
    everything = answer(make([(1, 64 * KIB)], 8, lambda record: replace(record, flags=(flag,))))
    assert (everything.recommended, everything.confidence) == (None, Confidence.NONE)
    assert (
        describe_recommendation(everything).lead
        == f"Nothing can be recommended: in the only combination {reason}."
    )


def test_a_loopback_fallback_recommends_nothing() -> None:
    found = answer(make([(1, 64 * KIB)], 8, lambda record: replace(record, flags=("loopback-fallback",))))
    assert found.recommended is None
    assert "no network" in describe_recommendation(found).lead


def test_windows_that_were_not_granted_are_no_evidence() -> None:
    results = make(
        [(1, 64 * KIB), (2, 64 * KIB)],
        8,
        lambda record: replace(record, flags=("window-short",) if record.streams == 2 else ()),
    )
    found = answer(results)
    assert found.recommended is not None
    assert found.recommended.streams == 1
    assert [one.exclusion is not None for one in found.candidates] == [False, True]
    # it carries as much as itself, and what carried more does not count: nothing is decided by that
    told = describe_recommendation(found)
    assert found.confidence is Confidence.LOW
    assert "only one of 2 combinations that counts" in dict(told.facts)["Confidence"]
    assert not any("No other combination" in text for text in told.sentences)


def test_decided_claims_no_more_of_what_is_smaller_than_was_measured() -> None:
    def sure(levels: list[tuple[int, int | None]], doubted: int | None = None) -> str:
        def change(record: TrialRecord) -> TrialRecord:
            carried = 50e6 if record.streams > 1 else 10e6
            flags = ("lab-limited",) if record.streams == doubted else ()
            return replace(record, throughput_bits_per_s=carried, flags=flags)

        return dict(describe_recommendation(answer(make(levels, 8, change))).facts)["Confidence"]

    window = 64 * KIB
    assert sure([(2, window), (4, window)]).endswith(
        "it carries enough (8 trials); nothing smaller was measured"
    )
    assert sure([(1, window), (3, window)]).endswith("and everything smaller does not")
    told = sure([(1, window), (3, window), (2, window)], doubted=2)
    assert told.endswith("and everything smaller that counts does not")


def test_a_capacity_that_nothing_came_near_is_said() -> None:
    inputs = gather_inputs(make_quickstart(cycles=8, levels=[(1, 64 * KIB), (2, 64 * KIB)], environment={}))
    (measured,) = inputs.study.conditions()
    interval = Interval(low=99e6, high=101e6, n=16, confidence_ratio=0.95, coverage_ratio=None, method="test")
    fitted = Estimate(name="capacity", unit="bit/s", value=100e6, interval=interval)
    found = recommend(build_candidates(measured, {}), "west → east", fitted)
    assert found.recommended is not None
    assert (found.recommended.streams, found.confidence) == (2, Confidence.HIGH)
    assert found.recommended.share_ratio == pytest.approx(0.262, rel=0.01)
    assert any("would probably carry more" in text for text in describe_recommendation(found).sentences)


def test_autotuned_windows_count_with_what_they_came_to() -> None:
    results = make_quickstart(cycles=8, levels=[(1, None), (1, 64 * KIB)])
    found = answer(results)
    assert found.recommended is not None
    assert found.recommended.window_bytes is None
    assert found.recommended.size_bytes == pytest.approx(GOODPUT_WINDOW_BYTES, rel=0.5)
    assert "autotuned" in describe_recommendation(found).lead


GOODPUT_WINDOW_BYTES = 38.6e6 / 8 * 0.09  # what the line holds in a loaded round trip


@pytest.mark.parametrize("missing", ["loaded_rtt_mean_ns", "loaded_sent", "sender_cpu_user_s"])
def test_what_was_not_measured_is_said_so_and_never_a_number(missing: str) -> None:
    results = make_quickstart(cycles=6, levels=[(1, 256 * KIB), (1, 64 * KIB)])
    results.records = [replace(record, **{missing: None}) for record in results.records]  # type: ignore[arg-type]
    found = answer(results)
    facts = dict(describe_recommendation(found).facts)
    if missing == "loaded_sent":
        assert facts["Probe loss under load"] == "not measured"
    elif missing == "loaded_rtt_mean_ns":
        assert facts["Added delay"] == "not measured"
    else:
        assert facts["CPU cost"].startswith("– per GB at the sender")
    assert not any("nan" in text or "None" in text for text in facts.values())


def test_round_trips_alone_are_complete_and_recommend_nothing() -> None:
    results = make_quickstart(cycles=2, levels=[(1, 64 * KIB)])
    results.records = [replace(one, throughput_bits_per_s=None) for one in results.records]
    assert "no throughput of it is known" in describe_recommendation(answer(results)).lead
    results.records = [replace(one, streams=0, window_requested_bytes=None) for one in results.records]
    assert describe_recommendation(answer(results)).lead == (
        "Nothing can be recommended: round trips alone were measured, and no traffic."
    )


def test_the_labs_line_is_held_against_nothing_measured_elsewhere() -> None:
    inside = make_quickstart(cycles=6)
    assert answer(inside).line_bits_per_s is not None
    inside.records = [replace(one, flags=("imported",)) for one in inside.records]
    assert answer(inside).line_bits_per_s is None


LINE_BITS_PER_S = 40e6 * 1448 / 1500


def carry(rates: dict[int, float], flagged: Sequence[int] = (), cycles: int = 8) -> Recommendation:
    """Streams of 64 KiB over the lab's link of 40 Mbit/s, each with its rate in Mbit/s; some are flagged."""
    results = make_quickstart(cycles=cycles, levels=[(streams, 64 * KIB) for streams in rates])
    rng = np.random.default_rng(5)
    results.records = [
        replace(
            one,
            throughput_bits_per_s=1e6 * rates[one.streams] * float(np.exp(rng.normal(0, 1e-3))),
            loaded_rtt_mean_ns=one.unloaded_rtt_mean_ns,
            loaded_sent=20,
            loaded_received=20,
            flags=("lab", "over-line-rate") if one.streams in flagged else ("lab",),
        )
        for one in results.records
    ]
    return answer(results)


@pytest.mark.parametrize("flagged", [(8,), ()], ids=["flagged", "by-its-median"])
def test_what_counted_more_than_the_link_carries_is_no_reference(flagged: tuple[int, ...]) -> None:
    """99.3 % of the highest median was 101 % of the link."""
    found = carry({1: 12.0, 4: 38.3, 8: 39.4}, flagged)
    assert found.line_bits_per_s == LINE_BITS_PER_S
    assert found.best is not None
    assert found.recommended is not None
    assert (found.best.streams, found.recommended.streams) == (4, 4)
    assert found.reference is Reference.HIGHEST_MEDIAN
    assert found.recommended.share_ratio == pytest.approx(1.0)
    assert [(one.streams, one.over_line, one.enough) for one in found.candidates] == [
        *((1, False, False), (4, False, True), (8, True, None))
    ]
    told = describe_recommendation(found)
    assert dict(told.facts)["Share of the best"] == "100 %"
    assert any(text.startswith("Not the reference: 8 × 64 KiB counted more") for text in told.sentences)


def test_where_all_counted_too_much_shares_are_of_the_links_payload_rate_and_it_is_said() -> None:
    found = carry({4: 39.4, 8: 39.6}, (4, 8))
    assert (found.reference, found.reference_bits_per_s) == (Reference.LINK, LINE_BITS_PER_S)
    assert found.confidence is Confidence.LOW
    assert {one.share_ratio for one in found.candidates} == {1.0}
    told = describe_recommendation(found)
    assert "expect at most 38.6 Mbit/s (measured 39.4 Mbit/s, more than the link can carry)" in told.lead
    assert dict(told.facts)["Share of the link's payload rate"] == "100 %"
    assert dict(told.facts)["Confidence"].startswith("low - 8 trials, which counted more")
    assert any(text.startswith("Every combination counted more") for text in told.sentences)


def test_a_slow_combination_is_not_the_best_because_the_others_counted_too_much() -> None:
    found = carry({1: 12.0, 4: 39.4, 8: 39.6}, (4, 8))
    assert found.reference is Reference.LINK
    assert found.recommended is not None
    assert found.recommended.streams == 4
    assert found.candidates[0].share_ratio == pytest.approx(12e6 / LINE_BITS_PER_S, rel=1e-3)
    assert found.candidates[0].enough is False


def sweep(
    drtt_ms: dict[tuple[int, int], float], cycles: int, *, rising: Sequence[int] = ()
) -> Recommendation:
    """The issue's combinations (streams, window in kB), equal in rate, with loaded probes of a second."""
    levels = [(streams, window * 1000) for streams, window in drtt_ms]
    results = make_quickstart(cycles=cycles, levels=levels, environment={})
    series = {}
    for number, one in enumerate(results.records):
        window = (one.window_requested_bytes or 0) // 1000
        drtt_ns = 1e6 * drtt_ms[one.streams, window]
        results.records[number] = replace(
            one,
            throughput_bits_per_s=28.9e6,
            unloaded_rtt_mean_ns=160e6,
            loaded_rtt_mean_ns=160e6 + drtt_ns,
            loaded_sent=20,
            loaded_received=20,
        )
        grown = np.linspace(0, 2 * drtt_ns, 20) if one.streams in rising else np.full(20, drtt_ns)
        sent_ns = one.warmup_ns + np.arange(20) * (one.steady_ns or 0) // 20
        probes = pd.DataFrame({"sent_ns": sent_ns, "rtt_ns": (160e6 + grown).astype(np.int64)})
        series[number + 1] = {"loaded_probes": probes}
    return answer(SyntheticResults(results.campaign, results.plan(), results.records, series))


QUICK = {(12, 64): 48.6, (4, 256): 16.5}


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
    told = describe_recommendation(found)
    assert told.sentences[0].startswith("12 × 64 kB carries the same but adds 48.6 ms instead of 16.5 ms.")
    assert told.sentences[0].endswith("the difference is not tested.") == few
    confidence = dict(told.facts)["Confidence"]
    assert confidence.startswith("low - only " if few else "high - ")
    assert confidence.endswith("too little or adds more delay or loss") == (not few)


def test_delays_that_do_not_differ_leave_it_to_the_total_window() -> None:
    found = sweep({(12, 64): 17.5, (4, 256): 16.5}, 8)
    assert found.recommended is not None
    assert found.recommended.levels == (12, 64_000)
    assert found.preferred_for is Reason.WINDOW
    assert describe_recommendation(found).sentences[0] == (
        "4 × 256 kB carries the same, and no difference in delay or loss was shown "
        "(adds 16.5 ms against 17.5 ms): the smaller total window decides."
    )


@pytest.mark.parametrize("cycles", [1, 8])
def test_a_queue_that_was_still_filling_is_said_and_lowers_the_confidence(cycles: int) -> None:
    found = sweep(QUICK, cycles, rising=(4,))
    assert found.recommended is not None
    assert found.recommended.levels == (4, 256_000)
    assert found.confidence is Confidence.LOW
    assert [one.levels for one in found.still_rising] == [(4, 256_000)]
    told = describe_recommendation(found)
    trials = "1 of 1 trial" if cycles == 1 else "3 of 3 trials"
    assert any(f"With 4 × 256 kB the RTT was still rising at the end of the steady window ({trials})" in text
               for text in told.sentences)  # fmt: skip
    assert "Longer trials should settle it" in dict(told.facts)["Confidence"]


def test_a_rival_whose_queue_was_filling_is_said_and_changes_nothing() -> None:
    found = sweep(QUICK, 8, rising=(12,))
    assert found.confidence is Confidence.HIGH
    assert [one.levels for one in found.still_rising] == [(12, 64_000)]


def test_no_trial_gives_no_answer() -> None:
    empty = SyntheticResults(make_quickstart(cycles=1, levels=[(1, None)]).campaign, [], [], {})
    assert gather_inputs(empty).study.recommend() == ()
    (block,) = build_opening(()).blocks
    assert "no trial completed" in str(block)


def test_the_terminal_says_what_the_page_says() -> None:
    results = make_quickstart(cycles=8)
    inputs = gather_inputs(results)
    answers = inputs.study.recommend()
    console = Console(file=io.StringIO(), width=400, color_system=None)
    render_summary(inputs.study, list_notices(inputs.study), console)
    assert isinstance(console.file, io.StringIO)
    printed = console.file.getvalue()
    told = describe_recommendation(answers[0].result)
    assert told.lead in printed
    for text in (*told.sentences, *(f"{label}: {value}" for label, value in told.facts)):
        assert text in printed


def test_many_conditions_have_a_table_and_folds() -> None:
    results = make_quickstart(cycles=2, levels=[(1, 64 * KIB)])
    results.records = [
        replace(record, path_destination=f"east{number}") for number in range(5) for record in results.records
    ]
    answers = gather_inputs(results).study.recommend()
    assert len(answers) == 5
    names = [type(block).__name__ for block in build_opening(answers).blocks]
    assert names == ["TableBlock", *["Fold"] * 6]
    assert {len(shorten_recommendation(one.result)) for one in answers} == {8}


def test_every_limit_has_words() -> None:
    assert set(LIMITS) == set(Limit)


def test_the_rule_and_the_answer_are_short_sentences() -> None:
    found = [sweep(QUICK, 2, rising=(4,)), carry({1: 12.0, 4: 39.4, 8: 39.6}, (4, 8))]
    texts = [RULE, *(text for one in found for text in describe_recommendation(one).sentences)]
    long = [part for text in texts for part in re.split(r"[.:] ", text) if len(part.split()) > 25]
    assert long == []


def test_trials_that_drift_are_not_called_too_few() -> None:
    found = answer(make([(1, 64 * KIB)], 20, lambda one: replace(one, throughput_bits_per_s=1e8)))
    assert found.recommended is not None
    none = undecided_interval(Undecided.TOO_CORRELATED, n=20, confidence_ratio=0.95, method="test")
    rates = replace(found.recommended.throughput_bits_per_s, interval=none)
    drifting = replace(found.recommended, throughput_bits_per_s=rates)
    assert "(20 trials, no confidence interval: they drift or step)" in format_expected(drifting, None)
    both = (drifting, replace(drifting, streams=2))
    told = describe_recommendation(replace(found, recommended=drifting, candidates=both))
    assert dict(told.facts)["Confidence"] == "low - 20 trials, no confidence interval: they drift or step"


def test_delays_of_few_trials_are_not_called_trials_each() -> None:
    """One has its delay in ten trials, the other in three."""

    def change(record: TrialRecord) -> TrialRecord:
        loaded = 200e6 if record.streams == 1 else 100e6
        known = record.streams == 1 or record.cycle < 3
        return replace(record, throughput_bits_per_s=5e7, loaded_rtt_mean_ns=loaded if known else None)

    told = describe_recommendation(answer(make([(1, 64 * KIB), (2, 64 * KIB)], 10, change)))
    assert any("3 trials and 10 trials: the difference is not tested." in text for text in told.sentences)
    assert "only" not in dict(told.facts)["Confidence"]


def test_a_rising_rtt_without_probes_gives_no_figure_of_added_delay() -> None:
    found = sweep(QUICK, 8, rising=(4,))
    assert found.recommended is not None
    unknown = replace(found.recommended, drtt_ns=measure_spread(np.array([np.nan])))
    told = describe_recommendation(replace(found, recommended=unknown))
    assert any(text.endswith("so longer trials would show more delay.") for text in told.sentences)


def test_what_counted_too_much_is_not_compared_with_a_highest_median_below_it() -> None:
    told = describe_recommendation(carry({1: 12.0, 4: 39.4, 8: 39.6}, (4, 8)))
    assert not any("The highest median was 12 Mbit/s" in text for text in told.sentences)
