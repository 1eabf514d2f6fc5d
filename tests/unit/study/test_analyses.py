"""Every analysis of a file: what was put in comes out, per path and condition, on named trials."""

import re
from dataclasses import replace

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.quantiles import median_interval
from pathlab.analysis.estimators.serial import serial_median
from pathlab.analysis.fits.breakpoints import find_breakpoint
from pathlab.analysis.fits.models import Family
from pathlab.analysis.planning.stopping import StopRule, evaluate_stop_rule
from pathlab.analysis.verdicts.drift import DriftVerdict
from pathlab.analysis.verdicts.pairs import PairVerdict
from pathlab.report.base.answer_table import format_row
from pathlab.store.records import TrialRecord
from pathlab.study.analyses import Study
from pathlab.study.base.answer import measure_spread
from pathlab.study.base.registry import ANALYSES
from pathlab.study.base.selection import ExclusionCount, select
from pathlab.study.flows.costs import Bottleneck
from pathlab.study.flows.throughput import agree_with_windows
from tests.builders.results import LAB, SyntheticResults
from tests.builders.sections import QUICK
from tests.builders.sweeps import CAPACITY, RTT_NS, make_sweep
from tests.statistics.noise import correlate

CYCLES = 12
WINDOWS = (32768, 131072)
#: Windows that the path holds and that it does not.
LEVELS = [(streams, window) for window in WINDOWS for streams in (1, 2, 3, 4, 6, 8, 12)]


def study(results: SyntheticResults) -> Study:
    return Study(results, QUICK)


def test_the_surface_recovers_window_limit_and_capacity() -> None:
    (answer,) = study(make_sweep(CYCLES, levels=LEVELS)).surface()
    assert answer.result.capacity.value == pytest.approx(CAPACITY, rel=0.03)
    assert answer.result.effective_rtt.value == pytest.approx(RTT_NS, rel=0.03)
    assert answer.result.capacity.interval.contains(answer.result.capacity.value or 0.0)
    assert (answer.selection.trials, answer.selection.used) == (CYCLES * 14, CYCLES * 14)
    assert (answer.condition.path_source, answer.condition.path_destination) == ("west", "east")
    assert answer.condition.get("congestion") == "cubic"


def test_saturation_and_optimum_go_window_by_window() -> None:
    one = study(make_sweep(CYCLES, levels=LEVELS))
    found = {answer.window_bytes: answer.result for answer in one.saturation()}
    assert tuple(found) == WINDOWS
    assert found[131072].capacity.value == pytest.approx(CAPACITY, rel=0.05)
    assert found[131072].best is not None
    assert Family.LOSS_LIMITED not in (found[131072].best, *found[131072].rivals)
    assert {answer.window_bytes for answer in one.optimum()} == set(WINDOWS)


def test_equal_products_are_compared_in_pairs_and_corrected_together() -> None:
    def slower(record: TrialRecord) -> TrialRecord:
        """Four streams of 16 KiB carry 30 % more than one of 64 KiB; the others are alike."""
        many = (record.streams, record.window_requested_bytes) == (4, 16384)
        rate = record.throughput_bits_per_s or 0.0
        return replace(record, throughput_bits_per_s=rate * (1.3 if many else 1.0))

    levels = [(4, 16384), (2, 32768), (1, 65536), (2, 65536), (1, 131072)]
    answers = study(make_sweep(60, levels=levels, change=slower)).streams_vs_windows()
    found = {
        (one.result.product_bytes, one.result.many_streams, one.result.large_streams): one.result
        for one in answers
    }
    assert set(found) == {(65536, 4, 2), (65536, 4, 1), (65536, 2, 1), (131072, 2, 1)}
    many = found[65536, 4, 1]
    assert (many.comparison.verdict, many.comparison.tests) == (PairVerdict.STREAMS, 4)
    assert many.comparison.ratio == pytest.approx(1.3, rel=0.05)
    assert found[65536, 2, 1].comparison.verdict is PairVerdict.EQUIVALENT
    assert {cost.name for cost in many.costs} == {
        *("drtt_ns", "loaded_loss_ratio", "loaded_variability_ratio", "cpu_s_per_gb", "fairness_jain")
    }


def test_trials_that_say_nothing_of_the_path_are_left_out_and_counted() -> None:
    def mark(record: TrialRecord) -> TrialRecord:
        flag = {0: ("host-limited",), 1: ("lab-limited",), 2: ("over-line-rate",), 3: ("window-short",)}
        marked = replace(record, flags=flag.get(record.cycle, ()), engine_version=f"0.{record.cycle}")
        return replace(marked, status="failed", throughput_bits_per_s=None) if record.cycle == 4 else marked

    levels = [(1, 32768), (2, 32768), (1, 65536), (2, 65536)]
    one = study(make_sweep(CYCLES, levels=levels, change=mark))
    (surface,) = one.surface()
    excluded = {count.reason: count.trials for count in surface.selection.excluded}
    assert excluded == dict.fromkeys(("failed", "host-limited", "lab-limited"), 4)
    assert surface.selection.used == 4 * (CYCLES - 3)
    warnings = {count.reason: count.trials for count in surface.selection.warnings}
    assert warnings == {"over-line-rate": 4, "window-short": 4, "mixed-versions": 4 * (CYCLES - 3)}
    pair = one.streams_vs_windows()[0]
    assert pair.result.comparison.pairs == CYCLES - 4  # a short window is another cell
    (cost, *_) = one.cpu_cost()
    assert cost.selection.used == 4 * (CYCLES - 2)  # a busy host is what the CPU's line is about


def test_media_paths_and_settings_are_never_pooled() -> None:
    def scatter(record: TrialRecord) -> TrialRecord:
        flags = ("loopback-fallback",) if record.cycle % 2 else ("lab",)
        return replace(record, flags=flags, path_destination="north" if record.streams == 12 else "east")

    answers = study(make_sweep(4, levels=[(1, 65536), (12, 65536)], change=scatter)).cells()
    places = {(one.condition.medium, one.condition.path_destination) for one in answers}
    assert places == {(medium, end) for medium in ("lab", "loopback-fallback") for end in ("east", "north")}
    assert {one.selection.used for one in answers} == {2}


def test_rfc6349_stands_on_the_labs_link_or_on_the_fit() -> None:
    levels = [(streams, window) for window in (16384, 131072) for streams in (1, 4, 8, 12)]
    lab = study(make_sweep(3, levels=levels, environment={"lab": LAB})).rfc6349()
    assert {one.result.bottleneck for one in lab} == {Bottleneck.LAB}
    found = lab[0].result
    assert found.bottleneck_bits_per_s == 40_000_000
    assert found.capacity.achievable_bits_per_s == pytest.approx(40e6 * 1448 / 1500)
    # the synthetic trials state bytes of their own model: 64 KiB and less over 40 ms
    assert found.ideal_s.median == pytest.approx(
        found.actual_s.median / (found.transfer_time_ratio.median or 0)
    )
    assert found.transfer_time_ratio.median == pytest.approx(
        40e6 * 1448 / 1500 / (16384 * 8 / 0.04), rel=0.02
    )
    assert found.efficiency_percent.median == 100
    fitted = study(make_sweep(CYCLES, levels=levels)).rfc6349()
    assert {one.result.bottleneck for one in fitted} == {Bottleneck.FITTED}
    assert fitted[0].result.bottleneck_bits_per_s == pytest.approx(CAPACITY * 1500 / 1448, rel=0.03)
    unknown = study(make_sweep(2, levels=levels)).rfc6349()
    assert {one.result.undecided for one in unknown} == {Undecided.NO_CAPACITY}


def test_drift_of_the_design_and_of_control_rows() -> None:
    def fall(record: TrialRecord) -> TrialRecord:
        rate = record.throughput_bits_per_s or 0.0
        return replace(record, throughput_bits_per_s=rate * (1 - 0.02 * record.cycle))

    levels = [(streams, window) for window in (32768, 65536) for streams in (1, 2, 4)]
    (still,) = study(make_sweep(21, levels=levels)).drift()
    assert still.result.verdict is DriftVerdict.STEADY
    (fallen,) = study(make_sweep(21, levels=levels, change=fall)).drift()
    assert fallen.result.verdict is DriftVerdict.DRIFTING
    assert fallen.result.change.change_ratio == pytest.approx(-0.4, abs=0.05)
    controls = study(make_sweep(1, levels=[(4, 65536)] * 15, settings={"control": True}))
    (control,) = controls.drift()
    assert control.result.n == 15
    assert controls.surface() == ()
    assert controls.cells() == ()


def test_outliers_are_named_by_their_trial_and_kept() -> None:
    def spoil(record: TrialRecord) -> TrialRecord:
        return replace(record, throughput_bits_per_s=1e5) if record.plan_row == 30 else record

    one = study(make_sweep(CYCLES, levels=[(1, 65536), (4, 65536), (12, 65536)], change=spoil))
    named = {trial for answer in one.outliers() for trial in answer.result.trial_ids}
    assert 31 in named  # numbers of trials begin at 1
    assert len(named) < 4
    assert sum(answer.selection.used for answer in one.cells()) == CYCLES * 3


def test_duration_is_tested_across_durations_only() -> None:
    def last(record: TrialRecord) -> TrialRecord:
        return replace(record, duration_ns=10**10 * 2 ** (record.cycle % 6), cycle=record.cycle // 6)

    varied = study(make_sweep(72, levels=[(4, 65536)], change=last)).duration()
    assert [one.result.n for one in varied] == [72]
    assert varied[0].result.equivalent is True
    assert varied[0].condition.get("duration_ns") is None
    (fixed,) = study(make_sweep(18, levels=[(4, 65536)])).duration()
    assert fixed.result.undecided is Undecided.NO_VARIATION


def test_writes_have_a_cost_in_every_cell() -> None:
    """Four streams carry four times as much: what a write costs the flow is a quarter. Hosts limit both."""
    results = make_sweep(5, levels=[(1, 65536), (4, 65536)] * 4)
    plan, trials = [], []
    for row, record in zip(results.plan(), results.records, strict=True):
        size = 4 ** (row.row // 2 % 4 + 3)
        plan.append(replace(row, settings={**row.settings, "write_bytes": size}))
        rate = 0.0 if record.cycle == 4 else record.streams * size * 8e9 / (500 + size)
        flags = ("host-limited", "congestion-not-granted")
        trials.append(replace(record, throughput_bits_per_s=rate, flags=flags))
    written = study(results.copy(plan=plan, trials=trials, series={}))
    found = written.write_cost()
    assert [(one.streams, one.window_bytes) for one in found] == [(1, 65536), (4, 65536)]
    assert [one.result.message_ns for one in found] == pytest.approx([500, 125])
    assert [one.result.rate_bits_per_s for one in found] == pytest.approx([8e9, 32e9])
    assert found[0].selection.excluded == (
        ExclusionCount(reason="throughput_bits_per_s: not-positive", trials=8),
    )
    assert {one.reason for one in found[0].selection.warnings} == {"host-limited", "congestion-not-granted"}
    assert (written.message_cost(), written.message_rates()) == ((), ())
    assert study(make_sweep(2, levels=[(1, 65536)])).write_cost() == ()


def test_every_trial_of_a_condition_is_used_or_left_out_for_a_reason() -> None:
    """Of each kind that an analysis has no use for: autotuned, carrying nothing, without probes or CPU."""

    def spoil(record: TrialRecord) -> TrialRecord:
        if record.cycle == 1:
            return replace(record, throughput_bits_per_s=0.0)
        if record.cycle == 2:
            return replace(record, unloaded_rtt_mean_ns=None, loaded_rtt_min_ns=None)
        if record.cycle == 3:
            return replace(record, sender_cpu_user_s=None, receiver_cpu_system_s=None)
        return record

    one = study(make_sweep(5, levels=[(1, 65536), (2, 65536), (2, None)], change=spoil))
    analyses = (one.surface, one.cpu_cost, one.duration, one.distributions)
    for selection in [answer.selection for analyse in analyses for answer in analyse()]:
        assert selection.trials == selection.used + sum(count.trials for count in selection.excluded)
    (surface,) = one.surface()
    assert surface.selection.excluded == (ExclusionCount(reason="autotuned", trials=5),)
    assert one.outliers()[0].selection.excluded == (
        ExclusionCount(reason="throughput_bits_per_s: not-positive", trials=3),
    )


def test_probes_that_cannot_be_have_no_loss_and_no_variability() -> None:
    def spoil(record: TrialRecord) -> TrialRecord:
        if record.cycle == 0:
            return replace(record, loaded_sent=5, loaded_received=9)
        if record.cycle == 1:
            return replace(record, loaded_rtt_min_ns=9e9, loaded_rtt_mean_ns=1e6)
        return record

    (sample,) = select(study(make_sweep(3, levels=[(2, 65536)], change=spoil)).study_table())
    assert np.isnan(sample.measure_loss()).tolist() == [True, False, False]
    assert np.isnan(sample.measure_variability()).tolist() == [False, True, False]


def test_intervals_of_many_cycles_allow_for_their_correlation() -> None:
    """A rate that wanders over 60 cycles: they are worth fewer, and the median is known less well."""
    rng = np.random.default_rng(2)
    values = 1e8 * np.exp(0.1 * correlate(rng.normal(size=60), 0.7))
    serial, plain = measure_spread(values), median_interval(values)
    assert serial.interval == serial_median(values).interval
    assert (serial.interval.high or 0) - (serial.interval.low or 0) > 1.3 * (
        (plain.high or 0) - (plain.low or 0)
    )
    few, plain = measure_spread(values[:7]).interval, median_interval(values[:7])
    assert (few.low, few.high, few.cut) == (plain.low, plain.high, True)
    limits = few.limits
    assert limits[0] < plain.low < plain.high < limits[1]
    assert measure_spread(np.full(60, 5.0)).interval.decided
    (cell,) = evaluate_stop_rule({"cell": values}, 60, StopRule()).cells
    assert cell.interval == serial.interval


def test_the_same_results_give_the_same_answers() -> None:
    levels = [(streams, 131072) for streams in (1, 2, 4, 8, 12)]
    first, second = study(make_sweep(12, levels=levels)), study(make_sweep(12, levels=levels))
    assert first.saturation() == second.saturation()
    second.surface()
    assert second.breakpoint() == first.breakpoint()


def test_a_line_that_turns_down_is_not_told_as_a_climb() -> None:
    (answer,) = study(make_sweep(2, levels=[(1, 65536), (2, 65536)])).breakpoint()
    rates = np.linspace(1e7, 9e7, 60)
    bends = np.minimum(rates, 5e7) + np.random.default_rng(0).normal(0, 1e6, 60)
    for values, beginning in ((bends, "flatter from "), (-bends, "")):
        found = find_breakpoint(rates, values, cycles=np.arange(60), rng=np.random.default_rng(0))
        row = format_row(ANALYSES["breakpoint"], replace(answer, result=replace(answer.result, drtt=found)))
        assert re.match(rf"{beginning}(49|50|51)", row[1])


def test_failed_trials_belong_to_the_condition_that_they_would_have_had() -> None:
    """Which congestion control the kernel's default is, a trial that never connected cannot say."""

    def fail(record: TrialRecord) -> TrialRecord:
        plain = replace(record, congestion_requested=None)
        if record.cycle:
            return plain
        return replace(plain, status="failed", congestion_sender=None, throughput_bits_per_s=None)

    levels = [(1, 32768), (2, 32768), (1, 65536), (2, 65536)]
    results = make_sweep(4, levels=levels, change=fail, settings={"congestion": None})
    (surface,) = study(results).surface()
    assert surface.selection.excluded == (ExclusionCount(reason="failed", trials=4),)
    assert surface.condition.get("congestion") == "cubic"


def test_data_against_the_path_is_held_against_the_way_back() -> None:
    link = {
        "between": ["west", "east"],
        "rate_bits_per_s": 40_000_000,
        "reverse": {"rate_bits_per_s": 10_000_000},
    }
    environment = {"lab": {"links": [link]}}
    there, back = (
        study(make_sweep(1, levels=[(1, 65536)], environment=environment, settings=settings)).rfc6349()[0]
        for settings in ({}, {"direction": "reverse"})
    )
    assert there.result.bottleneck_bits_per_s == 40_000_000
    assert back.result.bottleneck_bits_per_s == 10_000_000
    assert back.condition.flow_ends == ("east", "west")


def test_the_surface_never_contradicts_the_windows_of_the_same_trials() -> None:
    """A path that still rises at the largest total window has one answer: at least what was shown."""
    rising = [(streams, window) for window in (16384, 65536) for streams in (1, 2, 3, 4)]
    one = study(make_sweep(CYCLES, levels=rising))
    (surface,) = one.surface()
    top = one.saturation()[-1].result.capacity
    assert top.undecided is surface.result.capacity.undecided is Undecided.STILL_RISING
    assert (surface.result.capacity.value, surface.result.capacity.interval.high) == (None, None)
    assert surface.result.capacity.interval.low < CAPACITY
    (flat,) = study(make_sweep(CYCLES, levels=LEVELS)).surface()
    alone = study(make_sweep(CYCLES, levels=LEVELS)).saturation()
    for low, high, expected in (
        (0.5, None, Undecided.STILL_RISING),
        (0.5, 0.6, Undecided.CONFLICTING_EVIDENCE),
        (1.5, 1.6, Undecided.CONFLICTING_EVIDENCE),
        (0.9, 1.2, None),
    ):
        capacity = alone[-1].result.capacity
        changed = replace(
            capacity,
            value=None if high is None else capacity.value,
            undecided=Undecided.STILL_RISING if high is None else None,
            interval=replace(
                capacity.interval,
                low=low * CAPACITY,
                high=None if high is None else high * CAPACITY,
                undecided=Undecided.STILL_RISING if high is None else None,
            ),
        )
        windows = (alone[0], replace(alone[-1], result=replace(alone[-1].result, capacity=changed)))
        found = agree_with_windows(flat.result, windows).capacity
        assert found.undecided is expected
        assert (found.value is None) == (found.interval.high is None) == (expected is not None)
