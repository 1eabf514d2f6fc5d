"""The report in a headless Chromium: every figure drawn, no request, no complaint."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from docs.browser import Browser
from pathlab.report.formats.html import write_html
from pathlab.report.plots.export import tabulate
from pathlab.report.plots.live import SCRIPT, SHEET, describe_plot, read_library
from pathlab.report.plots.markup import render_figure
from pathlab.report.plots.model import Plot
from pathlab.report.plots.preparation import prepare_plot
from pathlab.report.report_builder import build_document
from tests.builders.plots import list_samples, make_timeline
from tests.builders.results import make_quickstart
from tests.require import require_chromium

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"
STATES = "Array.from(document.querySelectorAll('figure.plot')).map(f => [f.dataset.name, f.dataset.state])"
WIDTHS = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser(require_chromium()) as opened:
        yield opened


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


def check_quiet(browser: Browser, page: Path) -> None:
    """No complaint, and no request but for the page and the pictures inside it."""
    assert browser.complaints == []
    outside = [url for url in browser.requests if not url.startswith(("data:", "blob:"))]
    assert outside == [page.resolve().as_uri()]


def check_drawn(browser: Browser) -> None:
    """Every figure is drawn on request, except empty ones, which state the reason."""
    browser.evaluate("window.pathlabPlots.drawAll()")
    states = dict(browser.evaluate(STATES))
    assert states
    assert {state for state in states.values() if state != "empty"} == {"drawn"}
    total = sum(state == "drawn" for state in states.values())
    assert browser.evaluate("document.documentElement.dataset.plots") == f"{total}/{total}"
    drawn = "Array.from(document.querySelectorAll('.plot[data-state=drawn]'))"
    assert browser.evaluate(f"{drawn}.filter(f => !f.querySelector('svg.main-svg')).length") == 0


def test_samples_of_every_kind(browser: Browser, tmp_path: Path) -> None:
    page = write_samples(tmp_path / "samples.html", library=read_library())
    browser.open(page)
    last = "document.getElementById('figure-hostile')"
    assert browser.evaluate(f"{last}.dataset.state") == "waiting"  # far below what is seen
    seen = (
        f"new Promise(resolve => {{ new MutationObserver(() => resolve({last}.dataset.state))"
        f".observe({last}, {{attributes: true}}); {last}.scrollIntoView(); }})"
    )
    assert browser.evaluate(seen) == "drawn"
    check_drawn(browser)
    check_quiet(browser, page)
    buttons = browser.evaluate(
        "Array.from(document.querySelectorAll('.modebar-btn')).map(b => b.dataset.title)"
    )
    assert "Zoom" in buttons
    assert not [title for title in buttons if "loud" in title or "hare" in title]
    for plot in list_samples()[:5]:
        offered = browser.evaluate(f"window.pathlabPlots.tabulate({json.dumps(describe_plot(plot))})")
        compare_tables(offered, tabulate(prepare_plot(plot))[1])
    browser.ask("Emulation.setEmulatedMedia", media="print")
    shown = "Array.from(document.querySelectorAll('.plot-still')).map(s => getComputedStyle(s).display)"
    assert set(browser.evaluate(shown)) == {"block"}
    browser.ask("Emulation.setEmulatedMedia", media="")


def read_number(cell: str | float | None) -> float:
    return float("nan" if cell in (None, "") else cell)


def compare_tables(offered: str, rows: list[tuple[str | float | None, ...]]) -> None:
    """What the page offers as a table are the plot's rows, as far as a screen shows their numbers."""
    found = list(csv.reader(io.StringIO(offered)))[1:]
    assert [(row[1], row[6] or None) for row in found] == [(row[1], row[6]) for row in rows]
    for place in (2, 3, 4, 5):
        mine, theirs = ([read_number(row[place]) for row in table] for table in (found, rows))
        assert mine == pytest.approx(theirs, rel=2e-3, abs=2e-3, nan_ok=True)


def test_without_the_library_the_pictures_stay(browser: Browser, tmp_path: Path) -> None:
    page = write_samples(tmp_path / "plain.html", library="")
    browser.open(page)
    assert {state for _, state in browser.evaluate(STATES)} == {"waiting", "empty"}
    check_quiet(browser, page)


def test_the_report_at_the_width_of_a_desk_and_of_a_phone(browser: Browser, tmp_path: Path) -> None:
    results = make_quickstart(cycles=2, levels=[(1, 65536), (4, 65536), (1, 262144), (2, None)])
    page = write_html(build_document(results), tmp_path / "report.html")
    for width in (1280, 390):
        browser.open(page, width=width, phone=width == 390)
        browser.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        check_drawn(browser)
        check_quiet(browser, page)
        needed, there = browser.evaluate(WIDTHS)
        assert needed <= there
        beyond = (
            "Array.from(document.querySelectorAll('.plot[data-state=drawn] .plot-live'))"
            ".filter(area => area.firstChild.getBoundingClientRect().right > window.innerWidth + 1).length"
        )
        assert browser.evaluate(beyond) == 0
        cut = (
            "Array.from(document.querySelectorAll('.plot-live .g-xtitle, .plot-live .annotation-text'))"
            ".filter(t => { const [a, b] = [t, t.closest('.plot-live')].map(e => e.getBoundingClientRect());"
            " return a.left < b.left - 1 || a.right > b.right + 1; }).map(t => t.textContent)"
        )
        assert browser.evaluate(cut) == []


def test_the_title_of_an_axis_is_broken_where_the_figure_is_narrow(browser: Browser, tmp_path: Path) -> None:
    plot = make_timeline()
    long = replace(
        plot.panels[0].x, label="Time since start; receiver: since its first byte of the steady window"
    )
    plot = replace(plot, panels=tuple(replace(panel, x=long) for panel in plot.panels))
    page = write_samples(tmp_path / "narrow.html", library=read_library(), plots=[plot])
    browser.open(page, width=390)
    check_drawn(browser)
    title = "document.querySelector('.plot-live .g-x2title text').getBoundingClientRect()"
    area = "document.querySelector('.plot-live').getBoundingClientRect()"
    left, right = browser.evaluate(f"[{title}.left - {area}.left, {area}.right - {title}.right]")
    assert min(left, right) >= 0


def test_a_table_wider_than_the_page_says_so_until_its_end(browser: Browser, tmp_path: Path) -> None:
    page = write_html(build_document(make_quickstart(cycles=2)), tmp_path / "report.html")
    browser.open(page, width=390)
    browser.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    table = "document.querySelector('#table-windows-streams .scroll')"

    def read(left: int) -> list[str]:
        shown = (
            f"getComputedStyle({table}, '::after')"
            f".getPropertyValue('visibility') + ' ' + getComputedStyle({table}, '::after').content"
        )
        frames = "new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r())))"
        text = browser.evaluate(f"({table}.scrollLeft = {left}, {frames}.then(() => {shown}))")
        return str(text).split(" ", 1)

    assert read(0) == ["visible", '"scroll →"']
    assert read(100) == ["visible", '"scroll →"']
    head = f"{table}.querySelector('thead th').getBoundingClientRect().left"
    assert browser.evaluate(f"{head} - {table}.getBoundingClientRect().left") <= 2  # it stays with its column
    assert read(10_000)[0] == "hidden"
    broken = "Array.from(document.querySelectorAll('.scroll td.n')).filter(c => c.getClientRects().length > 1"
    assert browser.evaluate(f"{broken} || getComputedStyle(c).whiteSpace !== 'nowrap').length") == 0
