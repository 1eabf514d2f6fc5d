"""Makes the screenshots of README and documentation from stored results: what a user sees, no text of ours.

    python -m tools.screenshots RESULTS [OTHER]     writes docs/images/*.png and says so

They are the first screen of RESULTS' report at the width of a desk and of a phone, dark, and printed (the
first page of the PDF); its explorer, and another view of it in dark colours; the live view of the run at 60,
80 and 120 columns, replayed from the stored trials (tools/live_replay.py); and ``pathlab compare RESULTS
OTHER``. Terminals are pseudo-terminals, whose screens pyte keeps and Chromium draws. Needs the extra ``dev``
and Chromium, and no network.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page

from pathlab.store.results import Results
from tools.chromium import find_chromium, open_chromium
from tools.terminal import TerminalScreen, render_screen, run_in_terminal

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = (60, 80, 120)
LINES, LINES_OF_OUTPUT = 24, 200
#: Where in the run the live view is shown, as a share of its trials.
MOMENT = 0.6
FORMATS = {"html": "report.html", "pdf": "report.pdf", "explorer": "explorer.html"}
DESK, PHONE = (1200, 900), (390, 844)
#: The part of the explorer below the figure is left out.
EXPLORER = (1200, 760)
EXPLORER_DARK = "x=window_bytes&y=loaded_rtt_mean_ns&colour=streams"
#: A window that shows a whole page at twice its size, the page's rows above all text, and the greatest
#: brightness around pages.
VIEWER, PAGE_TOP, VIEWER_LEVEL_MAX, SCROLLBAR_PIXELS = (2600, 2400), 20, 128, 20
DEADLINE_S, SETTLE_MS = 120.0, 400
COMPARE_COLUMNS = 80
#: Whether the explorer still reads its results, or a figure inside the window is still to be drawn.
WAITING = """document.querySelector("[data-waiting]") !== null
    || Array.from(document.querySelectorAll("figure.plot[data-state=waiting]")).some(figure => {
    const area = figure.getBoundingClientRect();
    return area.height && area.top < window.innerHeight;
})"""


def crop_page(picture: bytes) -> bytes | None:
    """The first page of a PDF from the browser's viewer, which shows it at twice its size on a dark ground.

    None while it shows no text. Halved, the coloured edges that the viewer gives to letters turn grey.
    """
    with Image.open(io.BytesIO(picture)) as image:
        grey = image.convert("L")
        bright = grey.point(lambda level: 255 if level > VIEWER_LEVEL_MAX else 0)
        result = bright.crop((0, 0, image.width - SCROLLBAR_PIXELS, PAGE_TOP)).getbbox()
        if result is None:
            return None
        left, top, right, _ = result
        height = next(
            (row for row in range(top, image.height) if not bright.getpixel((left, row))), image.height
        )
        levels = np.asarray(grey.crop((left, top, right, height)))
        if levels.min() > VIEWER_LEVEL_MAX:
            return None
        page, kept = image.convert("RGB").crop((left, top, right, height)), io.BytesIO()
        page.reduce(2).save(kept, "png")
    return kept.getvalue()


def reduce_colours(image: Image.Image) -> Image.Image:
    """The image with 256 colours at most; those of a few pixels, such as a marker's, stay as they are."""
    return image.convert("RGB").quantize(
        256, method=Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE
    )


def capture_settled(page: Page, cut: Callable[[bytes], bytes | None] = bytes) -> bytes:
    """What ``cut`` keeps of the window once it stays the same: figures are drawn after their page."""
    limit, before = time.monotonic() + DEADLINE_S, None
    while (now := cut(page.screenshot())) is None or now != before or page.evaluate(WAITING):
        if time.monotonic() > limit:
            raise SystemExit("screenshots: the page keeps changing")
        before = now
        page.wait_for_timeout(SETTLE_MS)
    return now


class Screenshots:
    """Takes pictures of pages with one browser and keeps them in a folder as small PNG files."""

    def __init__(self, browser: Browser, folder: Path, scratch: Path) -> None:
        self._browser, self._folder, self._scratch = browser, folder, scratch

    def take_report(self, page: Path) -> Iterator[Path]:
        """The first screen: on a desk, on a phone, in dark colours."""
        for name, size in (("report", DESK), ("report-phone", PHONE), ("report-dark", DESK)):
            with self._open(page.as_uri(), size, is_dark=name == "report-dark") as shown:
                yield self._write(name, capture_settled(shown))

    def take_explorer(self, page: Path) -> Iterator[Path]:
        """The explorer with its first view; in dark colours with its median over the windows."""
        with self._open(page.as_uri(), EXPLORER) as shown:
            yield self._write("explorer", capture_settled(shown))
            shown.emulate_media(color_scheme="dark")
            shown.evaluate(f"window.location.hash = {EXPLORER_DARK!r}")
            yield self._write("explorer-dark", capture_settled(shown))

    def take_paper(self, printed: Path) -> Path:
        """The first page of a PDF, as the browser shows it."""
        with self._open(f"{printed.as_uri()}#toolbar=0&navpanes=0&zoom=200", VIEWER) as shown:
            return self._write("report-print", capture_settled(shown, crop_page))

    def take_terminal(self, name: str, screen: TerminalScreen, title: str) -> Path:
        """A terminal's screen, in the size of its text."""
        page = self._scratch / f"{name}.html"
        page.write_text(render_screen(screen, title), encoding="utf-8")
        with self._open(page.as_uri(), (DESK[0], LINES_OF_OUTPUT)) as shown:
            width, height = shown.evaluate("[document.body.offsetWidth, document.body.offsetHeight]")
            shown.set_viewport_size({"width": width, "height": height})
            return self._write(name, capture_settled(shown))

    @contextlib.contextmanager
    def _open(self, address: str, size: tuple[int, int], *, is_dark: bool = False) -> Iterator[Page]:
        """A page in a window of this size, as a phone has it or a desk."""
        context = self._browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            is_mobile=size == PHONE,
            color_scheme="dark" if is_dark else "light",
        )
        context.set_default_timeout(DEADLINE_S * 1000)
        page = context.new_page()
        page.goto(address)
        yield page
        context.close()

    def _write(self, name: str, picture: bytes) -> Path:
        path = self._folder / f"{name}.png"
        with Image.open(io.BytesIO(picture)) as image:
            reduce_colours(image).save(path, optimize=True)
        return path


def write_report(results: Path, path: Path, form: str) -> Path:
    """The report in one format."""
    words = ["report", str(results), "--format", form, "--out", str(path)]
    subprocess.run([sys.executable, "-m", "pathlab", *words], check=True, stdout=subprocess.DEVNULL)
    return path


def name_campaign(folder: Path) -> str:
    """The name of the campaign that measured these results."""
    with Results.open(folder) as results:
        return results.campaign.name


def show_live(results: Path, columns: int) -> TerminalScreen:
    """The live view in the middle of the run."""
    command = [sys.executable, str(ROOT / "tools" / "live_replay.py"), str(results), "--until", str(MOMENT)]
    return run_in_terminal(command, columns, LINES)


def take_all(shots: Screenshots, results: Path, other: Path | None, scratch: Path) -> Iterator[Path]:
    """Every picture, one after the other."""
    with ThreadPoolExecutor() as pool:
        screens = [pool.submit(show_live, results, columns) for columns in COLUMNS]
        page, printed, explorer = (
            pool.submit(write_report, results, scratch / name, form) for form, name in FORMATS.items()
        )
        yield from shots.take_report(page.result())
        yield from shots.take_explorer(explorer.result())
        yield shots.take_paper(printed.result())
        for columns, live in zip(COLUMNS, screens, strict=True):
            yield shots.take_terminal(
                f"live-{columns}", live.result(), f"pathlab run {name_campaign(results)}"
            )
    if other is not None:
        words = ["compare", str(results), str(other)]
        screen = run_in_terminal([sys.executable, "-m", "pathlab", *words], COMPARE_COLUMNS, LINES_OF_OUTPUT)
        yield shots.take_terminal("compare", screen, f"pathlab {shlex.join(words)}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the screenshots of README and documentation.")
    parser.add_argument("results", type=Path, help="a results folder, for instance of a quickstart")
    parser.add_argument("other", type=Path, nargs="?", help="a second one, for `pathlab compare`")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "docs" / "images", help="the folder of the pictures"
    )
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    program = find_chromium()
    if program is None:
        sys.exit("screenshots: no Chromium here.\n  fix: install it (Debian: apt-get install chromium)")
    total = 0
    with (
        tempfile.TemporaryDirectory(prefix="pathlab-screenshots-") as scratch,
        open_chromium(program) as browser,
    ):
        shots = Screenshots(browser, given.out, Path(scratch))
        for path in take_all(shots, given.results, given.other, Path(scratch)):
            total += path.stat().st_size
            sys.stdout.write(f"{path}  {path.stat().st_size / 1000:.1f} kB\n")
    sys.stdout.write(f"{total / 1000:.0f} kB in all\n")


if __name__ == "__main__":
    main()
