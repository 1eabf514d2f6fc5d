"""The summary finds what the model of the synthetic results put in, and nothing that was not measured."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from pathlab.cli.live import RunningTable
from pathlab.report.report_builder import gather_inputs
from pathlab.report.summary import Cell, Path, cpu_s_per_gbyte, summarise
from pathlab.report.text import tabulate_path
from pathlab.units import format_rate, format_time
from tests.unit.synthetic_results import (
    GOODPUT_BITS_PER_S,
    SyntheticResults,
    make_failed,
    make_quickstart,
)

KIB = 1024


def find_cell(results: SyntheticResults, streams: int, window_bytes: int | None) -> Cell:
    found = [
        cell
        for cell in summarise(results).cells
        if (cell.streams, cell.window_requested_bytes) == (streams, window_bytes)
    ]
    assert len(found) == 1
    return found[0]


def test_cells_are_grouped_and_counted() -> None:
    summary = summarise(make_quickstart(cycles=3))
    assert [path.path for path in summary.paths] == [Path(source="west", destination="east")]
    assert [(cell.streams, cell.window_requested_bytes) for cell in summary.cells] == [
        (streams, size * KIB) for streams in (1, 2, 4, 8) for size in (64, 256)
    ]
    assert {cell.complete for cell in summary.cells} == {3}
    assert (summary.planned, summary.done, summary.cycles, summary.complete) == (24, 24, 3, 24)
    assert summary.lab


def test_throughput_and_rise_are_the_models() -> None:
    cell = find_cell(make_quickstart(), 1, 64 * KIB)
    assert cell.throughput_bits_per_s.median == pytest.approx(64 * KIB * 8 / 0.04, rel=0.01)
    assert cell.drtt_ns.median == pytest.approx(-1e5)
    full = find_cell(make_quickstart(), 8, 256 * KIB)
    assert full.throughput_bits_per_s.median == pytest.approx(GOODPUT_BITS_PER_S, rel=0.01)
    assert full.drtt_ns.median == pytest.approx(50e6 - 1e5)
    assert full.loaded_loss.sent == 40
    assert full.loaded_loss.lost == 2


def test_interval_is_undecided_below_six_cycles_and_decided_from_six_on() -> None:
    few = find_cell(make_quickstart(cycles=5), 1, 64 * KIB).throughput_bits_per_s
    assert few.interval.undecided == "too-few-samples"
    enough = find_cell(make_quickstart(cycles=6), 1, 64 * KIB).throughput_bits_per_s
    assert (enough.interval.low or 0.0) < (enough.least or 0.0)
    assert (enough.most or 0.0) < (enough.interval.high or 0.0)


def test_cpu_is_per_gigabyte_of_the_whole_trial() -> None:
    assert cpu_s_per_gbyte(0.15, 0.05, 500_000_000) == pytest.approx((0.15 + 0.05) / 0.5)
    assert cpu_s_per_gbyte(None, 0.05, 500_000_000) is None
    assert cpu_s_per_gbyte(0.15, 0.05, 0) is None


def test_what_was_not_measured_stays_none() -> None:
    results = make_quickstart(cycles=2, levels=[(1, 64 * KIB)])
    results.records = [make_failed(record) for record in results.records]
    summary = summarise(results)
    cell = summary.cells[0]
    assert (cell.complete, cell.failed) == (0, 2)
    assert cell.throughput_bits_per_s.median is None
    assert cell.drtt_ns.median is None
    assert cell.loaded_loss.loss_ratio is None
    assert cell.window_granted_sender_bytes is None
    assert len(summary.failures) == 2
    assert summary.done == 0


def test_failed_attempt_then_success_counts_both() -> None:
    results = make_quickstart(cycles=1, levels=[(2, 64 * KIB)])
    first = make_failed(results.records[0])
    results.records = [first, replace(results.records[0], attempt=2)]
    summary = summarise(results)
    assert (summary.done, summary.complete, len(summary.failures)) == (1, 1, 1)


@pytest.mark.parametrize(
    ("changes", "short"),
    [
        ({}, 0),
        ({"window_granted_sender_bytes": 128 * KIB - 1}, 1),
        ({"window_granted_receiver_bytes": 64 * KIB}, 1),
        ({"flags": ("window-short",)}, 1),
        ({"window_granted_sender_bytes": None}, 0),
    ],
)
def test_windows_that_were_not_granted(changes: dict[str, object], short: int) -> None:
    results = make_quickstart(cycles=1, levels=[(1, 64 * KIB)])
    results.records = [replace(results.records[0], **changes)]  # type: ignore[arg-type]
    assert summarise(results).cells[0].short_windows == short


def test_autotuned_cells_stand_by_themselves() -> None:
    results = make_quickstart(cycles=1, levels=[(1, None), (1, 64 * KIB)])
    cell = find_cell(results, 1, None)
    assert cell.product_bytes is None
    assert cell.complete == 1


def test_other_factors_and_control_rows_never_share_a_cell() -> None:
    results = make_quickstart(cycles=6, levels=[(1, 64 * KIB)])
    plan = [
        replace(
            row,
            settings={
                **row.settings,
                "duration_ns": duration_s * 10**9,
                "no_delay": True,
                "family": "any",
                "warmup_ns": 10**9,
            },
        )
        for row, duration_s in zip(results.plan(), (100, 20, 100, 20, 100, 100), strict=True)
    ]
    plan[5] = replace(plan[5], settings={**plan[5].settings, "control": True})
    apart = SyntheticResults(results.campaign, plan, results.records, {})
    found = {str(path.path): sum(cell.complete for cell in path.cells) for path in summarise(apart).paths}
    assert list(found.items()) == [
        ("west → east (duration 20 s, no_delay yes)", 2),
        ("west → east (duration 100 s, no_delay yes)", 3),
        ("west → east (control rows)", 1),
    ]


def test_truth_is_the_link_of_the_path() -> None:
    truth = summarise(make_quickstart()).paths[0].truth
    assert truth is not None
    assert truth.bottleneck.data_bits_per_s == pytest.approx(GOODPUT_BITS_PER_S)
    other = {"links": [{"between": ["west", "north"], "rate_bits_per_s": 1, "delay_ns": 1}]}
    assert summarise(make_quickstart(environment={"lab": other})).paths[0].truth is None
    assert summarise(make_quickstart(environment={"lab": None, "fallback": None})).paths[0].truth is None


@pytest.mark.parametrize(("sent", "received"), [(20, 21), (20, -1), (-5, 0), (2**62, 2**61)])
def test_impossible_counts_of_probes_are_no_loss(sent: int, received: int) -> None:
    results = make_quickstart(cycles=2, levels=[(1, 64 * KIB)])
    results.records[0] = replace(results.records[0], loaded_sent=sent, loaded_received=received)
    assert find_cell(results, 1, 64 * KIB).loaded_loss.sent == 20


@pytest.mark.parametrize(
    "flag", ["lab-limited", "host-limited", "window-short", "congestion-not-granted", "over-line-rate"]
)
def test_terminal_page_and_live_view_say_the_same_of_a_cell(flag: str) -> None:
    """One selection of trials, one median, one dRTT (of the averages), whoever shows them."""
    results = make_quickstart(cycles=45, levels=[(4, 64 * KIB)])
    kept = [replace(one, loaded_rtt_median_ns=(one.loaded_rtt_mean_ns or 0) + 3e7) for one in results.records]
    for number in range(0, 40, 2):
        kept[number] = replace(kept[number], flags=("lab", flag), throughput_bits_per_s=45e6 + number)
    results.records = kept
    (cell,) = summarise(results).cells
    (candidate,) = gather_inputs(results).study.recommend()[0].result.candidates
    assert cell.throughput_bits_per_s == candidate.throughput_bits_per_s
    assert cell.drtt_ns == candidate.drtt_ns
    assert cell.loaded_loss == candidate.loaded_loss
    assert len(cell.counted) == candidate.n == (45 if flag == "over-line-rate" else 25)
    table = RunningTable()
    for record in kept:
        table.add(record, {})
    console = Console(file=io.StringIO(), width=150)
    built = table.build()
    assert built is not None
    console.print(built)
    assert isinstance(console.file, io.StringIO)
    row = console.file.getvalue().splitlines()[-1]
    interval = cell.throughput_bits_per_s.interval
    assert format_rate(cell.throughput_bits_per_s.median) in row
    bounds = f"{format_rate(interval.low)} to {format_rate(interval.high)}"
    assert (bounds if interval.decided else "undecided") in row
    assert row.rstrip().endswith(format_time(cell.drtt_ns.median))
    assert ("25 of 45" in row) == (flag != "over-line-rate")


def test_a_cell_without_a_trial_that_counts_has_no_median_and_is_still_shown() -> None:
    results = make_quickstart(cycles=2, levels=[(1, 64 * KIB)])
    results.records = [replace(one, flags=("lab", "lab-limited")) for one in results.records]
    summary = summarise(results)
    (cell,) = summary.cells
    assert (cell.complete, len(cell.counted), cell.throughput_bits_per_s.median) == (2, 0, None)
    assert summary.paths[0].measured == (cell,)
    console = Console(file=io.StringIO(), width=150)
    console.print(tabulate_path(summary.paths[0], wide=True))
    assert isinstance(console.file, io.StringIO)
    assert "0 of 2" in console.file.getvalue()
    assert "lab-limited ×2" in console.file.getvalue()
