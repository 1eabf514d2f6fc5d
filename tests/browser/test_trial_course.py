"""A trial's series in the page: moved and zoomed by keys, mouse and fingers, read anew for a closer look."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.explorer_page import ExplorerPage, check_accessibility
from tests.browser.watching import Watch
from tests.builders.explored import make_explored
from tests.builders.results import SyntheticResults, write_results

FRAME, STATUS = "[data-panel=details] [data-part=frame]", "[data-panel=details] .course-status"
_TIMES = re.compile(r"from ([\d.]+) s to ([\d.]+) s: (.*)\.$")


@pytest.fixture
def explorer(page: Page, served: Callable[..., str], results_folder: Path) -> ExplorerPage:
    """A trial of 8 streams with 3.5 s of intervals is open."""
    return open_course(ExplorerPage(page), served(results_folder))


def open_course(explorer: ExplorerPage, address: str, text: str = "trial=A:3") -> ExplorerPage:
    explorer.open(address, text)
    expect(explorer.page.locator(f"{FRAME} canvas")).to_have_count(1)
    expect(explorer.page.locator(STATUS)).to_have_text(_TIMES)
    return explorer


def read_times(page: Page) -> tuple[float, float]:
    """The part of the time that is shown, by its text."""
    found = _TIMES.search(page.locator(STATUS).inner_text())
    assert found is not None
    return float(found[1]), float(found[2])


def test_streams_and_their_sum_are_drawn_and_described(explorer: ExplorerPage) -> None:
    page = explorer.page
    expect(page.locator(STATUS)).to_have_text(
        "Rate, streams, receiver, from 0.000 s to 3.500 s: 0.7787 to 38.52 Mbit/s."
    )
    names = page.locator(".course-keys li").all_inner_texts()
    assert names == ["all 8 streams", *(f"stream {one}" for one in range(8)), "steady window"]
    expect(page.locator(FRAME)).to_have_attribute("aria-label", re.compile("^Rate, streams, receiver, from"))
    check_accessibility(page)


def test_another_series_is_chosen_and_part_of_the_link(explorer: ExplorerPage) -> None:
    page = explorer.page
    choice = page.get_by_label("Series over the trial's time")
    choice.focus()
    choice.select_option("loaded_probes.rtt_ns")
    expect(page.locator(STATUS)).to_contain_text("RTT, probes under load")
    expect(page.locator(".trial")).to_contain_text("1 probe lost.")
    expect(choice).to_be_focused()
    assert "series=loaded_probes.rtt_ns" in explorer.text
    page.reload()
    expect(page.locator(STATUS)).to_contain_text("RTT, probes under load")


def test_keys_and_buttons_move_and_zoom_within_the_trial(explorer: ExplorerPage) -> None:
    page = explorer.page
    page.locator(FRAME).focus()
    page.keyboard.press("+")
    expect(page.locator(STATUS)).to_contain_text("from 0.875 s to 2.625 s")
    page.keyboard.press("ArrowRight")
    expect(page.locator(STATUS)).to_contain_text("from 1.313 s to 3.063 s")
    page.keyboard.press("End")
    expect(page.locator(STATUS)).to_contain_text("from 1.750 s to 3.500 s")
    page.keyboard.press("ArrowRight")  # there is nothing behind the end
    expect(page.locator(STATUS)).to_contain_text("from 1.750 s to 3.500 s")
    page.get_by_role("button", name="Zoom out").click()
    expect(page.locator(STATUS)).to_contain_text("from 0.000 s to 3.500 s")
    page.get_by_role("button", name="Zoom in").click()
    page.get_by_role("button", name="Earlier").click()
    expect(page.locator(STATUS)).to_contain_text("from 0.438 s to 2.188 s")
    page.locator(FRAME).focus()
    page.keyboard.press("0")
    expect(page.locator(STATUS)).to_contain_text("from 0.000 s to 3.500 s")


def test_the_mouse_zooms_once_the_figure_was_clicked_and_drags(explorer: ExplorerPage) -> None:
    page = explorer.page
    over = page.locator(f"{FRAME} .u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    page.evaluate("window.addEventListener('scrollend', () => { window.scrolled = true; })")
    page.mouse.wheel(0, -100)
    page.wait_for_function("() => window.scrolled")  # the page scrolls, as anywhere
    assert read_times(page) == (0, 3.5)
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.click(*middle)
    page.mouse.wheel(0, -100)
    ExplorerPage(page).settle()
    first, last = read_times(page)
    assert last - first == pytest.approx(3.5 / 1.25, abs=0.01)
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] + 80, middle[1], steps=4)
    page.mouse.up()
    ExplorerPage(page).settle()
    moved, _ = read_times(page)
    assert moved == pytest.approx(max(0.0, first - 80 / box["width"] * (last - first)), abs=0.02)
    page.mouse.dblclick(*middle)
    expect(page.locator(STATUS)).to_contain_text("from 0.000 s to 3.500 s")


def test_two_fingers_zoom_and_one_moves(
    new_context: Callable[..., BrowserContext], served: Callable[..., str], results_folder: Path
) -> None:
    page = new_context(viewport={"width": 390, "height": 800}, has_touch=True).new_page()
    open_course(ExplorerPage(page), served(results_folder))
    over = page.locator(f"{FRAME} .u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    touch = page.context.new_cdp_session(page)

    def send(kind: str, *shares: float) -> None:
        points = [
            {"x": box["x"] + share * box["width"], "y": y, "id": number}
            for number, share in enumerate(shares)
        ]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    send("touchStart", 0.4)
    send("touchStart", 0.4, 0.6)
    send("touchMove", 0.3, 0.7)
    send("touchMove", 0.2, 0.8)
    send("touchEnd")
    ExplorerPage(page).settle()
    first, last = read_times(page)
    assert last - first < 2.5
    send("touchStart", 0.5)
    send("touchMove", 0.6)
    send("touchMove", 0.7)
    send("touchEnd")
    ExplorerPage(page).settle()
    assert read_times(page)[0] < first


def test_a_closer_look_at_a_reduced_series_is_read_anew(
    page: Page, served: Callable[..., str], tmp_path: Path, watch: Watch
) -> None:
    made = make_explored(cycles=1)
    rng = np.random.default_rng(1)
    probes = {"sent_ns": np.arange(40_000) * 10**5, "rtt_ns": rng.integers(10**7, 2 * 10**7, 40_000)}
    long = SyntheticResults(
        made.campaign, made.plan(), made.records, {1: {"loaded_probes": pd.DataFrame(probes)}}
    )
    open_course(
        ExplorerPage(page),
        served(write_results(long, tmp_path / "long")),
        "trial=A:1&series=loaded_probes.rtt_ns",
    )
    expect(page.locator(".trial")).to_contain_text("40,000 times are drawn as minimum and maximum")
    drawn = page.evaluate(
        "async (path) => (await (await fetch(path)).json()).lines[0].values.length",
        "api/course/A:1?series=loaded_probes.rtt_ns&pixels=1280",
    )
    assert 1280 < drawn <= 4 * 1280
    page.locator(FRAME).focus()
    for _ in range(9):
        page.keyboard.press("+")
    expect(page.locator(".trial")).not_to_contain_text("are drawn as")
    asked = [url for url in watch.requests if "/api/course/" in url and "start=" in url][-1]
    part: dict[str, Any] = page.evaluate("async (url) => (await fetch(url)).json()", asked)
    first, last = read_times(page)
    assert not part["reduced"]
    assert part["start"] <= first < last <= part["end"]
