"""What the pages of the other tests are watched for."""

from __future__ import annotations

import pytest
from playwright.sync_api import Error, Page

from tests.browser.watching import Watch


def test_complaints_exceptions_and_requests_to_other_machines_are_noticed(page: Page, watch: Watch) -> None:
    page.goto("about:blank")
    page.evaluate("console.error('an error'); console.warn('a warning'); console.log('not a complaint')")
    assert watch.complaints == ["error: an error", "warning: a warning"]
    with pytest.raises(AssertionError, match="an error"):
        watch.check()
    watch.expect("an error")
    watch.expect("a warning")
    with pytest.raises(AssertionError, match="no complaint of 'another'"):
        watch.expect("another")
    with page.context.expect_event("weberror"):
        page.evaluate("setTimeout(() => { throw new Error('unforeseen'); }, 0)")
    watch.expect("^exception: .*unforeseen")
    with pytest.raises(Error, match="ERR_NAME_NOT_RESOLVED"):
        page.goto("http://example.com/script.js")
    assert watch.outside == ["http://example.com/script.js"]
    with pytest.raises(AssertionError, match="another machine"):
        watch.expect("request failed: http://example.com")
        watch.check()
    watch.outside.clear()
