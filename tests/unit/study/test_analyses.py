"""Every analysis of a file: what was put in comes out, per path and condition, on named trials."""

from __future__ import annotations

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
from pathlab.report.answer_table import format_row
from pathlab.store.records import TrialRecord
from pathlab.study.answer import measure_spread
from pathlab.study.costs import Bottleneck
from pathlab.study.delay import describe_variability
from pathlab.study.registry import ANALYSES
from pathlab.study.selection import ExclusionCount, select, survey_table
from tests.builders.messages import BATCH, carry, make_message_results, make_message_trials
from tests.builders.results import LAB, BareResults, study
from tests.builders.sweeps import CAPACITY, RTT_NS, STREAMS, WINDOWS, make_sweep
from tests.statistics.noise import correlate

CYCLES = 12


def test_the_surface_recovers_window_limit_and_capacity() -> None:
    (answer,) = study(make_sweep(CYCLES)).surface()
    assert answer.result.capacity.value == pytest.approx(CAPACITY, rel=0.03)
    assert answer.result.effective_rtt.value == pytest.approx(RTT_NS, rel=0.03)
    assert answer.result.capacity.interval.contains(answer.result.capacity.value or 0.0)
    assert (answer.selection.trials, answer.selection.used) == (CYCLES * 28, CYCLES * 28)
    assert (answer.condition.path_source, answer.condition.path_destination) == ("west", "east")
    assert answer.condition.get("congestion") == "cubic"


def test_saturation_and_optimum_go_window_by_window() -> None:
    one = study(make_sweep(CYCLES))
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

    answers = study(make_sweep(60, change=slower)).streams_vs_windows()
    products = {
        (one.result.many_streams, one.result.large_streams): one.result
        for one in answers
        if one.result.product_bytes == 65536
    }
    assert set(products) == {(4, 2), (4, 1), (2, 1)}
    found = products[4, 1].comparison
    assert found.verdict is PairVerdict.STREAMS
    assert found.ratio == pytest.approx(1.3, rel=0.05)
    assert found.tests == len(answers)
    assert products[2, 1].comparison.verdict is PairVerdict.EQUIVALENT
    names = {cost.name for cost in products[4, 1].costs}
    assert names == {
        "drtt_ns",
        "loaded_loss_ratio",
        "loaded_variability_ratio",
        "cpu_s_per_gb",
        "fairness_jain",
    }


def test_trials_that_say_nothing_of_the_path_are_left_out_and_counted() -> None:
    def mark(record: TrialRecord) -> TrialRecord:
        flag = {0: ("host-limited",), 1: ("lab-limited",), 2: ("over-line-rate",), 3: ("window-short",)}
        marked = replace(record, flags=flag.get(record.cycle, ()))
        return replace(marked, status="failed", throughput_bits_per_s=None) if record.cycle == 4 else marked

    one = study(make_sweep(CYCLES, change=mark))
    (surface,) = one.surface()
    assert surface.selection.excluded == (
        ExclusionCount(reason="failed", trials=28),
        ExclusionCount(reason="host-limited", trials=28),
        ExclusionCount(reason="lab-limited", trials=28),
    )
    assert surface.selection.used == 28 * (CYCLES - 3)
    assert surface.selection.warnings == (
        ExclusionCount(reason="over-line-rate", trials=28),
        ExclusionCount(reason="window-short", trials=28),
    )
    pair = one.streams_vs_windows()[0]
    assert pair.result.comparison.pairs == CYCLES - 4  # a short window is another cell
    (cost, *_) = one.cpu_cost()
    assert cost.selection.used == 28 * (CYCLES - 2)  # a busy host is what the CPU's line is about


def test_media_paths_and_settings_are_never_pooled() -> None:
    def scatter(record: TrialRecord) -> TrialRecord:
        flags = ("loopback-fallback",) if record.cycle % 2 else ("lab",)
        return replace(record, flags=flags, path_destination="north" if record.streams == 12 else "east")

    answers = study(make_sweep(4, change=scatter)).cells()
    places = {(one.condition.medium, one.condition.path_destination) for one in answers}
    assert places == {(medium, end) for medium in ("lab", "loopback-fallback") for end in ("east", "north")}
    assert {one.selection.used for one in answers} == {2}


def test_mixed_versions_are_said() -> None:
    mixed = make_sweep(4, change=lambda record: replace(record, engine_version=f"0.{record.cycle}"))
    (surface,) = study(mixed).surface()
    assert ExclusionCount(reason="mixed-versions", trials=4 * 28) in surface.selection.warnings


def test_rfc6349_stands_on_the_labs_link_or_on_the_fit() -> None:
    lab = study(make_sweep(3, environment={"lab": LAB})).rfc6349()
    assert {one.result.bottleneck for one in lab} == {Bottleneck.LAB}
    found = lab[0].result
    assert found.bottleneck_bits_per_s == 40_000_000
    assert found.capacity is not None
    assert found.capacity.achievable_bits_per_s == pytest.approx(40e6 * 1448 / 1500)
    # the synthetic trials state bytes of their own model: 64 KiB and less over 40 ms
    assert found.actual_s.median is not None
    assert found.ideal_s.median == pytest.approx(
        found.actual_s.median / (found.transfer_time_ratio.median or 0)
    )
    assert found.transfer_time_ratio.median == pytest.approx(
        40e6 * 1448 / 1500 / (16384 * 8 / 0.04), rel=0.02
    )
    assert found.efficiency_percent.median == 100
    fitted = study(make_sweep(CYCLES)).rfc6349()
    assert {one.result.bottleneck for one in fitted} == {Bottleneck.FITTED}
    assert fitted[0].result.bottleneck_bits_per_s == pytest.approx(CAPACITY * 1500 / 1448, rel=0.03)
    unknown = study(make_sweep(2)).rfc6349()
    assert {one.result.undecided for one in unknown} == {Undecided.NO_CAPACITY}


def test_drift_of_the_design_and_of_control_rows() -> None:
    def fall(record: TrialRecord) -> TrialRecord:
        rate = record.throughput_bits_per_s or 0.0
        return replace(record, throughput_bits_per_s=rate * (1 - 0.02 * record.cycle))

    (still,) = study(make_sweep(21)).drift()
    assert still.result.verdict is DriftVerdict.STEADY
    (fallen,) = study(make_sweep(21, change=fall)).drift()
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

    one = study(make_sweep(CYCLES, change=spoil))
    named = {trial for answer in one.outliers() for trial in answer.result.trial_ids}
    assert 31 in named  # numbers of trials begin at 1
    assert len(named) < 20
    assert sum(answer.selection.used for answer in one.cells()) == CYCLES * 28


def test_duration_is_tested_across_durations_only() -> None:
    def last(record: TrialRecord) -> TrialRecord:
        return replace(record, duration_ns=10**10 * 2 ** (record.cycle % 6), cycle=record.cycle // 6)

    varied = study(make_sweep(72, levels=[(4, 65536)], change=last)).duration()
    assert [one.result.n for one in varied] == [72]
    assert varied[0].result.equivalent is True
    assert varied[0].condition.get("duration_ns") is None
    (fixed,) = study(make_sweep(18, levels=[(4, 65536)])).duration()
    assert fixed.result.undecided is Undecided.NO_VARIATION


def test_the_cost_of_writes_needs_their_sizes() -> None:
    assert study(make_sweep(2)).write_cost() == ()
    results = make_sweep(1, levels=[(1, None)] * 40)
    sizes = [64, 256, 1024, 4096] * 10
    rng = np.random.default_rng(0)
    plan = [
        replace(row, settings={**row.settings, "write_bytes": size})
        for row, size in zip(results.plan(), sizes, strict=True)
    ]
    times = [(500 + size * 8 / 10) * rng.lognormal(0, 0.02) for size in sizes]  # 500 ns and 10 Gbit/s
    trials = [
        replace(record, throughput_bits_per_s=size * 8e9 / time)
        for record, size, time in zip(results.records, sizes, times, strict=True)
    ]
    changed = type(results)(results.campaign, plan, trials, {})
    (found,) = study(changed).write_cost()
    assert found.result.message_ns == pytest.approx(500, rel=0.05)
    assert found.result.rate_bits_per_s == pytest.approx(10e9, rel=0.05)


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
    found = study(type(results)(results.campaign, plan, trials, {})).write_cost()
    assert [(one.streams, one.window_bytes) for one in found] == [(1, 65536), (4, 65536)]
    assert [one.result.message_ns for one in found] == pytest.approx([500, 125])
    assert [one.result.rate_bits_per_s for one in found] == pytest.approx([8e9, 32e9])
    assert found[0].selection.excluded == (
        ExclusionCount(reason="throughput_bits_per_s: not-positive", trials=8),
    )
    assert {count.reason for count in found[0].selection.warnings} == {
        "host-limited",
        "congestion-not-granted",
    }


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


def test_cells_have_the_figures_of_the_report() -> None:
    (cell,) = study(make_sweep(4, levels=[(2, 65536)])).cells()
    figures = cell.result
    # the synthetic trials: probes 0.2 ms above the loaded path, 0.3 ms above the unloaded one
    assert figures.loaded_rtt_mean_ns.median is not None
    assert figures.loaded_rtt_min_ns.median is not None
    least = figures.loaded_rtt_min_ns.median / figures.loaded_rtt_mean_ns.median
    assert figures.loaded_variability_ratio.median == pytest.approx(1 - least)
    assert figures.unloaded_rtt_min_ns.median is not None
    assert figures.unloaded_rtt_mean_ns.median is not None
    least = figures.unloaded_rtt_min_ns.median / figures.unloaded_rtt_mean_ns.median
    assert figures.unloaded_variability_ratio.median == pytest.approx(1 - least)
    assert figures.drtt_median_ns.n == figures.loaded_rtt_iqr_ns.n == figures.unloaded_rtt_iqr_ns.n == 4


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
    assert (few.low or 0.0) < (plain.low or 0.0) < (plain.high or 0.0) < (few.high or 0.0)
    assert measure_spread(np.full(60, 5.0)).interval.decided
    (cell,) = evaluate_stop_rule({"cell": values}, 60, StopRule()).cells
    assert cell.interval == serial.interval


def test_the_same_results_give_the_same_answers() -> None:
    first, second = study(make_sweep(8)), study(make_sweep(8))
    assert first.saturation() == second.saturation()
    second.surface()
    assert second.breakpoint() == first.breakpoint()


def test_a_file_without_trials_has_no_answers() -> None:
    one = study(BareResults())
    assert not (*one.cells(), *one.surface(), *one.limits(), *one.streams_vs_windows(), *one.drift())


def test_a_line_that_turns_down_is_not_told_as_a_climb() -> None:
    (answer,) = study(make_sweep(2)).breakpoint()
    rates = np.linspace(1e7, 9e7, 60)
    bends = np.minimum(rates, 5e7) + np.random.default_rng(0).normal(0, 1e6, 60)
    for values, beginning in ((bends, "flatter from "), (-bends, "")):
        found = find_breakpoint(rates, values, cycles=np.arange(60), rng=np.random.default_rng(0))
        row = format_row(ANALYSES["breakpoint"], replace(answer, result=replace(answer.result, drtt=found)))
        assert re.match(rf"{beginning}(49|50|51)", row[1])


def test_variability_has_its_spread_mean_and_steady_share() -> None:
    found = describe_variability(np.array([0.02, np.nan, 0.10, 0.30, 0.04]))
    assert (found.spread.n, found.spread.most, found.steady_share_ratio) == (4, 0.30, 0.75)
    assert found.spread.median == pytest.approx(0.07)
    assert found.mean_ratio == pytest.approx(0.115)
    none = describe_variability(np.array([np.nan]))
    assert (none.spread.n, none.mean_ratio, none.steady_share_ratio) == (0, None, None)


def test_fairness_is_for_several_streams() -> None:
    answers = study(make_sweep(3)).fairness()
    assert {one.streams for one in answers} == set(STREAMS) - {1}
    assert answers[0].result.jain_ratio.median == 0.97


def test_failed_trials_belong_to_the_condition_that_they_would_have_had() -> None:
    """Which congestion control the kernel's default is, a trial that never connected cannot say."""

    def fail(record: TrialRecord) -> TrialRecord:
        plain = replace(record, congestion_requested=None)
        if record.cycle:
            return plain
        return replace(plain, status="failed", congestion_sender=None, throughput_bits_per_s=None)

    results = make_sweep(4, change=fail, settings={"congestion": None})
    (surface,) = study(results).surface()
    assert surface.selection.excluded == (ExclusionCount(reason="failed", trials=28),)
    assert surface.condition.get("congestion") == "cubic"


def test_data_against_the_path_is_held_against_the_way_back() -> None:
    link = {
        "between": ["west", "east"],
        "rate_bits_per_s": 40_000_000,
        "reverse": {"rate_bits_per_s": 10_000_000},
    }
    environment = {"lab": {"links": [link]}}
    there = study(make_sweep(1, environment=environment)).rfc6349()[0]
    back = study(make_sweep(1, environment=environment, settings={"direction": "reverse"})).rfc6349()[0]
    assert there.result.bottleneck_bits_per_s == 40_000_000
    assert back.result.bottleneck_bits_per_s == 10_000_000
    assert back.condition.flow_ends == ("east", "west")


def test_trials_of_messages_have_the_analyses_of_messages_alone() -> None:
    answered = {name for name, entry in ANALYSES.items() if entry(study(make_message_results(cycles=2)))}
    assert answered == {"message_latency", "message_knee", "message_tails", "message_front"}
    carried = study(make_message_trials([{}, BATCH, {"streams": 2}], carry, cycles=2))
    assert {name for name, entry in ANALYSES.items() if entry(carried)} == {
        "message_rates", "message_cost", "batching", "fan_out"
    }  # fmt: skip
    assert survey_table(carried.study_table()).used == len(carried.study_table())
    assert all(one.number for one in carried.conditions())
