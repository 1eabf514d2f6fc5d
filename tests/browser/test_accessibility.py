"""Readers who see little or nothing, hands without a mouse: axe-core's rules in every state, and the keys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.explorer_page import FOLDS, ExplorerPage, check_accessibility

PHONE = {"width": 360, "height": 740}
SCREENS: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": PHONE, "has_touch": True, "is_mobile": True},
    "dark phone": {"viewport": PHONE, "color_scheme": "dark"},
    "contrast": {"forced_colors": "active"},
}
EMPTY = "x=streams&y=throughput_bits_per_s&colour=none&where.throughput_bits_per_s=1e9.."


@pytest.mark.parametrize("screen", SCREENS)
def test_no_state_of_the_page_breaks_a_rule(
    screen: str, new_context: Callable[..., BrowserContext], served: Callable[..., str], results_folder: Path
) -> None:
    explorer = ExplorerPage(new_context(**SCREENS[screen]).new_page()).open(served(results_folder))
    check_accessibility(explorer.page)
    explorer.open_folds()
    for filters in explorer.page.locator("details.filter").all():
        if filters.get_attribute("open") is None:
            filters.locator("summary").first.click()
    check_accessibility(explorer.page)
    explorer.set_view(trial="A:1")
    expect(explorer.page.locator("[data-panel=details] .course-status")).to_contain_text("from 0.000 s")
    check_accessibility(explorer.page)
    explorer.page.evaluate("text => { window.location.hash = text + '&nothing=1'; }", EMPTY)
    explorer.page.wait_for_selector("[data-panel=notice] .warning")
    explorer.settle()
    check_accessibility(explorer.page)


def test_an_exported_page_breaks_no_rule(
    page: Page, exported: Callable[..., str], results_folder: Path
) -> None:
    explorer = ExplorerPage(page).open(exported(results_folder))
    explorer.open_folds()
    check_accessibility(page)


#: What the keyboard's focus is on: enough to tell controls apart.
FOCUSED = """() => {
    const { activeElement: one } = document;
    if (!one || one === document.body) { return null; }
    window.numbered = window.numbered || 0;
    if (!one.dataset.numbered) { window.numbered += 1; one.dataset.numbered = window.numbered; }
    return one.dataset.numbered;
}"""
#: Everything that can be operated and is shown.
OPERABLE = """() => Array.from(document.querySelectorAll(
    "a[href], button, input, select, textarea, summary, [tabindex='0']"))
    .filter((one) => !one.disabled && one.checkVisibility({ visibilityProperty: true }) &&
        !(one.type === "radio" && !one.checked))"""


def test_tab_reaches_every_control_in_the_order_of_the_page(
    page: Page, served: Callable[..., str], results_folder: Path
) -> None:
    explorer = ExplorerPage(page).open(served(results_folder))
    explorer.open_folds()
    wanted = page.evaluate(f"({OPERABLE})().length")
    assert wanted > 30
    reached: list[str] = []
    page.locator("[data-skip=figure]").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")  # what a mouse focused before has no outline
    for _ in range(2 * wanted):
        found = page.evaluate(FOCUSED)
        if found is None or found in reached:
            break  # beyond the last control is the browser's own bar
        reached.append(found)
        outline = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", page.evaluate("document.activeElement.outerHTML")
        page.keyboard.press("Tab")
    missed = page.evaluate(
        f"({OPERABLE})().filter((one) => !one.dataset.numbered).map((one) => one.outerHTML)"
    )
    assert missed == []
    order = page.evaluate("""() => Array.from(document.querySelectorAll("[data-numbered]"),
        (one) => Number(one.dataset.numbered))""")
    assert order == sorted(order)


def test_folds_controls_and_filters_work_with_keys_alone(
    page: Page, served: Callable[..., str], results_folder: Path
) -> None:
    explorer = ExplorerPage(page).open(served(results_folder))
    for name in FOLDS:
        fold = page.locator(f"details[data-fold={name}]")
        before = fold.get_attribute("open")
        fold.locator("summary").first.focus()
        page.keyboard.press("Enter")
        assert (fold.get_attribute("open") is None) == (before is not None)
        page.keyboard.press("Space")
        assert (fold.get_attribute("open") is None) == (before is None)
    page.locator("[data-control=statistic]").focus()
    page.keyboard.press("ArrowDown")  # letters of a word would have to follow each other within a second
    explorer.settle()
    assert "stat=mean" in explorer.text
    page.locator("[data-control=dots]").focus()
    page.keyboard.press("Space")
    explorer.settle()
    assert "dots=off" in explorer.text
    page.locator("details.filter[data-column=streams] summary").focus()
    page.keyboard.press("Enter")
    explorer.settle()
    page.keyboard.press("Tab")
    while page.evaluate("document.activeElement.type") != "checkbox":
        page.keyboard.press("Tab")
    explorer.evaluate("(app) => app.redraw()")  # as a trial of a running campaign does
    explorer.settle()
    page.keyboard.press("Space")
    explorer.settle()
    assert "where.streams=" in explorer.text
    page.go_back()
    page.wait_for_function("() => !window.pathlabExplorer.app.text.includes('where.streams')")


def test_the_figure_is_walked_and_a_trial_opened_with_keys(
    page: Page, served: Callable[..., str], results_folder: Path
) -> None:
    explorer = ExplorerPage(page).open(served(results_folder))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the figure"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.classList.contains('frame')")
    said = page.locator("[data-announcer]")
    page.keyboard.press("ArrowRight")
    first = said.text_content()
    assert "Throughput" in str(first)
    page.keyboard.press("ArrowRight")
    assert said.text_content() != first
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-panel=details]:not([hidden]) h2")
    assert "trial=A" in explorer.text


def test_a_change_is_said_with_what_the_figure_shows(
    page: Page, served: Callable[..., str], results_folder: Path
) -> None:
    explorer = ExplorerPage(page).open(served(results_folder))
    said = page.locator("[data-announcer]")
    explorer.set_view(where={"streams": {"levels": [1], "except": False}})
    assert str(said.text_content()).startswith("Throughput, median, by Streams: 2 panels, 4 curves, 4 points")
    explorer.set_view(where={"streams": {"levels": [], "except": False}})
    assert "empty" in str(said.text_content())


def test_the_table_has_every_number_of_the_figure(
    page: Page, served: Callable[..., str], results_folder: Path
) -> None:
    explorer = ExplorerPage(page).open(served(results_folder))
    explorer.open_folds("figure-table")
    tables = page.locator("[data-panel=figure-table] table")
    assert tables.count() == 2
    table = page.get_by_role("table").first
    caption = str(table.locator("caption").text_content())
    assert caption.startswith(
        "west → east: Throughput (Mbit/s), median with 95 % confidence interval, by Streams."
    )
    assert [one.text_content() for one in table.get_by_role("columnheader").all()] == [
        "Streams",
        "64 KiB",
        "256 KiB",
    ]
    assert [one.text_content() for one in table.get_by_role("rowheader").all()] == ["1", "2", "4", "8"]
    shown = explorer.evaluate(
        "(app) => app.exploration.facets[0].curves.map((c) => c.points.map((p) => p.y))"
    )
    cells = [float(str(one.text_content()).split(" ")[0]) for one in table.get_by_role("cell").all()]
    assert sorted(cells) == pytest.approx(sorted(value for curve in shown for value in curve), rel=1e-3)
    assert "undecided" in caption
    assert "undecided" in str(table.text_content())
    explorer.set_view(statistic="p90", facet=None)
    assert tables.count() == 1
    assert "90th percentile" in str(tables.first.locator("caption").text_content())


def test_a_long_table_has_pages(page: Page, served: Callable[..., str], results_folder: Path) -> None:
    explorer = ExplorerPage(page).open(
        served(results_folder), "x=started_utc&y=throughput_bits_per_s&colour=none&count=all"
    )
    explorer.open_folds("figure-table")
    rows = page.locator("[data-panel=figure-table] tbody tr")
    assert rows.count() == 100
    page.get_by_role("button", name="Next rows").press("Enter")
    assert (
        rows.count() == explorer.evaluate("(app) => app.exploration.facets[0].curves[0].points.length") - 100
    )
    assert page.evaluate("document.activeElement.textContent") == "Previous rows"
