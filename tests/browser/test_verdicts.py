"""The verdicts below the figure, and published tables over it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.explorer_page import ExplorerPage, check_accessibility
from tests.builders.levels import measure_levels
from tests.builders.results import write_results

PANEL = "[data-panel=against]"
LEVELS = "x=streams&y=throughput_bits_per_s&colour=window_bytes"


@pytest.fixture
def explorer(page: Page) -> ExplorerPage:
    return ExplorerPage(page)


def test_a_baseline_has_the_verdicts_of_compare(
    explorer: ExplorerPage, served: Callable[..., str], results_folder: Path
) -> None:
    explorer.open(served(results_folder), f"{LEVELS}&baseline=65536")
    panel = explorer.page.locator(PANEL)
    expect(panel.locator("h2")).to_have_text("Compared with 64 KiB")
    expect(panel.locator(".verdict-sentence")).to_contain_text("Throughput rose by")
    expect(panel.locator(".verdict.better").first).to_have_text("better")
    expect(panel.locator("tbody tr")).to_have_count(8)
    check_accessibility(explorer.page)
    explorer.set_view(where={"cycle": {"low": 1, "high": 3}})
    expect(panel.locator(".info")).to_contain_text("No verdict: ")
    expect(panel.locator("th", has_text="Verdict")).to_have_count(0)
    explorer.set_view(baseline=None)
    expect(panel).to_be_hidden()


def test_two_results_are_compared(
    explorer: ExplorerPage, served: Callable[..., str], results_folder: Path, make_folder: Callable[..., Path]
) -> None:
    slower = make_folder("slower", speed=0.8, seed=2)
    address = served(results_folder, slower)
    explorer.open(address, "x=streams&y=throughput_bits_per_s&colour=results&baseline=A")
    panel = explorer.page.locator(PANEL)
    expect(panel.locator(".verdict-sentence")).to_contain_text("Throughput fell by")
    explorer.set_view(where={"results": {"levels": ["A"], "except": False}})
    expect(panel).to_contain_text("No verdicts: the filters leave trials of one of the results alone")


def test_what_has_no_metric_says_so(
    explorer: ExplorerPage, served: Callable[..., str], results_folder: Path
) -> None:
    explorer.open(served(results_folder), "x=streams&y=fairness_jain&colour=window_bytes&baseline=65536")
    expect(explorer.page.locator(PANEL)).to_contain_text("No verdicts: no verdict for Jain's index")


def test_published_tables_are_laid_over_what_they_match(
    explorer: ExplorerPage, served: Callable[..., str], tmp_path: Path
) -> None:
    cells = [{"streams": 1, "message_bytes": size} for size in (8, 64, 512, 4096)]
    made = measure_levels("reply", {False: {}, True: {}}, cells=cells, cycles=3)
    address = served(write_results(made, tmp_path / "messages"))
    explorer.open(address, "x=message_bytes&y=throughput_bits_per_s&colour=reply")
    page = explorer.page
    choice = page.get_by_role("combobox", name="Published figures")
    choice.select_option("ibm-streams-3.0-internode")
    expect(page.locator("[data-panel=overlay]")).to_contain_text("IBM, InfoSphere Streams Version 3.0")
    expect(page.locator(".legend")).to_contain_text("Streams 3.0 internode: tcp")
    assert "overlay=ibm-streams-3.0-internode" in explorer.text
    explorer.set_view(x="streams")
    expect(page.locator("[data-panel=overlay]")).to_contain_text("Not drawn: its figures are of")
    expect(page.locator(".legend")).not_to_contain_text("Streams 3.0")


def test_no_published_table_is_offered_where_none_matches(
    explorer: ExplorerPage, served: Callable[..., str], results_folder: Path
) -> None:
    explorer.open(served(results_folder))
    expect(explorer.page.locator("[data-panel=overlay]")).to_be_hidden()
