"""One trial in the page: its neighbours, its failure, the keyboard's focus; what others wrote stays text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.explorer_page import ExplorerPage, check_accessibility

PANEL = "[data-panel=details]"


@pytest.fixture
def explorer(page: Page) -> ExplorerPage:
    return ExplorerPage(page)


def open_trial(explorer: ExplorerPage, name: str) -> None:
    """Open a trial as a click on its dot does, and wait for its details."""
    explorer.set_view(trial=name)
    expect(explorer.page.locator(f"{PANEL} .meta")).to_contain_text(f"{name} ·")


def test_a_trial_opens_beside_the_figure_and_its_neighbours_follow(
    explorer: ExplorerPage, served: Callable[..., str], results_folder: Path
) -> None:
    explorer.open(served(results_folder))
    page, panel = explorer.page, explorer.page.locator(PANEL)
    expect(panel).to_be_hidden()
    open_trial(explorer, "A:3")
    expect(panel.locator("h2")).to_have_text("Trial 3, cycle 1: 8 × 256 KiB")
    expect(panel.locator("h2")).to_be_focused()
    expect(panel).to_contain_text("Limited by: the path's capacity")
    expect(panel.locator("[data-section=results]")).to_contain_text("38.5 Mbit/s by the receiver's count")
    panel.locator("[data-section=settings] summary").click()
    row = panel.locator("[data-section=settings] tr", has_text="window")
    expect(row).to_contain_text("256 KiB")
    panel.get_by_role("button", name="Next trial of this path").click()
    expect(panel.locator(".meta")).to_contain_text("A:6 ·")
    expect(panel.get_by_role("button", name="Next trial of this path")).to_be_focused()
    assert explorer.evaluate("(app) => app.view.trial") == "A:6"
    page.go_back()
    expect(panel.locator(".meta")).to_contain_text("A:3 ·")
    expect(panel.locator("[data-section=settings]")).to_have_attribute("open", "")  # it stays open


def test_a_failed_trial_says_where_and_why(
    explorer: ExplorerPage, served: Callable[..., str], results_folder: Path
) -> None:
    explorer.open(served(results_folder), "trial=A:6")
    panel = explorer.page.locator(PANEL)
    expect(panel.locator(".warning")).to_have_text("Failed at 'connect': connection refused")
    expect(panel).to_contain_text("The trial kept no series.")
    beside = panel.locator(".neighbours tr")
    expect(beside).to_have_count(1 + 2 + 1 + 3)


def test_escape_closes_the_trial_and_the_focus_returns(
    explorer: ExplorerPage, served: Callable[..., str], results_folder: Path
) -> None:
    explorer.open(served(results_folder))
    page = explorer.page
    page.locator("[data-panel=figure] .frame").focus()
    open_trial(explorer, "A:3")
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    expect(page.locator(PANEL)).to_be_hidden()
    expect(page.locator("[data-panel=figure] .frame")).to_be_focused()
    assert explorer.evaluate("(app) => app.view.trial") is None


def test_a_link_with_a_trial_opens_it_without_taking_the_focus(
    explorer: ExplorerPage, served: Callable[..., str], results_folder: Path
) -> None:
    explorer.open(served(results_folder), "trial=A:18")
    panel = explorer.page.locator(PANEL)
    expect(panel).to_contain_text("Not counted: lab limited.")
    expect(panel.locator(".flags")).to_contain_text("the machine could not keep up with the emulation")
    beside = panel.locator(".neighbours tr", has_text="this trial")
    expect(beside.locator("td").last).to_have_text("not counted: lab limited")  # as others say of themselves
    assert explorer.page.evaluate("document.activeElement.tagName") == "BODY"
    check_accessibility(explorer.page)


def test_what_others_wrote_is_text(
    explorer: ExplorerPage, served: Callable[..., str], hostile_folder: Path
) -> None:
    explorer.open(served(hostile_folder), "trial=A:6")
    panel = explorer.page.locator(PANEL)
    expect(panel.locator(".warning")).to_contain_text("<img src=x onerror=")
    assert panel.locator("img").count() == 0
    assert explorer.page.evaluate("window.hit") is None


def test_a_trial_that_cannot_be_read_says_so(
    explorer: ExplorerPage, served: Callable[..., str], results_folder: Path, page: Page
) -> None:
    explorer.open(served(results_folder))
    page.route("**/api/trial/*", lambda route: route.fulfill(status=200, body="not JSON"))
    explorer.set_view(trial="A:3")
    expect(page.locator(f"{PANEL} [role=alert]")).to_contain_text("The trial could not be read: ")
    page.unroute("**/api/trial/*")
    explorer.set_view(trial="A:7")
    expect(page.locator(f"{PANEL} .meta")).to_contain_text("A:7 ·")
