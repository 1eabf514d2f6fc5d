"""Every control of the explorer changes the view, the address and the figure; so do its filters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
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
    ("statistic", "iqr", "statistic", "iqr"),
    ("range", "extremes", "range", "extremes"),
    ("range", "none", "range", "none"),
    ("scale-x", "linear", "scaleX", "linear"),
    ("scale-y", "log10", "scaleY", "log10"),
    ("baseline", "262144", "baseline", "262144"),
)
LIMITS = (("min-x", "minX", "1.5"), ("max-x", "maxX", "6"), ("min-y", "minY", "2"), ("max-y", "maxY", "50"))


@pytest.fixture
def explorer(page: Page, served: Callable[..., str], results_folder: Path) -> Iterator[ExplorerPage]:
    page.goto(served(results_folder))
    opened = ExplorerPage(page).open(page.url.partition("#")[0], PLAIN)
    open_more(opened)
    yield opened
    page.close()  # before its server ends, which it may be asking


def open_more(explorer: ExplorerPage) -> None:
    """Open the folds among the controls; controls that are built anew have them closed."""
    folds = explorer.page.locator("details.more")
    folds.evaluate_all("(folds) => folds.forEach((fold) => { fold.open = true; })")


def find(explorer: ExplorerPage, control: str) -> Locator:
    return explorer.page.locator(f"[data-control={control}]")


def open_filter(explorer: ExplorerPage, column: str) -> Locator:
    section = explorer.page.locator(f"details.filter[data-column={column}]")
    if section.get_attribute("open") is None:
        section.locator("summary").click()
    explorer.settle()
    return section


def test_choices_change_view_address_and_figure(explorer: ExplorerPage) -> None:
    for control, chosen, key, value in CHOICES:
        open_more(explorer)
        before, drawn = explorer.text, explorer.page.inner_html(".plot-live")
        find(explorer, control).focus()
        find(explorer, control).select_option(chosen)
        explorer.settle()
        assert explorer.evaluate("(app, key) => app.view[key]", key) == value
        assert explorer.text != before
        assert explorer.page.evaluate("window.location.hash.slice(1)") == explorer.text
        if control != "baseline":  # its panel is drawn where both levels have trials of the same cycles
            assert explorer.page.inner_html(".plot-live") != drawn
        assert explorer.page.evaluate("document.activeElement.dataset.control") == control
        explorer.page.go_back()
        explorer.settle()
        assert explorer.text == before
        assert explorer.page.evaluate("(name) => document.activeElement.dataset.control === name", control)


def test_limits_are_typed_and_wrong_ones_are_said(explorer: ExplorerPage) -> None:
    for control, key, typed in LIMITS:
        find(explorer, control).fill(typed)
        find(explorer, control).press("Enter")
        explorer.settle()
        assert explorer.evaluate("(app, key) => app.view[key]", key) == float(typed)
    ends = explorer.page.evaluate("document.querySelector('.plot-live').layout.yaxis.range")
    assert ends == [2, 50]
    find(explorer, "min-y").fill("many")
    find(explorer, "min-y").press("Enter")
    assert "“many” is no number" in explorer.page.inner_text("[data-panel=notice]")
    assert find(explorer, "min-y").get_attribute("aria-invalid") == "true"
    assert explorer.evaluate("(app) => app.view.minY") == 2
    find(explorer, "min-y").fill("")
    find(explorer, "min-y").press("Enter")
    assert explorer.evaluate("(app) => app.view.minY") is None
    assert "many" not in explorer.page.inner_text("[data-panel=notice]")


def test_up_to_four_measures_are_drawn_below_each_other(explorer: ExplorerPage) -> None:
    for _ in range(3):
        find(explorer, "add-y").click()
        explorer.settle()
    assert len(explorer.evaluate("(app) => app.view.y")) == 4
    assert find(explorer, "add-y").count() == 0
    assert explorer.page.locator(".frame text[class^='y'][class$='title']").count() == 4
    explorer.page.get_by_role("button", name="Remove y 2").click()
    explorer.settle()
    assert explorer.page.locator(".frame text[class^='y'][class$='title']").count() == 3


def test_switches_for_dots_and_unusable_trials(explorer: ExplorerPage) -> None:
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
        "(app) => app.text === pathlabExplorer.view.format(pathlabExplorer.view.preset(app.table), app.table)"
    )


def test_the_percentile_is_a_number_between_0_and_100(explorer: ExplorerPage) -> None:
    find(explorer, "statistic").select_option("pNN")
    explorer.settle()
    find(explorer, "percentile").fill("75")
    find(explorer, "percentile").press("Enter")
    explorer.settle()
    assert explorer.evaluate("(app) => app.view.statistic") == "p75"
    find(explorer, "percentile").fill("100")
    find(explorer, "percentile").press("Enter")
    assert explorer.evaluate("(app) => app.view.statistic") == "p75"
    assert find(explorer, "percentile").get_attribute("aria-invalid") == "true"


def test_levels_are_ticked_and_count_the_trials_that_they_would_show(explorer: ExplorerPage) -> None:
    section = open_filter(explorer, "streams")
    counts = [int(text) for text in section.locator(".count").all_inner_texts()]
    assert sum(counts) == explorer.evaluate("(app) => app.table.count")
    section.get_by_label("4", exact=False).nth(0).uncheck()
    explorer.settle()
    assert explorer.evaluate("(app) => app.view.where.streams") == {"levels": [4], "except": True}
    assert [int(text) for text in section.locator(".count").all_inner_texts()] == counts
    assert explorer.evaluate("(app) => app.rows.length") == sum(counts) - counts[2]
    section.get_by_role("button", name="Only 8").click()
    explorer.settle()
    assert explorer.evaluate("(app) => app.rows.length") == counts[3]
    section.get_by_role("button", name="None: Streams").click()
    explorer.settle()
    assert explorer.evaluate("(app) => app.rows.length") == 0
    section.get_by_role("button", name="All: Streams").click()
    explorer.settle()
    assert explorer.evaluate("(app) => app.view.where") == {}


def test_flags_status_and_words_are_filters(explorer: ExplorerPage) -> None:
    page = explorer.page
    open_filter(explorer, "status").get_by_role("button", name="Only failed").click()
    explorer.settle()
    failed = explorer.evaluate("(app) => app.rows.length")
    assert 0 < failed < explorer.evaluate("(app) => app.table.count")
    assert "Status is failed" in page.inner_text(".chips")
    page.locator(".chips .chip").first.click()
    explorer.settle()
    flags = open_filter(explorer, "flags")
    flags.get_by_role("button", name="Only lab-limited").click()
    explorer.settle()
    limited = explorer.evaluate("(app) => app.rows.length")
    assert 0 < limited < explorer.evaluate("(app) => app.table.count")
    page.get_by_label("Text", exact=True).fill("no such word")
    page.locator("[data-panel=figure] .plot-empty").wait_for()
    assert explorer.evaluate("(app) => app.rows.length") == 0
    assert page.inner_text("[data-filters]") == "2 in use"
    page.get_by_role("button", name="Lift all", exact=True).click()
    explorer.settle()
    assert explorer.evaluate("(app) => [app.text.includes('where'), app.view.text]") == [False, ""]


def test_numbers_and_times_have_ranges(explorer: ExplorerPage) -> None:
    page = explorer.page
    page.get_by_label("Filter by another column").select_option("loaded_rtt_median_ns")
    section = page.locator("details.filter[data-column=loaded_rtt_median_ns]")
    section.get_by_label("from").first.fill("50")
    section.get_by_label("from").first.press("Enter")
    explorer.settle()
    assert explorer.evaluate("(app) => app.view.where.loaded_rtt_median_ns") == {"low": 50, "high": None}
    least = (
        "(app) => Math.min(...app.rows.map((row) => app.table.column('loaded_rtt_median_ns').values[row]))"
    )
    assert explorer.evaluate(least) >= 50
    started = open_filter(explorer, "started_utc")
    started.get_by_label("to").first.fill("2026-01-02 03:10")
    started.get_by_label("to").first.press("Enter")
    explorer.settle()
    assert explorer.evaluate("(app) => app.view.where.started_utc.high") == 1767323400
    started.get_by_label("to").first.fill("yesterday")
    started.get_by_label("to").first.press("Enter")
    assert "not understood" in page.inner_text("[data-panel=notice]")
    assert explorer.evaluate("(app) => app.view.where.started_utc.high") == 1767323400


def test_many_levels_are_searched_and_listed_in_parts(
    page: Page, served: Callable[..., str], make_folder: Callable[..., Path]
) -> None:
    places = [f"place{number:02}" for number in range(60)]
    page.goto(served(make_folder("places", cycles=1, destinations=places, streams=(1,), windows=(65536,))))
    explorer = ExplorerPage(page).open(page.url.partition("#")[0], f"x=streams&y={RATE}&colour=none")
    section = open_filter(explorer, "path_destination")
    assert section.locator("li").count() == 40
    section.get_by_role("button", name="Show more").click()
    assert section.locator("li").count() == 60
    section.get_by_role("searchbox").fill("place1")
    assert section.locator("li").count() == 10
    section.get_by_role("button", name="Found: Destination").click()
    explorer.settle()
    assert explorer.evaluate("(app) => app.rows.length") == 10
    assert section.get_by_role("searchbox").input_value() == "place1"
