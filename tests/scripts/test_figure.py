"""What the figure is drawn of: layers of points, steps, bins and dots; and its CSV."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from pathlab.report.explorer.figure_csv import write_figure_csv
from pathlab.report.explorer.packing import pack_trials
from pathlab.study.analyses import Study
from pathlab.study.exploration.curves import build_curves
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.exploration.view_text import parse_view
from tests.builders.explored import make_explored
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
OPEN = """(text) => {
  const { packed, view, filter, curves, figure, figureCsv } = pathlabExplorer;
  const table = packed.read(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
  globalThis.explore = (text) => {
    const shown = view.parse(text, table).view;
    const rows = filter.select(table, shown);
    return { shown, rows, exploration: curves.build(table, shown, rows) };
  };
  globalThis.writeCsv = (text) => figureCsv.write(explore(text).exploration);
  globalThis.draw = ([text, overlays]) => {
    const { shown, rows, exploration } = explore(text);
    const how = { view: shown, table, overlays, width: 900, height: 500, ink: "#000000" };
    const { panels, count } = figure.describe(exploration, how);
    const facts = (layer) => (layer.points || []).map((one) => one.facts());
    return {
      count, rows, counted: [...rows].filter((row) => table.counted[row]).length,
      curves: exploration.facets.flatMap((facet) => facet.curves),
      panels: panels.map((panel) => ({ ...panel, facet: null,
        layers: panel.layers.map((layer) => ({ ...layer, points: null, facts: facts(layer) })) })),
    };
  };
}"""


def open_results(scripts: ScriptHost, cycles: int) -> ExploredResults:
    results = ExploredResults.of(Study(make_explored(cycles=cycles)))
    scripts.evaluate(OPEN, base64.b64encode(pack_trials(results)).decode())
    return results


def draw(scripts: ScriptHost, text: str, overlays: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    found: dict[str, Any] = scripts.evaluate("(one) => draw(one)", [text, list(overlays)])
    return found


def list_layers(found: dict[str, Any], **wanted: Any) -> list[dict[str, Any]]:
    layers = [layer for panel in found["panels"] for layer in panel["layers"]]
    return [one for one in layers if all(one.get(name) == value for name, value in wanted.items())]


@pytest.mark.parametrize("text", VIEWS)
def test_the_numbers_of_a_view_are_those_of_the_command_line(scripts: ScriptHost, text: str) -> None:
    results = open_results(scripts, 3)
    expected = write_figure_csv(build_curves(results, parse_view(text, results)))
    assert len(expected.splitlines()) > 2
    assert scripts.evaluate("(text) => writeCsv(text)", text) == expected


def test_every_point_and_every_trial_is_drawn(scripts: ScriptHost) -> None:
    open_results(scripts, 6)
    found = draw(scripts, PLAIN)
    marks = list_layers(found, kind="curve", marked=True)
    points = [point for curve in found["curves"] for point in curve["points"]]
    dots = [dot for curve in found["curves"] for dot in curve["dots"]]
    assert sum(len(layer["x"]) for layer in marks) == len(points) > 0
    drawn = list_layers(found, kind="points")
    assert sum(len(layer["x"]) for layer in drawn) == found["count"]["drawn"] == len(dots) > 0
    assert sum(len(layer["x"]) for layer in drawn if layer.get("hollow")) == found["count"]["excluded"] > 0
    facts = [line for layer in drawn for one in layer["facts"] for line in one]
    assert "not counted: lab-limited" in facts
    assert not list_layers(draw(scripts, f"{PLAIN}&dots=off"), kind="points")
    counted = draw(scripts, f"{PLAIN}&count=all")
    assert "unusable, counted: lab-limited" in str(list_layers(counted, kind="points"))


def test_many_trials_are_thinned_so_that_they_do_not_hide_each_other(scripts: ScriptHost) -> None:
    open_results(scripts, 60)
    found = draw(scripts, f"x=cycle&y={RATE}&colour=path")
    assert 0 < found["count"]["drawn"] <= 600 < found["count"]["dots"]


def test_undecided_points_are_open_and_have_no_interval(scripts: ScriptHost) -> None:
    open_results(scripts, 2)
    marks = list_layers(draw(scripts, f"{PLAIN}&facet=path"), kind="curve", marked=True)
    assert {layer["filled"] for layer in marks} == {False}
    assert all("undecided: too few trials for an interval" in one for one in marks[0]["facts"])
    open_results(scripts, 8)
    marks = list_layers(draw(scripts, PLAIN), kind="curve", marked=True, filled=True)
    assert any(low is not None for layer in marks for low in layer["low"])


@pytest.mark.parametrize(("statistic", "first", "last"), [("cdf", 0, 100), ("ccdf", 100, 0)])
def test_a_distribution_goes_in_steps_from_none_to_all(
    scripts: ScriptHost, statistic: str, first: float, last: float
) -> None:
    open_results(scripts, 8)
    found = draw(scripts, f"x=streams&y={RATE}&colour=none&stat={statistic}")
    (line,) = list_layers(found, kind="curve", step=True)
    assert (line["y"][0], round(line["y"][-1], 9)) == (first, last)
    assert line["y"] == sorted(line["y"], reverse=first > last)
    assert line["x"] == sorted(line["x"])
    (band,) = list_layers(found, kind="area")
    heights = [*band["low"], *band["high"]]
    assert min(heights) >= 0
    assert max(heights) <= 100


@pytest.mark.parametrize("scale", ["linear", "log10"])
def test_bins_of_a_histogram_hold_every_trial_that_counts(scripts: ScriptHost, scale: str) -> None:
    open_results(scripts, 8)
    found = draw(scripts, f"x=streams&y={RATE}&colour=none&stat=histogram&scale-x={scale}")
    (bars,) = list_layers(found, kind="bars")
    assert sum(bars["height"]) == found["counted"]
    (curve,) = found["curves"]
    edges = np.log10(curve["edges"]) if scale == "log10" else np.array(curve["edges"])
    np.testing.assert_allclose(np.diff(edges), bars["width"], rtol=1e-6)


def test_levels_are_side_by_side_and_in_the_same_place_in_every_panel(scripts: ScriptHost) -> None:
    open_results(scripts, 6)
    found = draw(scripts, f"x=path&y={RATE}&colour=window_bytes&facet=streams&dots=off")
    marks = list_layers(found, kind="curve", marked=True)
    aside = {(layer["name"], round(x - round(x), 6)) for layer in marks for x in layer["x"]}
    assert len({name for name, _ in aside}) == len(aside) == 2
    assert sum(shift for _, shift in aside) == 0


def test_ratios_to_the_baseline_are_below_their_measure(scripts: ScriptHost) -> None:
    open_results(scripts, 8)
    found = draw(scripts, f"{PLAIN}&baseline=65536")
    assert [panel["against"] for panel in found["panels"]] == [False, True]
    (rule,) = list_layers(found, kind="rule")
    assert rule["value"] == 1
    (rule,) = list_layers(draw(scripts, f"{PLAIN}&baseline=65536&against=difference"), kind="rule")
    assert rule["value"] == 0


def test_a_published_curve_is_laid_where_its_measure_is(scripts: ScriptHost) -> None:
    open_results(scripts, 2)
    overlay = {"name": "published", "yColumn": RATE, "points": [{"x": 1, "y": 2e6, "facts": ["table 1"]}]}
    other = {**overlay, "name": "other", "yColumn": "drtt_ns"}
    (layer,) = list_layers(draw(scripts, PLAIN, [overlay, other]), overlay=True)
    assert (layer["name"], layer["facts"]) == ("published", [["published", "table 1"]])


def test_a_panel_without_a_value_says_so(scripts: ScriptHost) -> None:
    open_results(scripts, 2)
    found = draw(scripts, f"x=streams&y={RATE}&colour=none&where.{RATE}=1e15..")
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


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_link_gives_mistakes_and_a_figure(scripts: ScriptHost, text: str) -> None:
    results = open_results(scripts, 2)
    found = scripts.evaluate("(text) => explore(text)", text)
    assert found["exploration"]["facets"]
    assert len(found["rows"]) == len(results)
