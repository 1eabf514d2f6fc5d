"""The CSV of a figure: the page and ``pathlab view`` write the same bytes."""

from __future__ import annotations

import csv
import io
import math
import struct
from typing import Any

import numpy as np

from pathlab.report.explorer.figure_csv import format_csv_number, format_csv_place, write_figure_csv
from pathlab.study.exploration.exploration import (
    AgainstCurve,
    AgainstPoint,
    Exploration,
    ExploredAxis,
    ExploredCurve,
    ExploredPoint,
    Facet,
    PointState,
)
from tests.builders.explored import MARKUP
from tests.scripts.host import ScriptHost

TEXTS = (
    MARKUP,
    "=1+1",
    "-5",
    "-5 x",
    "\t1",
    "a\r\nb",
    "a\rb",
    "\ud800",
    "\U000e0041",
    "＝1",
    ' "q", ',
    "東京",
    "",
)


def make_axis(**changes: Any) -> ExploredAxis:
    base = {"column": "y", "label": "Throughput", "unit": "Mbit/s", "scale": "linear", "kind": "number"}
    return ExploredAxis(**{**base, **changes})


def make_exploration(x: ExploredAxis, points: list[ExploredPoint], name: str = "64 KiB") -> Exploration:
    change = AgainstPoint(
        x=points[0].x,
        y=1.05,
        low=None,
        high=None,
        state=PointState.UNDECIDED,
        trials=2,
        baseline_trials=3,
        paired=True,
    )
    return Exploration(
        title="t",
        notes=(),
        statistic="median",
        range="95 % confidence interval",
        x=x,
        ys=(make_axis(),),
        facets=(
            Facet(
                name=name,
                curves=(ExploredCurve(name=name, colour_level=0, y_column="y", points=tuple(points)),),
            ),
        ),
        excluded=(),
        against=(AgainstCurve(facet=name, name=name, colour_level=0, y_column="y", points=(change,)),),
        undecided=1,
    )


def make_point(x: float, y: float | None, **changes: Any) -> ExploredPoint:
    return ExploredPoint(**{"x": x, "y": y, "state": PointState.ESTIMATED, "trials": 8, **changes})


def write_in_script(scripts: ScriptHost, exploration: Exploration) -> str:
    found: str = scripts.evaluate("one => window.pathlabExplorer.figureCsv.write(one)", exploration.to_json())
    return found


def test_a_figure_is_a_row_for_each_point(scripts: ScriptHost) -> None:
    points = [
        make_point(1, 11.25, low=11, high=12.0625),
        make_point(2, 20, state=PointState.UNDECIDED, trials=1),
    ]
    exploration = make_exploration(make_axis(column="x", label="Streams", unit=None), points)
    expected = (
        "facet,measure,curve,statistic,Streams,value,range,low,high,state,trials,baseline_trials\n"
        "64 KiB,Throughput (Mbit/s),64 KiB,median,1,11.25,95 % confidence interval,11,12.0625,estimated,8,\n"
        "64 KiB,Throughput (Mbit/s),64 KiB,median,2,20,95 % confidence interval,,,undecided,1,\n"
        "64 KiB,Throughput (Mbit/s),64 KiB,against the baseline,1,1.05,"
        "95 % confidence interval,,,undecided,2,3\n"
    )
    assert write_figure_csv(exploration) == expected
    assert write_in_script(scripts, exploration) == expected


def test_any_text_is_one_harmless_cell_in_both(scripts: ScriptHost) -> None:
    for text in TEXTS:
        check_cells(scripts, text)


def check_cells(scripts: ScriptHost, text: str) -> None:
    axis = make_axis(column="x", label=text, unit=text, levels=(text, "b"), kind="category")
    exploration = make_exploration(axis, [make_point(0, 1.0)], text)
    written = write_figure_csv(exploration)
    assert write_in_script(scripts, exploration) == written
    rows = list(csv.reader(io.StringIO(written, newline="")))
    assert [len(row) for row in rows] == [12] * 3
    for cell in (cell for row in rows for cell in row):
        assert cell[:1] not in ("=", "+", "@", "\t", "\r", "＝")
        assert not cell.startswith("-") or cell == "-5"


def test_any_number_is_written_alike(scripts: ScriptHost) -> None:
    rng = np.random.default_rng(5)
    bits = struct.unpack("<20000d", rng.bytes(160_000))
    rounded = [float(f"{value:.{digits}g}") for value in bits[:2000] for digits in (1, 3, 9)]
    usual = [*(10 ** rng.uniform(-9, 18, 20_000)), *range(-50, 50), *(rng.integers(0, 10**12, 2000) / 2)]
    ties = [
        12345678905.0,
        12345678915.0,
        1234567890.5,
        -1234567891.5,
        0.5,
        1e15,
        999999999999999.0,
        1e16,
        1e22,
    ]
    values = [
        *bits,
        *rounded,
        *map(float, usual),
        *ties,
        -0.0,
        1e-4,
        1e-5,
        0.00012345,
        5e-324,
        math.nan,
        math.inf,
    ]
    shown = scripts.evaluate(
        "values => values.map(text => window.pathlabExplorer.figureCsv.formatNumber(Number(text)))",
        [repr(value).replace("inf", "Infinity") for value in values],
    )
    differing = [
        (value, mine, theirs)
        for value, theirs in zip(values, shown, strict=True)
        if (mine := format_csv_number(value)) != theirs
    ]
    assert differing == []
    assert format_csv_number(12345678905.0) == "12345678910"
    assert format_csv_number(1e-5) == "1e-05"


def test_times_are_written_in_utc(scripts: ScriptHost) -> None:
    axis = make_axis(kind="time", unit="")
    times = [
        0.0,
        1767323045.0005,
        1767323045.9999,
        -1.5,
        *np.random.default_rng(1).uniform(0, 4e9, 500).tolist(),
    ]
    shown = scripts.evaluate(
        "([axis, times]) => times.map(one => window.pathlabExplorer.figureCsv.formatPlace(axis, one))",
        [{"levels": [], "kind": "time"}, times],
    )
    assert shown == [format_csv_place(axis, one) for one in times]
    assert shown[0] == "1970-01-01T00:00:00.000Z"
