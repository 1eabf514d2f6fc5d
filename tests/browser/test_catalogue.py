"""The page that lists the results of a folder: links, boxes, words, states; titles are only text."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.watching import Watch
from tests.builders.results import make_quickstart, write_results
from tests.serving import ServedExplorer

HOSTILE = "<script>alert(1)</script>\u202e & <b>bold</b>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four results: of three days, one with a hostile title, and one that is damaged."""
    for name, day, title in (("old", 1, "First"), ("new", 3, "Last"), ("odd", 2, HOSTILE)):
        results = make_quickstart(created_utc=f"2026-01-0{day}T00:00:00Z", title=title)
        write_results(results, tmp_path / "all" / name)
    shutil.copytree(tmp_path / "all" / "old", tmp_path / "all" / "torn")
    database = tmp_path / "all" / "torn" / "results.db"
    content = database.read_bytes()
    database.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))
    return tmp_path / "all"


@pytest.fixture
def listing(page: Page, serve: Callable[..., ServedExplorer], folder: Path) -> Page:
    """The page of that folder."""
    served = serve(folder)
    page.goto(served.listener.format_access_url(served.keys.token))
    expect(page.get_by_text("4 results, newest first")).to_be_visible()
    return page


def list_titles(page: Page) -> list[str]:
    return [row.inner_text().splitlines()[0] for row in page.locator("tbody th").all()]


def test_results_are_listed_newest_first_and_words_narrow_the_list(listing: Page) -> None:
    titles = list_titles(listing)
    assert [titles[1], titles[3]] == ["Last", "First"]
    assert titles[2] == "<script>alert(1)</script>\\u202e & <b>bold</b>"  # shown, not obeyed
    rows = listing.locator("tbody tr")
    expect(rows.nth(0)).to_contain_text("damaged")
    expect(rows.nth(0).locator("a, input")).to_have_count(0)
    expect(rows.nth(1)).to_contain_text("complete")
    expect(rows.nth(1)).to_contain_text("16 of 16")
    assert Axe().run(listing).response["violations"] == []
    listing.get_by_label("Find").fill("first COMPLETE")
    expect(listing.get_by_text("1 of 4 results")).to_be_visible()
    assert list_titles(listing) == ["First"]


def test_a_title_opens_its_results(listing: Page) -> None:
    listing.get_by_role("link", name="Last").click()
    expect(listing.locator("[data-panel=sources]")).to_contain_text("Last")
    listing.get_by_role("link", name="Other results").click()
    expect(listing.get_by_role("heading", name="Results")).to_be_visible()


def test_boxes_open_several_with_the_oldest_as_a_by_keyboard_alone(listing: Page) -> None:
    button = listing.locator("[data-open]")
    expect(button).to_be_disabled()
    for name in ("Last", "First"):
        listing.get_by_label(f"Choose {name}").focus()
        listing.keyboard.press("Space")
    expect(button).to_have_text("Open 2 on the same axes")
    button.focus()
    listing.keyboard.press("Enter")
    sources = listing.locator("[data-panel=sources] .sources li")
    expect(sources.nth(0)).to_contain_text("First")
    expect(sources.nth(1)).to_contain_text("Last")


def test_a_result_that_appears_is_listed_without_loading_the_page_again(listing: Page, folder: Path) -> None:
    listing.get_by_label("Choose Last").check()
    write_results(make_quickstart(created_utc="2026-01-04T00:00:00Z", title="Fresh"), folder / "fresh")
    expect(listing.get_by_text("5 results, newest first")).to_be_visible()
    assert "Fresh" in list_titles(listing)
    expect(listing.get_by_label("Choose Last")).to_be_checked()


def test_a_page_of_results_that_others_replaced_says_so_and_shows_none_of_them(
    page: Page, serve: Callable[..., ServedExplorer], folder: Path, watch: Watch
) -> None:
    served = serve(folder / "new")
    page.goto(served.listener.format_access_url(served.keys.token))
    expect(page.locator("[data-panel=sources]")).to_contain_text("Last")
    (folder / "new").rename(folder.parent / "gone")  # at once: the server may be reading it
    write_results(make_quickstart(created_utc="2026-02-01T00:00:00Z", title="Other"), folder / "new")
    said = page.evaluate("window.pathlabExplorer.app.source.trial(0).catch((error) => error.message)")
    assert "others took their place" in said
    page.reload()
    expect(page.locator("[data-panel=sources]")).to_contain_text("Other")
    watch.expect("status of 410")
