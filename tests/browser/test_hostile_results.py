"""Markup in every text that others give is shown, and nothing of it runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.explorer_page import ExplorerPage
from tests.builders.explored import MARKUP

#: Columns whose levels hold markup, and what else draws them.
VIEWS = (
    "x=path_destination&y=throughput_bits_per_s&colour=failure&count=all",
    "x=streams&y=throughput_bits_per_s&colour=path&facet=path_destination",
    "x=failure&y=streams&colour=path_destination&count=all&dots=on",
)
FOUND = """() => ({
    hit: window.hit, elements: document.querySelectorAll("img, [onmouseover]").length,
    scripts: Array.from(document.scripts).filter((one) => one.textContent === "window.hit=2").length,
})"""
NOTHING = {"hit": None, "elements": 0, "scripts": 0}


@pytest.mark.parametrize("mode", ["served", "exported"])
def test_markup_of_results_is_text(
    mode: str, page: Page, served: Callable[..., str], exported: Callable[..., str], hostile_folder: Path
) -> None:
    open_hostile = served if mode == "served" else exported
    explorer = ExplorerPage(page).open(open_hostile(hostile_folder))
    explorer.open_folds()
    for filters in page.locator("details.filter").all():
        filters.locator("summary").first.click()
    for text in VIEWS:
        page.evaluate("text => { window.location.hash = text; }", text)
        explorer.settle()
        assert page.evaluate(FOUND) == NOTHING
        assert explorer.evaluate("(app) => app.exploration.facets.length") > 0
    assert "<img src=x" in str(page.locator("body").text_content())
    assert MARKUP.split(",")[0] in page.title()
    explorer.set_view(trial="A:6")
    expect(page.locator("[data-panel=details] .warning")).to_contain_text("<img src=x onerror=")
    for _ in range(10):
        page.keyboard.press("Tab")
    assert page.evaluate(FOUND) == NOTHING


def test_a_link_opens_its_view_and_a_hostile_one_the_default(
    page: Page, open_results: Callable[..., ExplorerPage]
) -> None:
    """What is read of each kind of wrong text is tested in ``tests/scripts/test_figure.py``."""
    text = (
        "x=window_bytes&y=throughput_bits_per_s&colour=streams&stat=p75&range=extremes&scale-y=log10"
        "&min-y=1&dots=off&where.path_destination=east"
    )
    explorer = open_results(page, text)
    assert explorer.text == text
    explorer.set_view(statistic="mean")
    explorer.set_view(colour="path")
    page.go_back()
    page.go_back()
    page.wait_for_function("text => window.pathlabExplorer.app.app.text === text", arg=text)
    page.go_forward()
    page.wait_for_function("() => window.pathlabExplorer.app.app.text.includes('stat=mean')")
    page.reload()
    page.wait_for_selector("figure.explored[data-state=drawn]")
    assert "stat=mean" in explorer.text
    wrong = "x=<img%20src=x%20onerror=window.hit=1>&where.streams=%3Cscript%3Ehit=1%3C/script%3E&dots=off"
    page.evaluate("text => { window.location.hash = text; }", wrong)
    notice = page.locator("[data-panel=notice] .warning")
    notice.wait_for()
    explorer.settle()
    assert "<img src=x" in notice.inner_text()
    assert page.evaluate(FOUND) == NOTHING
    assert explorer.evaluate("(app) => app.exploration.facets.length") > 0
    assert explorer.evaluate("(app) => app.view.dots") is False
    notice.get_by_role("button").click()
    assert notice.count() == 0
