"""How fast the explorer is in a headless Chromium, and how large its exported file.

``python benchmarks/explorer.py --help`` says how; README.md alongside it says what the rows mean.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from outcome import echo, keep_json, translate_faults
from playwright.sync_api import Browser, Page, Response

sys.path.insert(0, str(Path(__file__).parents[1]))

from pathlab.errors import HostError
from tests.builders.explored import write_long, write_many
from tools.chromium import find_chromium, open_chromium

WINDOW = {"width": 1280, "height": 900}
DEADLINE_S = 120.0
TRIALS, SMALL, POINTS = 100_000, 1_000, 1_000_000
#: Time between two live trials, besides a part of a second that is another one each time.
TRIAL_S, ODD_S = 2.0, 0.37
MIB_6 = 6 * 1024 * 1024
#: When figures were on the screen and when the rest of the page followed, in ms since the navigation
#: began. The figure is drawn within a frame; a task of the highest priority is the first thing after that.
MARK = """
window.pathlabMarks = { figure: [], page: [] };
document.addEventListener("DOMContentLoaded", () => {
    const { app } = window.pathlabExplorer;
    const mark = (name) => window.pathlabMarks[name].push(performance.now());
    app.on("figure", () => scheduler.postTask(() => mark("figure"), { priority: "user-blocking" }));
    app.on("settled", () => scheduler.postTask(() => mark("page"), { priority: "user-blocking" }));
});
"""
WAIT = "() => window.pathlabMarks.page.length && window.pathlabMarks.figure.length"
#: Milliseconds from a change of the view to its figure, and to the rest of the page.
CHANGE = """(change) => new Promise((resolve) => {
    const marks = window.pathlabMarks = { figure: [], page: [] };
    const from = performance.now();
    window.pathlabExplorer.app.app.setView(change, { replace: true });
    const look = () => marks.figure.length && marks.page.length
        ? resolve([marks.figure[0] - from, marks.page[0] - from]) : window.setTimeout(look, 1);
    look();
})"""
#: Filters that a user sets one after the other; each is lifted again.
FILTERS: dict[str, dict[str, Any]] = {
    "one level of a factor": {"where": {"window_bytes": {"levels": [65536], "except": False}}},
    "all but two levels": {"where": {"streams": {"levels": [1, 2], "except": True}}},
    "range of a measured column": {"where": {"throughput_bits_per_s": {"low": 10, "high": 30}}},
    "words in any text": {"text": "west complete"},
    "half of the time": {"where": {"started_utc": {"low": 1767823445, "high": None}}},
}
#: The drawn course of the open trial, and the time between frames until the list is taken.
COURSE = "[data-panel=details] .course-frame canvas"
FRAMES = """() => {
    const frames = window.pathlabFrames = [];
    let before = performance.now();
    const next = (now) => {
        frames.push(now - before);
        before = now;
        if (window.pathlabFrames === frames) { window.requestAnimationFrame(next); }
    };
    window.requestAnimationFrame(next);
}"""
TAKE_FRAMES = """() => {
    const frames = window.pathlabFrames;
    window.pathlabFrames = null;
    return frames.slice(1);
}"""
LIFT = {"where": None, "text": ""}
#: Milliseconds since 1970 after the frame in which more than ``count`` trials are drawn.
AWAIT_MORE = """(count) => {
    const { app } = window.pathlabExplorer;
    const at = new Promise((resolve) => {
        const stop = app.on("figure", () => {
            if (app.table.count <= count) { return; }
            stop();
            scheduler.postTask(() => resolve(Date.now()), { priority: "user-blocking" });
        });
    });
    return { at };
}"""
WRITER = """
import dataclasses, datetime, sys, time
from pathlab.store.results import Results
with Results.open(sys.argv[1], write=True) as results:
    record = results.record(1)
    rows = [row.row for row in results.unfinished()]
    print("ready", flush=True)
    for row, line in zip(rows, sys.stdin):
        now = datetime.datetime.now(datetime.UTC).isoformat()
        results.add_trial(dataclasses.replace(record, plan_row=row, attempt=2, started_utc=now), {})
        print(time.time(), flush=True)
"""


@dataclass(kw_only=True)
class Row:
    """One row of the table: values of the repetitions, and the limit that their median has to keep."""

    name: str
    unit: str
    limit: float | None = None
    values: list[float] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """Whether the median is within the limit."""
        if self.limit is None:
            return ""
        return "met" if statistics.median(self.values) <= self.limit else "MISSED"

    def print(self) -> None:
        """One line: median, least and greatest value, limit, verdict."""
        limit = "" if self.limit is None else f"{self.limit:g}"
        echo(
            f"{self.name:44}{statistics.median(self.values):>10.1f}{min(self.values):>10.1f}"
            f"{max(self.values):>10.1f}  {self.unit:6}{limit:>8}  {self.verdict}".rstrip()
        )


class Bench:
    """One Chromium, and the rows that were measured with it."""

    def __init__(self, browser: Browser, repetitions: int) -> None:
        self.browser, self.repetitions = browser, repetitions
        self.rows: list[Row] = []

    def add(self, name: str, unit: str, values: Sequence[float], limit: float | None = None) -> None:
        """Keep and print a row."""
        self.rows.append(Row(name=name, unit=unit, values=list(values), limit=limit))
        self.rows[-1].print()

    def open_page(self, address: str = "") -> Page:
        """A page with cookies of its own that notes when it drew; ``address`` lets it in."""
        context = self.browser.new_context(viewport=WINDOW)
        context.add_init_script(MARK)
        page = context.new_page()
        page.set_default_timeout(DEADLINE_S * 1000)
        if address:
            page.goto(address)
            page.wait_for_function(WAIT)
        return page

    def time_first_figure(self, page: Page, address: str) -> float:
        """Milliseconds from the begin of a navigation to the frame after its figure was drawn."""
        page.goto("about:blank")
        page.goto(address)
        page.wait_for_function(WAIT)
        return float(page.evaluate("window.pathlabMarks.figure[0]"))


@contextlib.contextmanager
def open_browser() -> Iterator[Browser]:
    """A headless Chromium. Raises HostError where there is none."""
    program = find_chromium()
    if program is None:
        raise HostError("no Chromium", host="local", stage="engine", hint="apt-get install chromium")
    with open_chromium(program) as browser:
        yield browser


@contextlib.contextmanager
def serve(*folders: Path) -> Iterator[str]:
    """``pathlab serve`` in a process of its own; lends the address that opens it once."""
    words = [sys.executable, "-m", "pathlab", "serve", *map(str, folders)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def measure_page(bench: Bench, folder: Path) -> None:
    """The first figure and the filters of a served page."""
    with serve(folder) as address:
        page = bench.open_page()
        began = time.perf_counter()
        page.goto(address)
        page.wait_for_function(WAIT)
        bench.add("first figure, server just started", "ms", [1000 * (time.perf_counter() - began)])
        home = address.partition("?")[0]
        times = [bench.time_first_figure(page, home) for _ in range(bench.repetitions)]
        bench.add("first figure", "ms", times, 1000)
        for name, change in FILTERS.items():
            times = []
            for _ in range(bench.repetitions):
                times.append(page.evaluate(CHANGE, change))
                page.evaluate(CHANGE, LIFT)
            bench.add(f"filter: {name}", "ms", [figure for figure, _ in times], 100)
            bench.add("  with the rest of the page", "ms", [rest for _, rest in times])
        page.context.close()


def measure_course(bench: Bench, folder: Path) -> None:
    """A series of a million points: shown, moved with the mouse, and how much of it reaches the browser."""
    long = write_long(folder.parent / "long", POINTS)
    with serve(long) as address:
        page = bench.open_page(address)
        sizes: list[float] = []
        page.on("response", lambda answer: sizes.extend(count_points(answer)))
        times = []
        for _ in range(bench.repetitions):
            page.evaluate("window.pathlabExplorer.app.app.setView({ trial: null, series: null })")
            page.wait_for_selector(COURSE, state="detached")
            began = time.perf_counter()
            page.evaluate(
                "window.pathlabExplorer.app.app.setView({ trial: 'A:1', series: 'loaded_probes.rtt_ns' })"
            )
            page.wait_for_selector(COURSE)
            times.append(1000 * (time.perf_counter() - began))
        bench.add(f"trial with {POINTS:,} points: shown", "ms", times)
        page.focus(".course-frame")
        for _ in range(4):
            page.keyboard.press("+")
        page.wait_for_load_state("networkidle")
        intervals = [interval for _ in range(bench.repetitions) for interval in pan(page)]
        bench.add("pan: from frame to frame", "ms", intervals, 50)
        ranked = sorted(intervals)
        bench.add("pan: 95th percentile of frames", "ms", [ranked[int(0.95 * len(ranked))]], 50)
        page.wait_for_load_state("networkidle")
        bench.add("points for each pixel that reach the browser", "", [max(sizes)], 4)
        page.context.close()


def count_points(answer: Response) -> list[float]:
    """Values of a course's answer for each pixel; nothing of another answer."""
    if "/api/course/" not in answer.url:
        return []
    result, pixels = answer.json(), int(parse_qs(urlsplit(answer.url).query)["pixels"][0])
    drawn = sum(len(line["values"]) for line in result["lines"]) + sum(
        len(item["values"]) for item in result["bands"]
    )
    return [drawn / pixels / max(1, len(result["lines"]))]


def pan(page: Page) -> list[float]:
    """Milliseconds between frames while the mouse draws the course back and forth."""
    box = page.locator(COURSE).bounding_box()
    assert box is not None
    middle, height = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.evaluate(FRAMES)
    page.mouse.move(middle, height)
    page.mouse.down()
    page.mouse.move(middle - 300, height, steps=60)
    page.mouse.move(middle + 300, height, steps=120)
    page.mouse.move(middle, height, steps=60)
    page.mouse.up()
    return [float(item) for item in page.evaluate(TAKE_FRAMES)]


def measure_export(bench: Bench, folder: Path) -> None:
    """The exported file: its size, how long it takes to write, and its first figure."""
    out = folder.parent / "explorer.html"
    words = [
        sys.executable,
        "-m",
        "pathlab",
        "report",
        str(folder),
        "--format",
        "explorer",
        "--out",
        str(out),
    ]
    began = time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    bench.add("exported file: written in", "s", [time.perf_counter() - began])
    bench.add("exported file: size", "MB", [out.stat().st_size / 1e6], MIB_6 / 1e6)
    page = bench.open_page()
    times = [bench.time_first_figure(page, out.as_uri()) for _ in range(bench.repetitions)]
    bench.add("exported file: first figure", "ms", times, 1000)
    page.context.close()


def measure_live(bench: Bench, folder: Path) -> None:
    """From the commit of a trial by another process to the frame in which the page shows it."""
    small = write_many(folder.parent / "small", SMALL)
    time_live(bench, small, f"live: stored to shown, {SMALL:,} trials")
    time_live(bench, folder, "live: stored to shown, all trials")


def time_live(bench: Bench, folder: Path, name: str) -> None:
    """One row of ``measure_live``."""
    with serve(folder) as address:
        page = bench.open_page(address)
        words = [sys.executable, "-c", WRITER, str(folder)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdin is not None
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            delays = []
            for number in range(3 * bench.repetitions):
                time.sleep(TRIAL_S + number * ODD_S % 1)  # trials take seconds; the page rests between them
                count = page.evaluate("window.pathlabExplorer.app.app.table.count")
                shown = page.evaluate_handle(AWAIT_MORE, count)
                writer.stdin.write("go\n")
                writer.stdin.flush()
                committed_s = float(writer.stdout.readline())
                delays.append(page.evaluate("(shown) => shown.at", shown) - 1000 * committed_s)
            writer.stdin.close()
        bench.add(name, "ms", delays, 300)
        page.context.close()


MEASUREMENTS: dict[str, Callable[[Bench, Path], None]] = {
    "page": measure_page,
    "course": measure_course,
    "export": measure_export,
    "live": measure_live,
}


def describe_machine(browser: Browser) -> dict[str, Any]:
    """What the figures depend on."""
    return {"chromium": browser.version, "cores": os.cpu_count(), "machine": platform.machine()}


@translate_faults
def main(arguments: Sequence[str]) -> int:
    """Write the results, measure what is requested, and print the table."""
    parser = argparse.ArgumentParser(prog="benchmarks/explorer.py", description=__doc__)
    parser.add_argument(
        "--only", action="append", choices=list(MEASUREMENTS), help="repeatable (default: all)"
    )
    parser.add_argument("--trials", type=int, default=TRIALS, help=f"trials of the results ({TRIALS})")
    parser.add_argument("--repetitions", type=int, default=7, help="of each measurement (7)")
    parser.add_argument("--results", type=Path, help="measure with these results instead")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all values, as JSON")
    given = parser.parse_args(arguments)
    stored: dict[str, Any] = {"trials": given.trials, "rows": []}
    with (
        tempfile.TemporaryDirectory(prefix="pathlab-benchmark-") as scratch,
        open_browser() as browser,
        keep_json(stored, given.json),
    ):
        stored["environment"] = describe_machine(browser)
        folder = given.results or write_many(Path(scratch) / "results", given.trials)
        echo(f"{'':44}{'median':>10}{'least':>10}{'most':>10}  {'unit':6}{'target':>8}")
        bench = Bench(browser, given.repetitions)
        for name in given.only or MEASUREMENTS:
            MEASUREMENTS[name](bench, folder)
            stored["rows"] = [asdict(row) | {"verdict": row.verdict} for row in bench.rows]
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
