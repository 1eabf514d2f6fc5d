"""The page shows what the analyses say, with the reasons of what they cannot."""

from __future__ import annotations

import re

from pathlab.report.analyses_tables import SHOWN, tabulate_analyses
from pathlab.report.analyses_text import LAYOUTS
from pathlab.report.html import render_report
from pathlab.study.document import ANALYSES
from tests.study.trials import BareResults
from tests.unit.synthetic_results import make_quickstart


def test_every_analysis_has_a_layout() -> None:
    assert set(LAYOUTS) == set(ANALYSES)
    assert set(SHOWN) <= set(ANALYSES)


def test_tables_are_even_and_tell_the_surface_of_the_quickstart() -> None:
    found = {one.title.partition(":")[0]: one for one in tabulate_analyses(make_quickstart(cycles=6))}
    for one in found.values():
        assert {len(row) for row in one.table.rows} == {len(one.table.headings)}
        assert len(one.table.numeric) == len(one.table.headings)
    (row,) = found["Response surface"].table.rows
    assert row[0] == "48"
    assert re.match(r"38\.\d Mbit/s \(38\.\d Mbit/s–38\.\d Mbit/s\)", row[1])
    assert re.match(r"4[01]\.\d ms", row[2])
    assert any(
        "larger windows win" in text or "equivalent" in text
        for row in found["More streams against larger windows"].table.rows
        for text in row
    )


def test_the_page_has_them_folded() -> None:
    page = render_report(make_quickstart(cycles=6))
    section = page[page.index('id="analyses"') :]
    assert "<summary>Response surface: west → east (lab)" in section
    assert 'id="analyses"' not in render_report(BareResults())
