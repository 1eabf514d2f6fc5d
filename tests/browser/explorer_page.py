"""The explorer's page under test: opened, settled, asked what it shows."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

DRAWN = "[data-panel=figure] figure.explored[data-state=drawn]"
FOLDS = ("figure-table", "share", "controls", "filters", "saved", "keys")


class ExplorerPage:
    """One page of the explorer."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def open(self, address: str, text: str = "") -> ExplorerPage:
        """Go to the address with a view's text and wait for its figure."""
        self.page.goto(f"{address}#{text}" if text else address)
        self.page.wait_for_selector(DRAWN)
        self.settle()  # a page that was open already had a figure before
        return self

    def set_view(self, **change: Any) -> None:
        """Change the view as a control does, and wait until all of the page shows it."""
        self.evaluate("(app, change) => app.setView(change)", change)
        self.settle()

    def settle(self) -> None:
        """Wait until the page shows the view that it has now in all its parts."""
        self.page.evaluate("""() => new Promise((resolve) => {
            const later = () => window.requestAnimationFrame(() => window.setTimeout(resolve, 0));
            window.requestAnimationFrame(later);
        })""")

    def evaluate(self, script: str, argument: Any = None) -> Any:
        """The value of ``(app, argument) => ...``."""
        return self.page.evaluate(
            f"(argument) => ({script})(window.pathlabExplorer.app.app, argument)", argument
        )

    @property
    def address(self) -> str:
        """The page's address as the page has it; ``Page.url`` may still be that before."""
        return str(self.page.evaluate("window.location.href"))

    @property
    def text(self) -> str:
        """The text of the view."""
        return str(self.evaluate("(app) => app.text"))

    def open_folds(self, *names: str) -> None:
        """Open folds of the page; all of them where none is named."""
        for name in names or FOLDS:
            fold = self.page.locator(f"details[data-fold={name}]")
            if fold.get_attribute("open") is None:
                fold.locator("summary").first.click()
        self.settle()

    def value(self, part: str) -> str:
        """The text of a field of the share panel: link, command or code."""
        field = self.page.locator(f"[data-panel=share] .shared:has([data-copy={part}]) .code")
        return field.input_value()


def check_accessibility(page: Page) -> None:
    """Raises AssertionError with every violation of axe-core's rules (WCAG 2.2 A and AA, best practices)."""
    found = Axe().run(page).response["violations"]
    described = [
        f"{one['id']}: {one['help']}: " + "; ".join(node["html"][:200] for node in one["nodes"][:5])
        for one in found
    ]
    assert not described, "\n".join(described)


def download(page: Page, ending: str) -> bytes:
    """The file that a button of the share panel gives."""
    with page.expect_download() as waiting:
        page.click(f"[data-download={ending}]")
    assert waiting.value.suggested_filename.startswith("pathlab-")
    assert waiting.value.suggested_filename.endswith(f".{ending}")
    return Path(waiting.value.path()).read_bytes()


def check_pictures(page: Page) -> str:
    """Raises AssertionError where pictures lack measure and legend. The text of the SVG."""
    drawing = ET.fromstring(download(page, "svg"))
    words = " ".join(" ".join(drawing.itertext()).split())
    assert "Throughput" in words
    assert "64 KiB" in words
    assert download(page, "png").startswith(b"\x89PNG\r\n\x1a\n")
    return words
