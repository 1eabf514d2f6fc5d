"""The explorer, served and opened once in a real browser."""

from pathlib import Path

from playwright.sync_api import BrowserContext

from tests.browser.explorer_page import ExplorerPage
from tests.builders.explored import make_explored
from tests.builders.results import write_results
from tests.serving import serving


def test_a_served_page_draws_its_view_and_follows_a_change(tmp_path: Path, context: BrowserContext) -> None:
    results = make_explored(cycles=2)
    folder = write_results(results, tmp_path / "results")
    with serving(folder) as server:
        page = context.new_page()
        explorer = ExplorerPage(page).open(server.listener.format_access_url(server.keys.token))
        assert int(page.evaluate("pathlabExplorer.app.app.table.count")) == len(results.records)
        assert page.locator("svg.main-svg").count() > 0
        before = explorer.address
        explorer.set_view(colour="streams")
        assert explorer.address != before
        page.close()
