"""The CSV of a figure: the page and ``pathlab view`` write the same bytes."""

from __future__ import annotations

import csv
import io
import math
import struct
from dataclasses import replace

import numpy as np
import pytest

from pathlab.report.explorer.figure_csv import format_csv_number, format_csv_place, write_figure_csv
from pathlab.study.exploration.curves import build_curves
from pathlab.study.exploration.exploration import AgainstCurve, Exploration, ExploredAxis, ExploredCurve
from pathlab.study.exploration.view_text import parse_view
from tests.builders.explored import MARKUP
from tests.scripts.explorations import make_results
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


HEADINGS = "facet,measure,curve,statistic,Streams,value,range,low,high,state,trials,baseline_trials"


@pytest.fixture(scope="module")
def exploration() -> Exploration:
    """Of two panels, with ratios to a baseline and undecided points."""
    text = "x=streams&y=throughput_bits_per_s&colour=window_bytes&facet=path&baseline=65536"
    return build_curves(make_results(8), parse_view(text, make_results(8)))


def write_in_script(scripts: ScriptHost, exploration: Exploration) -> str:
    found: str = scripts.evaluate(
        "one => window.pathlabExplorer.figureCsv.writeCsv(one)", exploration.to_json()
    )
    return found


def read_number(cell: str) -> float | None:
    return float(cell) if cell else None


def test_a_figure_is_a_row_for_each_point(scripts: ScriptHost, exploration: Exploration) -> None:
    written = write_figure_csv(exploration)
    assert write_in_script(scripts, exploration) == written
    assert written.splitlines()[0] == HEADINGS
    rows = csv.DictReader(written.splitlines())
    shown: list[tuple[str, str, ExploredCurve | AgainstCurve]] = [
        (facet.name, "median", curve) for facet in exploration.facets for curve in facet.curves
    ]
    assert exploration.against
    shown += [(curve.facet, "against the baseline", curve) for curve in exploration.against]
    for facet, statistic, curve in shown:
        for point in curve.points:
            row = next(rows)
            assert (row["facet"], row["measure"]) == (facet, "Throughput (Mbit/s)")
            assert (row["curve"], row["statistic"]) == (curve.name, statistic)
            numbers = {"Streams": point.x, "value": point.y, "low": point.low, "high": point.high}
            for name, number in numbers.items():
                assert read_number(row[name]) == (number and pytest.approx(number, rel=1e-9))
            assert (row["state"], int(row["trials"])) == (point.state, point.trials)
            assert read_number(row["baseline_trials"]) == getattr(point, "baseline_trials", None)
    assert next(rows, None) is None


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_any_text_is_one_harmless_cell_in_both(
    scripts: ScriptHost, exploration: Exploration, text: str
) -> None:
    first = exploration.facets[0]
    curves = tuple(replace(curve, name=text) for curve in first.curves)
    named = replace(
        exploration,
        x=replace(exploration.x, label=text, unit=text, levels=(text,) * 9, kind="category"),
        facets=(replace(first, name=text, curves=curves),),
        against=None,
    )
    written = write_figure_csv(named)
    assert write_in_script(scripts, named) == written
    rows = list(csv.reader(io.StringIO(written, newline="")))
    assert {len(row) for row in rows} == {12}
    for cell in (cell for row in rows for cell in row):
        assert cell[:1] not in ("=", "+", "@", "\t", "\r", "＝")
        assert not cell.startswith("-") or cell == "-5"


def test_any_number_is_written_alike(scripts: ScriptHost) -> None:
    rng = np.random.default_rng(5)
    bits = struct.unpack("<20000d", rng.bytes(160_000))
    rounded = [float(f"{value:.{digits}g}") for value in bits[:2000] for digits in (1, 3, 9)]
    usual = [*(10 ** rng.uniform(-9, 18, 20_000)), *range(-50, 50), *(rng.integers(0, 10**12, 2000) / 2)]
    ties = [12345678905.0, 12345678915.0, 1234567890.5, -1234567891.5, 0.5, 1e15, 999999999999999.0]
    special = [1e16, 1e22, -0.0, 1e-4, 1e-5, 0.00012345, 5e-324, math.nan, math.inf]
    values = [*bits, *rounded, *map(float, usual), *ties, *special]
    shown = scripts.evaluate(
        "values => values.map(text => window.pathlabExplorer.figureCsv.formatCsvNumber(Number(text)))",
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
    axis = ExploredAxis(column="y", label="Start", unit="", scale="linear", kind="time")
    drawn = np.random.default_rng(1).uniform(0, 4e9, 500).tolist()
    times = [0.0, 1767323045.0005, 1767323045.9999, -1.5, *drawn]
    shown = scripts.evaluate(
        "([axis, times]) => times.map(one => window.pathlabExplorer.figureCsv.formatPlace(axis, one))",
        [{"levels": [], "kind": "time"}, times],
    )
    assert shown == [format_csv_place(axis, one) for one in times]
    assert shown[0] == "1970-01-01T00:00:00.000Z"
