"""What a reader sees of a report and where: first screen, length, folds, links, contrast, print, phone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import BrowserContext, Page

from pathlab.report.formats.html import write_html
from pathlab.report.report_builder import build_document
from pathlab.store.flags import Flag
from tests.browser.explorer_page import check_accessibility
from tests.browser.report_page import check_drawn, check_quiet
from tests.browser.watching import Watch
from tests.builders.messages import make_message_results
from tests.builders.results import make_quickstart

DESK, NOTEBOOK, PHONE = (1200, 900), (1280, 900), (390, 844)
SCREENS_MAX, HTML_MAX_BYTES = 6, 1_500_000
#: Cycles of eight combinations: 16 and 48 trials.
CYCLES = (2, 6)
TABS_MAX = 60
#: In the lead, below the figure of the answer, and beside a verdict.
TOO_FEW_MAX = 3

FOLDS = "Array.from(document.querySelectorAll('details'))"
OPEN_ALL = f"{FOLDS}.forEach(fold => {{ fold.open = true; }})"
DRAWN = "window.pathlabPlots.drawAll()"
#: Links whose target is not there, or is inside a closed fold, after a click.
DEAD_LINKS = """(async () => {
    const dead = [];
    for (const link of document.querySelectorAll("nav a[href^='#']")) {
        document.querySelectorAll("details").forEach(fold => { fold.open = false; });
        link.click();
        await new Promise(resolve => setTimeout(resolve, 0));
        const target = document.getElementById(link.hash.slice(1));
        const seen = target && (target.matches("details") ? target.open : target.checkVisibility());
        if (!seen) { dead.push(link.hash); }
    }
    return dead;
})()"""
#: Figures that have no name for a reader who does not see them.
NAMELESS = """Array.from(document.querySelectorAll("figure")).filter(figure => {
    const ids = (figure.getAttribute("aria-labelledby") || "").split(" ");
    const named = ids.map(id => document.getElementById(id)).some(part => part && part.textContent.trim());
    return !named && !figure.getAttribute("aria-label");
}).map(figure => figure.id)"""


#: Figures that reach beyond the screen, and titles that reach beyond their figure.
BEYOND = """[
    ...Array.from(document.querySelectorAll(".plot[data-state=drawn] .plot-live"))
        .filter(area => area.firstChild.getBoundingClientRect().right > window.innerWidth + 1),
    ...Array.from(document.querySelectorAll(
        ".plot-live [class^=g-x][class$=title], .plot-live .annotation-text")).filter(text => {
        const [a, b] = [text, text.closest(".plot-live")].map(one => one.getBoundingClientRect());
        return a.left < b.left - 1 || a.right > b.right + 1;
    }),
].map(one => one.textContent)"""
FOCUS_MARKED = """(element => {
    const style = getComputedStyle(element);
    const marked = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
    return [element.tagName, marked || style.boxShadow !== "none"];
})(document.activeElement)"""

NewContext = Callable[..., BrowserContext]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """The report for each number of cycles."""
    folder = tmp_path_factory.mktemp("pages")
    return {
        cycles: write_html(build_document(make_quickstart(cycles=cycles)), folder / f"{cycles}.html")
        for cycles in CYCLES
    }


def show(new_context: NewContext, path: Path, size: tuple[int, int], fragment: str = "") -> Page:
    context = new_context(viewport={"width": size[0], "height": size[1]}, is_mobile=size == PHONE)
    page = context.new_page()
    page.goto(path.resolve().as_uri() + fragment)
    return page


def measure(page: Page, selector: str) -> tuple[float, float]:
    """Top and bottom in px of an element in the page, which is shown."""
    box = page.locator(selector).first.bounding_box()
    assert box is not None, f"{selector} is not shown"
    return box["y"], box["y"] + box["height"]


def check_first_screen(page: Page, size: tuple[int, int]) -> None:
    """The first screen has the answer, its facts and, on a desk, all of its figure."""
    for selector in (".opening .lead", ".opening .facts"):
        assert measure(page, selector)[1] <= size[1], f"{selector} ends below the first screen"
    top, bottom = measure(page, "#figure-answer-1")
    assert top < size[1] * (1 if size == DESK else 0.75)
    assert size == PHONE or bottom <= size[1], "the figure ends below the first screen"
    page.wait_for_selector("#figure-answer-1[data-state=drawn]")


@pytest.mark.parametrize("cycles", CYCLES)
def test_a_desk_has_the_answer_first_and_links_that_open_folds(
    new_context: NewContext, pages: dict[int, Path], watch: Watch, cycles: int
) -> None:
    page = show(new_context, pages[cycles], DESK)
    check_first_screen(page, DESK)
    assert page.evaluate("document.documentElement.scrollHeight") <= SCREENS_MAX * DESK[1]
    assert page.evaluate(f"{FOLDS}.filter(fold => !fold.open).length") >= 4
    assert pages[cycles].stat().st_size <= HTML_MAX_BYTES
    assert page.evaluate("document.querySelectorAll(\"nav a[href^='#']\").length") >= 4
    assert page.evaluate(DEAD_LINKS) == []
    page.evaluate(OPEN_ALL)
    text = page.evaluate("document.body.innerText").lower()
    assert "not decided yet" in text
    assert text.count("too few") <= TOO_FEW_MAX
    check_drawn(page)
    check_quiet(watch, pages[cycles])
    assert page.evaluate(BEYOND) == []
    inside = page.evaluate("document.querySelector('details details[id], details figure[id]').id")
    page = show(new_context, pages[cycles], DESK, f"#{inside}")
    assert page.evaluate(f"document.getElementById({inside!r}).checkVisibility()")


@pytest.mark.parametrize("cycles", CYCLES)
def test_a_phone_has_the_answer_first_and_does_not_scroll_sideways(
    new_context: NewContext, pages: dict[int, Path], cycles: int
) -> None:
    page = show(new_context, pages[cycles], PHONE)
    check_first_screen(page, PHONE)
    for step in ("0", OPEN_ALL, DRAWN):
        page.evaluate(step)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0], f"after {step}"
    check_drawn(page)
    assert page.evaluate(BEYOND) == []
    table = "document.querySelector('#table-windows-streams .scroll')"

    def read(left: int) -> list[str]:
        shown = (
            f"getComputedStyle({table}, '::after')"
            f".getPropertyValue('visibility') + ' ' + getComputedStyle({table}, '::after').content"
        )
        frames = "new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r())))"
        text = page.evaluate(f"({table}.scrollLeft = {left}, {frames}.then(() => {shown}))")
        return str(text).split(" ", 1)

    assert read(0) == ["visible", '"scroll →"']
    assert read(100) == ["visible", '"scroll →"']
    head = f"{table}.querySelector('thead th').getBoundingClientRect().left"
    assert page.evaluate(f"{head} - {table}.getBoundingClientRect().left") <= 2  # it stays with its column
    assert read(10_000)[0] == "hidden"
    broken = "Array.from(document.querySelectorAll('.scroll td.n')).filter(c => c.getClientRects().length > 1"
    assert page.evaluate(f"{broken} || getComputedStyle(c).whiteSpace !== 'nowrap').length") == 0


@pytest.mark.parametrize("flag", [Flag.LAB_LIMITED, Flag.HOST_LIMITED])
def test_a_machine_at_its_limit_is_named_on_the_first_screen(
    new_context: NewContext, tmp_path: Path, flag: Flag
) -> None:
    results = make_quickstart(cycles=2)
    results.records = [replace(record, flags=(flag,)) for record in results.records]
    path = write_html(build_document(results), tmp_path / "busy.html")
    for size in (NOTEBOOK, PHONE):
        page = show(new_context, path, size)
        assert "Warning." in page.locator("main > p.warning").first.inner_text()
        ends = [measure(page, name)[1] for name in ("main > p.warning", ".opening .lead")]
        assert ends == sorted(ends)
        assert ends[-1] <= size[1]


def test_keys_reach_and_open_every_fold(new_context: NewContext, pages: dict[int, Path]) -> None:
    page = show(new_context, pages[2], DESK)
    seen: dict[str, bool] = {}
    for _ in range(TABS_MAX):
        page.keyboard.press("Tab")
        name, marked = page.evaluate(FOCUS_MARKED)
        seen[name] = marked and seen.get(name, True)
        if name == "SUMMARY":
            break
    assert seen.keys() >= {"A", "DIV", "SUMMARY"}  # the contents, a table, a question
    assert all(seen.values()), seen
    folds = page.locator("details")
    assert folds.count() >= 4
    for place in range(folds.count()):  # outer folds come first
        fold = folds.nth(place)
        if fold.evaluate("fold => fold.open"):
            continue
        summary = fold.locator("summary").first
        summary.focus()
        assert summary.evaluate("one => document.activeElement === one")
        page.keyboard.press("Enter")
        assert fold.evaluate("fold => fold.open"), summary.inner_text()
    assert page.evaluate(NAMELESS) == []


def test_no_rule_is_broken_and_paper_is_black_on_white(
    new_context: NewContext, pages: dict[int, Path]
) -> None:
    page = show(new_context, pages[2], DESK)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    shown = "Array.from(document.querySelectorAll('details.question > :not(summary)'))"
    assert page.evaluate(f"{shown}.filter(part => !part.checkVisibility()).length") == 0
    assert page.evaluate(f"{shown}.length") >= 4
    answer = "document.querySelector('#figure-answer-1 {}').checkVisibility()"
    assert page.evaluate(answer.format(".plot-still"))
    assert not page.evaluate(answer.format(".plot-live"))
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.querySelectorAll('details.question[open]').length") == 0
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        page.emulate_media(media="screen", color_scheme=scheme)
        for step in (OPEN_ALL, DRAWN):
            page.evaluate(step)
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
        assert dark is (scheme == "dark")
        ink = page.locator(".plot-live .xtick text").first.evaluate("one => getComputedStyle(one).fill")
        assert ink == page.evaluate("getComputedStyle(document.body).color")
        check_accessibility(page)  # of headings, names, and contrast


def test_a_report_of_messages_shows_its_front_first_and_is_not_wider_than_the_screen(
    new_context: NewContext, tmp_path: Path
) -> None:
    path = write_html(build_document(make_message_results(cycles=2)), tmp_path / "messages.html")
    for size in (DESK, PHONE):
        page = show(new_context, path, size)
        assert measure(page, "#figure-latency-front-1-64B")[0] < size[1]
        page.evaluate(OPEN_ALL)
        page.evaluate(DRAWN)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
