"""A headless Chromium through Playwright, and stored results for the pages that it shows.

Playwright's event loop runs in the thread of the tests that use it: ``browser`` ends with this folder's
tests, so that tests after them can run loops of their own. Servers belong into processes of their own.
"""

from __future__ import annotations

import contextlib
import functools
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from docs.chromium import open_chromium
from tests.browser.watching import PATIENCE_MS, Watch
from tests.builders.explored import make_explored, write_many
from tests.builders.results import write_results
from tests.require import require_chromium
from tests.serving import ServedExplorer, serving

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
    browser: Browser, watch: Watch, serve: Callable[..., ServedExplorer]
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
def serve() -> Iterator[Callable[..., ServedExplorer]]:
    """Serves results, or a folder of results, on loopback until the test ends."""
    with contextlib.ExitStack() as stack:
        yield lambda *places: stack.enter_context(serving(*places))


@pytest.fixture
def served(serve: Callable[..., ServedExplorer]) -> Callable[..., str]:
    """Serves results until the test ends, and gives the address that opens them once."""

    def start(*places: Path) -> str:
        server = serve(*places)
        return server.listener.format_access_url(server.keys.token)

    return start


@pytest.fixture(scope="package")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Writes the explorer of results as one file, once, as the command does, and gives its address."""

    @functools.cache
    def write(*folders: Path) -> str:
        out = tmp_path_factory.mktemp("exported") / "explorer.html"
        words = ["report", *map(str, folders), "--format", "explorer", "--out", str(out)]
        subprocess.run([sys.executable, "-m", "pathlab", *words], check=True, stdout=subprocess.DEVNULL)
        return out.as_uri()

    return write


@pytest.fixture(scope="package")
def make_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Stores results for the explorer: arguments as ``make_explored`` takes them."""

    def make(name: str = "results", **options: Any) -> Path:
        return write_results(make_explored(**options), tmp_path_factory.mktemp("stored") / name)

    return make


@pytest.fixture(scope="package")
def make_large_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """Stores that many trials without series."""

    def make(trials: int) -> Path:
        return write_many(tmp_path_factory.mktemp("stored") / f"many-{trials}", trials)

    return make


@pytest.fixture(scope="package")
def results_folder(make_folder: Callable[..., Path]) -> Path:
    """Two paths, 4 numbers of streams and 2 windows in 8 cycles; for reading only."""
    return make_folder()


@pytest.fixture(scope="package")
def hostile_folder(make_folder: Callable[..., Path]) -> Path:
    """As ``results_folder`` with 2 cycles, and markup in every text that others give; for reading only."""
    return make_folder("hostile", cycles=2, hostile=True)
