"""The page that lists the results of a folder: links, boxes, words, states; titles are only text."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.explorer_page import check_accessibility
from tests.builders.results import make_quickstart, write_results

HOSTILE = "<script>alert(1)</script>\u202e & <b>bold</b>"


def write_folder(folder: Path) -> Path:
    """Four results: of three days, one with a hostile title, and one that is damaged."""
    for name, day, title in (("old", 1, "First"), ("new", 3, "Last"), ("odd", 2, HOSTILE)):
        results = make_quickstart(created_utc=f"2026-01-0{day}T00:00:00Z", title=title)
        write_results(results, folder / name)
    shutil.copytree(folder / "old", folder / "torn")
    database = folder / "torn" / "results.db"
    content = database.read_bytes()
    database.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))
    return folder


def list_titles(page: Page) -> list[str]:
    return [row.inner_text().splitlines()[0] for row in page.locator("tbody th").all()]


def test_results_are_listed_found_chosen_and_opened(
    page: Page, served: Callable[..., str], tmp_path: Path
) -> None:
    folder = write_folder(tmp_path / "all")
    page.goto(served(folder))
    expect(page.get_by_text("4 results, newest first")).to_be_visible()
    titles = list_titles(page)
    assert [titles[1], titles[3]] == ["Last", "First"]
    assert titles[2] == "<script>alert(1)</script>\\u202e & <b>bold</b>"  # shown, not obeyed
    rows = page.locator("tbody tr")
    expect(rows.nth(0)).to_contain_text("damaged")
    expect(rows.nth(0).locator("a, input")).to_have_count(0)
    expect(rows.nth(1)).to_contain_text("complete")
    expect(rows.nth(1)).to_contain_text("16 of 16")
    check_accessibility(page)
    page.get_by_label("Find").fill("first COMPLETE")
    expect(page.get_by_text("1 of 4 results")).to_be_visible()
    assert list_titles(page) == ["First"]
    page.get_by_label("Find").fill("")
    page.get_by_role("link", name="Last").click()
    sources = page.locator("[data-panel=sources]")
    expect(sources).to_contain_text("Last")
    page.get_by_role("link", name="Other results").click()
    expect(page.get_by_role("heading", name="Results")).to_be_visible()

    button = page.locator("[data-open]")
    expect(button).to_be_disabled()
    for name in ("Last", "First"):
        page.get_by_label(f"Choose {name}").focus()
        page.keyboard.press("Space")
    write_results(make_quickstart(created_utc="2026-01-04T00:00:00Z", title="Fresh"), folder / "fresh")
    expect(page.get_by_text("5 results, newest first")).to_be_visible()  # without loading the page again
    assert "Fresh" in list_titles(page)
    expect(page.get_by_label("Choose Last")).to_be_checked()
    expect(button).to_have_text("Open 2 on the same axes")
    button.focus()
    page.keyboard.press("Enter")
    expect(sources.locator(".sources li").nth(0)).to_contain_text("First")
    expect(sources.locator(".sources li").nth(1)).to_contain_text("Last")
