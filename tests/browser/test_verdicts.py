"""The verdicts below the figure, and published tables over it.

Which view is asked for, and how answers are shown, is tested in ``tests/scripts/test_verdicts.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.explorer_page import ExplorerPage
from tests.builders.levels import measure_levels
from tests.builders.results import write_results


def test_a_baseline_has_the_verdicts_of_compare(
    page: Page, served: Callable[..., str], results_folder: Path, make_folder: Callable[..., Path]
) -> None:
    slower = make_folder("slower", speed=0.8, seed=2)
    view = "x=streams&y=throughput_bits_per_s&colour=results&baseline=A"
    explorer = ExplorerPage(page).open(served(results_folder, slower), view)
    sources = page.locator(".sources li:has(.badge) .soft").all_inner_texts()
    assert [text.split(" · ")[0] for text in sources] == ["results", "slower"]  # of the same title
    panel = page.locator("[data-panel=against]")
    expect(panel.locator("h2")).to_contain_text("Compared with ")
    expect(panel.locator(".verdict-sentence")).to_contain_text("Throughput fell by")
    expect(panel.locator(".verdict.worse").first).to_have_text("worse")
    expect(panel.locator("tbody tr")).to_have_count(2 * 4 * 2)
    explorer.set_view(where={"cycle": {"low": 1, "high": 3}})
    expect(panel.locator(".info")).to_contain_text("No verdict: ")
    expect(panel.locator("th", has_text="Verdict")).to_have_count(0)
    explorer.set_view(where={"results": {"levels": ["A"], "except": False}})
    expect(panel).to_contain_text("No verdicts: ")
    explorer.set_view(baseline=None)
    expect(panel).to_be_hidden()


def test_published_tables_are_laid_over_what_they_match(
    page: Page, served: Callable[..., str], tmp_path: Path
) -> None:
    cells = [{"streams": 1, "message_bytes": size} for size in (8, 64, 512, 4096)]
    made = measure_levels("reply", {False: {}, True: {}}, cells=cells, cycles=3)
    address = served(write_results(made, tmp_path / "messages"))
    view = "x=message_bytes&y=throughput_bits_per_s&colour=reply"
    explorer = ExplorerPage(page).open(address, view)
    panel, legend = page.locator("[data-panel=overlay]"), page.locator(".legend")
    page.get_by_role("combobox", name="Published figures").select_option("ibm-streams-3.0-internode")
    expect(panel).to_contain_text("IBM, InfoSphere Streams Version 3.0")
    expect(legend).to_contain_text("Streams 3.0 internode: tcp")
    assert "overlay=ibm-streams-3.0-internode" in explorer.text
    explorer.set_view(x="streams")
    expect(panel).to_contain_text("Not drawn: ")
    expect(legend).not_to_contain_text("Streams 3.0")
