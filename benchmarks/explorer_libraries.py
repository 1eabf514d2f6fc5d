"""How fast plotly.js and uPlot draw and pan in a headless Chromium: which one the explorer uses for what.

``.venv/bin/python benchmarks/explorer_libraries.py``; docs/decisions/2026-11-23-uplot-for-courses.md has the
result. Times are from a change to the frame that shows it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from explorer import WINDOW, open_browser
from outcome import echo, translate_faults
from playwright.sync_api import Page

from pathlab.report.explorer.page import read_assets

LIBRARIES = ("plotly-basic.min.js", "uPlot.iife.min.js")
PREPARE = """
window.shown = () => new Promise((resolve) =>
    window.requestAnimationFrame(() => window.setTimeout(() => resolve(performance.now()), 0)));
const area = document.body.appendChild(document.createElement("div"));
const layout = { width: 1000, height: 500, uirevision: 1 };
const list = (count, value) => Float64Array.from({ length: count }, (_, place) => value(place));
const wave = (count, at) => list(count, (place) => at + Math.sin(place / 50) + Math.random());
const ramp = (count) => list(count, (place) => place);
const curves = () => Array.from({ length: 5 }, (_, at) => ({
    type: "scatter", mode: "lines+markers", x: ramp(20), y: wave(20, at),
    error_y: { type: "data", array: wave(20, 1) },
}));
const dots = (count) => ({
    type: "scatter", mode: "markers", x: list(count, (place) => place % 20), y: wave(count, 2),
});
const line = (count) => ({ type: "scatter", mode: "lines", x: ramp(count), y: wave(count, 1) });
const options = {
    width: 1000, height: 500, series: [{}, { stroke: "#0072B2" }], scales: { x: { time: false } },
};
let drawn = null;
window.clear = () => { Plotly.purge(area); area.replaceChildren(); };
window.drawFigure = (count) => Plotly.react(area, [...curves(), dots(count)], layout);
window.drawSeries = (count) => Plotly.newPlot(area, [line(count)], layout);
window.pan = (count, share) =>
    Plotly.relayout(area, { "xaxis.range": [count * share, count * (0.5 + share)] });
window.makeSeries = (count) => { window.series = [ramp(count), wave(count, 1)]; };
window.drawLine = () => { drawn = new uPlot(options, window.series, area); };
window.panLine = (count, share) =>
    drawn.setScale("x", { min: count * share, max: count * (0.5 + share) });
window.reduce = (pixels) => {
    const values = window.series[1], kept = new Float64Array(2 * pixels), part = values.length / pixels;
    for (let pixel = 0; pixel < pixels; pixel += 1) {
        let low = Infinity, high = -Infinity;
        for (let at = Math.floor(pixel * part); at < Math.floor((pixel + 1) * part); at += 1) {
            if (values[at] < low) { low = values[at]; }
            if (values[at] > high) { high = values[at]; }
        }
        kept[2 * pixel] = low; kept[2 * pixel + 1] = high;
    }
    return kept.length;
};
"""
TIME = "async () => { const from = performance.now(); await (%s); return await window.shown() - from; }"


def time_steps(page: Page, name: str, steps: Sequence[str]) -> None:
    """Run each step, and print median, 95th percentile and greatest time."""
    times = sorted(float(page.evaluate(TIME % step)) for step in steps)
    worst = times[min(len(times) - 1, int(0.95 * len(times)))]
    echo(f"{name:52}{statistics.median(times):>9.1f}{worst:>9.1f}{times[-1]:>9.1f}")


def list_shares(count: int) -> list[float]:
    """Where a window of half the width begins, going back and forth."""
    return [abs((place * 0.01) % 1 - 0.5) for place in range(count)]


def measure(page: Page, repetitions: int) -> None:
    """Every line of the table."""
    for count in (0, 500, 2_000, 5_000):
        page.evaluate("window.clear()")
        page.evaluate(f"window.drawFigure({count})")
        name = f"plotly.js: figure of 5 x 20 points, {count:,} dots"
        time_steps(page, name, [f"window.drawFigure({count})"] * repetitions)
    for count in (2_400, 4_800):
        page.evaluate("window.clear()")
        page.evaluate(f"window.drawSeries({count})")
        steps = [f"window.pan({count}, {share})" for share in list_shares(10 * repetitions)]
        time_steps(page, f"plotly.js: pan of {count:,} points", steps)
    for count in (2_400, 4_800, 1_000_000):
        page.evaluate("window.clear()")
        page.evaluate(f"window.makeSeries({count})")
        steps = ["(window.clear(), window.drawLine())"] * repetitions
        time_steps(page, f"uPlot: first drawing of {count:,} points", steps)
        steps = [f"window.panLine({count}, {share})" for share in list_shares(10 * repetitions)]
        time_steps(page, f"uPlot: pan of {count:,} points", steps)
    steps = ["window.reduce(1000)"] * repetitions
    time_steps(page, "extremes of 1,000,000 points for 1,000 pixels", steps)


@translate_faults
def main(arguments: Sequence[str]) -> int:
    """Measure both libraries and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--repetitions", type=int, default=20, help="times that each figure is drawn (20)")
    given = parser.parse_args(arguments)
    with open_browser() as browser:
        page = browser.new_page(viewport=WINDOW)
        page.goto("about:blank")
        for name in LIBRARIES:
            page.add_script_tag(content=read_assets()[name].content.decode())
        page.evaluate(f"() => {{ {PREPARE} }}")
        echo(f"{'ms from a change to the frame that shows it':52}{'median':>9}{'95 %':>9}{'most':>9}")
        measure(page, given.repetitions)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
