"""This machine calibrated once, and a headless Chromium for one test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, sync_playwright

from tests.browser.watching import FLAGS, Watch
from tests.patience import PATIENCE_S
from tests.require import require_chromium


@pytest.fixture(scope="session", autouse=True)
def _calibrated(calibrated_once: None) -> None: ...


@pytest.fixture
def context() -> Iterator[BrowserContext]:
    """A browser context; what its pages complain of or fetch from elsewhere fails the test at its end.

    Playwright's event loop runs in this thread, so that it must end before the tests after this one.
    """
    watch, patience_ms = Watch(), 1000 * PATIENCE_S
    program = require_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS), timeout=patience_ms)
        opened = browser.new_context(viewport={"width": 1280, "height": 900})
        opened.set_default_timeout(patience_ms)
        watch.attach(opened)
        yield opened
        browser.close()
    watch.check()
