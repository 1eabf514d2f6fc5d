"""Verdicts found by the numbers of trials, as a page groups them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from pathlab.analysis.interval import Undecided
from pathlab.analysis.limits import Limit
from pathlab.analysis.pairs import Verdict
from pathlab.store.records import TrialRecord
from pathlab.study.verdicts import Verdicts
from tests.study.trials import BareResults, make_sweep, model_rate, study
from tests.unit.synthetic_results import SyntheticResults

LEVELS = [(4, 16384), (1, 65536), (1, None)]


def ids_of(results: SyntheticResults, streams: int, window_bytes: int | None) -> list[int]:
    frame = results.trials()
    windows = frame["window_asked_bytes"]
    same = windows.isna() if window_bytes is None else windows == window_bytes
    return [int(number) for number in frame["trial_id"][(frame["streams"] == streams) & same]]


def make_limited(*flags: str, ids: Iterable[int] = range(1, 100)) -> SyntheticResults:
    """Trials that carry what their windows do, those of the given numbers with flags."""

    def change(record: TrialRecord) -> TrialRecord:
        marks = flags if record.plan_row + 1 in ids else ()
        rate = 0.97 * model_rate(record.streams, record.window_asked_bytes or 10**6)
        return replace(
            record,
            throughput_bits_per_s=rate,
            loaded_rtt_median_ns=160.2e6,
            loaded_rtt_min_ns=160.1e6,
            unloaded_rtt_median_ns=160e6,
            unloaded_rtt_min_ns=160e6,
            flags=(*record.flags, *marks),
        )

    return make_sweep(6, levels=LEVELS, change=change)


def test_a_cell_has_the_limit_that_most_of_its_trials_share() -> None:
    results = make_limited()
    verdicts = Verdicts(study(results))
    # no series is kept, so which end's window it was cannot be told
    found = verdicts.find_limit(ids_of(results, 1, 65536))
    assert (found.limit, found.judged, found.agreeing) == (Limit.WINDOW, 6, 6)
    assert not found.lab_doubted
    mixed = ids_of(results, 1, 65536)[:2] + ids_of(results, 1, None)[:2]
    half = verdicts.find_limit(mixed)
    assert (half.limit, half.judged, half.undecided) == (None, 4, Undecided.NOT_MEASURED)
    strange = verdicts.find_limit([10_000])
    assert (strange.limit, strange.judged, strange.undecided) == (None, 0, Undecided.NO_SAMPLES)
    assert Verdicts(study(BareResults())).find_limit([1]) == strange


@pytest.mark.parametrize(("count", "doubted"), [(3, False), (4, True)])
def test_a_lab_that_doubts_most_trials_leaves_no_verdict(count: int, doubted: bool) -> None:
    ids = ids_of(make_limited(), 1, 65536)
    verdicts = Verdicts(study(make_limited("lab-limited", ids=ids[:count])))
    found = verdicts.find_limit(ids)
    assert (found.lab_doubted, found.limit) == (doubted, None if doubted else Limit.WINDOW)
    assert found.judged == (0 if doubted else 3)


def test_two_cells_of_equal_product_have_the_analysis_comparison() -> None:
    results = make_sweep(12, levels=LEVELS)
    one = study(results)
    verdicts = Verdicts(one)
    many, large = ids_of(results, 4, 16384), ids_of(results, 1, 65536)
    found = verdicts.find_comparison(many, large)
    assert found is one.streams_vs_windows()[0].result or found == one.streams_vs_windows()[0].result
    assert found is not None
    assert found.comparison.verdict is Verdict.EQUIVALENT
    assert verdicts.find_comparison(large, many) is None  # the cell of more streams comes first
    assert verdicts.find_comparison(many, ids_of(results, 1, None)) is None
    assert verdicts.find_comparison([*many, *large], large) is None  # no cell
    assert verdicts.find_comparison([], large) is None


def test_limits_are_judged_once_and_anew_after_reread() -> None:
    one = study(make_limited())
    first = one.limits()
    assert one.limits() is first
    assert one.limits(1) is not first
    one.reread()
    again = one.limits()
    assert again is not first
    assert again == first


def with_model(results: SyntheticResults, model: dict[str, object]) -> SyntheticResults:
    campaign = replace(results.campaign, model=model)
    return SyntheticResults(campaign, results.plan(), results.records, {}, ())


@pytest.mark.parametrize(
    ("settings", "model", "limit"),
    [
        ({}, {"budget": {"rate_bits_per_s": 10_000_000}}, Limit.APPLICATION),
        ({"pacing_bits_per_s": 10_000_000}, {"budget": {"rate_bits_per_s": None}}, Limit.APPLICATION),
        ({"pacing_bits_per_s": 10_000_000}, {"budget": {"rate_bits_per_s": 20_000_000}}, Limit.APPLICATION),
        ({"pacing_bits_per_s": 20_000_000}, {"budget": {"rate_bits_per_s": 10_000_000}}, Limit.APPLICATION),
        ({}, {"budget": {"rate_bits_per_s": 20_000_000}}, None),
        ({"pacing_bits_per_s": None}, {"budget": None}, None),
        ({}, {}, None),
    ],
)
def test_the_rate_that_a_plan_or_a_budget_allows_is_known(
    settings: dict[str, object], model: dict[str, object], limit: Limit | None
) -> None:
    """9.9 Mbit/s, which neither the autotuned windows nor the path explain."""

    def change(record: TrialRecord) -> TrialRecord:
        return replace(record, throughput_bits_per_s=9.9e6)

    results = make_sweep(2, levels=[(1, None)], change=change, settings=settings)
    (answer,) = study(with_model(results, model)).limits()
    assert answer.result.limit is limit
