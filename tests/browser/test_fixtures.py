"""The browser's fixtures themselves: what a page does wrong is noticed, and nothing leaves this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Error, Page

from pathlab.store.results import Results
from tests.browser.watching import Watch
from tests.builders.explored import MARKUP


def test_complaints_of_a_page_are_noticed(page: Page, watch: Watch) -> None:
    page.goto("about:blank")
    page.evaluate("console.error('an error'); console.warn('a warning'); console.log('not a complaint')")
    assert watch.complaints == ["error: an error", "warning: a warning"]
    with pytest.raises(AssertionError, match="an error"):
        watch.check()
    watch.expect("an error")
    watch.expect("a warning")
    with pytest.raises(AssertionError, match="no complaint of 'another'"):
        watch.expect("another")


def test_an_exception_of_a_page_is_noticed(page: Page, watch: Watch) -> None:
    page.goto("about:blank")
    with page.context.expect_event("weberror"):
        page.evaluate("setTimeout(() => { throw new Error('unforeseen'); }, 0)")
    watch.expect("^exception: .*unforeseen")


def test_a_page_reaches_no_other_machine(page: Page, watch: Watch) -> None:
    page.goto("about:blank")
    with pytest.raises(Error, match="ERR_NAME_NOT_RESOLVED"):
        page.goto("http://example.com/script.js")
    assert watch.outside == ["http://example.com/script.js"]
    watch.outside.clear()
    watch.expect("request failed: http://example.com")


def test_every_kind_of_trial_is_stored(results_folder: Path, hostile_folder: Path) -> None:
    with Results.open(results_folder) as results:
        found = results.trials()
        assert set(results.series_kinds(1)) >= {"sender_intervals", "loaded_probes"}
    assert len(found) == 2 * 4 * 2 * 8
    assert found["status"].value_counts().to_dict() == {"complete": 117, "failed": 6, "interrupted": 5}
    assert set(found["path_destination"]) == {"east", "south"}
    assert sum("lab-limited" in flags for flags in found["flags"]) == 5
    with Results.open(hostile_folder) as results:
        assert MARKUP in results.campaign.title
        assert MARKUP in set(results.trials()["failure"])


def test_many_trials_are_stored(make_large_folder: Callable[[int], Path]) -> None:
    with Results.open(make_large_folder(6_001)) as results:
        found = results.trials()
    assert len(found) == 6_001
    assert len(set(found["throughput_bits_per_s"].dropna())) > 5_000
    assert found["started_utc"].is_monotonic_increasing
