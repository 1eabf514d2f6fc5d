"""This machine calibrated once, and a headless Chromium for one test."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext

from tests.browser.watching import Watch
from tests.patience import PATIENCE_S
from tests.require import require_chromium
from tools.chromium import open_chromium


@pytest.fixture(scope="session", autouse=True)
def _calibrated(calibrated_once: None) -> None: ...


@pytest.fixture(autouse=True)
def _brief(brief_glance: None) -> None: ...


@pytest.fixture
def context() -> Iterator[BrowserContext]:
    """A browser context; what its pages complain of or fetch from elsewhere fails the test at its end.

    Playwright's event loop runs in this thread, so that it must end before the tests after this one.
    """
    watch, patience_ms = Watch(), 1000 * PATIENCE_S
    with open_chromium(require_chromium()) as browser:
        opened = browser.new_context(viewport={"width": 1280, "height": 900})
        opened.set_default_timeout(patience_ms)
        watch.attach(opened)
        yield opened
    watch.check()
