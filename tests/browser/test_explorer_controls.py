"""Every control of the explorer changes the view, the address and the figure; so do its filters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page

from tests.browser.explorer_page import ExplorerPage

RATE = "throughput_bits_per_s"
PLAIN = f"x=streams&y={RATE}&colour=window_bytes"
#: A control, what is chosen in it, and what the view is afterwards.
CHOICES: tuple[tuple[str, str, str, Any], ...] = (
    ("x", "window_bytes", "x", "window_bytes"),
    ("y0", "loaded_rtt_median_ns", "y", ["loaded_rtt_median_ns"]),
    ("colour", "path", "colour", "path"),
    ("colour", "", "colour", None),
    ("facet", "path", "facet", "path"),
    ("statistic", "mean", "statistic", "mean"),
    ("statistic", "pNN", "statistic", "p90"),
    ("range", "extremes", "range", "extremes"),
    ("scale-x", "linear", "scaleX", "linear"),
    ("scale-y", "log10", "scaleY", "log10"),
    ("baseline", "262144", "baseline", "262144"),
)
LIMITS = (("min-x", "minX", "1.5"), ("max-x", "maxX", "6"), ("min-y", "minY", "2"), ("max-y", "maxY", "50"))


def find(explorer: ExplorerPage, control: str) -> Locator:
    return explorer.page.locator(f"[data-control={control}]")


def write(explorer: ExplorerPage, field: Locator, text: str) -> None:
    field.fill(text)
    field.press("Enter")
    explorer.settle()


def open_more(explorer: ExplorerPage) -> None:
    """Open the folds among the controls; controls that are built anew have them closed."""
    folds = explorer.page.locator("details.more")
    folds.evaluate_all("(folds) => folds.forEach((fold) => { fold.open = true; })")


def open_filter(explorer: ExplorerPage, column: str) -> Locator:
    section = explorer.page.locator(f"details.filter[data-column={column}]")
    if section.get_attribute("open") is None:
        section.locator("summary").click()
    explorer.settle()
    return section


def press(explorer: ExplorerPage, place: Page | Locator, name: str) -> None:
    place.get_by_role("button", name=name, exact=True).click()
    explorer.settle()


def test_choices_change_view_address_and_figure(
    page: Page, open_results: Callable[..., ExplorerPage]
) -> None:
    explorer = open_results(page, PLAIN)
    assert page.locator("[data-panel=overlay]").is_hidden()  # no published table fits
    for control, chosen, key, value in CHOICES:
        open_more(explorer)
        before, drawn = explorer.text, page.inner_html(".plot-live")
        find(explorer, control).focus()
        find(explorer, control).select_option(chosen)
        explorer.settle()
        assert explorer.evaluate("(app, key) => app.view[key]", key) == value
        assert explorer.address.partition("#")[2] == explorer.text != before
        if control != "baseline":  # its panel is drawn where both levels have trials of the same cycles
            assert page.inner_html(".plot-live") != drawn
        assert page.evaluate("document.activeElement.dataset.control") == control
        page.go_back()
        explorer.settle()
        assert explorer.text == before
        assert page.evaluate("document.activeElement.dataset.control") == control
    titles = page.locator(".frame text[class^='y'][class$='title']")
    for _ in range(3):
        find(explorer, "add-y").click()
        explorer.settle()
    assert len(explorer.evaluate("(app) => app.view.y")) == titles.count() == 4
    assert find(explorer, "add-y").count() == 0
    press(explorer, page, "Remove y 2")
    assert titles.count() == 3
    counted = (
        "(app) => app.exploration.facets[0].curves.flatMap((c) => c.points).reduce((n, p) => n + p.trials, 0)"
    )
    before = explorer.evaluate(counted)
    find(explorer, "count").check()
    explorer.settle()
    assert explorer.evaluate("(app) => app.view.count") == "all"
    assert explorer.evaluate(counted) > before
    find(explorer, "dots").uncheck()
    explorer.settle()
    assert explorer.evaluate("(app) => app.view.dots") is False
    find(explorer, "reset").click()
    explorer.settle()
    assert explorer.evaluate(
        """(app) => { const { formatView, presetView } = pathlabExplorer.view;
          return app.text === formatView(presetView(app.table)); }"""
    )


def test_numbers_are_typed_and_wrong_ones_are_said(
    page: Page, open_results: Callable[..., ExplorerPage]
) -> None:
    explorer = open_results(page, PLAIN)
    open_more(explorer)
    for control, key, typed in LIMITS:
        write(explorer, find(explorer, control), typed)
        assert explorer.evaluate("(app, key) => app.view[key]", key) == float(typed)
    assert page.evaluate("document.querySelector('.plot-live').layout.yaxis.range") == [2, 50]
    least, notice = find(explorer, "min-y"), page.locator("[data-panel=notice]")
    write(explorer, least, "many")
    assert "“many”" in notice.inner_text()
    assert least.get_attribute("aria-invalid") == "true"
    assert explorer.evaluate("(app) => app.view.minY") == 2
    write(explorer, least, "")
    assert explorer.evaluate("(app) => app.view.minY") is None
    assert "many" not in notice.inner_text()
    find(explorer, "statistic").select_option("pNN")
    explorer.settle()
    percentile = find(explorer, "percentile")
    for typed, invalid in (("75", "false"), ("100", "true")):
        write(explorer, percentile, typed)
        assert explorer.evaluate("(app) => app.view.statistic") == "p75"
        assert percentile.get_attribute("aria-invalid") == invalid


def test_filters_choose_levels_ranges_and_words(
    page: Page, served: Callable[..., str], make_folder: Callable[..., Path]
) -> None:
    places = [f"place{number:02}" for number in range(60)]
    folder = make_folder("places", cycles=1, destinations=places, streams=(1, 4), windows=(65536,))
    explorer = ExplorerPage(page).open(served(folder), f"x=streams&y={RATE}&colour=none")
    notice = page.locator("[data-panel=notice]")

    def count_rows() -> int:
        return int(explorer.evaluate("(app) => app.rows.length"))

    streams = open_filter(explorer, "streams")
    counts = [int(text) for text in streams.locator(".count").all_inner_texts()]
    assert counts == [60, 60]
    streams.get_by_label("4", exact=False).nth(0).uncheck()
    explorer.settle()
    assert explorer.evaluate("(app) => app.view.where.streams") == {"levels": [4], "except": True}
    assert [int(text) for text in streams.locator(".count").all_inner_texts()] == counts
    assert count_rows() == 60
    press(explorer, streams, "Only 4")
    assert explorer.evaluate("(app) => app.view.where.streams") == {"levels": [4], "except": False}
    press(explorer, streams, "None: Streams")
    assert count_rows() == 0
    empty = page.locator("[data-panel=figure] .plot-empty")
    assert not page.is_visible("figure.explored")
    empty.get_by_role("button", name="Remove: Streams").click()
    explorer.settle()
    assert page.is_visible("figure.explored")
    press(explorer, streams, "Only 4")
    press(explorer, streams, "All: Streams")
    assert explorer.evaluate("(app) => app.view.where") == {}

    press(explorer, open_filter(explorer, "status"), "Only failed")
    assert count_rows() == 5
    page.locator(".chips .chip").first.click()
    press(explorer, open_filter(explorer, "flags"), "Only lab-limited")
    assert count_rows() == 5
    page.get_by_label("Text", exact=True).fill("no such word")
    empty.wait_for()
    assert count_rows() == 0
    assert page.inner_text("[data-filters]") == "2 in use"
    press(explorer, page, "Remove all")
    assert explorer.evaluate("(app) => [app.view.where, app.view.text]") == [{}, ""]

    page.get_by_label("Filter by another column").select_option("loaded_rtt_median_ns")
    delays = page.locator("details.filter[data-column=loaded_rtt_median_ns]")
    write(explorer, delays.get_by_label("from").first, "50")
    assert explorer.evaluate("(app) => app.view.where.loaded_rtt_median_ns") == {"low": 50, "high": None}
    write(explorer, delays.get_by_label("from").first, "")
    end = open_filter(explorer, "started_utc").get_by_label("to").first
    for typed in ("2026-01-02 03:10", "yesterday"):
        assert notice.locator(".warning").count() == 0
        write(explorer, end, typed)
        assert explorer.evaluate("(app) => app.view.where.started_utc.high") == 1767323400
    assert notice.locator(".warning").count() == 1

    section = open_filter(explorer, "path_destination")
    assert section.locator("li").count() == 40
    press(explorer, section, "Show more")
    assert section.locator("li").count() == 60
    section.get_by_role("searchbox").fill("place1")
    assert section.locator("li").count() == 10
    press(explorer, section, "Found: Destination")
    assert len(explorer.evaluate("(app) => app.view.where.path_destination.levels")) == 10
    assert section.get_by_role("searchbox").input_value() == "place1"
