"""Debian's Chromium without a window, driven by Playwright: for pictures, benchmarks and tests."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator

from playwright.sync_api import Browser, sync_playwright

#: No sandbox: it needs another user than root, or user namespaces. No name resolves, so nothing is fetched.
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"),
)
START_MS = 240_000


def find_chromium() -> str | None:
    """The browser's program; None where there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


@contextlib.contextmanager
def open_chromium(program: str) -> Iterator[Browser]:
    """Start the browser, and end it and Playwright at the end."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS), timeout=START_MS)
        yield browser
        browser.close()
