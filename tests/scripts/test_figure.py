"""What the figure is drawn of: layers of points, steps, bins and dots; and its CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pathlab.report.explorer.figure_csv import write_figure_csv
from pathlab.study.analyses import Study
from pathlab.study.exploration.curves import build_curves
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.exploration.view_text import parse_view
from tests.builders.results import make_quickstart
from tests.builders.tables import MadeColumn, make_table
from tests.scripts.explorations import make_results, open_table
from tests.scripts.host import ScriptHost

RATE = "throughput_bits_per_s"
PLAIN = f"x=streams&y={RATE}&colour=window_bytes"
#: Views with every statistic, filters of each kind, and several measures.
VIEWS = (
    "",
    f"{PLAIN}&stat=p90&range=extremes&where.path_destination=east",
    f"x=window_bytes&y=loaded_rtt_mean_ns,{RATE}&colour=streams&stat=mean&count=all&dots=off",
    f"x=path&y={RATE}&colour=none&stat=iqr&where.{RATE}=5..30",
    f"x=started_utc&y={RATE}&colour=path&where.status=complete&text=west",
    f"{PLAIN}&stat=max&where.streams=!1,8",
    f"{PLAIN}&facet=path&stat=cdf",
    f"{PLAIN}&stat=histogram&scale-x=log10",
    f"{PLAIN}&baseline=65536&against=difference",
)
DRAW = """([text, overlays]) => {
  const { view, rows, exploration } = explore(text);
  const how = { view, table, overlays, width: 900, height: 500, ink: "#000000" };
  const { panels, count } = pathlabExplorer.figure.describeFigure(exploration, how);
  const facts = (layer) => (layer.points || []).map((one) => one.facts());
  return {
    count, rows, counted: [...rows].filter((row) => table.counted[row]).length,
    curves: exploration.facets.flatMap((facet) => facet.curves),
    panels: panels.map((panel) => ({ ...panel, facet: null,
      layers: panel.layers.map((layer) => ({ ...layer, points: null, facts: facts(layer) })) })),
  };
}"""


def draw(scripts: ScriptHost, text: str, overlays: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    found: dict[str, Any] = scripts.evaluate(DRAW, [text, list(overlays)])
    return found


@pytest.fixture
def usual(scripts: ScriptHost) -> ScriptHost:
    """With 8 cycles, so that medians have intervals."""
    return open_table(scripts, make_results(8))


@pytest.fixture
def few(scripts: ScriptHost) -> ScriptHost:
    """With 2 cycles, so that everything is undecided."""
    return open_table(scripts, make_results(2))


def list_facts(layers: list[dict[str, Any]]) -> set[str]:
    return {line for layer in layers for one in layer["facts"] for line in one}


def list_layers(found: dict[str, Any], **wanted: Any) -> list[dict[str, Any]]:
    layers = [layer for panel in found["panels"] for layer in panel["layers"]]
    return [one for one in layers if all(one.get(name) == value for name, value in wanted.items())]


@pytest.mark.parametrize("text", VIEWS)
def test_the_numbers_of_a_view_are_those_of_the_command_line(usual: ScriptHost, text: str) -> None:
    results = make_results(8)
    expected = write_figure_csv(build_curves(results, parse_view(text, results)))
    assert len(expected.splitlines()) > 2
    assert (
        usual.evaluate("(text) => pathlabExplorer.figureCsv.writeCsv(explore(text).exploration)", text)
        == expected
    )


def test_every_point_and_every_trial_is_drawn(usual: ScriptHost) -> None:
    found = draw(usual, PLAIN)
    marks = list_layers(found, kind="curve", marked=True)
    points = [point for curve in found["curves"] for point in curve["points"]]
    dots = [dot for curve in found["curves"] for dot in curve["dots"]]
    assert sum(len(layer["x"]) for layer in marks) == len(points) > 0
    drawn = list_layers(found, kind="points")
    assert sum(len(layer["x"]) for layer in drawn) == found["count"]["drawn"] == len(dots) > 0
    assert sum(len(layer["x"]) for layer in drawn if layer.get("hollow")) == found["count"]["excluded"] > 0
    assert "not counted: lab-limited" in list_facts(drawn)
    assert not list_layers(draw(usual, f"{PLAIN}&dots=off"), kind="points")
    counted = list_facts(list_layers(draw(usual, f"{PLAIN}&count=all"), kind="points"))
    assert "unusable, counted: lab-limited" in counted
    assert not [text for text in counted if "not counted" in text]


def test_many_trials_are_thinned_so_that_they_do_not_hide_each_other(scripts: ScriptHost) -> None:
    table = make_table(np.random.default_rng(3), 1500)
    table.add(MadeColumn(name="trial", role="identity"), np.arange(1500))
    open_table(scripts, table)
    found = draw(scripts, "x=cycle&y=throughput&colour=congestion")
    assert 0 < found["count"]["drawn"] <= 600 < found["count"]["dots"]


def test_undecided_points_are_open_and_have_no_interval(few: ScriptHost) -> None:
    marks = list_layers(draw(few, f"{PLAIN}&facet=path"), kind="curve", marked=True)
    assert {layer["filled"] for layer in marks} == {False}
    assert all("undecided: too few trials for an interval" in one for one in marks[0]["facts"])
    open_table(few, make_results(8))
    marks = list_layers(draw(few, PLAIN), kind="curve", marked=True, filled=True)
    assert any(low is not None for layer in marks for low in layer["low"])


def test_provisional_points_have_a_dot_in_an_open_marker(scripts: ScriptHost) -> None:
    source = make_quickstart(cycles=7)
    source.change_trials(lambda trial: replace(trial, flags=("lab", "lab-limited")))
    open_table(scripts, ExploredResults.of(Study(source)))
    found = draw(scripts, "")
    marks = list_layers(found, kind="curve", marked=True)
    assert {(layer["filled"], layer.get("dotted")) for layer in marks} == {(False, True)}
    assert sum(len(layer["x"]) for layer in marks) == 8
    assert all("provisional: all its trials were lab-limited" in one for one in marks[0]["facts"])
    assert list_layers(found, kind="curve", line=True)  # curves, as the report has them


@pytest.mark.parametrize(("statistic", "first", "last"), [("cdf", 0, 100), ("ccdf", 100, 0)])
def test_a_distribution_goes_in_steps_from_none_to_all(
    usual: ScriptHost, statistic: str, first: float, last: float
) -> None:
    found = draw(usual, f"x=streams&y={RATE}&colour=none&stat={statistic}")
    (line,) = list_layers(found, kind="curve", step=True)
    assert (line["y"][0], round(line["y"][-1], 9)) == (first, last)
    assert line["y"] == sorted(line["y"], reverse=first > last)
    assert line["x"] == sorted(line["x"])
    (band,) = list_layers(found, kind="area")
    heights = [*band["low"], *band["high"]]
    assert min(heights) >= 0
    assert max(heights) <= 100


@pytest.mark.parametrize("scale", ["linear", "log10"])
def test_bins_of_a_histogram_hold_every_trial_that_counts(usual: ScriptHost, scale: str) -> None:
    found = draw(usual, f"x=streams&y={RATE}&colour=none&stat=histogram&scale-x={scale}")
    (bars,) = list_layers(found, kind="bars")
    assert sum(bars["height"]) == found["counted"]
    (curve,) = found["curves"]
    edges = np.log10(curve["edges"]) if scale == "log10" else np.array(curve["edges"])
    np.testing.assert_allclose(np.diff(edges), bars["width"], rtol=1e-6)


def test_levels_are_side_by_side_and_in_the_same_place_in_every_panel(usual: ScriptHost) -> None:
    found = draw(usual, f"x=path&y={RATE}&colour=window_bytes&facet=streams&dots=off")
    marks = list_layers(found, kind="curve", marked=True)
    aside = {(layer["name"], round(x - round(x), 6)) for layer in marks for x in layer["x"]}
    assert len({name for name, _ in aside}) == len(aside) == 2
    assert sum(shift for _, shift in aside) == 0


def test_ratios_to_the_baseline_are_below_their_measure(usual: ScriptHost) -> None:
    found = draw(usual, f"{PLAIN}&baseline=65536")
    assert [panel["against"] for panel in found["panels"]] == [False, True]
    (rule,) = list_layers(found, kind="rule")
    assert rule["value"] == 1
    (rule,) = list_layers(draw(usual, f"{PLAIN}&baseline=65536&against=difference"), kind="rule")
    assert rule["value"] == 0


def test_a_published_curve_is_laid_where_its_measure_is(few: ScriptHost) -> None:
    overlay = {"name": "published", "yColumn": RATE, "points": [{"x": 1, "y": 2e6, "facts": ["table 1"]}]}
    other = {**overlay, "name": "other", "yColumn": "drtt_ns"}
    (layer,) = list_layers(draw(few, PLAIN, [overlay, other]), overlay=True)
    assert (layer["name"], layer["facts"]) == ("published", [["published", "table 1"]])


def test_a_panel_without_a_value_says_so(few: ScriptHost) -> None:
    found = draw(few, f"x=streams&y={RATE}&colour=none&where.{RATE}=1e15..")
    assert [panel["blank"] for panel in found["panels"]] == ["no value to draw"]


HOSTILE = (
    "x=<img%20src=x%20onerror=window.hit=1>&y=nothing",
    "where.streams=%3Cscript%3Ewindow.hit=1%3C/script%3E",
    "__proto__=1&constructor=2&where.__proto__=3&where.constructor=4",
    "%E0%A4%A&x=%",
    "x=streams&" * 3_000,
    "min-y=NaN&max-y=Infinity&min-x=1e999",
    "trial=A:99999999&series=../../etc/passwd.x",
    "trial=__proto__:1",
    "stat=p00&range=all&scale-y=log3&y=a,b,c,d,e,f",
)


def test_a_hostile_link_gives_a_figure(few: ScriptHost) -> None:
    for text in HOSTILE:
        found = few.evaluate("(text) => explore(text)", text)
        assert found["exploration"]["facets"], text
        assert len(found["rows"]) == len(make_results(2)), text
