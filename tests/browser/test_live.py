"""A running campaign in the explorer: followed, steered, reconnected, killed, watched by two at once."""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pathlab.runner.journal import STARTED, Journal
from pathlab.store.records import TrialRecord
from pathlab.store.results import Results
from tests.browser.explorer_page import ExplorerPage, check_accessibility
from tests.browser.watching import PATIENCE_MS, Watch
from tests.integration.running import ROOT, Run, running, write_campaign
from tests.require import require
from tests.serving import ServedExplorer
from tests.writers import hold_results

LIVE = "[data-panel=live]"
STATE = f"{LIVE} .run-state"
#: More than a test waits for: its run goes on until it is stopped.
ENDLESS_CYCLES = 400


@pytest.fixture
def _needs_engine() -> None:
    require((ROOT / "native" / "build" / "pathlab-engine").exists(), "the native engine (make engine)")


@pytest.fixture
def live_run(tmp_path: Path, _needs_engine: None) -> Iterator[tuple[Run, str]]:
    """A run with its explorer, and the address that opens it."""
    campaign = write_campaign(tmp_path, lab=False, cycles=ENDLESS_CYCLES, duration="1500ms")
    campaign.write_text(campaign.read_text().replace("streams = [2]", "streams = [1, 3]"))
    with running(["run", str(campaign), "--out", "out", "--serve", "--quiet"], tmp_path) as run:
        screen = run.read_until(r"token=[\w-]+\s")
        found = re.search(r"http://\S+token=[\w-]+", screen)
        assert found is not None
        yield run, found[0]


def count_trials(page: Page) -> int:
    return int(page.evaluate("pathlabExplorer.app.table.count"))


def list_trials(page: Page) -> list[int]:
    """The numbers of the trials in the page's table, in the order in which they came."""
    return list(page.evaluate("[...pathlabExplorer.app.table.column('trial').values]"))


#: Whether the first row of the plan, which is complete, is drawn in the colour of its name.
SAME_COLOURS = """() => {
  const strip = document.querySelector(".strip");
  const copy = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  copy.drawImage(strip, 0, 0);
  const drawn = copy.getImageData(1, strip.height >> 1, 1, 1).data.slice(0, 3);
  const named = window.getComputedStyle(document.querySelector('.row-state[data-row="c"]')).backgroundColor;
  return named === "rgb(" + drawn.join(", ") + ")";
}"""


#: Whether the medians so far are undecided, as those of fewer than six trials are; the run is paused.
MEDIANS_UNDECIDED = """() => {
  const rows = Array.from(document.querySelectorAll("[data-panel=live] .wide tbody tr"))
    .filter((row) => row.firstChild.textContent.includes("Streams 3"));
  if (rows.length !== 1) { return false; }
  const [, trials, , interval] = Array.from(rows[0].children, (one) => one.textContent);
  return parseInt(trials, 10) >= 6 || interval === "undecided";
}"""


def wait_for_trials(page: Page, count: int) -> None:
    page.wait_for_function(
        "(count) => pathlabExplorer.app.table && pathlabExplorer.app.table.count >= count", arg=count
    )


def wait_for_stream(page: Page) -> None:
    """Wait until the page has heard of the results from the server."""
    page.wait_for_function("() => pathlabExplorer.live.runs.size === 1")


def store_trials(folder: Path, count: int) -> None:
    """Store another attempt of the last trial, as often."""
    with Results.open(folder, write=True) as results:
        last = max(results.records_by_id())
        record: TrialRecord = results.record(last)
        for number in range(count):
            results.add_trial(dataclasses.replace(record, attempt=record.attempt + 1 + number), {})


def check_strip_colours(page: Page) -> None:
    """The rows of the plan have the colours of their legend, also when the colours of the page change."""
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(SAME_COLOURS)
    page.emulate_media(media="print")
    expect(page.locator(f"{LIVE} .strip")).to_be_hidden()
    page.emulate_media(media="screen")


@pytest.mark.engine
def test_a_live_run_from_start_to_end(page: Page, live_run: tuple[Run, str], tmp_path: Path) -> None:
    _, address = live_run
    explorer = ExplorerPage(page)
    page.goto(address)
    expect(page.locator(STATE)).to_have_text("Running")
    expect(page.locator(f"{LIVE} .link")).to_have_text("connected")
    under_way = page.locator(f"{LIVE} .under-way").first  # the next may begin before its end is heard
    expect(under_way.locator("h3")).to_contain_text("local → local, streams ")
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

    page.get_by_role("button", name="Pause …").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.locator(STATE)).to_have_text("Running")
    page.keyboard.press("Enter")  # the focus came back to the button
    page.get_by_role("button", name="Pause the run").press("Enter")
    expect(page.locator(STATE)).to_have_text("Paused")
    expect(under_way).to_have_count(0)
    page.wait_for_function(MEDIANS_UNDECIDED)
    check_accessibility(page)
    check_strip_colours(page)
    before = count_trials(page)
    page.get_by_role("button", name="Resume").press("Enter")
    expect(page.locator(STATE)).to_have_text("Running")
    wait_for_trials(page, before + 1)
    page.get_by_role("button", name="Stop …").click()
    page.get_by_role("button", name="Stop the run").click()
    expect(page.locator(STATE)).to_have_text("Ended before its plan was complete: stopped by `pathlab stop`")
    expect(page.locator(f"{LIVE} .link")).to_have_text("run ended")
    with Results.open(tmp_path / "out") as results:
        stored = sorted(results.records_by_id())
    wait_for_trials(page, len(stored))
    assert list_trials(page) == stored
    assert page.get_by_role("button", name="Stop …").is_hidden()
    explorer.settle()
    check_accessibility(page)
    page.close()  # before its server ends


@pytest.mark.engine
@pytest.mark.usefixtures("_needs_engine")
def test_two_browsers_see_the_same_run_and_what_the_other_does(
    new_context: Callable[..., BrowserContext], serve: Callable[..., ServedExplorer], tmp_path: Path
) -> None:
    campaign = write_campaign(tmp_path, lab=False, cycles=ENDLESS_CYCLES, duration="500ms")
    with running(["run", str(campaign), "--out", "out", "--quiet"], tmp_path) as run:
        while not (tmp_path / "out" / "results.db").exists():
            assert run.process.poll() is None
            time.sleep(0.05)
        served = serve(tmp_path / "out")
        pages = []
        for _ in range(2):
            pages.append(new_context().new_page())
            pages[-1].goto(served.listener.format_access_url(served.keys.token))
            expect(pages[-1].locator(STATE)).to_have_text("Running")
        one, other = pages
        one.get_by_role("button", name="Pause …").click()
        one.get_by_role("button", name="Pause the run").click()
        for page in pages:
            expect(page.locator(STATE)).to_have_text("Paused")
        other.get_by_role("button", name="Resume").click()
        for page in pages:
            expect(page.locator(STATE)).to_have_text("Running")
        one.get_by_role("button", name="Stop …").click()
        one.get_by_role("button", name="Stop the run").click()
        for page in pages:
            expect(page.locator(STATE)).to_contain_text("Ended before its plan was complete")
        assert run.process.wait(PATIENCE_MS / 1000) == 4
        with Results.open(tmp_path / "out") as results:
            stored = sorted(results.records_by_id())
        for page in pages:
            wait_for_trials(page, len(stored))
            assert list_trials(page) == stored


@pytest.fixture
def held_folder(make_folder: Callable[..., Path], tmp_path: Path) -> Path:
    """Results with a journal that says that a run began, which no test before has changed."""
    folder = make_folder("held", cycles=1)
    with Results.open(folder, write=True) as results:
        Journal(results, lambda _event: None).add(STARTED, "started")
    return folder


def test_a_killed_run_is_said_to_be_and_its_trials_stay(
    page: Page, serve: Callable[..., ServedExplorer], held_folder: Path
) -> None:
    with hold_results(held_folder) as holder:
        try:
            served = serve(held_folder)
            ExplorerPage(page).open(served.listener.format_access_url(served.keys.token))
            expect(page.locator(STATE)).to_have_text("Running")
            before = count_trials(page)
        finally:
            holder.kill()
    expect(page.locator(STATE)).to_have_text("Killed: the run ended without a word; what it measured is here")
    expect(page.get_by_role("button", name="Stop …")).to_be_hidden()
    assert count_trials(page) == before > 0


def test_what_was_missed_comes_once_and_in_order(
    page: Page, serve: Callable[..., ServedExplorer], held_folder: Path, watch: Watch
) -> None:
    served = serve(held_folder)
    ExplorerPage(page).open(served.listener.format_access_url(served.keys.token))
    wait_for_stream(page)
    first = count_trials(page)
    for turn in range(1, 4):
        served.cut_connections()
        store_trials(held_folder, 30)
        wait_for_trials(page, first + 30 * turn)
    assert list_trials(page) == [*range(1, first + 91)]
    assert page.evaluate("pathlabExplorer.app.notices.size") == 0
    page.close()
    watch.expect("ERR_CONNECTION|ERR_EMPTY|ERR_INCOMPLETE|request failed")


def test_after_sleep_the_page_connects_anew(
    page: Page, serve: Callable[..., ServedExplorer], held_folder: Path, watch: Watch
) -> None:
    """A laptop that slept: timers stood still, and nobody told it that its connection is dead."""

    def count_connections() -> int:
        return sum("/events?" in url for url in watch.requests)

    served = serve(held_folder)
    page.clock.install()
    ExplorerPage(page).open(served.listener.format_access_url(served.keys.token))
    wait_for_stream(page)
    first = count_trials(page)
    assert count_connections() == 1
    with page.expect_request("**/events?*"):
        page.clock.fast_forward("08:00:00")
    assert count_connections() == 2
    store_trials(held_folder, 5)
    page.clock.fast_forward(1000)
    wait_for_trials(page, first + 5)
    assert list_trials(page) == [*range(1, first + 6)]


def test_a_server_that_ended_is_said_and_what_is_shown_stays(
    page: Page, held_folder: Path, watch: Watch
) -> None:
    from tests.serving import serving

    with serving(held_folder) as served:
        ExplorerPage(page).open(served.listener.format_access_url(served.keys.token))
        wait_for_stream(page)
        before = count_trials(page)
    expect(page.locator("[data-panel=notice]")).to_contain_text("The server does not answer")
    assert count_trials(page) == before
    page.close()  # it would try again, and complain again
    watch.expect("ERR_CONNECTION_REFUSED|request failed")


def test_a_page_left_open_keeps_little(
    page: Page, serve: Callable[..., ServedExplorer], held_folder: Path
) -> None:
    with hold_results(held_folder) as holder:
        try:
            served = serve(held_folder)
            ExplorerPage(page).open(served.listener.format_access_url(served.keys.token))
            expect(page.locator(STATE)).to_have_text("Running")
            kept: dict[str, Any] = page.evaluate("""() => {
                const { app, trialsNow } = pathlabExplorer;
                const told = { results: "A", time_utc: new Date().toISOString() };
                const text = "<img src=x onerror=alert(1)>";
                app.emit("live", { ...told, event: "trial-started", row: 0, attempt: 1, source: text,
                    destination: "b", streams: 2, estimate_ns: 1e9, settings: {},
                    levels: "streams 2, window 64 KiB" });
                for (let number = 0; number < 5000; number += 1) {
                    app.emit("live", { ...told, event: "rate", row: 0, bits_per_s: number, elapsed_ns: 0 });
                    app.emit("live", { ...told, event: "journal", recorded_utc: told.time_utc, text });
                }
                return { rates: trialsNow.trials.get("A 0").rates.length };
            }""")
            assert kept["rates"] == 60
            page.get_by_text("What happened").click()
            expect(page.locator(f"{LIVE} .happened li")).to_have_count(100)
            assert page.locator(f"{LIVE} img").count() == 0
            expect(page.locator(f"{LIVE} .under-way h3")).to_contain_text("<img src=x onerror=alert(1)>")
        finally:
            holder.kill()


def test_of_a_million_streams_the_extremes_are_shown(
    page: Page, serve: Callable[..., ServedExplorer], held_folder: Path
) -> None:
    with hold_results(held_folder) as holder:
        try:
            served = serve(held_folder)
            ExplorerPage(page).open(served.listener.format_access_url(served.keys.token))
            expect(page.locator(STATE)).to_have_text("Running")
            page.evaluate("""() => {
                const { app } = pathlabExplorer;
                const told = { results: "A", time_utc: new Date().toISOString(), row: 0 };
                app.emit("live", { ...told, event: "trial-started", attempt: 1, source: "a", destination: "b",
                    streams: 2 ** 20, estimate_ns: 1e9, settings: {} });
                const streams = [...Array(16).keys()].map((place) => [place * 65536, 1e6 * (place + 1)]);
                app.emit("live", { ...told, event: "streams", measure: "bits_per_s", elapsed_ns: 0,
                    count: 2 ** 20, median: 8e6, streams });
            }""")
            streams = page.locator(f"{LIVE} .streams")
            expect(streams.locator("summary")).to_have_text(
                "Streams: the 8 slowest and 8 fastest of 1,048,576 streams; median 8 Mbit/s"
            )
            streams.locator("summary").click()
            expect(streams.locator("tbody tr")).to_have_count(16)
        finally:
            holder.kill()


def test_an_exported_page_asks_nobody(page: Page, exported: Callable[..., str], results_folder: Path) -> None:
    ExplorerPage(page).open(exported(results_folder))
    assert page.locator(LIVE).is_hidden()
    assert page.evaluate("pathlabExplorer.live.state.link") == "closed"
