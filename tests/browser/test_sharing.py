"""What the page passes on, followed to its end: files, command, code and link show the same numbers."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.browser.explorer_page import ExplorerPage


def download(page: Page, ending: str) -> bytes:
    """The file that a button of the share panel gives."""
    with page.expect_download() as waiting:
        page.click(f"[data-download={ending}]")
    assert waiting.value.suggested_filename.startswith("pathlab-")
    assert waiting.value.suggested_filename.endswith(f".{ending}")
    return Path(waiting.value.path()).read_bytes()


def view_as_csv(folder: Path, text: str, out: Path) -> bytes:
    """What the command line writes for a view."""
    words = ["view", str(folder), text, "--output", str(out)]
    subprocess.run([sys.executable, "-m", "pathlab", *words], check=True, stdout=subprocess.DEVNULL)
    return out.read_bytes()


@pytest.fixture
def shown(page: Page, served: Callable[..., str], results_folder: Path) -> ExplorerPage:
    explorer = ExplorerPage(page).open(served(results_folder))
    explorer.open_folds("share")
    return explorer


def test_the_command_and_the_code_give_the_figure_that_is_shown(shown: ExplorerPage, tmp_path: Path) -> None:
    shown.set_view(statistic="p90", where={"window_bytes": {"levels": [65536], "except": False}})
    numbers = download(shown.page, "csv")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = f"{shown.value('command')} --output {tmp_path}/view.csv"
    subprocess.run(["sh", "-c", command], check=True, stdout=subprocess.DEVNULL, env=environment)
    assert (tmp_path / "view.csv").read_bytes() == numbers
    found: dict[str, Any] = {}
    exec(shown.value("code"), found)  # what users paste
    points = [point for facet in found["figure"].facets for curve in facet.curves for point in curve.points]
    assert len(points) == len(numbers.splitlines()) - 1


def test_the_link_shows_the_same_view(
    shown: ExplorerPage, new_context: Callable[..., BrowserContext]
) -> None:
    shown.set_view(x="window_bytes", colour="streams", statistic="mean")
    other = ExplorerPage(shown.page.context.new_page()).open(shown.value("link"))
    assert other.text == shown.text
    assert other.page.title() == shown.page.title()


def test_pictures_hold_title_and_legend(shown: ExplorerPage) -> None:
    check_pictures(shown.page)


def check_pictures(page: Page) -> None:
    drawing = ET.fromstring(download(page, "svg"))
    words = "".join(drawing.itertext())
    assert "Throughput" in words
    assert "64 KiB" in words
    assert download(page, "png").startswith(b"\x89PNG\r\n\x1a\n")


def test_an_exported_file_gives_the_same_files(
    page: Page, exported: Callable[..., str], results_folder: Path, tmp_path: Path
) -> None:
    explorer = ExplorerPage(page).open(exported(results_folder))
    explorer.open_folds("share")
    check_pictures(page)
    mine = [line.split(",") for line in download(page, "csv").decode().splitlines()]
    exact = view_as_csv(results_folder, explorer.text, tmp_path / "exact.csv").decode().splitlines()
    for line, reference in zip(mine, (line.split(",") for line in exact), strict=True):
        for cell, wanted in zip(line, reference, strict=True):
            try:
                assert float(cell) == pytest.approx(float(wanted), rel=5e-4)
            except ValueError:
                assert cell == wanted
    assert explorer.value("command").startswith("pathlab view results ")


def test_copied_text_is_on_the_clipboard(
    new_context: Callable[..., BrowserContext], served: Callable[..., str], results_folder: Path
) -> None:
    context = new_context(permissions=["clipboard-read", "clipboard-write"])
    explorer = ExplorerPage(context.new_page()).open(served(results_folder))
    explorer.open_folds("share")
    for name in ("link", "command", "code"):
        explorer.page.click(f"[data-copy={name}]")
        explorer.page.wait_for_selector(f"[data-status=share]:has-text('Copied the {name}.')")
        assert explorer.page.evaluate("navigator.clipboard.readText()") == explorer.value(name)
