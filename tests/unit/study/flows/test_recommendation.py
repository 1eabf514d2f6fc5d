"""The recommendation: as the rule says, decided only where the numbers decide."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.verdicts.drift import DriftVerdict
from pathlab.report.flows.recommendation_text import describe_recommendation
from pathlab.store.records import TrialRecord
from pathlab.study.flows.recommendation import Confidence
from tests.builders.recommendations import (
    KIB,
    LINE_BITS_PER_S,
    answer,
    carry,
    make,
    rate,
    take_recommended,
)
from tests.builders.results import SyntheticResults, make_quickstart


def test_of_equal_products_the_one_with_less_delay_wins_then_the_one_with_fewer_streams() -> None:
    levels = [(1, 256 * KIB), (4, 64 * KIB)]
    flat = rate({(1, 256): 50e6, (4, 64): 50e6})

    def delay(record: TrialRecord) -> TrialRecord:
        more = 30e6 if record.streams == 1 else 5e6
        return replace(flat(record), loaded_rtt_mean_ns=(record.unloaded_rtt_mean_ns or 0) + more)

    slow = answer(make(levels, 8, delay)).recommended
    even = answer(make(levels, 8, lambda record: replace(flat(record), loaded_rtt_mean_ns=9e7))).recommended
    assert (slow.streams, even.streams) == (4, 1)


def test_a_loopback_fallback_recommends_nothing() -> None:
    found = answer(make([(1, 64 * KIB)], 8, lambda record: replace(record, flags=("loopback-fallback",))))
    assert found.recommended is None


@pytest.mark.parametrize(
    ("cycles", "factor", "equivalent"),
    [(20, 1.0, True), (2, 1.0, None), (20, 1.08, False)],  # two trials are too few to say so
)
def test_a_rival_carries_the_same_only_where_a_test_shows_it(
    cycles: int, factor: float, equivalent: bool | None
) -> None:
    levels = [(1, 64 * KIB), (1, 256 * KIB)]
    found = answer(make(levels, cycles, rate({(1, 64): 50e6, (1, 256): 50e6 * factor}, loaded_sent=None)))
    assert (found.rival.window_bytes, found.rival_rate.equivalent) == (256 * KIB, equivalent)
    assert found.rival_rate.median_ratio == pytest.approx(factor, rel=0.04)


def test_shares_of_the_best_and_of_the_link_are_part_of_the_answer() -> None:
    found = carry({1: 12.0, 2: 36.2, 4: 38.0}, cycles=20)
    assert (take_recommended(found).streams, found.best.streams) == (2, 4)
    assert found.share_of_best_ratio == pytest.approx(36.2 / 38.0, rel=1e-3)
    assert found.share_of_link_ratio == pytest.approx(38e6 / LINE_BITS_PER_S, rel=1e-3)
    assert take_recommended(found).cpu_s_per_gb is not None


@settings(max_examples=12)
@given(
    cycles=st.integers(6, 31),
    change=st.floats(0.3, 0.6).flatmap(lambda share: st.sampled_from([-share, 1 / (1 - share) - 1])),
    sudden=st.booleans(),
    noise=st.sampled_from([0.002, 0.01, 0.05]),
    seed=st.integers(0, 9),
)
def test_no_confidence_is_high_over_a_path_that_changed(
    cycles: int, change: float, sudden: bool, noise: float, seed: int
) -> None:
    """It changes by 30 % to 150 %, in a ramp or half way in a step; a steady one has high confidence."""
    rates, rng = {1: 10e6, 4: 38e6, 8: 38e6}, np.random.default_rng(seed)
    steady = make_quickstart(cycles=cycles, levels=[(streams, 64 * KIB) for streams in rates], environment={})
    drawn = {number: float(np.exp(rng.normal(0, noise))) for number in range(len(steady.records))}
    common = {cycle: float(np.exp(rng.normal(0, 0.002))) for cycle in range(cycles)}

    def carry_in_time(record: TrialRecord, share: float) -> TrialRecord:
        passed = record.cycle / (cycles - 1)
        factor = common[record.cycle] * (1 + share * (round(passed) if sudden else passed))
        return replace(record, throughput_bits_per_s=rates[record.streams] * factor, loaded_sent=None)

    def vary(share: float) -> SyntheticResults:
        results = steady.copy(series={})
        results.records = [
            replace(one, throughput_bits_per_s=(one.throughput_bits_per_s or 0.0) * drawn[number])
            for number, one in enumerate(carry_in_time(record, share) for record in steady.records)
        ]
        return results

    found = answer(vary(change))
    words = describe_recommendation(found)
    assert found.recommended is not None
    assert found.confidence in (Confidence.MEDIUM, Confidence.LOW)
    if found.drift in (DriftVerdict.DRIFTING, DriftVerdict.STEPPED):
        assert found.confidence is Confidence.LOW
        assert sum("during the campaign" in text for text in words.sentences) == 1
    if noise == 0.002:
        assert answer(vary(0.0)).confidence is Confidence.HIGH
