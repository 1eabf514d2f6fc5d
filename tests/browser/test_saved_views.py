"""Saved views on the page: two browsers at once, folders that cannot be written, names that hold markup."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pathlab.store.saved_views import read_views, save_view
from tests.browser.explorer_page import ExplorerPage
from tests.browser.watching import Watch
from tests.builders.explored import make_explored
from tests.builders.results import write_results
from tests.serving import ServedExplorer

NAME = "<img src onerror> 50 % \"quoted\" 'and' #not, a fragment"
STATUS = "[data-status=saved]"


@pytest.fixture
def folder(make_folder: Callable[..., Path]) -> Path:
    return make_folder(cycles=2)


def list_links(explorer: ExplorerPage) -> list[str | None]:
    return [link.text_content() for link in explorer.page.locator(".views a").all()]


def save(explorer: ExplorerPage, name: str) -> None:
    explorer.page.get_by_label("Save this view as").fill(name)
    explorer.page.keyboard.press("Enter")


def test_a_view_is_saved_opened_replaced_and_removed(
    page: Page, served: Callable[..., str], folder: Path
) -> None:
    explorer = ExplorerPage(page).open(served(folder))
    explorer.open_folds("saved")
    explorer.set_view(statistic="mean")
    text = explorer.text
    save(explorer, NAME)
    expect(page.locator(STATUS)).to_have_text(f"Saved as {NAME}.")
    assert read_views(folder)[NAME].view == text
    expect(page.locator(".views a")).to_have_attribute("aria-current", "true")
    explorer.set_view(statistic="max")
    expect(page.locator(".views a")).not_to_have_attribute("aria-current", "true")
    page.click(".views a")
    explorer.settle()
    assert explorer.text == text
    explorer.set_view(statistic="min")
    page.get_by_label("Save this view as").fill(NAME)
    page.get_by_role("button", name="Replace").click()
    expect(page.locator(".views a")).to_have_attribute("href", f"#{explorer.text}")
    assert read_views(folder)[NAME].view == explorer.text
    page.get_by_role("button", name="Remove the view").click()
    expect(page.locator(STATUS)).to_have_text(f"Removed the view {NAME}.")
    assert read_views(folder) == {}
    assert page.locator("img[onerror]").count() == 0


def test_two_browsers_lose_nothing_of_each_other(
    serve: Callable[..., ServedExplorer],
    new_context: Callable[..., BrowserContext],
    folder: Path,
    watch: Watch,
) -> None:
    server = serve(folder)
    explorers = []
    for _ in range(2):
        address = server.listener.format_access_url(server.keys.token)
        explorers.append(ExplorerPage(new_context().new_page()).open(address))
        explorers[-1].open_folds("saved")
    first, second = explorers
    save(first, "one")
    expect(first.page.locator(STATUS)).to_have_text("Saved as one.")
    save(second, "two")
    expect(second.page.locator(STATUS)).to_have_text("Saved as two.")
    assert list_links(second) == ["one", "two"]
    first.set_view(statistic="mean")
    save(first, "two")  # this browser does not know that it is there
    expect(first.page.locator(STATUS)).to_contain_text("Not saved: the view 'two' exists already")
    watch.expect("409")
    assert "stat=mean" not in read_views(folder)["two"].view
    expect(first.page.locator(".views a")).to_have_count(2)
    save_view(folder, "two", "x=streams&stat=max", replaces=read_views(folder)["two"].view)
    first.page.get_by_role("button", name="Remove the view two").click()
    expect(first.page.locator(STATUS)).to_contain_text("Not removed: the view 'two' was changed meanwhile")
    watch.expect("409")
    assert set(read_views(folder)) == {"one", "two"}


@pytest.fixture
def locked_folder() -> Iterator[Path]:
    """Results in which this process cannot write, also where it is root's."""
    owner = os.getuid()
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        folder = write_results(make_explored(cycles=1), Path(made) / "results")
        for path in folder.iterdir():
            path.chmod(0o644)
        folder.chmod(0o555)
        if owner == 0:
            os.setresuid(65534, 65534, 0)  # root may come back
        try:
            yield folder
        finally:
            os.setresuid(owner, owner, owner)
            folder.chmod(0o755)


def test_a_folder_that_cannot_be_written_is_one_clear_line(
    page: Page, locked_folder: Path, serve: Callable[..., ServedExplorer], watch: Watch
) -> None:
    server = serve(locked_folder)
    explorer = ExplorerPage(page).open(server.listener.format_access_url(server.keys.token))
    explorer.open_folds("saved")
    save(explorer, "one")
    expect(page.locator(STATUS)).to_contain_text("Not saved: the view cannot be saved in")
    expect(page.locator(STATUS)).to_contain_text("copy the link of the view")
    watch.expect("409")
    assert read_views(locked_folder) == {}
