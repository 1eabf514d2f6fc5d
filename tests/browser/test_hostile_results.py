"""Markup in every text that others give is shown, and nothing of it runs; a server that dies is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.explorer_page import ExplorerPage
from tests.browser.watching import Watch
from tests.builders.explored import MARKUP

#: Columns whose levels hold markup, and what else draws them.
VIEWS = (
    "x=path_destination&y=throughput_bits_per_s&colour=failure&count=all",
    "x=streams&y=throughput_bits_per_s&colour=path&facet=path_destination",
    "x=failure&y=streams&colour=path_destination&count=all&dots=on",
)
FOUND = """() => ({
    hit: window.hit, elements: document.querySelectorAll("img[onerror], [onmouseover]").length,
    scripts: Array.from(document.scripts).filter((one) => one.textContent === "window.hit=2").length,
})"""

#: Every answer ends after ten bytes, as when its server is killed.
CUT_SHORT = """window.fetch = async () => new Response(new ReadableStream({
  pull(stream) {
    stream.enqueue(new Uint8Array(10));
    stream.error(new TypeError("network error"));
  },
}))"""


def test_a_server_that_dies_while_it_sends_is_named(
    page: Page, served: Callable[..., str], results_folder: Path, watch: Watch
) -> None:
    page.add_init_script(CUT_SHORT)
    page.goto(served(results_folder))
    expect(page.locator("[data-waiting]")).to_have_text(
        "The results could not be read: the server does not answer; is 'pathlab serve' still running?"
    )
    watch.expect("the server does not answer")


@pytest.mark.parametrize("mode", ["served", "exported"])
def test_markup_of_results_is_text(
    mode: str,
    page: Page,
    served: Callable[..., str],
    exported: Callable[..., str],
    hostile_folder: Path,
) -> None:
    address = served(hostile_folder) if mode == "served" else exported(hostile_folder)
    explorer = ExplorerPage(page).open(address)
    explorer.open_folds()
    for filters in page.locator("details.filter").all():
        filters.locator("summary").first.click()
    for text in VIEWS:
        page.evaluate("text => { window.location.hash = text; }", text)
        explorer.settle()
        assert page.evaluate(FOUND) == {"hit": None, "elements": 0, "scripts": 0}
        assert explorer.evaluate("(app) => app.exploration.facets.length") > 0
    assert "<img src=x" in str(page.locator("body").text_content())
    assert MARKUP.split(",")[0] in page.title()
    failed = explorer.evaluate("(app) => Array.from(app.rows).find((row) => app.table.reasonCodes[row] >= 0)")
    name = explorer.evaluate("(app, row) => window.pathlabExplorer.source.nameTrial(app.table, row)", failed)
    explorer.set_view(trial=name)
    page.wait_for_selector("[data-panel=details]:not([hidden]) h2")
    for _ in range(10):
        page.keyboard.press("Tab")
    assert page.evaluate(FOUND) == {"hit": None, "elements": 0, "scripts": 0}


def test_a_hostile_link_shows_a_notice_and_the_default(
    page: Page, served: Callable[..., str], results_folder: Path
) -> None:
    """What is read of each kind of wrong text is tested in ``tests/scripts/test_figure.py``."""
    text = "x=<img%20src=x%20onerror=window.hit=1>&where.streams=%3Cscript%3Ewindow.hit=1%3C/script%3E"
    explorer = ExplorerPage(page).open(served(results_folder), text)
    explorer.settle()
    assert page.locator("[data-panel=notice] .warning").count() >= 1
    assert page.evaluate(FOUND) == {"hit": None, "elements": 0, "scripts": 0}
    assert explorer.evaluate("(app) => app.exploration.facets.length") > 0


def test_a_link_opens_the_same_view_and_history_goes_back(
    page: Page, served: Callable[..., str], results_folder: Path
) -> None:
    text = (
        "x=window_bytes&y=throughput_bits_per_s&colour=streams&stat=p75&range=extremes&scale-y=log10"
        "&min-y=1&dots=off&where.path_destination=east"
    )
    explorer = ExplorerPage(page).open(served(results_folder), text)
    assert explorer.text == text
    explorer.set_view(statistic="mean")
    explorer.set_view(colour="path")
    page.go_back()
    page.go_back()
    page.wait_for_function("text => window.pathlabExplorer.app.text === text", arg=text)
    page.go_forward()
    page.wait_for_function("() => window.pathlabExplorer.app.text.includes('stat=mean')")
    page.reload()
    page.wait_for_selector("figure.explored[data-state=drawn]")
    assert "stat=mean" in explorer.text
