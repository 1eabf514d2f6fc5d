"""Texts of the page: levels, quantities, ticks, filters, titles, tables; beside those of Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pathlab.report.plots.extents import format_tick
from pathlab.study.base.selection import choose_evenly
from pathlab.study.exploration.level_text import format_explored_level
from pathlab.units import format_rate, format_time
from tests.builders.tables import MadeColumn
from tests.scripts.explorations import make_results, open_table
from tests.scripts.host import ScriptHost

SHOW = """(text) => {
  const { titlePanel, reading, figureTable, filterText } = pathlabExplorer;
  const app = explore(text);
  const tables = figureTable.listFigureTables(app.exploration);
  return {
    ...titlePanel.describeView(app), headline: titlePanel.writeHeadline(app),
    said: reading.describeInWords(app),
    captions: tables.map((one) => one.caption),
    cells: tables.map((one) => one.curves.map((curve) => figureTable.formatCell(curve.points[0]))),
    filters: Object.entries(app.view.where).map(([name, one]) =>
      filterText.describeFilter(table.column(name), one)),
  };
}"""
PLAIN = "x=streams&y=throughput_bits_per_s&colour=window_bytes&facet=path"


def list_numbers() -> list[float]:
    rng = np.random.default_rng(8)
    numbers = [*(10.0 ** rng.uniform(-9, 18, 400)), *(-(10.0 ** rng.uniform(-3, 6, 50)))]
    numbers += [0.0, 1.0, 999.5, 999500.0, 0.1 + 0.2, 123456.5, 1e-6, 9.999995e-7, 1e15, 5e-324]
    return numbers + [float(2**power) for power in range(41)] + [float(10**power) for power in range(16)]


@pytest.mark.parametrize(("unit", "kind"), [("", "number"), ("ms", "number"), ("B", "number"), ("", "time")])
def test_a_level_is_written_alike(scripts: ScriptHost, unit: str, kind: str) -> None:
    numbers = [one for one in list_numbers() if kind != "time" or 0 <= one < 2e11]
    levels: list[str | float | bool] = [*numbers, "text", True, False]
    found = scripts.evaluate(
        "([column, levels]) => levels.map((one) => pathlabExplorer.levelText.formatLevel(column, one))",
        [{"unit": unit, "kind": kind}, levels],
    )
    column = MadeColumn(name="x", unit=unit, kind=kind)
    assert found == [format_explored_level(column, one) for one in levels]


def test_rates_and_times_of_a_run_are_written_as_the_command_line_does(scripts: ScriptHost) -> None:
    numbers = [1.0, 12.0, 950.0, 1234.0, 38_600_000.0, 2.5e9, 119e9]
    found = scripts.evaluate(
        """(all) => {
          const { formatRate, formatDuration } = pathlabExplorer.quantities;
          return all.map((one) => [formatRate(one), formatDuration(one)]);
        }""",
        numbers,
    )
    assert found == [[format_rate(one), format_time(one)] for one in numbers]


def test_what_is_not_known_of_a_run_is_a_dash(scripts: ScriptHost) -> None:
    found = scripts.evaluate("""() => {
      const { formatRate, formatAmount, formatSpan, formatClock } = pathlabExplorer.quantities;
      return [formatRate(null), formatRate(Infinity), formatAmount(undefined), formatAmount(1.5e6),
        formatRate(2e12), formatSpan(41.4), formatSpan(3723), formatSpan(-5),
        formatClock("2026-11-21T12:04:31.9Z"),
        formatClock("no time")];
    }""")
    assert found == ["–", "–", "–", "1.5 MB", "2 Tbit/s", "0:41", "1:02:03", "0:00", "12:04:31", ""]


def build_axis(scripts: ScriptHost, axis: dict[str, Any], values: list[float], **how: Any) -> Any:
    described = {"column": "x", "label": "x", "unit": None, "scale": "linear", "kind": "number"}
    return scripts.evaluate(
        "([axis, values, how]) => pathlabExplorer.axes.buildAxis(axis, values, how)",
        [{"ticks": None, "levels": [], **described, **axis}, values, {"px": 500, **how}],
    )


def test_ticks_of_an_axis_are_round_and_inside_it(scripts: ScriptHost) -> None:
    for scale in ("linear", "log2", "log10"):
        for low, high in ((1, 2), (0.1, 90), (3, 3), (1, 4e9), (64, 1e6)):
            found = build_axis(scripts, {"scale": scale}, [low, high], across=True)
            ticks, labels = found["marks"]
            start, end = found["ends"]
            assert start <= low <= high <= end
            assert all(start <= tick <= end * (1 + 1e-9) for tick in ticks)
            assert len(ticks) >= 2
            assert [label for label in labels if label] == [
                format_tick(tick, 6 if 1e-4 <= abs(tick) < 1e5 or not tick else 3)
                for tick, label in zip(ticks, labels, strict=True)
                if label
            ]


def test_limits_that_were_typed_hold_and_the_rest_follows_the_values(scripts: ScriptHost) -> None:
    assert build_axis(scripts, {}, [10, 20], low=12, high=None)["ends"][0] == 12
    assert build_axis(scripts, {"scale": "log10"}, [10, 20], low=0)["ends"][0] > 0
    assert build_axis(scripts, {}, [10, 20], low=30)["ends"] == [30, 31]
    assert build_axis(scripts, {}, [10, 20], high=-5)["ends"] == [-6, -5]
    assert build_axis(scripts, {}, [1, 20])["ends"][0] == 0


def test_names_of_levels_are_lines_or_tilted(scripts: ScriptHost) -> None:
    names = [f"a rather long name of level {number}" for number in range(20)]
    few = build_axis(scripts, {"levels": ["one two", "three"], "kind": "category"}, [])
    many = build_axis(scripts, {"levels": names, "kind": "category"}, [])
    assert (few["marks"][1], few.get("tilt")) == (["one two", "three"], None)
    assert few["ends"] == [-0.5, 1.5]
    assert many["tilt"] < 0
    assert all(len(label) <= 22 for label in many["marks"][1])


def test_times_are_marked_at_round_moments_with_the_day_where_it_begins(scripts: ScriptHost) -> None:
    start = 1_767_225_600.0  # midnight
    found = build_axis(scripts, {"kind": "time"}, [start - 3 * 3600, start + 3 * 3600], across=True)
    ticks, labels = found["marks"]
    assert all(tick % 1800 == 0 for tick in ticks)
    assert dict(zip(ticks, labels, strict=True))[start] == "00:00\n2026-01-01"


def test_places_are_chosen_evenly_as_python_chooses_them(scripts: ScriptHost) -> None:
    asked = [(size, most) for size in (0, 1, 2, 7, 40, 41, 513) for most in (2, 3, 12, 40)]
    found = scripts.evaluate(
        "(all) => all.map((one) => pathlabExplorer.grouping.choosePlaces(...one))", asked
    )
    assert found == [choose_evenly(list(range(size)), most) for size, most in asked]


@pytest.fixture
def shown(scripts: ScriptHost) -> ScriptHost:
    return open_table(scripts, make_results(2))


def test_a_figure_says_what_it_shows(shown: ScriptHost) -> None:
    found = shown.evaluate(SHOW, f"{PLAIN}&where.streams=1,2&where.cycle=1..&text=east")
    assert found["headline"] == "Throughput by streams, for each path"
    assert found["filters"] == ["Streams is 1 or 2", "Cycle at least 1"]
    assert found["chosen"] == "Streams is 1 or 2; Cycle at least 1; text “east”"
    assert found["facts"][0].endswith(" of 32 trials")
    said = shown.evaluate(SHOW, f"{PLAIN}&where.streams=1")["said"]
    assert said.startswith("Throughput, median, by Streams: 2 panels, 4 curves, 4 points, ")
    assert "empty" in shown.evaluate(SHOW, f"{PLAIN}&text=nosuch")["said"]
    assert found["captions"][0].startswith("west → east: Throughput (Mbit/s), median with 95 % confidence")
    assert "undecided" in found["cells"][0][0]["rest"]


def test_a_distribution_and_a_time_course_have_names_of_their_own(shown: ScriptHost) -> None:
    heads = {
        text: shown.evaluate(SHOW, f"{PLAIN}&{text}")["headline"]
        for text in ("stat=cdf", "stat=histogram", "stat=course", "stat=course&trial=1")
    }
    assert heads == {
        "stat=cdf": "Distribution of throughput",
        "stat=histogram": "Histogram of throughput",
        "stat=course": "Time course of a trial",
        "stat=course&trial=1": "Time course of trial A:1",
    }


def test_a_filter_is_said_in_words(scripts: ScriptHost) -> None:
    streams = {"label": "Streams", "kind": "number", "unit": None}
    size = {"label": "Window", "kind": "number", "unit": "B"}
    flags = {"label": "Flags", "kind": "flags", "unit": None}
    asked = [
        [streams, {"levels": [4], "except": False}],
        [streams, {"levels": [1, 2, 4, 8, 16], "except": True}],
        [streams, {"levels": [], "except": False}],
        [streams, {"levels": [], "except": True}],
        [size, {"low": 65536, "high": None}],
        [size, {"low": None, "high": 1e6}],
        [size, {"low": 1024, "high": 2048}],
        [flags, {"levels": [None], "except": False}],
        [None, {"levels": ["a"], "except": False}],
    ]
    found = scripts.evaluate(
        "(all) => all.map((one) => pathlabExplorer.filterText.describeFilter(...one))", asked
    )
    assert found == [
        "Streams is 4",
        "Streams is not 1, 2, 4 or 2 more",
        "Streams is none of its levels",
        "Streams is any",
        "Window at least 64 KiB",
        "Window at most 976.6 KiB",
        "Window from 1 KiB to 2 KiB",
        "Flags is no flag",
        "column is a",
    ]
