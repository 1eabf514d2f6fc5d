"""Saved views on the page: two browsers at once, names that hold markup."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import BrowserContext, expect

from pathlab.store.saved_views import read_views, save_view
from tests.browser.explorer_page import ExplorerPage
from tests.browser.watching import Watch

NAME = "<img src onerror> 50 % \"quoted\" 'and' #not, a fragment"
STATUS = "[data-status=saved]"


def save(explorer: ExplorerPage, name: str) -> None:
    explorer.page.get_by_label("Save this view as").fill(name)
    explorer.page.keyboard.press("Enter")


def test_views_are_saved_and_two_browsers_lose_nothing_of_each_other(
    new_context: Callable[..., BrowserContext],
    served: Callable[..., str],
    make_folder: Callable[..., Path],
    watch: Watch,
) -> None:
    folder = make_folder(cycles=2)
    first, second = (ExplorerPage(new_context().new_page()).open(served(folder)) for _ in range(2))
    for explorer in (first, second):
        explorer.open_folds("saved")
    page, status, link = first.page, first.page.locator(STATUS), first.page.locator(".views a")
    first.set_view(statistic="mean")
    text = first.text
    save(first, NAME)
    expect(status).to_have_text(f"Saved as {NAME}.")
    assert read_views(folder)[NAME].view == text
    assert page.locator("img").count() == 0
    expect(link).to_have_attribute("aria-current", "true")
    first.set_view(statistic="max")
    expect(link).not_to_have_attribute("aria-current", "true")
    link.click()
    first.settle()
    assert first.text == text
    first.set_view(statistic="min")
    page.get_by_label("Save this view as").fill(NAME)
    page.get_by_role("button", name="Replace").click()
    expect(link).to_have_attribute("href", f"#{first.text}")
    assert read_views(folder)[NAME].view == first.text
    page.get_by_role("button", name="Remove the view").click()
    expect(status).to_have_text(f"Removed the view {NAME}.")
    assert read_views(folder) == {}

    save(first, "one")
    expect(status).to_have_text("Saved as one.")
    save(second, "two")
    expect(second.page.locator(STATUS)).to_have_text("Saved as two.")
    assert second.page.locator(".views a").all_text_contents() == ["one", "two"]
    first.set_view(statistic="mean")
    save(first, "two")  # this browser does not know that it is there
    expect(status).to_contain_text("Not saved: the view 'two' exists already")
    watch.expect("409")
    assert "stat=mean" not in read_views(folder)["two"].view
    expect(link).to_have_count(2)
    save_view(folder, "two", "x=streams&stat=max", replaces=read_views(folder)["two"].view)
    page.get_by_role("button", name="Remove the view two").click()
    expect(status).to_contain_text("Not removed: the view 'two' was changed meanwhile")
    watch.expect("409")
    assert set(read_views(folder)) == {"one", "two"}
