"""A trial's series in the page: moved and zoomed by keys, mouse and fingers, read anew for a closer look."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import BrowserContext, FloatRect, Page, expect

from tests.browser.explorer_page import ExplorerPage
from tests.browser.watching import Watch
from tests.builders.explored import make_explored
from tests.builders.results import SyntheticResults, write_results

FRAME, STATUS = "[data-panel=details] [data-part=frame]", "[data-panel=details] .course-status"
_TIMES = re.compile(r"from ([\d.]+) s to ([\d.]+) s: (.*)\.$")


def read_times(page: Page) -> tuple[float, float]:
    """The part of the time that is shown, by its text."""
    expect(page.locator(STATUS)).to_have_text(_TIMES)
    found = _TIMES.search(page.locator(STATUS).inner_text())
    assert found is not None
    return float(found[1]), float(found[2])


def find_area(page: Page) -> FloatRect:
    """Where the series are drawn."""
    area = page.locator(f"{FRAME} .u-over")
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    return box


def test_keys_buttons_and_mouse_move_and_zoom_within_the_trial(
    page: Page, open_results: Callable[..., ExplorerPage]
) -> None:
    """Of a trial of 8 streams with 3.5 s of intervals."""
    explorer = open_results(page, "trial=A:3")
    expect(page.locator(f"{FRAME} canvas")).to_have_count(1)

    def expect_times(first: float, last: float) -> None:
        expect(page.locator(STATUS)).to_contain_text(f"from {first:.3f} s to {last:.3f} s")

    expect(page.locator(STATUS)).to_have_text(re.compile(r" s: 0\.7787 to 38\.52 Mbit/s\.$"))
    names = page.locator(".course-keys li").all_inner_texts()
    assert names == ["all 8 streams", *(f"stream {one}" for one in range(8)), "steady window"]
    frame = page.locator(FRAME)
    expect(frame).to_have_attribute("aria-label", page.locator(STATUS).inner_text())
    expect_times(0, 3.5)
    frame.focus()
    page.keyboard.press("+")
    expect_times(0.875, 2.625)
    page.keyboard.press("ArrowRight")
    expect_times(1.313, 3.063)
    page.keyboard.press("End")
    expect_times(1.75, 3.5)
    page.keyboard.press("ArrowRight")  # there is nothing behind the end
    expect_times(1.75, 3.5)
    page.get_by_role("button", name="Zoom out").click()
    expect_times(0, 3.5)
    page.get_by_role("button", name="Zoom in").click()
    page.get_by_role("button", name="Earlier").click()
    expect_times(0.438, 2.188)
    frame.focus()
    page.keyboard.press("0")
    expect_times(0, 3.5)
    frame.blur()

    box = find_area(page)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.evaluate("window.addEventListener('scrollend', () => { window.scrolled = true; })")
    page.mouse.wheel(0, -100)
    page.wait_for_function("() => window.scrolled")  # the page scrolls, as anywhere
    assert read_times(page) == (0, 3.5)
    box = find_area(page)
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.click(*middle)
    page.mouse.wheel(0, -100)
    explorer.settle()
    first, last = read_times(page)
    assert last - first == pytest.approx(3.5 / 1.25, abs=0.01)
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] + 80, middle[1], steps=4)
    page.mouse.up()
    explorer.settle()
    moved, _ = read_times(page)
    assert moved == pytest.approx(max(0.0, first - 80 / box["width"] * (last - first)), abs=0.02)
    page.mouse.dblclick(*middle)
    expect_times(0, 3.5)

    choice = page.get_by_label("Series over the trial's time")
    choice.focus()
    choice.select_option("loaded_probes.rtt_ns")
    expect(page.locator(STATUS)).to_contain_text("RTT, probes under load")
    expect(page.locator(".trial")).to_contain_text("1 probe lost.")
    expect(choice).to_be_focused()
    assert "series=loaded_probes.rtt_ns" in explorer.text
    page.reload()
    expect(page.locator(STATUS)).to_contain_text("RTT, probes under load")


def test_fingers_zoom_and_move_a_long_series_which_is_read_anew(
    new_context: Callable[..., BrowserContext], served: Callable[..., str], tmp_path: Path, watch: Watch
) -> None:
    made = make_explored(cycles=1)
    rng = np.random.default_rng(1)
    probes = {"sent_ns": np.arange(40_000) * 10**5, "rtt_ns": rng.integers(10**7, 2 * 10**7, 40_000)}
    long = SyntheticResults(
        made.campaign, made.plan(), made.records, {1: {"loaded_probes": pd.DataFrame(probes)}}
    )
    page = new_context(viewport={"width": 390, "height": 800}, has_touch=True).new_page()
    explorer = ExplorerPage(page).open(
        served(write_results(long, tmp_path / "long")), "trial=A:1&series=loaded_probes.rtt_ns"
    )
    expect(page.locator(".trial")).to_contain_text("40,000 times are drawn as minimum and maximum")
    drawn = page.evaluate(
        "async (path) => (await (await fetch(path)).json()).lines[0].values.length",
        "api/course/A:1?series=loaded_probes.rtt_ns&pixels=1280",
    )
    assert 1280 < drawn <= 4 * 1280
    box = find_area(page)
    y = box["y"] + box["height"] / 2
    touch = page.context.new_cdp_session(page)

    def send(kind: str, *shares: float) -> None:
        points = [
            {"x": box["x"] + share * box["width"], "y": y, "id": number}
            for number, share in enumerate(shares)
        ]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    before = read_times(page)
    for _ in range(6):
        send("touchStart", 0.4)
        send("touchStart", 0.4, 0.6)
        send("touchMove", 0.3, 0.7)
        send("touchMove", 0.2, 0.8)
        send("touchEnd")
        explorer.settle()
        first, last = read_times(page)
        assert last - first < 0.7 * (before[1] - before[0])
        before = first, last
    expect(page.locator(".trial")).not_to_contain_text("are drawn as")
    asked = [url for url in watch.requests if "/api/course/" in url and "start=" in url][-1]
    part: dict[str, Any] = page.evaluate("async (url) => (await fetch(url)).json()", asked)
    assert not part["reduced"]
    assert part["start"] <= first < last <= part["end"]
    send("touchStart", 0.5)
    send("touchMove", 0.6)
    send("touchMove", 0.7)
    send("touchEnd")
    explorer.settle()
    assert read_times(page)[0] < first
