"""The figure of the explorer: what it draws of a view, and what it does for a hand and for a keyboard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.browser.explorer_page import ExplorerPage

RATE = "throughput_bits_per_s"
PLAIN = f"x=streams&y={RATE}&colour=window_bytes"
SCREENS = ((360, 740), (768, 1024), (1440, 900), (3840, 2160))
VIEWS = (
    PLAIN,
    f"{PLAIN}&facet=path",
    f"x=path&y={RATE},loaded_rtt_median_ns&colour=streams",
    f"x=started_utc&y={RATE}&colour=path&facet=status",
    f"x=loaded_rtt_median_ns&y={RATE}&colour=streams&scale-y=log10",
    f"{PLAIN}&facet=path&stat=cdf",
    f"{PLAIN}&stat=histogram&scale-x=log10",
)
#: Labels of the figure's axes and panels that lie on each other, or leave the figure.
CLASHES = """() => {
    const labels = ".frame .xtick text, .frame .ytick text, .frame .annotation-text";
    const shown = Array.from(document.querySelectorAll(labels)).filter((one) => one.textContent.trim())
        .map((one) => ({
            text: one.textContent, box: one.getBoundingClientRect(),
            tilted: (one.getAttribute("transform") || "").includes("rotate(-4"),
        }));
    const frame = document.querySelector(".frame").getBoundingClientRect();
    const apart = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1
        || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
    const found = shown.filter(({ box }) => box.left < frame.left - 1 || box.right > frame.right + 1)
        .map((one) => "outside: " + one.text);
    shown.forEach((one, at) => shown.slice(at + 1).forEach((other) => {
        const clash = !one.tilted && !other.tilted && !apart(one.box, other.box);
        if (clash) { found.push(one.text + " on " + other.text); }
    }));
    return found;
}"""
TRACES = """() => document.querySelector(".plot-live").data.map(
    ({ x, y, customdata, marker, error_y, text, mode }) =>
        ({ x, y, customdata, marker, error_y, text, mode }))"""


@pytest.fixture
def explorer(page: Page, served: Callable[..., str], results_folder: Path) -> Iterator[ExplorerPage]:
    page.goto(served(results_folder))
    yield ExplorerPage(page).open(page.url.partition("#")[0], PLAIN)
    page.close()  # before its server ends, which it may be asking


def count_points(explorer: ExplorerPage) -> int:
    return int(
        explorer.evaluate(
            "(app) => app.exploration.facets.flatMap((f) => f.curves).flatMap((c) => c.points).length"
        )
    )


def list_traces(explorer: ExplorerPage) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = explorer.page.evaluate(TRACES)
    return found


def test_it_draws_every_point_and_every_trial_of_the_view(explorer: ExplorerPage) -> None:
    traces = list_traces(explorer)
    estimates = [one for one in traces if one["error_y"]]
    open_marks = [
        one for one in traces if one["marker"] and one["marker"].get("line", {}).get("width", 0) > 2
    ]
    assert sum(len(one["x"]) for one in estimates + open_marks) == count_points(explorer)
    dots = [one for one in traces if one["marker"] and one["marker"]["size"] in (4, 5, 8)]
    assert sum(len(one["x"]) for one in dots) == explorer.evaluate(
        "(app) => app.exploration.facets.flatMap((f) => f.curves).flatMap((c) => c.dots).length"
    )
    assert any("not counted: failed" in text or "not counted" in text for one in dots for text in one["text"])
    explorer.set_view(dots=False)
    assert len(list_traces(explorer)) < len(traces)


def test_a_time_course_asks_for_a_trial_and_shows_it(explorer: ExplorerPage) -> None:
    page = explorer.page
    explorer.set_view(statistic="course")
    page.get_by_role("button", name="Open trial A:1").click()
    page.locator("[data-panel=figure] .course canvas").first.wait_for()
    assert page.inner_text("[data-panel=title] h1") == "Time course of trial A:1"
    assert not page.is_visible("figure.explored")
    explorer.set_view(statistic="median")
    assert page.is_visible("figure.explored")
    assert page.locator("[data-panel=figure] .course").count() == 0


def test_a_click_on_a_dot_opens_its_trial_and_rings_it(explorer: ExplorerPage) -> None:
    dots = next(
        at
        for at, one in enumerate(list_traces(explorer))
        if one["marker"] and one["marker"]["size"] in (4, 5)
    )
    explorer.page.evaluate(
        """(curve) => { const live = document.querySelector(".plot-live"); const trace = live.data[curve];
            live.emit("plotly_click", { points: [{ customdata: trace.customdata[0] }] }); }""",
        dots,
    )
    explorer.settle()
    trial = explorer.evaluate("(app) => app.view.trial")
    assert trial.startswith("A:")
    assert f"trial={trial}" in explorer.address.replace("%3A", ":")
    assert trial in explorer.page.inner_text(".frame")


def test_the_keyboard_walks_points_and_opens_trials(explorer: ExplorerPage) -> None:
    page = explorer.page
    page.focus(".frame")
    page.keyboard.press("ArrowRight")
    first = page.inner_text("[data-announcer]")
    assert "point 1 of 4" in first
    page.keyboard.press("ArrowRight")
    assert "point 2 of 4" in page.inner_text("[data-announcer]")
    assert page.is_visible(".cursor")
    page.keyboard.press("ArrowUp")
    assert page.inner_text("[data-announcer]").split(",")[0] != first.split(",")[0]
    page.keyboard.press("Enter")
    assert "trial 1 of" in page.inner_text("[data-announcer]")
    page.keyboard.press("Escape")
    assert "point 2 of 4" in page.inner_text("[data-announcer]")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert explorer.evaluate("(app) => app.view.trial").startswith("A:")


def test_a_part_drawn_with_the_mouse_becomes_limits_of_the_link(explorer: ExplorerPage) -> None:
    page = explorer.page
    box = page.locator(".frame .nsewdrag").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] * 0.2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + box["height"] * 0.7, steps=5)
    page.mouse.up()
    page.get_by_role("button", name="Show the whole range").wait_for()
    view = explorer.evaluate("(app) => app.view")
    assert 1 < view["minX"] < view["maxX"] < 8
    assert "min-x=" in explorer.address
    assert "max-y=" in explorer.address
    page.get_by_role("button", name="Show the whole range").click()
    assert "min-x" not in explorer.address


def test_the_legend_shows_one_level_alone_and_all_again(explorer: ExplorerPage) -> None:
    page = explorer.page
    page.get_by_role("button", name="256 KiB").click()
    explorer.settle()
    assert explorer.evaluate("(app) => app.view.where.window_bytes.levels") == [262144]
    assert page.locator(".legend .entry").count() == 1
    page.get_by_role("button", name="all levels").click()
    explorer.settle()
    assert page.locator(".legend .entry").count() == 2


def test_the_browsers_buttons_and_a_typed_link_change_the_view(explorer: ExplorerPage) -> None:
    page = explorer.page
    before = explorer.text
    explorer.set_view(colour="path")
    assert explorer.text != before
    after = explorer.text
    page.go_back()
    explorer.settle()
    assert explorer.text == before
    page.go_forward()
    explorer.settle()
    assert explorer.text == after
    page.evaluate("window.location.hash = 'x=streamz&y=throughput_bits_per_s&colour=none&dots=off'")
    notice = page.locator("[data-panel=notice] .warning")
    notice.wait_for()
    assert "streamz" in notice.inner_text()
    assert explorer.evaluate("(app) => app.view.dots") is False
    notice.get_by_role("button").click()
    assert notice.count() == 0


def test_an_empty_figure_says_which_filter_to_lift(explorer: ExplorerPage) -> None:
    page = explorer.page
    explorer.set_view(where={"streams": {"levels": [], "except": False}}, text="west")
    empty = page.locator("[data-panel=figure] .plot-empty")
    assert "No trial matches" in empty.inner_text()
    assert not page.is_visible("figure.explored")
    empty.get_by_role("button", name="Lift: Streams").click()
    explorer.settle()
    assert page.is_visible("figure.explored")
    assert explorer.evaluate("(app) => app.rows.length") > 0


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: f"{screen[0]}px")
def test_no_label_leaves_the_figure_or_lies_on_another(
    new_context: Callable[..., BrowserContext],
    served: Callable[..., str],
    results_folder: Path,
    screen: tuple[int, int],
) -> None:
    page = new_context(viewport={"width": screen[0], "height": screen[1]}).new_page()
    page.goto(served(results_folder))
    explorer = ExplorerPage(page)
    address = page.url.partition("#")[0]
    for text in VIEWS:
        explorer.open(address, text)
        explorer.settle()
        assert page.evaluate(CLASHES) == [], text
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), text


def test_on_a_phone_the_figure_comes_before_folded_controls(
    new_context: Callable[..., BrowserContext], served: Callable[..., str], results_folder: Path
) -> None:
    page = new_context(viewport={"width": 360, "height": 740}, has_touch=True).new_page()
    page.goto(served(results_folder))
    ExplorerPage(page).open(page.url.partition("#")[0], PLAIN)
    figure, controls = (
        page.locator(name).bounding_box() for name in ("figure.explored", "[data-fold=controls]")
    )
    assert figure is not None
    assert controls is not None
    assert figure["y"] + figure["height"] <= controls["y"]
    assert page.locator("aside.choices > details[open]").count() == 0


def test_the_figure_follows_the_theme_and_is_black_on_paper(
    new_context: Callable[..., BrowserContext], served: Callable[..., str], results_folder: Path
) -> None:
    page = new_context(color_scheme="dark").new_page()
    page.goto(served(results_folder))
    explorer = ExplorerPage(page).open(page.url.partition("#")[0], PLAIN)
    ink = "document.querySelector('.plot-live').layout.font.color"
    assert page.evaluate(ink) == page.evaluate("getComputedStyle(document.body).color")
    dark = page.evaluate(ink)
    page.emulate_media(color_scheme="light")
    explorer.settle()
    assert page.evaluate(ink) != dark
    assert page.evaluate(ink) == page.evaluate("getComputedStyle(document.body).color")
    page.emulate_media(color_scheme="dark")
    explorer.settle()
    assert page.evaluate(ink) == dark
    page.evaluate("window.addEventListener('beforeprint', () => { window.printed = true; })")
    page.evaluate(f"window.addEventListener('beforeprint', () => {{ window.inkOnPaper = {ink}; }})")
    page.pdf()
    assert page.evaluate("window.inkOnPaper") == "#000000"
    explorer.settle()
    assert page.evaluate(ink) == dark
