"""The report in a browser: every figure drawn, no request, no complaint."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import BrowserContext, Page

from pathlab.report.formats.html import write_html
from pathlab.report.plots.live import SCRIPT, SHEET, describe_plot, read_library
from pathlab.report.plots.markup import render_figure
from pathlab.report.plots.model import Plot
from pathlab.report.report_builder import build_document
from tests.browser.watching import Watch
from tests.builders.plots import list_samples, make_timeline
from tests.builders.results import make_quickstart

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"
STATES = "Array.from(document.querySelectorAll('figure.plot')).map(f => [f.dataset.name, f.dataset.state])"
WIDTHS = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"


NewContext = Callable[..., BrowserContext]


def show(new_context: NewContext, path: Path, width: int = 1280, *, phone: bool = False) -> Page:
    page = new_context(viewport={"width": width, "height": 900}, is_mobile=phone).new_page()
    page.goto(path.resolve().as_uri())
    return page


def write_samples(out: Path, *, library: str, plots: Sequence[Plot] = ()) -> Path:
    """A page of these figures, or of one of each kind, which may fetch nothing."""
    chosen = plots or list_samples()
    figures = "".join(render_figure(plot, f"f{place}") for place, plot in enumerate(chosen))
    head = f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    scripts = f"<script>{library}</script><script>{SCRIPT}</script>"
    head += '<meta name="viewport" content="width=device-width, initial-scale=1">'
    head = f"<!doctype html><html><head>{head}<style>{SHEET}</style></head>"
    out.write_text(f"{head}<body>{figures}{scripts}</body></html>", encoding="utf-8")
    return out


def check_quiet(watch: Watch, path: Path) -> None:
    """No request but for the page and the pictures inside it; complaints fail every test at its end."""
    outside = {url for url in watch.requests if not url.startswith(("data:", "blob:"))}
    assert outside == {path.resolve().as_uri()}


def check_drawn(page: Page) -> None:
    """Every figure is drawn on request, except empty ones, which state the reason."""
    page.evaluate("window.pathlabPlots.drawAll()")
    states = dict(page.evaluate(STATES))
    assert states
    assert {state for state in states.values() if state != "empty"} == {"drawn"}
    total = sum(state == "drawn" for state in states.values())
    assert page.evaluate("document.documentElement.dataset.plots") == f"{total}/{total}"
    drawn = "Array.from(document.querySelectorAll('.plot[data-state=drawn]'))"
    assert page.evaluate(f"{drawn}.filter(f => !f.querySelector('svg.main-svg')).length") == 0


def test_samples_of_every_kind(new_context: NewContext, watch: Watch, tmp_path: Path) -> None:
    path = write_samples(tmp_path / "samples.html", library=read_library())
    page = show(new_context, path)
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


def test_without_the_library_the_pictures_stay(new_context: NewContext, watch: Watch, tmp_path: Path) -> None:
    path = write_samples(tmp_path / "plain.html", library="")
    page = show(new_context, path)
    assert {state for _, state in page.evaluate(STATES)} == {"waiting", "empty"}
    check_quiet(watch, path)


def test_the_report_at_the_width_of_a_desk_and_of_a_phone(
    new_context: NewContext, watch: Watch, tmp_path: Path
) -> None:
    results = make_quickstart(cycles=2, levels=[(1, 65536), (4, 65536), (1, 262144), (2, None)])
    path = write_html(build_document(results), tmp_path / "report.html")
    for width in (1280, 390):
        page = show(new_context, path, width, phone=width == 390)
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        check_drawn(page)
        check_quiet(watch, path)
        needed, there = page.evaluate(WIDTHS)
        assert needed <= there
        beyond = (
            "Array.from(document.querySelectorAll('.plot[data-state=drawn] .plot-live'))"
            ".filter(area => area.firstChild.getBoundingClientRect().right > window.innerWidth + 1).length"
        )
        assert page.evaluate(beyond) == 0
        cut = (
            "Array.from(document.querySelectorAll('.plot-live .g-xtitle, .plot-live .annotation-text'))"
            ".filter(t => { const [a, b] = [t, t.closest('.plot-live')].map(e => e.getBoundingClientRect());"
            " return a.left < b.left - 1 || a.right > b.right + 1; }).map(t => t.textContent)"
        )
        assert page.evaluate(cut) == []


def test_the_title_of_an_axis_is_broken_where_the_figure_is_narrow(
    new_context: NewContext, tmp_path: Path
) -> None:
    plot = make_timeline()
    long = replace(
        plot.panels[0].x, label="Time since start; receiver: since its first byte of the steady window"
    )
    plot = replace(plot, panels=tuple(replace(panel, x=long) for panel in plot.panels))
    path = write_samples(tmp_path / "narrow.html", library=read_library(), plots=[plot])
    page = show(new_context, path, 390)
    check_drawn(page)
    title = "document.querySelector('.plot-live .g-x2title text').getBoundingClientRect()"
    area = "document.querySelector('.plot-live').getBoundingClientRect()"
    left, right = page.evaluate(f"[{title}.left - {area}.left, {area}.right - {title}.right]")
    assert min(left, right) >= 0


def test_a_table_wider_than_the_page_says_so_until_its_end(new_context: NewContext, tmp_path: Path) -> None:
    path = write_html(build_document(make_quickstart(cycles=2)), tmp_path / "report.html")
    page = show(new_context, path, 390)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    table = "document.querySelector('#table-windows-streams .scroll')"

    def read(left: int) -> list[str]:
        shown = (
            f"getComputedStyle({table}, '::after')"
            f".getPropertyValue('visibility') + ' ' + getComputedStyle({table}, '::after').content"
        )
        frames = "new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r())))"
        text = page.evaluate(f"({table}.scrollLeft = {left}, {frames}.then(() => {shown}))")
        return str(text).split(" ", 1)

    assert read(0) == ["visible", '"scroll →"']
    assert read(100) == ["visible", '"scroll →"']
    head = f"{table}.querySelector('thead th').getBoundingClientRect().left"
    assert page.evaluate(f"{head} - {table}.getBoundingClientRect().left") <= 2  # it stays with its column
    assert read(10_000)[0] == "hidden"
    broken = "Array.from(document.querySelectorAll('.scroll td.n')).filter(c => c.getClientRects().length > 1"
    assert page.evaluate(f"{broken} || getComputedStyle(c).whiteSpace !== 'nowrap').length") == 0
