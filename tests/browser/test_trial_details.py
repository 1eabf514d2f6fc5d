"""One trial in the page: its neighbours, its failure, the keyboard's focus.

What it says of the trial is tested in ``tests/unit/report/explorer/test_trial_document.py``.
"""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.explorer_page import ExplorerPage


def test_a_trial_opens_beside_the_figure_and_its_neighbours_follow(
    page: Page, open_results: Callable[..., ExplorerPage]
) -> None:
    explorer = open_results(page, "trial=A:18")
    panel = page.locator("[data-panel=details]")

    def open_trial(name: str) -> None:
        """As a click on its dot does."""
        explorer.set_view(trial=name)
        expect(panel.locator(".meta")).to_contain_text(f"{name} ·")

    expect(panel).to_contain_text("Not counted: lab limited.")
    expect(panel.locator(".flags dd")).not_to_have_text(["meaning not known"])
    beside = panel.locator(".neighbours tr", has_text="this trial")
    expect(beside.locator("td").last).to_have_text("not counted: lab limited")  # as others say of themselves
    assert page.evaluate("document.activeElement.tagName") == "BODY"
    explorer.set_view(trial=None)
    expect(panel).to_be_hidden()
    open_trial("A:6")
    expect(panel.locator(".warning")).to_contain_text("connection refused")
    expect(panel).to_contain_text("The trial kept no series.")
    expect(panel.locator(".neighbours tr")).to_have_count(1 + 2 + 1 + 3)
    explorer.set_view(trial=None)
    page.locator("body").evaluate("() => document.activeElement.blur()")
    open_trial("A:3")
    expect(panel.locator("h2")).to_have_text("Trial 3, cycle 1: 8 × 256 KiB")
    expect(panel.locator("h2")).to_be_focused()
    expect(panel.locator(".limit")).to_contain_text("the path's capacity")
    expect(panel.locator("[data-section=results]")).to_contain_text("38.5 Mbit/s")
    settings = panel.locator("[data-section=settings]")
    settings.locator("summary").click()
    expect(settings.locator("tr", has_text="window")).to_contain_text("256 KiB")
    following = panel.get_by_role("button", name="Next trial of this path")
    following.click()
    expect(panel.locator(".meta")).to_contain_text("A:6 ·")
    expect(following).to_be_focused()
    assert explorer.evaluate("(app) => app.view.trial") == "A:6"
    page.go_back()
    expect(panel.locator(".meta")).to_contain_text("A:3 ·")
    expect(settings).to_have_attribute("open", "")  # it stays open

    page.route("**/api/trial/*", lambda route: route.fulfill(status=200, body="not JSON"))
    explorer.set_view(trial="A:8")
    expect(panel.locator("[role=alert]")).to_contain_text("The trial could not be read: ")
    page.unroute("**/api/trial/*")
    open_trial("A:7")
