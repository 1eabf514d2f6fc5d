"""A headless Chromium through Playwright, and stored results for the pages that it shows.

Playwright's event loop runs in the thread of the tests that use it: ``browser`` ends with this folder's
tests, so that tests after them can run loops of their own. Servers belong into processes of their own.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from pathlab.report.formats.forms import RESULTS_FORMS
from tests.browser.explorer_page import ExplorerPage
from tests.browser.watching import PATIENCE_MS, Watch
from tests.builders.explored import make_explored
from tests.builders.results import write_results
from tests.require import require_chromium
from tests.serving import ServedExplorer, serving
from tools.chromium import open_chromium

DESK = {"width": 1280, "height": 900}
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One Chromium for the tests of this folder."""
    with open_chromium(require_chromium()) as opened:
        yield opened


@pytest.fixture
def watch() -> Iterator[Watch]:
    """What the pages of this test complain of; anything that it did not expect fails the test at its end."""
    watched = Watch()
    yield watched
    watched.check()


@pytest.fixture
def new_context(
    browser: Browser, watch: Watch, served: Callable[..., str]
) -> Iterator[Callable[..., BrowserContext]]:
    """Makes browser contexts, each with its own cookies; arguments as ``Browser.new_context`` takes them.

    They end before the servers of the test do, so that no page asks one that has ended.
    """
    made: list[BrowserContext] = []

    def make(**options: Any) -> BrowserContext:
        context = browser.new_context(**{"viewport": DESK, "accept_downloads": True, **options})
        context.set_default_timeout(PATIENCE_MS)  # also of navigation
        watch.attach(context)
        made.append(context)
        return context

    yield make
    for context in made:
        context.close()


@pytest.fixture
def page(new_context: Callable[..., BrowserContext]) -> Page:
    """A page as wide as on a desk, in a context of its own."""
    return new_context().new_page()


@pytest.fixture
def served() -> Iterator[Callable[..., str]]:
    """Serves results, or a folder of results, until the test ends: gives the address that opens them once."""
    with contextlib.ExitStack() as stack:
        yield lambda *places: stack.enter_context(serving(*places)).address


@pytest.fixture(scope="package")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], str]:
    """Writes the explorer of results as one file, once, and gives its address."""

    @functools.cache
    def write(folder: Path) -> str:
        out = tmp_path_factory.mktemp("exported") / "explorer.html"
        return RESULTS_FORMS["explorer"].write([folder], out).as_uri()

    return write


@pytest.fixture(scope="package")
def make_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Stores results for the explorer: arguments as ``make_explored`` takes them."""

    def make(name: str = "results", **options: Any) -> Path:
        return write_results(make_explored(**options), tmp_path_factory.mktemp("stored") / name)

    return make


@pytest.fixture(scope="package")
def results_folder(make_folder: Callable[..., Path]) -> Path:
    """Two paths, 4 numbers of streams and 2 windows in 8 cycles; for reading only."""
    return make_folder()


@pytest.fixture(scope="package")
def hostile_folder(make_folder: Callable[..., Path]) -> Path:
    """As ``results_folder`` with 2 cycles, and markup in every text that others give; for reading only."""
    return make_folder("hostile", cycles=2, hostile=True)


@pytest.fixture(scope="package")
def results_server(results_folder: Path) -> Iterator[ServedExplorer]:
    """Serves ``results_folder`` to all tests."""
    with serving(results_folder) as server:
        yield server


@pytest.fixture
def open_results(results_server: ServedExplorer) -> Callable[..., ExplorerPage]:
    """Opens the explorer of ``results_folder`` in a page, at the text of a view."""

    return lambda page, text="": ExplorerPage(page).open(results_server.address, text)
