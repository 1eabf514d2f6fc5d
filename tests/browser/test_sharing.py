"""What the page passes on, followed to its end: files, command, code and link show the same numbers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext

from tests.browser.explorer_page import ExplorerPage, check_pictures, download

#: What is said of the view outside its picture.
SAID = """(app) => {
    const { chosen, facts } = pathlabExplorer.titlePanel.describeView(app);
    const headline = pathlabExplorer.titlePanel.writeHeadline(app);
    const { notes, statistic, range } = app.exploration;
    return [headline, `Only: ${chosen}.`, statistic.slice(1), range, "undecided", ...facts, ...notes];
}"""


def test_link_command_code_and_files_give_the_figure_that_is_shown(
    new_context: Callable[..., BrowserContext], open_results: Callable[..., ExplorerPage], tmp_path: Path
) -> None:
    page = new_context(permissions=["clipboard-read", "clipboard-write"]).new_page()
    shown = open_results(page, "x=streams&y=throughput_bits_per_s&colour=window_bytes&facet=path")
    shown.open_folds("share")
    shown.set_view(statistic="p90", where={"streams": {"levels": [1, 2], "except": False}})
    picture = check_pictures(page)
    said = shown.evaluate(SAID)
    assert [text for text in said if text not in picture] == []
    assert len(said) > 7
    shown.set_view(where={"window_bytes": {"levels": [65536], "except": False}})
    numbers = download(page, "csv")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = f"{shown.value('command')} --output {tmp_path}/view.csv"
    subprocess.run(["sh", "-c", command], check=True, stdout=subprocess.DEVNULL, env=environment)
    assert (tmp_path / "view.csv").read_bytes() == numbers
    found: dict[str, Any] = {}
    code = shown.value("code").removesuffix(".figure()\n").removesuffix(".figure()")
    exec(code, found)  # what users paste, but for the drawing
    points = [point for facet in found["figure"].facets for curve in facet.curves for point in curve.points]
    assert len(points) == len(numbers.splitlines()) - 1
    for name in ("link", "command", "code"):
        page.click(f"[data-copy={name}]")
        page.wait_for_selector(f"[data-status=share]:has-text('Copied the {name}.')")
        assert page.evaluate("navigator.clipboard.readText()") == shown.value(name)
    other = ExplorerPage(page.context.new_page()).open(shown.value("link"))
    assert other.text == shown.text
    assert other.page.title() == page.title()
