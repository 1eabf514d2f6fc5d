"""Trials that do not count, counted all the same: the page says so wherever they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page

from tests.browser.explorer_page import ExplorerPage

PLAIN = "x=streams&y=throughput_bits_per_s&colour=window_bytes&facet=path"
HOVER = """() => [...document.querySelectorAll(".js-plotly-plot")].flatMap((one) => one.data)
  .flatMap((trace) => trace.text || []).join("\\n")"""


def test_the_page_names_what_it_counts(page: Page, served: Callable[..., str], results_folder: Path) -> None:
    page.goto(served(results_folder))
    explorer = ExplorerPage(page).open(page.url.partition("#")[0], PLAIN)
    figure = page.locator("[data-panel=figure]")
    assert "trial that is not counted" in figure.inner_text()
    assert "not counted: lab-limited" in page.evaluate(HOVER)
    explorer.set_view(count="all")
    shown = figure.inner_text()
    assert "unusable trial, counted" in shown
    assert "Unusable trials are counted: 6 failed, 5 interrupted, 5 lab-limited." in shown
    assert "not counted" not in shown + page.evaluate(HOVER)
    assert "unusable, counted: lab-limited" in page.evaluate(HOVER)
