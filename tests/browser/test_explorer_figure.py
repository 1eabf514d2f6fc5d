"""The figure of the explorer: what it draws of a view, and what it does for a hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import BrowserContext, Page

from tests.browser.explorer_page import ExplorerPage

OpenResults = Callable[..., ExplorerPage]
RATE = "throughput_bits_per_s"
PLAIN = f"x=streams&y={RATE}&colour=window_bytes"
PHONE = (360, 740)
SCREENS = (PHONE, (768, 1024), (1440, 900))
VIEWS = (
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
CLICK = """(curve) => { const live = document.querySelector(".plot-live"); const trace = live.data[curve];
    live.emit("plotly_click", { points: [{ customdata: trace.customdata[0] }] }); }"""


def list_traces(page: Page) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.evaluate(TRACES)
    return found


def is_dots(trace: dict[str, Any]) -> bool:
    return bool(trace["marker"]) and trace["marker"]["size"] in (4, 5, 8)


def count_all(explorer: ExplorerPage, part: str) -> int:
    """How many points or dots the view's curves have."""
    flat = f"app.exploration.facets.flatMap((facet) => facet.curves).flatMap((curve) => curve.{part}).length"
    return int(explorer.evaluate(f"(app) => {flat}"))


def test_it_draws_every_point_and_trial_and_explains_its_marks(page: Page, open_results: OpenResults) -> None:
    explorer = open_results(page, f"{PLAIN}&facet=path&stat=mean")
    traces = list_traces(page)
    estimates = [one for one in traces if one["error_y"]]
    open_marks = [
        one for one in traces if one["marker"] and one["marker"].get("line", {}).get("width", 0) > 2
    ]
    assert sum(len(one["x"]) for one in estimates + open_marks) == count_all(explorer, "points")
    assert sum(len(one["x"]) for one in filter(is_dots, traces)) == count_all(explorer, "dots")
    hover = "\n".join(text for one in filter(is_dots, traces) for text in one["text"])
    assert "not counted: lab-limited" in hover
    marks = page.locator("[data-panel=figure] .marks")
    assert "trial that is not counted" in marks.inner_text()
    assert "mean, undecided" in marks.inner_text()
    explorer.set_view(count="all")
    assert "unusable trial, counted" in marks.inner_text()
    notes = explorer.evaluate("(app) => app.exploration.notes")
    assert notes
    assert all(note in page.inner_text("[data-panel=figure] figcaption") for note in notes)
    explorer.set_view(dots=False)
    assert not any(map(is_dots, list_traces(page)))
    explorer.set_view(statistic="course")
    assert not page.is_visible("figure.explored")
    page.get_by_role("button", name="Open trial A:1").click()
    page.locator("[data-panel=figure] .course canvas").first.wait_for()
    assert page.inner_text("[data-panel=title] h1").endswith(" A:1")
    explorer.set_view(statistic="median")
    assert page.is_visible("figure.explored")
    assert page.locator("[data-panel=figure] .course").count() == 0


def test_the_mouse_opens_trials_zooms_and_chooses_levels(page: Page, open_results: OpenResults) -> None:
    explorer = open_results(page, PLAIN)
    first = next(at for at, one in enumerate(list_traces(page)) if is_dots(one))
    page.evaluate(CLICK, first)
    explorer.settle()
    trial = explorer.evaluate("(app) => app.view.trial")
    assert trial.startswith("A:")
    assert f"trial={trial}" in explorer.address.replace("%3A", ":")
    assert trial in page.inner_text(".frame")
    explorer.set_view(trial=None)

    box = page.locator(".frame .nsewdrag").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] * 0.2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + box["height"] * 0.7, steps=5)
    page.mouse.up()
    page.get_by_role("button", name="Show the whole range").wait_for()
    view = explorer.evaluate("(app) => app.view")
    assert 1 < view["minX"] < view["maxX"] < 8
    assert "max-y=" in explorer.address
    page.get_by_role("button", name="Show the whole range").click()
    explorer.settle()
    assert explorer.text == PLAIN

    entries = page.locator(".legend .entry")
    page.get_by_role("button", name="256 KiB").click()
    explorer.settle()
    assert explorer.evaluate("(app) => app.view.where.window_bytes.levels") == [262144]
    assert entries.count() == 1
    page.get_by_role("button", name="all levels").click()
    explorer.settle()
    assert entries.count() == 2


def test_no_label_leaves_the_figure_or_lies_on_another(
    new_context: Callable[..., BrowserContext], open_results: OpenResults
) -> None:
    page = new_context(viewport={"width": PHONE[0], "height": PHONE[1]}, has_touch=True).new_page()
    explorer = open_results(page, PLAIN)
    figure, controls = (
        page.locator(name).bounding_box() for name in ("figure.explored", "[data-fold=controls]")
    )
    assert figure is not None
    assert controls is not None
    assert figure["y"] + figure["height"] <= controls["y"]
    assert page.locator("aside.choices > details[open]").count() == 0
    for width, height in SCREENS:
        page.set_viewport_size({"width": width, "height": height})
        for text in VIEWS:
            page.evaluate("text => { window.location.hash = text; }", text)
            explorer.settle()
            page.wait_for_function(
                "() => Math.abs(document.querySelector('.plot-live').layout.width"
                " - document.querySelector('.frame').clientWidth) <= 1"
            )
            assert page.evaluate(CLASHES) == [], (width, text)
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (width, text)


def test_the_figure_follows_the_theme_and_is_black_on_paper(
    new_context: Callable[..., BrowserContext], open_results: OpenResults
) -> None:
    page = new_context(color_scheme="dark").new_page()
    explorer = open_results(page, PLAIN)
    ink = "document.querySelector('.plot-live').layout.font.color"
    dark = page.evaluate(ink)
    assert dark == page.evaluate("getComputedStyle(document.body).color")
    page.emulate_media(color_scheme="light")
    explorer.settle()
    assert dark != page.evaluate(ink) == page.evaluate("getComputedStyle(document.body).color")
    page.emulate_media(color_scheme="dark")
    explorer.settle()
    assert page.evaluate(ink) == dark
    page.evaluate(f"window.addEventListener('beforeprint', () => {{ window.inkOnPaper = {ink}; }})")
    page.pdf()
    assert page.evaluate("window.inkOnPaper") == "#000000"
    explorer.settle()
    assert page.evaluate(ink) == dark
    page.keyboard.press("Tab")
    outline = "() => getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outline) != "none"
    page.emulate_media(media="print")
    assert page.evaluate(outline) == "none"
