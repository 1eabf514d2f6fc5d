"""The table in an exported file, as the page reads it: the numbers of its results, rounded."""

from __future__ import annotations

import gzip

from pathlab.report.explorer.export import choose_columns
from pathlab.study.exploration.curves import build_curves
from pathlab.study.exploration.view_text import parse_view
from tests.scripts.explorations import list_differences, make_results, open_table
from tests.scripts.host import ScriptHost

VIEW = "x=streams&y=throughput_bits_per_s,drtt_ns&colour=window_bytes&facet=path&where.cycle=2..6"


def test_a_file_has_the_numbers_of_its_results(scripts: ScriptHost) -> None:
    results = make_results(8)
    open_table(scripts, gzip.decompress(choose_columns(results, 1_000_000).table))
    found = scripts.evaluate("(text) => explore(text).exploration", VIEW)
    wanted = build_curves(results, parse_view(VIEW, results)).to_json()
    assert list(list_differences(found, wanted, relative=1e-4)) == []
    assert (
        sum(len(curve["points"]) for facet in found["facets"] for curve in facet["curves"]) == 2 * 2 * 2 * 4
    )
