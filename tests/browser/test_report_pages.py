"""Figures of a report in a browser: every kind drawn, no request, no complaint."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import Page

from pathlab.report.plots.live import SCRIPT, SHEET, describe_plot, read_library
from pathlab.report.plots.markup import render_figure
from pathlab.report.plots.model import Plot
from tests.browser.report_page import STATES, check_drawn, check_quiet
from tests.browser.watching import Watch
from tests.builders.plots import list_samples

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"


def write_samples(out: Path, *, library: str) -> Path:
    """A page with a figure of each kind, which may fetch nothing."""
    figures = "".join(render_figure(plot, f"f{place}") for place, plot in enumerate(list_samples()))
    head = f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    scripts = f"<script>{library}</script><script>{SCRIPT}</script>"
    head += '<meta name="viewport" content="width=device-width, initial-scale=1">'
    head = f"<!doctype html><html><head>{head}<style>{SHEET}</style></head>"
    out.write_text(f"{head}<body>{figures}{scripts}</body></html>", encoding="utf-8")
    return out


def check_valid(page: Page, plot: Plot) -> None:
    """What the page's script makes of a plot is what plotly.js takes."""
    described = json.dumps({**describe_plot(plot), "ink": "#000000"}, allow_nan=False)
    mistakes = page.evaluate(
        f"(() => {{ const found = window.pathlabPlots.describe({described});"
        " const { data, layout } = JSON.parse(JSON.stringify(found));"  # without what is undefined
        " return Plotly.validate(data, layout) || []; })()"
    )
    # of no use here: the colour of a line without width, how bars stand where there are none
    harmless = {"unused", "schema barmode"}
    codes = {
        one["code"] if one["code"] == "unused" else f"{one['code']} {one['path'][-1]}" for one in mistakes
    }
    assert codes <= harmless, plot.name


def test_samples_of_every_kind_are_drawn_once_they_are_seen(page: Page, watch: Watch, tmp_path: Path) -> None:
    plain = write_samples(tmp_path / "plain.html", library="")
    page.goto(plain.as_uri())
    assert {state for _, state in page.evaluate(STATES)} == {"waiting", "empty"}  # the pictures stay
    check_quiet(watch, plain)
    watch.requests.clear()
    path = write_samples(tmp_path / "samples.html", library=read_library())
    page.goto(path.as_uri())
    last = "document.getElementById('figure-hostile')"
    assert page.evaluate(f"{last}.dataset.state") == "waiting"  # far below what is seen
    seen = (
        f"new Promise(resolve => {{ new MutationObserver(() => resolve({last}.dataset.state))"
        f".observe({last}, {{attributes: true}}); {last}.scrollIntoView(); }})"
    )
    assert page.evaluate(seen) == "drawn"
    check_drawn(page)
    check_quiet(watch, path)
    buttons = page.evaluate("Array.from(document.querySelectorAll('.modebar-btn')).map(b => b.dataset.title)")
    assert "Zoom" in buttons
    assert not [title for title in buttons if "loud" in title or "hare" in title]
    for plot in list_samples():
        if plot.empty is None:
            check_valid(page, plot)
    page.emulate_media(media="print")
    shown = "Array.from(document.querySelectorAll('.plot-still')).map(s => getComputedStyle(s).display)"
    assert set(page.evaluate(shown)) == {"block"}
