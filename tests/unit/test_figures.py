"""The figures carry the data, their units and unique ids."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure

from pathlab.report.figures import (
    Condition,
    draw_contributions,
    draw_rise,
    draw_throughput,
    draw_timeline,
    render_svg,
)
from pathlab.report.summary import PathSummary, summarise
from tests.unit.synthetic_results import GOODPUT_BITS_PER_S, SyntheticResults, make_quickstart

CONDITION = Condition(place="lab, emu-packet", date="2026-01-02")
KIB = 1024


@pytest.fixture(scope="module")
def results() -> SyntheticResults:
    return make_quickstart(cycles=3)


@pytest.fixture(scope="module")
def path(results: SyntheticResults) -> PathSummary:
    return summarise(results).paths[0]


def labelled_lines(figure: Figure) -> dict[str, list[float]]:
    return {
        str(line.get_label()): [float(value) for value in np.asarray(line.get_ydata())]
        for line in figure.axes[0].get_lines()
        if not str(line.get_label()).startswith("_")
    }


def test_throughput_lines_are_the_cells_medians(path: PathSummary) -> None:
    figure = draw_throughput(path, CONDITION)
    lines = labelled_lines(figure)
    for size in (64, 256):
        expected = [
            cell.throughput_bits_per_s.median for cell in path.cells if cell.window_asked_bytes == size * KIB
        ]
        assert lines[f"window {size} KiB"] == pytest.approx([value / 1e6 for value in expected if value])
    assert lines["link less headers (lab's truth)"][0] == pytest.approx(GOODPUT_BITS_PER_S / 1e6)
    axes = figure.axes[0]
    points = [line for line in axes.get_lines() if line.get_linestyle() == "None"]
    values = np.concatenate([np.asarray(line.get_ydata()) for line in points])
    assert len(values) == 24  # every trial is a point
    assert axes.get_ylabel() == "Throughput (Mbit/s)"
    assert axes.get_ylim()[0] == 0


def test_titles_say_the_condition(results: SyntheticResults, path: PathSummary) -> None:
    drawn = [
        draw_throughput(path, CONDITION),
        draw_rise(path, CONDITION),
        draw_contributions(results, path.cells[-1], CONDITION),
        draw_timeline(results, 1, results.records[0], CONDITION),
    ]
    for figure in drawn:
        assert figure is not None
        assert "west → east · lab, emu-packet · 2026-01-02" in figure.axes[0].get_title(loc="left")


def test_rise_is_in_milliseconds(path: PathSummary) -> None:
    figure = draw_rise(path, CONDITION)
    assert labelled_lines(figure)["window 64 KiB"] == pytest.approx([-0.1, -0.1, 13.7, 49.9], abs=0.1)
    assert figure.axes[0].get_ylabel() == "dRTT of the averages (ms)"


def test_windows_differ_without_colour(path: PathSummary) -> None:
    lines = [
        line for line in draw_rise(path, CONDITION).axes[0].get_lines() if "window" in str(line.get_label())
    ]
    assert len({(line.get_marker(), line.get_linestyle()) for line in lines}) == len(lines) == 2


def test_contributions_stack_to_the_throughput(results: SyntheticResults, path: PathSummary) -> None:
    cell = path.cells[-1]
    figure = draw_contributions(results, cell, CONDITION)
    assert figure is not None
    bars = figure.axes[0].patches
    assert len(bars) == cell.streams * 3
    for position, trial in enumerate(cell.trials):
        stack = [bar for bar in bars if round(bar.get_x() + bar.get_width() / 2) == position]  # type: ignore[attr-defined]
        total = sum(bar.get_height() for bar in stack)  # type: ignore[attr-defined]
        assert trial.record.throughput_bits_per_s is not None
        assert total == pytest.approx(trial.record.throughput_bits_per_s / 1e6, rel=1e-4)


def test_timeline_marks_every_lost_probe(results: SyntheticResults) -> None:
    number, record = next(
        (number, record)
        for number, record in enumerate(results.records, 1)
        if (record.streams, record.window_asked_bytes) == (8, 256 * KIB)
    )
    figure = draw_timeline(results, number, record, CONDITION)
    assert figure is not None
    labels = labelled_lines(figure)
    assert len(labels["loaded (19 answered)"]) == 19
    assert len(labels["loaded, lost (1)"]) == 1
    assert len(labels["unloaded (20 answered)"]) == 20
    upper, lower = figure.axes
    assert upper.get_shared_x_axes().joined(upper, lower)
    assert (upper.get_ylabel(), lower.get_ylabel()) == ("RTT (ms)", "Rate (Mbit/s)")
    highest = max(labels["loaded (19 answered)"])
    assert upper.get_ylim()[1] > highest


def test_trial_without_series_has_no_figure(path: PathSummary) -> None:
    bare = make_quickstart(cycles=1)
    empty = SyntheticResults(bare.campaign, bare.plan(), bare.records, {})
    assert draw_timeline(empty, 1, bare.records[0], CONDITION) is None
    assert draw_contributions(empty, path.cells[0], CONDITION) is None


def test_svg_ids_are_unique_over_figures_and_all_references_hold(path: PathSummary) -> None:
    texts = [render_svg(draw_rise(path, CONDITION), key, 'a "label" <b> & more') for key in ("f1", "f2")]
    ids: list[str] = []
    for text in texts:
        root = ElementTree.fromstring(text)
        assert root.get("aria-label") == 'a "label" <b> & more'
        assert root.get("width") is None
        assert root.get("viewBox")
        own = re.findall(r'\bid="([^"]+)"', text)
        references = set(re.findall(r'(?:url\(#|href="#)([^")]+)', text))
        assert references
        assert references <= set(own)
        ids += own
    assert len(ids) == len(set(ids))


def test_svg_is_the_same_each_time(path: PathSummary) -> None:
    first, second = (render_svg(draw_throughput(path, CONDITION), "f1", "x") for _ in range(2))
    assert first == second
