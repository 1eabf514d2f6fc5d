"""The table in an exported file, as the page reads it: the numbers of its results, rounded."""

from __future__ import annotations

import base64
import gzip
import re

import pytest

from pathlab.report.explorer.export import export_page
from pathlab.report.explorer.page import TABLE_ID
from pathlab.study.analyses import Study
from pathlab.study.exploration.curves import build_curves
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.exploration.view_text import parse_view
from tests.builders.explored import make_explored
from tests.scripts.host import ScriptHost

VIEW = "x=streams&y=throughput_bits_per_s,drtt_ns&colour=window_bytes&facet=path&where.cycle=2..6"
BUILD = """([text, view]) => {
  const { packed, curves, filter, view: { parse } } = pathlabExplorer;
  const table = packed.read(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
  const shown = parse(view, table).view;
  return curves.build(table, shown, filter.select(table, shown));
}"""


def test_a_file_has_the_numbers_of_its_results(scripts: ScriptHost) -> None:
    results = ExploredResults.of(Study(make_explored()))
    written = re.search(rf'<script [^>]*id="{TABLE_ID}">([^<]*)<', export_page(results).text)
    assert written is not None
    packed = gzip.decompress(base64.b64decode(written[1]))
    found = scripts.evaluate(BUILD, [base64.b64encode(packed).decode(), VIEW])
    wanted = build_curves(results, parse_view(VIEW, results)).to_json()
    assert found["excluded"] == wanted["excluded"]
    assert found["undecided"] == wanted["undecided"]
    assert [facet["name"] for facet in found["facets"]] == [facet["name"] for facet in wanted["facets"]]
    points = 0
    for facet, other in zip(found["facets"], wanted["facets"], strict=True):
        curves = {(curve["name"], curve["yColumn"]): curve for curve in facet["curves"]}
        for curve in other["curves"]:
            same = curves.pop((curve["name"], curve["yColumn"]))
            for one, expected in zip(same["points"], curve["points"], strict=True):
                for key in ("x", "trials", "state", "rows"):
                    assert one[key] == expected[key]
                for key in ("y", "low", "high"):
                    assert one[key] == (
                        None if expected[key] is None else pytest.approx(expected[key], rel=1e-4)
                    )
                points += 1
        assert not curves
    assert points == 2 * 2 * 2 * 4
