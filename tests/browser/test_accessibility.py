"""Readers who see little or nothing, hands without a mouse: axe-core's rules in every state, and the keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.explorer_page import ExplorerPage, check_accessibility

OpenResults = Callable[..., ExplorerPage]
#: What differs in sizes, in colours, and in colours that the reader's system sets.
SCREENS: dict[str, dict[str, Any]] = {
    "light": {},
    "dark phone": {
        "viewport": {"width": 360, "height": 740},
        "is_mobile": True,
        "has_touch": True,
        "color_scheme": "dark",
    },
    "contrast": {"forced_colors": "active"},
}
RATE = "throughput_bits_per_s"
PLAIN = f"x=streams&y={RATE}&colour=window_bytes"
#: With verdicts, and a trial that has flags and series.
FULL = f"{PLAIN}&facet=path&baseline=65536&trial=A:18"
EMPTY = f"x=streams&y={RATE}&colour=none&where.{RATE}=1e9..&nothing=1"


@pytest.mark.parametrize("screen", SCREENS)
def test_no_state_of_the_page_breaks_a_rule(
    screen: str, new_context: Callable[..., BrowserContext], open_results: OpenResults
) -> None:
    explorer = open_results(new_context(**SCREENS[screen]).new_page(), FULL)
    page = explorer.page
    explorer.open_folds()
    page.locator("details.filter").evaluate_all("(all) => all.forEach((one) => { one.open = true; })")
    expect(page.locator("[data-panel=details] .course-status")).to_contain_text("from 0.000 s")
    expect(page.locator("[data-panel=against] .verdict").first).to_be_visible()
    check_accessibility(page)
    page.evaluate("text => { window.location.hash = text; }", EMPTY)
    page.wait_for_selector("[data-panel=notice] .warning")
    explorer.settle()
    check_accessibility(page)


#: What the keyboard's focus is on: enough to tell controls apart.
FOCUSED = """() => {
    const { activeElement: one } = document;
    if (!one || one === document.body) { return null; }
    window.numbered = window.numbered || 0;
    if (!one.dataset.numbered) { window.numbered += 1; one.dataset.numbered = window.numbered; }
    return [one.dataset.numbered, getComputedStyle(one).outlineStyle, one.outerHTML];
}"""
#: Everything that can be operated and is shown.
OPERABLE = """() => Array.from(document.querySelectorAll(
    "a[href], button, input, select, textarea, summary, [tabindex='0']"))
    .filter((one) => !one.disabled && one.checkVisibility({ visibilityProperty: true }) &&
        !(one.type === "radio" && !one.checked))"""


def test_tab_reaches_every_control_in_the_order_of_the_page(page: Page, open_results: OpenResults) -> None:
    explorer = open_results(page)
    explorer.open_folds()
    wanted = page.evaluate(f"({OPERABLE})().length")
    assert wanted > 30
    reached: list[str] = []
    page.locator("[data-skip=figure]").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")  # what a mouse focused before has no outline
    for _ in range(2 * wanted):
        found = page.evaluate(FOCUSED)
        if found is None or found[0] in reached:
            break  # beyond the last control is the browser's own bar
        number, outline, markup = found
        reached.append(number)
        assert outline != "none", markup
        page.keyboard.press("Tab")
    missed = page.evaluate(
        f"({OPERABLE})().filter((one) => !one.dataset.numbered).map((one) => one.outerHTML)"
    )
    assert missed == []
    order = page.evaluate("""() => Array.from(document.querySelectorAll("[data-numbered]"),
        (one) => Number(one.dataset.numbered))""")
    assert order == sorted(order)
    page.locator("details.filter[data-column=streams] summary").focus()
    page.keyboard.press("Enter")
    explorer.settle()
    box = page.locator("details.filter[data-column=streams] input[type=checkbox]").first
    box.focus()
    explorer.evaluate("(app) => app.redraw()")  # as a trial of a running campaign does
    explorer.settle()
    page.keyboard.press("Space")
    explorer.settle()
    assert "where.streams=" in explorer.text
    expect(box).to_be_focused()


def test_the_figure_is_walked_and_a_trial_opened_with_keys(page: Page, open_results: OpenResults) -> None:
    explorer = open_results(page, PLAIN)
    said = page.locator("[data-announcer]")

    def press(key: str) -> str:
        page.keyboard.press(key)
        return said.inner_text()

    press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the figure"
    press("Enter")
    frame = page.locator(".frame")
    expect(frame).to_be_focused()
    first = press("ArrowRight")
    assert "Throughput" in first
    assert "point 1 of 4" in first
    assert "point 2 of 4" in press("ArrowRight")
    assert page.is_visible(".cursor")
    assert press("ArrowUp").split(",")[0] != first.split(",")[0]
    assert "trial 1 of" in press("Enter")
    assert "point 2 of 4" in press("Escape")
    press("Enter")
    press("Enter")
    details = page.locator("[data-panel=details]")
    expect(details.locator("h2")).to_be_focused()
    assert explorer.evaluate("(app) => app.view.trial").startswith("A:")
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    expect(details).to_be_hidden()
    expect(frame).to_be_focused()
    assert explorer.evaluate("(app) => app.view.trial") is None
    for levels in ([1], []):  # a change is said with what the figure shows
        explorer.set_view(where={"streams": {"levels": levels, "except": False}})
        assert said.inner_text() == explorer.evaluate(
            "(app) => window.pathlabExplorer.reading.describeInWords(app)"
        )


def test_tables_have_every_number_of_the_figure_and_pages(page: Page, open_results: OpenResults) -> None:
    """What captions and cells say is tested in ``tests/scripts/test_texts.py``."""
    explorer = open_results(page, f"{PLAIN}&facet=path")
    explorer.open_folds("figure-table")
    tables = page.locator("[data-panel=figure-table] table")
    assert tables.count() == 2
    table = page.get_by_role("table").first
    captions = """(app) => window.pathlabExplorer.figureTable.listFigureTables(app.exploration)
      .map((table) => table.caption)"""
    assert tables.locator("caption").all_inner_texts() == explorer.evaluate(captions)
    assert table.get_by_role("columnheader").all_inner_texts() == ["Streams", "64 KiB", "256 KiB"]
    assert table.get_by_role("rowheader").all_inner_texts() == ["1", "2", "4", "8"]
    shown = explorer.evaluate(
        "(app) => app.exploration.facets[0].curves.flatMap((curve) => curve.points.map((one) => one.y))"
    )
    cells = [float(text.split(" ")[0]) for text in table.get_by_role("cell").all_inner_texts()]
    assert sorted(cells) == pytest.approx(sorted(shown), rel=1e-3)
    explorer.set_view(statistic="p90", facet=None)
    assert tables.count() == 1
    explorer.set_view(x="started_utc", colour=None, count="all")
    rows = tables.locator("tbody tr")
    assert rows.count() == 100
    points = explorer.evaluate("(app) => app.exploration.facets[0].curves[0].points.length")
    page.get_by_role("button", name="Next rows").press("Enter")
    assert rows.count() == points - 100 > 0
    assert page.evaluate("document.activeElement.textContent") == "Previous rows"
