"""A file of a view shows what its page shows: axes, marks, legend and what is not shown."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex

import pathlab
from pathlab.errors import UsageError
from pathlab.report.explorer.figure import describe_view, plot_exploration
from pathlab.report.plots.model import Curve, Plot, Points
from pathlab.report.plots.printed import draw_plot_figure
from pathlab.study.analyses import Study
from pathlab.study.exploration.view import default_view
from pathlab.study.exploration.view_text import parse_view
from pathlab.study.exploration.viewed_results import ViewedResults
from tests.builders.explored import make_explored
from tests.builders.pictures import list_texts
from tests.builders.results import SyntheticResults, make_quickstart

RATE = "throughput_bits_per_s"


def explore(*results: SyntheticResults) -> ViewedResults:
    return ViewedResults.of(*map(Study, results))


def plot_view(found: ViewedResults, text: str = "") -> Plot:
    view = parse_view(text, found)
    return plot_exploration(found.view(text), describe_view(found, view))


def make_auto() -> SyntheticResults:
    """1 and 4 streams with a window of 256 KiB, and with autotuned ones."""
    return make_quickstart(cycles=7, levels=[(1, 262144), (1, None), (4, 262144), (4, None)])


def limit_every(results: SyntheticResults, *flags: str) -> SyntheticResults:
    results.change_trials(lambda trial: replace(trial, flags=("lab", *flags)))
    return results


def test_auto_is_a_level_like_any_other() -> None:
    found = explore(make_auto())
    assert found.column("window_bytes").level_count == 2
    assert default_view(found).colour == "window_bytes"
    shown = found.view()
    assert {curve.name for facet in shown.facets for curve in facet.curves} == {"auto", "256 KiB"}
    assert not [note for note in shown.notes if "mixes" in note]
    for text in ("colour=none", f"x=streams&y={RATE}&colour=none&stat=cdf"):
        assert "Each point mixes windows auto and 256 KiB." in found.view(text).notes
    # on an axis it has a place of its own, also where nothing else varies
    for results in (found, explore(make_quickstart(levels=[(1, 65536), (1, None), (1, 131072)]))):
        across = results.view(f"x=window_bytes&y={RATE}")
        assert across.x.levels[-1] == "auto"
        assert not [note for note in across.notes if "not shown" in note]
        (facet,) = across.facets
        assert {point.x for curve in facet.curves for point in curve.points} == set(
            range(len(across.x.levels))
        )
    # without auto nothing changes
    plain = explore(make_quickstart()).view(f"x=window_bytes&y={RATE}")
    assert (plain.x.levels, plain.x.tick_labels) == ((), ("64 KiB", "256 KiB"))


def test_a_run_without_a_usable_trial_shows_its_medians_as_provisional() -> None:
    found = explore(limit_every(make_quickstart(cycles=7), "lab-limited"))
    shown, counted = found.view(), explore(make_quickstart(cycles=7)).view()
    points = [point for curve in shown.facets[0].curves for point in curve.points]
    usual = [point for curve in counted.facets[0].curves for point in curve.points]
    assert [(one.x, one.y, one.trials) for one in points] == [(one.x, one.y, one.trials) for one in usual]
    assert {(one.state.value, one.low, one.high) for one in points} == {("provisional", None, None)}
    assert (shown.excluded, shown.undecided) == ((), 0)
    assert "8 points are provisional: all trials of each were lab-limited." in shown.notes
    plot = plot_view(found)
    assert [key.text for key in plot.keys if key.kind == "provisional"] == [
        "median, provisional: all trials lab-limited"
    ]
    # one usable trial decides a point, another flaw gives none, and a trial at its own place is its own dot
    mixed = make_quickstart(cycles=7)
    usable = mixed.records[0]
    mixed.records = [usable, *limit_every(mixed, "lab-limited").records[1:]]
    states = [point.state.value for curve in explore(mixed).view().facets[0].curves for point in curve.points]
    assert sorted(states) == ["provisional"] * 7 + ["undecided"]
    for flags in (("lab-limited", "host-limited"), ("host-limited",), ("lab-limited", "totals-differ")):
        hidden = explore(limit_every(make_quickstart(), *flags)).view()
        assert not [point for curve in hidden.facets[0].curves for point in curve.points]
        assert sum(count for _, count in hidden.excluded) == 16
    times = found.view(f"x=started_utc&y={RATE}")
    assert not [point for curve in times.facets[0].curves for point in curve.points]


@pytest.mark.parametrize(("shift", "from_zero"), [(0.0, True), (100.0, False)])
def test_the_axis_begins_at_0_where_that_of_the_page_does(shift: float, from_zero: bool) -> None:
    source = make_quickstart(cycles=7)
    source.change_trials(
        lambda trial: replace(
            trial, throughput_bits_per_s=(trial.throughput_bits_per_s or 0) + shift * 1e6, flags=("lab",)
        )
    )
    found = explore(source)
    assert {panel.y.from_zero for panel in plot_view(found).panels} == {from_zero}
    low = draw_plot_figure(plot_view(found)).axes[0].get_ylim()[0]
    assert (low == 0) == from_zero
    facets = plot_view(found, f"x=streams&y={RATE}&facet=window_bytes")
    assert {draw_plot_figure(facets).axes[0].get_ylim()[0] == 0} == {from_zero}
    chosen = plot_view(found, f"x=streams&y={RATE}&min-y=3")
    assert draw_plot_figure(chosen).axes[0].get_ylim()[0] == 3


def test_open_marks_are_not_filled_by_dots_and_are_explained() -> None:
    found = explore(make_explored(cycles=3, destinations=("east",)))
    plot = plot_view(found)
    figure = draw_plot_figure(plot)
    open_names = {
        layer.name for layer in plot.panels[0].layers if isinstance(layer, Curve) and not layer.filled
    }
    lines = figure.axes[0].get_lines()
    marks = [one for one in lines if one.get_linestyle() == "None" and one.get_label() in open_names]
    assert marks
    dots = [one for one in lines if str(one.get_label()).endswith((", trials", ", unusable"))]
    assert dots
    for one in marks:
        assert to_hex(one.get_markerfacecolor()) == "#ffffff"
        assert one.get_zorder() > max(dot.get_zorder() for dot in dots)
    texts = {text for text, _ in list_texts(figure)}
    assert {"median, undecided: too few trials", "one trial", "trial that is not counted"} <= texts
    caption = next(text for text in texts if "Not counted: " in text)
    for reason, count in found.view().excluded:
        assert f"{reason} ({count})" in caption.replace("\n", " ")
    assert not any(isinstance(layer, Points) and layer.legend for layer in plot.panels[0].layers)


def test_results_are_named_by_folder_and_stand_as_given() -> None:
    slow, fast = make_explored(cycles=3, speed=0.5), make_explored(cycles=3)
    for given in ((fast, slow), (slow, fast)):
        found = explore(*given)
        names = [curve.name for curve in found.view().facets[0].curves]
        assert names == [f"{label}: {slow.campaign.title} (quickstart)" for label in "AB"]
        plot = plot_view(found)
        assert list(plot.names) == names
        (legend, *_) = draw_plot_figure(plot).legends
        shown = [text.get_text().replace("\n", " ") for text in legend.get_texts()]
        assert [text for text in shown if text in names] == names
    renamed = slow.copy(campaign=replace(slow.campaign, title="Another"))
    other = [curve.name for curve in explore(fast, renamed).view().facets[0].curves]
    assert other == [f"A: {fast.campaign.title}", "B: Another"]


def test_the_library_draws_the_figure_of_a_view() -> None:
    assert callable(pathlab.explore)  # what draws is registered with the public interface
    shown = explore(make_auto()).view("x=streams&colour=window_bytes")
    figure = shown.figure(size=(3.4, 2.4), title="", label={"streams": "Flows", "auto": "system"})
    assert tuple(figure.get_size_inches()) == (3.4, 2.4)
    texts = {text for text, _ in list_texts(figure)}
    assert {"Flows", "system"} <= texts
    assert not {"Streams", "auto"} & texts
    assert np.allclose(shown.figure(size="5x3", style="grayscale").get_size_inches(), (5, 3))
    assert shown.to_json() == explore(make_auto()).view("x=streams&colour=window_bytes").to_json()
    for wrong in (
        {"size": "big"},
        {"label": {"Nothing": "x"}},
        {"style": "no-such-style"},
        {"size": (1, 0.6)},
    ):
        with pytest.raises(UsageError):
            shown.figure(**wrong)
