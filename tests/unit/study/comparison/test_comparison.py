"""Results against results: changes that were made are reported, and chance is not."""

import dataclasses

import numpy as np
import pytest

from pathlab.errors import NotMeasurable, UsageError
from pathlab.report.comparison.comparison_changes import list_comparison_warnings, list_summaries
from pathlab.report.comparison.comparison_names import name_cells
from pathlab.report.comparison.comparison_table import list_change_columns
from pathlab.report.comparison.comparison_text import describe_comparison
from pathlab.store.records import TrialRecord
from pathlab.study.analyses import Study
from pathlab.study.base.selection import survey_table
from pathlab.study.comparison.rows import ChangeVerdict, ComparisonRules, ResultsComparison, compare_results
from tests.builders.comparisons import compare, make_results
from tests.builders.messages import TCP, carry, make_message_results, make_message_trials
from tests.builders.results import SyntheticResults
from tests.builders.technologies import make_adapter, make_technology_results
from tests.builders.trials import make_failed


def verdicts(found: ResultsComparison, metric: str) -> list[ChangeVerdict]:
    return [row.verdict for row in found.rows if row.metric.name == metric]


def test_a_slower_path_is_worse_and_a_longer_rtt_too() -> None:
    found = compare(make_results(seed=1), make_results(seed=2, rate=0.9, rtt=1.2))
    assert verdicts(found, "throughput") == [ChangeVerdict.WORSE] * 2
    assert verdicts(found, "loaded-rtt") == [ChangeVerdict.WORSE] * 2
    turned = compare(make_results(seed=2, rate=0.9, rtt=1.2), make_results(seed=1))
    assert {row.verdict for row in turned.rows} == {ChangeVerdict.BETTER}
    row = found.rows[0]
    assert row.change.ratio == pytest.approx(0.9, rel=0.01)
    assert row.change.interval_ratio.contains(0.9)
    assert row.p_value > row.change.p_value  # Holm's correction


def test_the_noise_floor_can_come_from_a_run_without_change() -> None:
    """Where days differ by 8 %, a run that is 6 % slower tells nothing, and one 20 % slower does."""
    first, again = make_results(seed=1), make_results(seed=9, rate=1.08)
    for rate, verdict in ((0.94, ChangeVerdict.UNDECIDED), (0.8, ChangeVerdict.WORSE)):
        later = make_results(seed=2, rate=rate)
        rules = ComparisonRules(metrics=("throughput",), margin_ratio=0.02)
        found = compare_results([("a", first), ("b", later)], rules, unchanged=again)
        assert {row.verdict for row in found.rows} == {verdict}
        assert all(row.noise == pytest.approx(1.08, rel=0.01) for row in found.rows)
    without = compare(first, make_results(seed=2, rate=0.94), metrics=("throughput",), margin_ratio=0.02)
    assert {row.verdict for row in without.rows} == {ChangeVerdict.WORSE}


def test_chance_is_told_worse_or_better_in_at_most_the_level() -> None:
    """40 comparisons of runs without any change, four rows each: a wrong row in at most 5 % of them."""
    wrong = 0
    for seed in range(40):
        found = compare(
            make_results(seed=1000 + seed, cycles=6, noise=0.05),
            make_results(seed=2000 + seed, cycles=6, noise=0.05),
        )
        wrong += found.count(ChangeVerdict.WORSE) + found.count(ChangeVerdict.BETTER) > 0
    assert wrong <= 6  # P(more | 5 %) is below 0.5 %


def count_excluded(found: ResultsComparison) -> dict[str, dict[str, int]]:
    return {
        label: {one.reason: one.trials for one in counts}
        for label, counts in found.excluded.items()
        if counts
    }


def test_trials_that_the_report_excludes_are_excluded_here_and_counted_by_reason() -> None:
    first, second = make_results(seed=1), make_results(seed=2)
    flags = ("lab-limited", "congestion-not-granted", "window-short")
    second.records[0] = make_failed(second.records[0])
    for place, flag in enumerate(flags, start=1):
        second.records[place] = dataclasses.replace(second.records[place], flags=("lab", flag))
    second.records[4] = dataclasses.replace(second.records[4], throughput_bits_per_s=None)
    found = compare(first, second)
    missing = "throughput_bits_per_s: not-measured"
    assert count_excluded(found) == {"r1": {"failed": 1, **dict.fromkeys((*flags, missing), 1)}}
    assert sum(row.change.second_n for row in found.rows if row.metric.name == "throughput") == 15
    (recommendation,) = Study(second).recommend()
    medians = {
        candidate.streams: candidate.throughput_bits_per_s.median
        for candidate in recommendation.result.candidates
    }
    rows = [row for row in found.rows if row.metric.name == "throughput"]
    assert {row.cell.streams: row.after_median for row in rows} == medians


@pytest.mark.parametrize("flag", ["lab-limited", "host-stalled", "window-short", "totals-differ"])
def test_results_without_a_usable_trial_are_compared_only_on_demand(flag: str) -> None:
    first, second = make_results(seed=1), make_results(seed=2, rate=0.9)
    second.change_trials(flags=("lab", flag))
    with pytest.raises(NotMeasurable, match=f"'r1' has no trial to compare; excluded: 20 {flag}") as caught:
        compare(first, second)
    assert caught.value.exit_status == 7
    assert "--all" in str(caught.value.hint)
    found = compare(first, second, flagged=True)
    assert verdicts(found, "throughput") == [ChangeVerdict.WORSE] * 2
    assert {
        label: [(one.reason, one.trials) for one in counts] for label, counts in found.flagged.items()
    } == {"r0": [], "r1": [(flag, 20)]}
    document = describe_comparison(found)
    assert (document["provisional"], document["flagged_trials"]["r1"]) == (True, {flag: 20})
    plain = compare(first, make_results(seed=2), flagged=True)  # nothing is flagged
    assert not plain.provisional
    assert plain.rows == compare(first, make_results(seed=2)).rows


def test_every_number_of_flagged_trials_is_marked() -> None:
    first, second = make_results(seed=1), make_results(seed=2, rate=0.9)
    second.change_trials(lambda one: dataclasses.replace(one, flags=("lab-limited",)) if one.cycle else one)
    found = compare(first, second, flagged=True)
    rows = [row for row in found.rows if row.metric.name == "throughput"]
    columns = {one.heading: one.texts for one in list_change_columns(rows, found, name_cells(found.rows))}
    numbers = [texts for name, texts in columns.items() if name not in ("Combination", "Verdict")]
    assert len(numbers) == 4
    assert all(text.endswith("*") for texts in numbers for text in texts)
    assert all(text.startswith("Provisional: ") for text in list_summaries(found, "r1"))
    assert "in r1 18 lab-limited" in next(list_comparison_warnings(found))


def test_a_combination_without_usable_trials_on_one_side_is_not_alone() -> None:
    def spoil(one: TrialRecord) -> TrialRecord:
        flagged = dataclasses.replace(one, flags=("lab-limited",))
        return one if one.streams == 1 else flagged if one.cycle else make_failed(one)

    first, second = make_results(seed=1), make_results(seed=2)
    second.change_trials(spoil)
    found = compare(first, second)
    assert {row.cell.streams for row in found.rows} == {1}
    assert found.alone == ()
    assert [(label, cell.streams) for label, cell in found.unusable] == [("r1", 4)]
    first.change_trials(lambda one: one if one.streams == 4 else make_failed(one))
    with pytest.raises(NotMeasurable, match="no combination has a usable trial in both results: 'r0'; exclu"):
        compare(first, second)


def make_short_path(seed: int, *, median_ns: float) -> SyntheticResults:
    """Results whose loaded RTT is that of a short path: some microseconds, with the noise of busy hosts."""
    results, rng = make_results(seed=seed), np.random.default_rng(seed)
    results.change_trials(
        lambda one: dataclasses.replace(
            one, loaded_rtt_median_ns=median_ns * float(np.exp(rng.normal(0, 0.4)))
        )
    )
    return results


@pytest.mark.parametrize(
    ("before_ns", "after_ns", "metrics", "verdict"),
    [
        (20e3, 20e3, (), ChangeVerdict.EQUIVALENT),  # noise of a factor, microseconds
        (20e3, 20e3, ("loaded-rtt",), ChangeVerdict.UNDECIDED),  # asked for: against 5 %
        (20e3, 5e6, (), ChangeVerdict.WORSE),
        (5e6, 20e3, (), ChangeVerdict.BETTER),
        (20e6, 20e6, (), ChangeVerdict.UNDECIDED),  # a long path: 5 % of it
    ],
)
def test_microseconds_of_a_short_path_do_not_matter_by_default(
    before_ns: float, after_ns: float, metrics: tuple[str, ...], verdict: ChangeVerdict
) -> None:
    sides = [make_short_path(seed, median_ns=ns) for seed, ns in ((1, before_ns), (2, after_ns))]
    found = compare(*sides, metrics=metrics)
    assert verdicts(found, "loaded-rtt") == [verdict] * 2
    widened = before_ns < 1e6 and not metrics
    rows = [row for row in found.rows if row.metric.name == "loaded-rtt"]
    assert [row.least_margin for row in rows] == [widened] * 2
    if verdict is ChangeVerdict.EQUIVALENT:
        assert "±100 µs" in list_summaries(found, "r1")[1]


def test_results_that_hosts_limited_are_compared() -> None:
    both = [make_results(seed=seed) for seed in (1, 2)]
    for results in both:
        results.change_trials(flags=("host-limited",))
    found = compare(*both)
    assert count_excluded(found) == {}
    assert all(row.after_median for row in found.rows if row.metric.name == "throughput")


def test_imported_pings_are_compared_by_their_round_trips() -> None:
    pings = [make_results(seed=seed) for seed in (1, 2)]
    for results in pings:
        results.change_trials(flags=("imported",), throughput_bits_per_s=None)
    found = compare(*pings)
    assert count_excluded(found) == {}
    assert {row.metric.name for row in found.rows} == {"loaded-rtt"}


def test_imported_trials_are_compared_in_results_of_their_own() -> None:
    first, second = make_results(seed=1), make_results(seed=2)
    flags = ("imported",)
    second.records[0] = dataclasses.replace(second.records[0], flags=flags, throughput_bits_per_s=1.0)
    assert count_excluded(compare(first, second)) == {"r1": {"imported": 1}}
    second.records = [
        dataclasses.replace(record, flags=flags, congestion_requested=None)
        for record in make_results(seed=2).records
    ]
    found = compare(first, second)  # asked: cubic; at work in the imported ones: cubic
    assert {row.verdict for row in found.rows} == {ChangeVerdict.EQUIVALENT}


def test_what_was_not_measured_is_not_judged() -> None:
    first, second = make_results(seed=1), make_results(seed=2)
    second.change_trials(loaded_rtt_median_ns=None)
    found = compare(first, second)
    rows = [row for row in found.rows if row.metric.name == "loaded-rtt"]
    assert {(row.verdict, row.after_median, row.reason) for row in rows} == {
        (ChangeVerdict.UNDECIDED, None, "no-samples")
    }
    first.change_trials(loaded_rtt_median_ns=None)
    assert {row.metric.name for row in compare(first, second).rows} == {"throughput"}
    with pytest.raises(UsageError):
        compare(first, second, metrics=("loaded-rtt",))


def test_messages_are_compared_by_their_rate_and_round_trips() -> None:
    """The throughput of an offered rate is what was offered, and probes are no messages."""
    before = make_message_results([TCP], sizes=(64,), rates=(None, 1000), cycles=10)
    slower = dataclasses.replace(TCP, base_ns=10 * TCP.base_ns)
    found = compare(before, make_message_results([slower], sizes=(64,), rates=(None, 1000), cycles=10))
    assert {(dict(row.cell.settings)["message_rate_per_s"], row.metric.name) for row in found.rows} == {
        *(("None", name) for name in ("messages", "round-trip-p99", "cpu-message")),
        *(("1000", name) for name in ("round-trip-p99", "cpu-message")),
    }
    assert verdicts(found, "round-trip-p99") == [ChangeVerdict.WORSE] * 2
    carried = make_message_trials([{}], carry, sizes=(64,))
    assert {row.metric.name for row in compare(carried, carried).rows} == {"messages", "cpu-message"}


def test_a_technology_without_throughput_is_compared_by_its_round_trips() -> None:
    """Nothing is excluded for the throughput that it does not have."""
    first, second = (
        make_technology_results(
            [make_adapter("redis", 2e4)], sizes=(64,), histograms=False, noise_ratio=0.005
        )
        for _ in range(2)
    )
    first.change_trials(throughput_bits_per_s=None)
    second.change_trials(
        lambda one: dataclasses.replace(one, round_trip_p99_ns=2 * (one.round_trip_p99_ns or 0.0)),
        throughput_bits_per_s=None,
    )
    found = compare(first, second, metrics=("round-trip-p99", "round-trip-median"))
    assert verdicts(found, "round-trip-p99") == [ChangeVerdict.WORSE]
    assert verdicts(found, "round-trip-median") == [ChangeVerdict.EQUIVALENT]
    assert dict(found.rows[0].cell.settings)["engine"] == "redis"
    assert not any(found.excluded.values())
    assert not survey_table(Study(first).study_table()).excluded
