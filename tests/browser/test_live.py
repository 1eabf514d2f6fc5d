"""A running campaign in the explorer: followed, steered, reconnected, killed, watched by two at once.

What is read of its events is tested in ``tests/scripts/test_live.py``.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pathlab.report.topics import list_answers
from pathlab.runner.journal import STARTED, Journal
from pathlab.store.results import Results
from pathlab.study.analyses import StudiedResults
from tests.browser.explorer_page import ExplorerPage, check_accessibility
from tests.browser.watching import Watch
from tests.integration.running import ROOT, running, write_campaign
from tests.require import require
from tests.serving import serving
from tests.writers import hold_results

LIVE = "[data-panel=live]"
STATE = f"{LIVE} .run-state"
#: More than a test waits for: its run goes on until it is stopped.
ENDLESS_CYCLES = 400


@pytest.fixture
def live_run(tmp_path: Path) -> Iterator[str]:
    """The address that opens the explorer of a run."""
    require((ROOT / "native" / "build" / "pathlab-engine").exists(), "the native engine (make engine)")
    campaign = write_campaign(tmp_path, lab=False, cycles=ENDLESS_CYCLES, duration="1500ms")
    campaign.write_text(campaign.read_text().replace("streams = [2]", "streams = [1, 3]"))
    with running(["run", str(campaign), "--out", "out", "--serve", "--quiet"], tmp_path) as run:
        found = re.search(r"http://\S+token=[\w-]+", run.read_until(r"token=[\w-]+\s"))
        assert found is not None
        yield found[0]


@pytest.fixture
def held_folder(make_folder: Callable[..., Path]) -> Path:
    """Results with a journal that says that a run began, which no test before has changed."""
    folder = make_folder("held", cycles=1)
    with Results.open(folder, write=True) as results:
        Journal(results, lambda _event: None).add(STARTED, "started")
    return folder


def list_trials(page: Page) -> list[int]:
    """The numbers of the trials in the page's table, in the order in which they came."""
    return list(page.evaluate("[...pathlabExplorer.app.app.table.column('trial').values]"))


def wait_for_trials(page: Page, count: int) -> None:
    page.wait_for_function(
        "(count) => pathlabExplorer.app.app.table && pathlabExplorer.app.app.table.count >= count", arg=count
    )


def store_trials(folder: Path, count: int) -> None:
    """Store another attempt of the last trial, as often."""
    with Results.open(folder, write=True) as results:
        record = results.record(max(results.records_by_id()))
        for number in range(count):
            results.add_trial(dataclasses.replace(record, attempt=record.attempt + 1 + number), {})


#: Whether the first row of the plan, which is complete, is drawn in the colour of its name.
SAME_COLOURS = """() => {
  const strip = document.querySelector(".strip");
  const copy = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  copy.drawImage(strip, 0, 0);
  const drawn = copy.getImageData(1, strip.height >> 1, 1, 1).data.slice(0, 3);
  const named = window.getComputedStyle(document.querySelector('.row-state[data-row="c"]')).backgroundColor;
  return named === "rgb(" + drawn.join(", ") + ")";
}"""


@pytest.mark.engine
def test_a_live_run_from_start_to_end_in_two_browsers(
    new_context: Callable[..., BrowserContext],
    live_run: str,
    served: Callable[..., str],
    tmp_path: Path,
) -> None:
    """One shows the run's own explorer, the other that of another process."""
    page, other = pages = [new_context().new_page() for _ in range(2)]
    page.goto(live_run)

    def expect_state(text: str) -> None:
        for one in pages:
            expect(one.locator(STATE)).to_contain_text(text)

    expect(page.locator(f"{LIVE} .link")).to_have_text("connected")
    under_way = page.locator(f"{LIVE} .under-way").first  # the next may begin before its end is heard
    expect(under_way.locator(".now")).to_contain_text("bit/s")
    under_way.locator("summary").click()
    expect(under_way.locator("tbody tr").first).to_contain_text(re.compile(r"bit/s.*s$"))
    wait_for_trials(page, 2)
    page.wait_for_selector("[data-panel=figure] figure.explored[data-state=drawn]")
    expect(page.locator(f"{LIVE} .strip")).to_have_attribute("aria-label", re.compile(r"\d+ complete"))
    expect(page.locator(f"{LIVE} .live-head")).to_contain_text("left")
    page.get_by_text("Medians so far").click()
    page.get_by_text("Rows of the plan", exact=True).click()
    expect(page.locator(f"{LIVE} td", has_text="complete").first).to_be_visible()
    other.goto(served(tmp_path / "out"))
    expect_state("Running")

    page.get_by_role("button", name="Pause …").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect_state("Running")
    page.keyboard.press("Enter")  # the focus came back to the button
    page.get_by_role("button", name="Pause the run").press("Enter")
    expect_state("Paused")
    expect(under_way).to_have_count(0)
    medians = page.get_by_role("region", name="Medians so far").locator("tbody tr")
    expect(medians).to_have_count(2)
    check_accessibility(page)
    page.wait_for_function(SAME_COLOURS)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(SAME_COLOURS)
    page.emulate_media(media="print")
    expect(page.locator(f"{LIVE} .strip")).to_be_hidden()
    page.emulate_media(media="screen")
    before = len(list_trials(page))
    other.get_by_role("button", name="Resume").press("Enter")
    expect_state("Running")
    wait_for_trials(page, before + 1)
    other.get_by_role("button", name="Stop …").click()
    other.get_by_role("button", name="Stop the run").click()
    expect_state("Ended before its plan was complete")
    expect(page.locator(f"{LIVE} .link")).to_have_text("run ended")
    expect(page.get_by_role("button", name="Stop …")).to_be_hidden()
    with Results.open(tmp_path / "out") as results:
        stored = sorted(results.records_by_id())
    for one in pages:
        wait_for_trials(one, len(stored))
        assert list_trials(one) == stored
    page.close()  # before its server ends
    end = other.locator(f"{LIVE} .run-end")
    with StudiedResults.open(tmp_path / "out") as results:
        lead = list_answers(results)[0].lead
    expect(end.locator("strong").first).to_have_text(lead)
    check_accessibility(other)
    with other.context.expect_page() as opened:
        end.get_by_role("link", name="Report").click()
    expect(opened.value.locator("#answer")).to_contain_text(lead)
    expect(end.get_by_role("link", name="Explorer")).to_have_attribute("href", re.compile(r"^\?open=\w+$"))


#: A trial with a million streams, and many events of which one could be markup.
TELL = """() => {
    const { app } = pathlabExplorer.app;
    const told = { results: "A", time_utc: new Date().toISOString(), row: 0 };
    const text = "<img src=x onerror=alert(1)>";
    app.emit("live", { ...told, event: "trial-started", attempt: 1, source: text, destination: "b",
        streams: 2 ** 20, estimate_ns: 1e9, settings: {}, levels: "streams 1048576" });
    for (let number = 0; number < 200; number += 1) {
        app.emit("live", { ...told, event: "journal", recorded_utc: told.time_utc, text });
    }
    const streams = [...Array(16).keys()].map((place) => [place * 65536, 1e6 * (place + 1)]);
    app.emit("live", { ...told, event: "streams", measure: "bits_per_s", elapsed_ns: 0, count: 2 ** 20,
        median: 8e6, streams });
}"""


def test_a_page_shows_few_of_many_events_until_the_run_is_killed(
    page: Page, served: Callable[..., str], held_folder: Path
) -> None:
    with hold_results(held_folder) as holder:
        try:
            ExplorerPage(page).open(served(held_folder))
            expect(page.locator(STATE)).to_have_text("Running")
            before = list_trials(page)
            page.evaluate(TELL)
            page.get_by_text("What happened").click()
            expect(page.locator(f"{LIVE} .happened li")).to_have_count(100)
            expect(page.locator(f"{LIVE} .under-way h3")).to_contain_text("<img src=x onerror=alert(1)>")
            assert page.locator(f"{LIVE} img").count() == 0
            streams = page.locator(f"{LIVE} .streams")
            expect(streams.locator("summary")).to_contain_text("8 slowest and 8 fastest of 1,048,576")
            streams.locator("summary").click()
            expect(streams.locator("tbody tr")).to_have_count(16)
        finally:
            holder.kill()
    expect(page.locator(STATE)).to_contain_text("Killed: ")
    expect(page.get_by_role("button", name="Stop …")).to_be_hidden()
    assert list_trials(page) == before != []


def test_what_a_page_missed_comes_once_and_in_order(page: Page, held_folder: Path, watch: Watch) -> None:
    """A laptop that slept: timers stood still, and nobody told it that its connection is dead."""

    def count_connections() -> int:
        return sum("/events?" in url for url in watch.requests)

    with serving(held_folder) as server:
        page.clock.install()
        ExplorerPage(page).open(server.address)
        page.wait_for_function("() => pathlabExplorer.runs.runs.size === 1")  # it has heard of the results
        first = len(list_trials(page))
        assert count_connections() == 1
        with page.expect_request("**/events?*"):
            page.clock.fast_forward("08:00:00")
        assert count_connections() == 2
        store_trials(held_folder, 5)
        page.clock.fast_forward(1000)
        wait_for_trials(page, first + 5)
        for turn in range(1, 4):
            server.cut_connections()
            store_trials(held_folder, 30)
            wait_for_trials(page, first + 5 + 30 * turn)
        assert list_trials(page) == [*range(1, first + 96)]
        assert page.evaluate("pathlabExplorer.app.app.notices.size") == 0
    expect(page.locator("[data-panel=notice]")).to_contain_text("The server does not answer")
    assert len(list_trials(page)) == first + 95
    page.close()  # it would try again, and complain again
    watch.expect("ERR_CONNECTION|ERR_EMPTY|ERR_INCOMPLETE|request failed")
