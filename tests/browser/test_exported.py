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
from tests.browser.explorer_page import ExplorerPage, check_accessibility, check_pictures, download
from tests.browser.watching import Watch
from tests.builders.results import make_campaign

#: Every answer ends after ten bytes, as when its server is killed.
CUT_SHORT = """window.fetch = async () => new Response(new ReadableStream({
  pull(stream) {
    stream.enqueue(new Uint8Array(10));
    stream.error(new TypeError("network error"));
  },
}))"""


@pytest.fixture(scope="module")
def folder(make_folder: Callable[..., Path]) -> Path:
    """Few trials, but enough for verdicts."""
    return make_folder("few", cycles=12, streams=(1, 4), destinations=("east",))


def test_a_file_shows_what_the_server_would_and_asks_nobody(
    page: Page, exported: Callable[..., str], folder: Path, watch: Watch
) -> None:
    address = exported(folder)
    explorer = ExplorerPage(page).open(address)
    assert page.locator("html").get_attribute("data-mode") == "exported"
    expect(page.locator("[data-panel=notice]")).to_contain_text("4 significant digits")
    expect(page.locator("[data-panel=live]")).to_be_hidden()
    assert page.evaluate("pathlabExplorer.runs.liveState.link") == "closed"
    explorer.open_folds()
    check_accessibility(page)
    check_pictures(page)
    assert (
        len(download(page, "csv").splitlines()) > 2
    )  # its numbers are tested in tests/scripts/test_exported.py
    assert explorer.value("command").startswith("pathlab view few ")

    against = page.locator("[data-panel=against]")
    explorer.set_view(baseline="65536")
    expect(against.locator(".verdict").first).to_be_visible()
    explorer.set_view(text="west")
    expect(against).to_contain_text("No verdicts: this file holds")
    explorer.set_view(statistic="mean", baseline=None, trial="A:1")
    details = page.locator("[data-panel=details]")
    expect(details).to_contain_text("Trial 1, cycle 1")
    expect(details.locator("canvas").first).to_be_visible()  # the course of its rate
    assert "stat=mean" in explorer.address
    page.reload()
    expect(page.locator(".js-plotly-plot")).to_be_visible()
    assert explorer.evaluate("(app) => app.view.statistic") == "mean"
    assert {one for one in watch.requests if not one.startswith(("data:", "blob:"))} == {address}


def test_a_file_says_what_it_leaves_out_and_that_it_is_empty(
    page: Page, exported: Callable[..., str], results_folder: Path, tmp_path: Path
) -> None:
    limit = len(render_exported("", b"", b"", ()).encode()) + SPARE_BYTES + 9_000
    small = export_page(ExploredResults.open([results_folder]), limit)
    file = tmp_path / "small.html"
    file.write_text(small.text, encoding="utf-8")
    ExplorerPage(page).open(file.as_uri(), "trial=A%3A100")
    assert len(small.left_out) > 1
    for text in small.left_out:
        expect(page.locator("[data-panel=notice]")).to_contain_text(text)
    expect(page.locator("[data-panel=details]")).to_contain_text("'pathlab serve RESULTS' shows them")
    with Results.create(tmp_path / "empty", make_campaign(title="Nothing yet"), ()):
        pass
    page.goto(exported(tmp_path / "empty"))
    expect(page.locator("[data-panel=figure]")).to_contain_text("no trials yet")


def test_a_page_that_cannot_read_its_results_says_so(
    page: Page,
    exported: Callable[..., str],
    served: Callable[..., str],
    folder: Path,
    watch: Watch,
) -> None:
    page.add_init_script(f"delete window.DecompressionStream; {CUT_SHORT}")
    for address, said in ((exported(folder), "too old"), (served(folder), "does not answer")):
        page.goto(address)
        expect(page.locator("[data-waiting][role=alert]")).to_contain_text(said)
        watch.expect(said)
