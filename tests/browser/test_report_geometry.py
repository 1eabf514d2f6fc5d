"""What a reader sees of a report and where: first screen, length, folds, links, contrast, print."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import BrowserContext, Page

from pathlab.report.formats.html import write_html
from pathlab.report.report_builder import build_document
from tests.builders.messages import make_message_results
from tests.builders.results import make_quickstart

DESK, PHONE = (1200, 900), (390, 844)
SCREENS_MAX, HTML_MAX_BYTES = 6, 1_500_000
#: Cycles of eight combinations: 16 and 48 trials.
CYCLES = (2, 6)
TABS_MAX = 60
#: In the lead, below the figure of the answer, and beside a verdict.
TOO_FEW_MAX = 3
#: WCAG 2.1, 1.4.3: of text, and of text from 24 px, or 18.66 px where it is bold.
CONTRAST_MIN, CONTRAST_LARGE_MIN = 4.5, 3.0

AREA = """(selector => {
    const found = document.querySelector(selector);
    if (!found) { return null; }
    const area = found.getBoundingClientRect();
    return [area.top + window.scrollY, area.bottom + window.scrollY, area.height];
})"""
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
#: Texts with too little contrast against what is behind them: text, colours, ratio.
FAINT = """(([least, leastLarge]) => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const parse = colour => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        return Array.from(canvas.getImageData(0, 0, 1, 1).data);
    };
    const luminance = colour => colour.slice(0, 3).reduce((sum, part, place) => {
        const share = part / 255;
        return sum + [0.2126, 0.7152, 0.0722][place]
            * (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4);
    }, 0);
    const behind = element => {
        const bar = element.matches(".bartext-inside") && element.parentElement.querySelector("path");
        if (bar) { return parse(getComputedStyle(bar).fill); }
        for (let at = element; at; at = at.parentElement) {
            const colour = parse(getComputedStyle(at).backgroundColor);
            if (colour[3] > 250) { return colour; }
        }
        return [255, 255, 255, 255];
    };
    const faint = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement, text = walker.currentNode.data.trim();
        if (!text || element.closest("script, style")) { continue; }
        if (!element.checkVisibility()) { continue; }
        const style = getComputedStyle(element);
        const colours = [parse(element.closest("svg") ? style.fill : style.color), behind(element)];
        const [dark, light] = colours.map(luminance).sort((one, other) => one - other);
        const ratio = (light + 0.05) / (dark + 0.05);
        const size = parseFloat(style.fontSize), bold = parseInt(style.fontWeight) >= 700;
        const enough = size >= 24 || (bold && size >= 18.66) ? leastLarge : least;
        if (ratio < enough) { faint.push([text.slice(0, 40), colours.join(" on "), ratio]); }
    }
    return faint;
})"""
#: Figures that have no name for a reader who does not see them.
NAMELESS = """Array.from(document.querySelectorAll("figure")).filter(figure => {
    const ids = (figure.getAttribute("aria-labelledby") || "").split(" ");
    const named = ids.map(id => document.getElementById(id)).some(part => part && part.textContent.trim());
    return !named && !figure.getAttribute("aria-label");
}).map(figure => figure.id)"""


def build_page(cycles: int, folder: Path) -> Path:
    return write_html(build_document(make_quickstart(cycles=cycles)), folder / f"{cycles}.html")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    folder = tmp_path_factory.mktemp("pages")
    return {cycles: build_page(cycles, folder) for cycles in CYCLES}


#: The state of the first figure once it does not wait any more: it is drawn soon after the page was loaded.
FIRST_STATE = """new Promise((resolve) => {
  const { dataset } = document.getElementById("figure-answer-1");
  const look = () => dataset.state === "waiting" ? requestAnimationFrame(look) : resolve(dataset.state);
  look();
})"""


NewContext = Callable[..., BrowserContext]


def show(new_context: NewContext, path: Path, size: tuple[int, int], fragment: str = "") -> Page:
    context = new_context(viewport={"width": size[0], "height": size[1]}, is_mobile=size == PHONE)
    page = context.new_page()
    page.goto(path.resolve().as_uri() + fragment)
    return page


def measure(page: Page, selector: str) -> tuple[float, float]:
    """Top and bottom of an element in the page, which is shown."""
    found = page.evaluate(f"{AREA}({selector!r})")
    assert found is not None, f"the page has no {selector}"
    assert found[2] > 0, f"{selector} is not shown"
    return found[0], found[1]


@pytest.mark.parametrize("cycles", CYCLES)
@pytest.mark.parametrize("size", [DESK, PHONE])
def test_the_first_screen_has_the_answer(
    new_context: NewContext, pages: dict[int, Path], cycles: int, size: tuple[int, int]
) -> None:
    page = show(new_context, pages[cycles], size)
    for selector in (".opening .lead", ".opening .facts"):
        assert measure(page, selector)[1] <= size[1], f"{selector} ends below the first screen"
    top, bottom = measure(page, "#figure-answer-1")
    assert top < size[1] * (1 if size == DESK else 0.75)
    assert size == PHONE or bottom <= size[1], "the figure ends below the first screen"
    assert page.evaluate(FIRST_STATE) == "drawn"


@pytest.mark.parametrize("cycles", CYCLES)
def test_the_page_is_short_until_a_fold_is_opened(
    new_context: NewContext, pages: dict[int, Path], cycles: int
) -> None:
    page = show(new_context, pages[cycles], DESK)
    assert page.evaluate("document.documentElement.scrollHeight") <= SCREENS_MAX * DESK[1]
    closed = page.evaluate(f"{FOLDS}.filter(fold => !fold.open).length")
    assert closed >= 4


@pytest.mark.parametrize("cycles", CYCLES)
def test_a_phone_does_not_scroll_sideways(
    new_context: NewContext, pages: dict[int, Path], cycles: int
) -> None:
    page = show(new_context, pages[cycles], PHONE)
    for step in ("0", OPEN_ALL, DRAWN):
        page.evaluate(step)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0], f"after {step}"


def test_the_file_is_small(pages: dict[int, Path]) -> None:
    for page in pages.values():
        assert page.stat().st_size <= HTML_MAX_BYTES


@pytest.mark.parametrize("cycles", CYCLES)
def test_lacking_trials_are_said_once(new_context: NewContext, pages: dict[int, Path], cycles: int) -> None:
    page = show(new_context, pages[cycles], DESK)
    page.evaluate(OPEN_ALL)
    text = page.evaluate("document.body.innerText").lower()
    assert "not decided yet" in text
    assert text.count("too few") <= TOO_FEW_MAX


def test_every_fold_opens_by_keyboard(new_context: NewContext, pages: dict[int, Path]) -> None:
    page = show(new_context, pages[2], DESK)
    count = page.evaluate(f"{FOLDS}.length")
    assert count >= 4
    for place in range(count):  # outer folds come first
        fold = f"{FOLDS}[{place}]"
        if page.evaluate(f"{fold}.open"):
            continue
        focused = page.evaluate(
            f"(fold => {{ fold.querySelector('summary').focus(); "
            f"return document.activeElement === fold.querySelector('summary'); }})({fold})"
        )
        page.keyboard.press("Enter")
        assert focused
        assert page.evaluate(f"{fold}.open"), page.evaluate(f"{fold}.textContent.slice(0, 60)")


def test_what_has_the_focus_is_marked(new_context: NewContext, pages: dict[int, Path]) -> None:
    page = show(new_context, pages[2], DESK)
    style = """(element => {
        const style = getComputedStyle(element);
        const marked = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
        return [element.tagName, marked || style.boxShadow !== "none"];
    })(document.activeElement)"""
    seen: dict[str, bool] = {}
    for _ in range(TABS_MAX):
        page.keyboard.press("Tab")
        name, marked = page.evaluate(style)
        seen[name] = marked and seen.get(name, True)
        if name == "SUMMARY":
            break
    assert seen.keys() >= {"A", "DIV", "SUMMARY"}  # the contents, a table, a question
    assert all(seen.values()), seen


@pytest.mark.parametrize("cycles", CYCLES)
def test_links_of_the_contents_open_the_fold_around_their_target(
    new_context: NewContext, pages: dict[int, Path], cycles: int
) -> None:
    page = show(new_context, pages[cycles], DESK)
    assert page.evaluate("document.querySelectorAll(\"nav a[href^='#']\").length") >= 4
    assert page.evaluate(DEAD_LINKS) == []


def test_an_address_with_a_fragment_opens_the_fold_around_its_target(
    new_context: NewContext, pages: dict[int, Path]
) -> None:
    page = show(new_context, pages[2], DESK)
    inside = page.evaluate("document.querySelector('details details[id], details figure[id]').id")
    page = show(new_context, pages[6], DESK, f"#{inside}")
    assert page.evaluate(f"document.getElementById({inside!r}).checkVisibility()")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_have_contrast(
    new_context: NewContext, pages: dict[int, Path], scheme: Literal["light", "dark"]
) -> None:
    page = show(new_context, pages[2], DESK)
    page.emulate_media(color_scheme=scheme)
    for step in (OPEN_ALL, DRAWN):
        page.evaluate(step)
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark is (scheme == "dark")
    assert page.evaluate(f"{FAINT}([{CONTRAST_MIN}, {CONTRAST_LARGE_MIN}])") == []


def test_paper_shows_every_question_in_black_on_white(
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


def test_structure_for_those_who_do_not_see_it(new_context: NewContext, pages: dict[int, Path]) -> None:
    page = show(new_context, pages[2], DESK)
    assert page.evaluate("document.documentElement.lang") == "en"
    page.evaluate(OPEN_ALL)
    headings = page.evaluate(
        "Array.from(document.querySelectorAll('h1, h2, h3, h4, h5, h6'))"
        ".map(heading => [Number(heading.tagName[1]), heading.textContent])"
    )
    levels = [level for level, _ in headings]
    assert levels.count(1) == 1
    skipped = [text for (before, _), (now, text) in itertools.pairwise(headings) if now > before + 1]
    assert skipped == []
    assert page.evaluate(NAMELESS) == []
    assert page.evaluate("Array.from(document.querySelectorAll('img')).filter(i => !i.alt).length") == 0
    summaries = page.evaluate(f"{FOLDS}.map(fold => fold.querySelector('summary')?.textContent.trim() || '')")
    assert "" not in summaries
    names = page.evaluate("Array.from(document.querySelectorAll('[id]')).map(element => element.id)")
    assert len(names) == len(set(names))


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_a_report_of_messages_shows_its_front_first_and_is_not_wider_than_the_screen(
    new_context: NewContext, tmp_path: Path, size: tuple[int, int]
) -> None:
    path = write_html(build_document(make_message_results(cycles=2)), tmp_path / "messages.html")
    page = show(new_context, path, size)
    assert measure(page, "#figure-latency-front-1-64B")[0] < size[1]
    page.evaluate(OPEN_ALL)
    page.evaluate(DRAWN)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.evaluate(NAMELESS) == []
