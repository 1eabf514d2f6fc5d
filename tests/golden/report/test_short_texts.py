"""Short texts of the report: names, notes, reasons and errors, each in a situation of its own."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from pathlab.errors import UsageError
from pathlab.reference.series import describe_source
from pathlab.report.answer_table import format_row, list_undecided
from pathlab.report.blocks import Report, list_figures
from pathlab.report.explorer.figure import FigureTexts, plot_exploration, write_subject
from pathlab.report.explorer.trial_document import ROWS_SHOWN, read_details
from pathlab.report.formats.output_file import write_whole
from pathlab.report.host_text import render_check
from pathlab.report.inputs import ReportInputs
from pathlab.report.names import enumerate_cells
from pathlab.report.plots.live import describe_plot
from pathlab.report.plots.model import Curve, Points, Rule, Scale
from pathlab.report.plots.preparation import prepare_plot
from pathlab.report.plots.printed import draw_file, render_svg
from pathlab.report.report_builder import build_document, write_comparison
from pathlab.report.sections.comparison import build_comparison
from pathlab.report.tables import build_table
from pathlab.store.records import TrialRecord
from pathlab.study.analyses import Study
from pathlab.study.exploration.exploration import (
    ExploredAxis,
    Facet,
)
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.registry import ANALYSES
from tests.builders.explored import make_explored
from tests.builders.plots import make_panel, make_plot
from tests.builders.results import make_quickstart, write_results
from tests.builders.sweeps import make_sweep
from tests.builders.trials import GOODPUT_BITS_PER_S, QUEUE_BYTES, RATE_BITS_PER_S, make_failed
from tests.golden.conftest import Say
from tests.unit.report.explorer.test_figure import explore
from tests.unit.report.explorer.test_trial_document import find_section
from tests.unit.report.sections.test_answer_figure import draw, make_results
from tests.unit.report.sections.test_comparison import compare, delayed, make
from tests.unit.report.sections.test_method import find_fact
from tests.unit.report.test_tables import ROWS

FULL_QUEUE_MS = QUEUE_BYTES * 8e3 / RATE_BITS_PER_S


@pytest.fixture(scope="module")
def inputs() -> ReportInputs:
    return make_results()


def test_the_lab_gives_the_reference_lines(say: Say, inputs: ReportInputs) -> None:
    rules = [layer for panel in draw(inputs).panels for layer in panel.layers if isinstance(layer, Rule)]
    assert [rule.value for rule in rules] == pytest.approx(
        [GOODPUT_BITS_PER_S / 1e6, FULL_QUEUE_MS], rel=1e-3
    )
    say([rule.name.partition(":")[0] for rule in rules])


def test_a_line_far_above_the_measurements_is_said_instead(say: Say) -> None:
    narrow = make_results(levels=[(1, 8192), (2, 8192)])
    plot = draw(narrow)
    assert not any(isinstance(layer, Rule) for layer in plot.panels[0].layers)
    say(plot.sentence)


def test_host_limited_combinations_are_drawn_open_too(say: Say) -> None:
    def limit(record: TrialRecord) -> TrialRecord:
        return replace(record, flags=("lab", "host-limited")) if record.streams == 8 else record

    plot = draw(make_results(change=limit))
    hollow = [layer for layer in plot.panels[0].layers if isinstance(layer, Points) and layer.hollow]
    assert all(layer.x == pytest.approx([8.0], rel=0.05) for layer in hollow)
    say(plot.sentence)


def test_lab_limited_combinations_have_open_markers(say: Say) -> None:
    def limit(record: TrialRecord) -> TrialRecord:
        return replace(record, flags=("lab", "lab-limited")) if record.streams == 4 else record

    plot = draw(make_results(change=limit))
    hollow = [layer for layer in plot.panels[0].layers if isinstance(layer, Points) and layer.hollow]
    assert [layer.name for layer in hollow] == ["window 32 KiB", "window 64 KiB"]
    assert all(layer.x == pytest.approx([4.0], rel=0.05) for layer in hollow)
    assert all(len(layer.x) == 2 for layer in plot.panels[0].layers if isinstance(layer, Curve))
    say(plot.sentence)


KIB = 1024
LEVELS = [(1, 64 * KIB), (4, 64 * KIB)]


def test_an_undecided_interval_leaves_the_value_alone(say: Say) -> None:
    (answer, _) = Study(make_quickstart(cycles=2, levels=LEVELS)).cells()
    row = format_row(ANALYSES["cells"], answer)
    assert not any("(" in text for text in row)
    say(list_undecided(ANALYSES["cells"], [answer]))


def test_another_ending_is_refused(say: Say, tmp_path: Path) -> None:
    found = compare(make(1, delayed(0.0)), make(2, delayed(0.0)), "throughput")
    with pytest.raises(UsageError) as caught:
        write_comparison(found, tmp_path / "x.json")
    say(caught.value)


def test_a_figure_of_many_combinations_names_all_of_its_rows(say: Say) -> None:
    base = make_quickstart(cycles=6, levels=[(streams, 64 * KIB) for streams in range(1, 50)])
    found = compare(base, base, "throughput")
    (plot,) = list_figures(build_comparison(found))
    (panel,) = plot.panels
    assert len(panel.y.tick_labels or ()) == 40
    say(plot.sentence)
    drawn = render_svg(plot, "x")
    assert all(f">{label}<" in drawn for label in panel.y.tick_labels or ())
    described = describe_plot(plot)
    assert described["heights"] == [960]
    assert "" not in described["panels"][0]["y"]["marks"][1]


MEDIAN = FigureTexts(statistic="median")
RATE = ExploredAxis(column="rate", label="Throughput", unit="Mbit/s", scale="linear", kind="number")


@pytest.mark.parametrize("facets", [(), (Facet(name="", curves=()),)])
def test_without_a_point_the_figure_says_why(say: Say, facets: tuple[Facet, ...]) -> None:
    plot = plot_exploration(explore(*facets), MEDIAN)
    say((plot.panels, plot.empty))
    empty = plot_exploration(replace(explore(), excluded=(), notes=()), MEDIAN)
    say(empty.empty)
    assert draw_file(empty, ".png").startswith(b"\x89PNG")


def test_a_distribution_is_named_after_its_measure(say: Say) -> None:
    found = replace(explore(x=RATE), statistic="trials per bin", range="")
    say(write_subject(found, "histogram"))


@pytest.fixture(scope="module")
def report() -> Report:
    """A small one: each figure of it is drawn several times here."""
    results = make_quickstart(cycles=1, levels=[(2, 64 * KIB)], title="A | B <i>*emphasis*</i>")
    failed = make_failed(results.records[0], reason="`quoted` | <b>reason</b>")
    results.records.append(failed)
    return build_document(results)


def test_a_results_file_is_never_replaced_by_a_report(say: Say, tmp_path: Path) -> None:
    stored = tmp_path / "results.db"
    stored.write_bytes(b"SQLite format 3\x00 and what took a night to measure")
    before = stored.read_bytes()
    with pytest.raises(UsageError) as caught:
        write_whole(stored, b"<html>")
    say(caught.value)
    assert stored.read_bytes() == before


FOUND = "windows up to 4 MiB can be requested; autotuning goes to 32 MiB received, 4 MiB sent"
FIX = "as root: sysctl -w net.core.rmem_max=16777216 net.core.wmem_max=16777216"


def render(width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    render_check("limited", "windows", FOUND, FIX, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_what_was_found_wraps_beside_its_name(say: Say, width: int) -> None:
    *found, fix = render(width)
    assert max(map(len, found)) <= width
    say(found[0])
    assert all(line.startswith(" " * 29) for line in found[1:])
    assert " ".join(line[29:] for line in found) == FOUND
    assert fix.endswith(f"fix: {FIX}")


@pytest.mark.parametrize(
    ("settings", "lengths_ns"),
    [
        ({"transfer_bytes": 5000000}, (940000000, 310000000)),
        ({"transfer_bytes": 5000000}, (940000000, None)),
        ({}, (None, None)),
    ],
)
def test_the_steady_window_of_trials_by_amount_is_the_amount_and_what_was_measured(
    say: Say, settings: dict[str, int], lengths_ns: tuple[int | None, ...]
) -> None:
    lengths = iter(lengths_ns)
    results = make_sweep(
        1,
        levels=[(1, 65536), (4, 65536)],
        settings=settings,
        change=lambda record: replace(record, duration_ns=0, steady_ns=next(lengths)),
    )
    say(find_fact(results, "Steady window"))


def test_windows_with_the_same_streams_are_named_together(say: Say) -> None:
    cells = [(2, 64 * KIB), (1, 64 * KIB), (1, 256 * KIB), (2, 256 * KIB), (1, None), (1, None)]
    say(enumerate_cells(cells))


@pytest.mark.parametrize(
    "mark", [Rule(name="capacity", value=0.0), Rule(name="capacity", value=float("nan"))]
)
def test_a_line_without_a_place_is_left_out_and_counted(say: Say, mark: Rule) -> None:
    curve = Curve(name="line", x=np.array([1.0]), y=np.array([2.0]))
    ready = prepare_plot(make_plot(make_panel(curve, mark, y=Scale.LOG2)))
    assert ready.panels[0].layers == (curve,)
    say(ready.sentence)


def test_what_an_axis_cannot_show_becomes_a_gap_and_is_counted(say: Say) -> None:
    y = np.array([0.0, -3.0, 10.0, np.inf, 1e200, np.nan, 100.0])
    curve = Curve(name="line", x=np.arange(1.0, 8.0), y=y, low=y - 1, high=y + 1)
    ready = prepare_plot(make_plot(make_panel(curve, y=Scale.LOG10)))
    (kept,) = ready.panels[0].layers
    assert isinstance(kept, Curve)
    assert np.isfinite(kept.y).tolist() == [False, False, True, False, False, False, True]
    say(ready.sentence)


def test_an_unknown_table_has_no_source(say: Say) -> None:
    with pytest.raises(UsageError) as caught:
        describe_source("ibm")
    say(caught.value)


COLUMNS = ("Window", "Streams", "granted", "jitter", "loss", "undecided")
MEANINGS = ("requested", "connections", "by the kernel", "RFC 3550", "of all probes")


def test_a_column_without_a_value_is_left_out_and_a_constant_one_is_said_once(say: Say) -> None:
    whole = build_table("grants", "Granted", COLUMNS, ROWS, meanings=MEANINGS, note="As reported.")
    table = whole.narrow()
    assert [one.label for one in table.headings] == ["Window", "Streams", "loss"]
    assert [one.meaning for one in table.headings] == ["requested", "connections", "of all probes"]
    assert table.rows == (("64 KiB", "1", "0 %"), ("64 KiB", "2", "–"), ("64 KiB", "4", "1 %"))
    assert table.numeric == (False, True, True)
    say(table.note)
    assert table.constants == (("granted", "128 KiB"),)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(make_explored(cycles=2), tmp_path_factory.mktemp("details") / "results")


@pytest.fixture(scope="module")
def results(folder: Path) -> ExploredResults:
    return ExploredResults.open([folder])


def test_flags_carry_their_meaning_and_a_trial_that_does_not_count_says_why(
    say: Say, results: ExploredResults
) -> None:
    document = read_details(results, results.find_row("A:18"))
    assert document["excluded"] == "lab limited"
    meanings = {one["name"]: one["meaning"] for one in document["flags"]}
    say(meanings["lab-limited"])


def test_a_failed_trial_names_its_stage_and_reason_and_no_figure(say: Say, results: ExploredResults) -> None:
    document = read_details(results, results.find_row("A:6"))
    say(document["failure"])
    assert document["excluded"] == "failed"
    assert document["remarks"] == []
    assert [one["key"] for one in document["sections"]] == ["settings"]
    beside = read_details(results, results.find_row("A:7"))["before"]
    assert {one["name"]: one["failure"] for one in beside}["A:6"] == document["failure"]


def test_long_tables_are_cut_and_say_so(say: Say, tmp_path: Path) -> None:
    many = write_results(make_explored(cycles=1, streams=(200,), destinations=("east",)), tmp_path / "many")
    explored = ExploredResults.open([many])
    table = find_section(read_details(explored, 0), "streams")
    assert len(table["rows"]) == ROWS_SHOWN
    assert table["rows"][0][0] == "all"
    say(table["notes"])
