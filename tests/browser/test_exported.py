"""The page with its data inside, opened from a file: it shows what the server would, and asks nobody."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from pathlab.report.explorer.export import SPARE_BYTES, export_page
from pathlab.report.explorer.page import render_exported
from pathlab.store.results import Results
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.exploration.view_text import format_view, parse_view
from tests.browser.watching import Watch
from tests.builders.explored import MARKUP
from tests.builders.results import make_campaign

VIEW = "x=streams&y=throughput_bits_per_s,drtt_ns&colour=window_bytes&facet=path&where.cycle=2..6"


@pytest.fixture(scope="module")
def address(exported: Callable[..., str], results_folder: Path) -> str:
    """The file of ``results_folder``."""
    return exported(results_folder)


def open_page(page: Page, address: str) -> Page:
    """Open the page and wait until its figure is drawn."""
    page.goto(address)
    expect(page.locator(".js-plotly-plot")).to_be_visible()
    return page


def test_a_file_asks_nobody_and_breaks_no_policy(page: Page, address: str, watch: Watch) -> None:
    open_page(page, address)
    assert [one for one in watch.requests if not one.startswith(("data:", "blob:"))] == [page.url]
    assert page.locator("html").get_attribute("data-mode") == "exported"
    expect(page.locator("[data-panel=notice]")).to_contain_text(
        "Measures are rounded to 4 significant digits"
    )


def test_a_view_is_kept_in_the_address_of_the_file(page: Page, address: str) -> None:
    open_page(page, address)
    page.evaluate("window.pathlabExplorer.app.setView({ statistic: 'mean' })")
    assert "stat=mean" in page.evaluate("window.location.hash")
    page.reload()
    expect(page.locator(".js-plotly-plot")).to_be_visible()
    assert page.evaluate("window.pathlabExplorer.app.view.statistic") == "mean"


def test_details_and_series_of_a_trial_are_in_the_file(page: Page, address: str) -> None:
    open_page(page, f"{address}#{VIEW}&trial=A%3A1")
    details = page.locator("[data-panel=details]")
    expect(details).to_contain_text("Trial 1, cycle 1")
    expect(details).to_contain_text("Congestion")
    expect(details.locator("canvas").first).to_be_visible()  # the course of its rate


def test_verdicts_of_the_first_view_are_in_the_file(page: Page, address: str, results_folder: Path) -> None:
    results = ExploredResults.open([results_folder])
    first = format_view(parse_view("", results))
    open_page(page, f"{address}#{first}&baseline=65536")
    against = page.locator("[data-panel=against]")
    expect(against).to_contain_text("Compared with 64 KiB")
    page.evaluate("window.pathlabExplorer.app.setView({ text: 'west' })")
    expect(against).to_contain_text("this file holds those of its first view and of saved views")


def test_markup_of_results_does_nothing_in_a_file(
    page: Page, exported: Callable[..., str], hostile_folder: Path
) -> None:
    open_page(page, exported(hostile_folder))
    page.get_by_text("Filter by another column").wait_for()
    assert page.evaluate("window.hit") is None
    shown = MARKUP.split("\u202e")[0]
    assert shown in page.evaluate("document.body.innerText")
    assert page.title().startswith("Trials of <img src=x") or "<img src=x" in page.title()
    assert page.locator("img").count() == 0


def test_a_file_says_what_it_leaves_out(page: Page, results_folder: Path, tmp_path: Path) -> None:
    limit = len(render_exported("", b"", b"", ()).encode()) + SPARE_BYTES + 9_000
    small = export_page(ExploredResults.open([results_folder]), limit)
    file = tmp_path / "small.html"
    file.write_text(small.text, encoding="utf-8")
    open_page(page, f"{file.as_uri()}#trial=A%3A100")
    notices = page.locator("[data-panel=notice]")
    for text in small.left_out:
        expect(notices).to_contain_text(text)
    assert len(small.left_out) > 1
    expect(page.locator("[data-panel=details]")).to_contain_text("'pathlab serve RESULTS' shows them")


def test_a_file_without_trials_says_so(page: Page, exported: Callable[..., str], tmp_path: Path) -> None:
    with Results.create(tmp_path / "empty", make_campaign(title="Nothing yet"), ()):
        pass
    page.goto(exported(tmp_path / "empty"))
    expect(page.locator("[data-panel=figure]")).to_contain_text("These results have no trials yet.")


def test_a_browser_without_decompression_is_told(page: Page, address: str, watch: Watch) -> None:
    page.add_init_script("delete window.DecompressionStream")
    page.goto(address)
    expect(page.locator("[role=alert]")).to_contain_text("this browser is too old for the page")
    watch.expect("too old for the page")
