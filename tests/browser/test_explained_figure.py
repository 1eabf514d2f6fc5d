"""A figure says what its numbers are also where the page around it is missing: in a file, and in print."""

from __future__ import annotations

import urllib.parse
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page

from tests.browser.explorer_page import ExplorerPage

PLAIN = "x=streams&y=throughput_bits_per_s&colour=window_bytes&facet=path"


def read_picture(page: Page) -> str:
    """The text of the figure as an SVG file."""
    address = str(page.evaluate("() => window.pathlabExplorer.figurePanel.toImage({ format: 'svg' })"))
    drawing = ET.fromstring(urllib.parse.unquote(address.partition(",")[2]))
    return " ".join(" ".join(drawing.itertext()).split())


def test_a_picture_says_what_its_marks_are_and_what_is_left_out(
    page: Page, served: Callable[..., str], results_folder: Path
) -> None:
    page.goto(served(results_folder))
    explorer = ExplorerPage(page).open(page.url.partition("#")[0], PLAIN)
    text = read_picture(page)
    assert "Median; 95 % confidence interval; open markers: undecided, too few trials." in text
    assert "128 trials, 16 not counted, 2 points undecided." in text
    assert "11 trials without Throughput not shown." in text
    explorer.set_view(statistic="p90", count="all", where={"streams": {"levels": [1, 2], "except": False}})
    text = read_picture(page)
    assert "Only: Streams is 1 or 2." in text
    assert "90th percentile;" in text
    assert "64 of 128 trials" in text
    assert "Unusable trials are counted: " in text


def test_undecided_points_name_their_statistic(
    page: Page, served: Callable[..., str], make_folder: Callable[..., Path]
) -> None:
    page.goto(served(make_folder("few", cycles=2)))
    ExplorerPage(page).open(page.url.partition("#")[0], f"{PLAIN}&stat=mean")
    assert "mean, undecided: too few trials" in page.locator("[data-panel=figure]").inner_text()


def test_results_of_the_same_title_are_told_apart(
    page: Page, served: Callable[..., str], make_folder: Callable[..., Path]
) -> None:
    page.goto(served(make_folder("before", cycles=1), make_folder("after", cycles=1)))
    ExplorerPage(page).open(page.url.partition("#")[0])
    shown = [one.inner_text() for one in page.locator(".sources li:has(.badge)").all()]
    assert ["before · " in shown[0], "after · " in shown[1]] == [True, True]


def test_print_has_no_frame_of_the_focus(
    page: Page, served: Callable[..., str], results_folder: Path
) -> None:
    page.goto(served(results_folder))
    ExplorerPage(page).open(page.url.partition("#")[0], PLAIN)
    page.keyboard.press("Tab")
    style = "() => getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(style) != "none"
    page.emulate_media(media="print")
    assert page.evaluate(style) == "none"
