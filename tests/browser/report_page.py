"""A report's page under test: its figures, and what it asks for."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

from tests.browser.watching import Watch

STATES = "Array.from(document.querySelectorAll('figure.plot')).map(f => [f.dataset.name, f.dataset.state])"


def check_quiet(watch: Watch, path: Path) -> None:
    """No request but for the page and the pictures inside it; complaints fail every test at its end."""
    outside = {url for url in watch.requests if not url.startswith(("data:", "blob:"))}
    assert outside == {path.resolve().as_uri()}


def check_drawn(page: Page) -> None:
    """Every figure is drawn on request, except empty ones, which state the reason."""
    page.evaluate("window.pathlabPlots.drawAll()")
    states = dict(page.evaluate(STATES))
    assert states
    assert {state for state in states.values() if state != "empty"} == {"drawn"}
    total = sum(state == "drawn" for state in states.values())
    assert page.evaluate("document.documentElement.dataset.plots") == f"{total}/{total}"
    drawn = "Array.from(document.querySelectorAll('.plot[data-state=drawn]'))"
    assert page.evaluate(f"{drawn}.filter(f => !f.querySelector('svg.main-svg')).length") == 0
