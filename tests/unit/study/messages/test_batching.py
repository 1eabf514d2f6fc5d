"""Batching: its gain against the right baseline, where it stops paying, and its delay."""

from dataclasses import replace

import pytest

from pathlab.analysis.estimators.interval import Interval, Undecided
from pathlab.analysis.verdicts.gain_limit import find_gain_limit
from pathlab.study.messages.batching import BatchingGain
from tests.builders.messages import BATCH, WRITE_SIZES, carry, make_message_trials
from tests.builders.results import Settings, study

PLAIN = {"batch_bytes": None, "batch_max_delay_ns": None}


def expect_gain(size: int) -> float:
    """Of the model."""
    own_ns = 2000 / min(16, 65536 // size) + 400
    return (2000 + size) / (own_ns + size)


def compare(*curves: Settings, cycles: int = 8) -> list[BatchingGain]:
    return [one.result for one in study(make_message_trials(curves, carry, cycles=cycles)).batching()]


def test_the_gain_of_every_size_and_where_it_is_gone() -> None:
    (found,) = compare(PLAIN, BATCH)
    assert [one.size_bytes for one in found.gains] == list(WRITE_SIZES)
    for one in found.gains:
        assert one.ratio == pytest.approx(expect_gain(one.size_bytes), rel=0.02)
        assert one.interval.contains(expect_gain(one.size_bytes))
        assert one.pairs == 8
    assert found.largest == found.gains[0]
    # 1.21 at 4 KiB, and at 16 KiB 1.064 with an interval of some 2 % to either side
    assert found.limit.shown_to in (4096, 16384)
    assert found.delay_bound_ns == 800_000
    assert found.delays == ()
    # 1024 messages of 64 bytes, each 589 ns
    assert found.gains[0].collect_ns.median == pytest.approx(1024 * 589, rel=0.03)


def test_the_baseline_is_equal_in_all_but_when_it_sends() -> None:
    both = compare(PLAIN | {"no_delay": False}, PLAIN | {"no_delay": True}, BATCH | {"no_delay": False})
    assert [one.baseline.get("no_delay") for one in both] == [True, False]
    assert compare(PLAIN | {"encoding": "fixed"}, BATCH | {"encoding": "protobuf"}) == []
    assert compare(PLAIN | {"streams": 2}, BATCH) == []
    corked = compare({"cork": False}, {"cork": True})
    assert len(corked) == 1
    assert corked[0].gains[0].collect_ns.n == 0


def test_the_delay_is_measured_at_the_lowest_offered_rate() -> None:
    """At full speed nothing waits, so that the trials of the gain have no delay set."""

    def answer(settings: Settings) -> dict[str, object]:
        found = carry(settings)
        if settings["reply"]:
            waited = {1000: 390_000.0, 5000: 150_000.0}[settings["message_rate_per_s"]]
            wait_ns = waited if settings["batch_bytes"] else 0.0
            found["round_trip_median_ns"] = 50_000.0 + wait_ns + found["messages_per_s"] % 7
        return found

    still: Settings = {"reply": False, "message_rate_per_s": None, "batch_max_delay_ns": None}
    offered: list[Settings] = [{"reply": True, "message_rate_per_s": rate} for rate in (5000, 1000)]
    curves = [{**how, **rate} for how in (PLAIN, BATCH) for rate in (still, *offered)]
    results = make_message_trials(curves, answer)
    (found,) = study(results).batching()
    assert [one.size_bytes for one in found.result.delays] == list(WRITE_SIZES)
    first = found.result.delays[0]
    assert (first.offered_messages_per_s, first.delay_bound_ns) == (1000, 800_000)
    assert first.rise_ns == pytest.approx(390_000, rel=0.001)
    assert first.pairs == 8
    slow = {
        row.row for row in results.plan() if row.cycle == 2 and row.settings["message_rate_per_s"] == 1000
    }
    results.change_trials(
        lambda one: replace(one, flags=(*one.flags, "rate-missed")) if one.plan_row in slow else one
    )
    (fewer,) = study(results).batching()
    assert {one.pairs for one in fewer.result.delays} == {7}


def make_interval(low: float | None, high: float | None = None) -> Interval:
    reason = None if low is not None else Undecided.TOO_FEW_SAMPLES
    return Interval(low=low, high=high, n=8, confidence_ratio=0.95, method="made", undecided=reason)


@pytest.mark.parametrize(
    ("intervals", "expected"),
    [
        ([(3, 4), (1.2, 1.4), (1.0, 1.1), (0.9, 1.02)], (1024, 256, 4096, None)),
        ([(3, 4), (1.2, 1.4), (1.1, 1.3), (1.06, 1.2)], (None, 4096, None, Undecided.BEYOND_RANGE)),
        ([(1.0, 1.1), (0.9, 1.0), (0.9, 1.0), (0.9, 1.0)], (64, None, 256, None)),
        ([(3, 4), (None, None), (1.0, 1.1), (0.9, 1.0)], (None, 64, 4096, Undecided.TOO_FEW_SAMPLES)),
        # a single interval above the margin beyond one that is not does not prolong what is shown
        ([(3, 4), (1.0, 1.3), (1.2, 1.3), (0.9, 1.0)], (256, 64, 4096, None)),
    ],
)
def test_the_limit_of_a_gain(
    intervals: list[tuple[float | None, float | None]], expected: tuple[object, ...]
) -> None:
    found = find_gain_limit((64, 256, 1024, 4096), [make_interval(*ends) for ends in intervals])
    assert (found.level, found.shown_to, found.gone_from, found.undecided) == expected


def test_no_size_has_no_limit() -> None:
    assert find_gain_limit((), ()).undecided is Undecided.NO_SAMPLES
