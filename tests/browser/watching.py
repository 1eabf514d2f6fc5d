"""A page of Playwright that is watched: what it complains of and fetches from elsewhere fails the test."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Request

#: For whatever a page, its server or a run has to do, on a busy machine.
PATIENCE_MS = 120_000
_LOCAL_SCHEMES = ("about", "blob", "data", "file")
_LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
#: The page itself ended the request: it was left, reloaded, or a download took it over.
_ENDED_BY_PAGE = "net::ERR_ABORTED"


@dataclass
class Watch:
    """What the pages of one context complained of, and the requests that left this machine."""

    complaints: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def attach(self, context: BrowserContext) -> None:
        """Listen to every page that the context has and opens."""
        context.on("console", self._note_console)
        context.on("weberror", lambda found: self.complaints.append(f"exception: {found.error}"))
        context.on("request", self._note_request)
        context.on("requestfailed", self._note_failed)

    def expect(self, pattern: str) -> None:
        """The page has complained of this, as the test meant it to. Raises AssertionError if it has not."""
        kept = [text for text in self.complaints if not re.search(pattern, text)]
        assert len(kept) < len(self.complaints), f"no complaint of {pattern!r} in {self.complaints}"
        self.complaints[:] = kept

    def check(self) -> None:
        """Raises AssertionError for complaints that no test expected and for requests to elsewhere."""
        assert not self.complaints, f"the page complained: {self.complaints}"
        assert not self.outside, f"the page asked another machine: {self.outside}"

    def _note_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            self.complaints.append(f"{message.type}: {message.text}")

    def _note_request(self, request: Request) -> None:
        self.requests.append(request.url)
        address = urlsplit(request.url)
        if address.scheme not in _LOCAL_SCHEMES and address.hostname not in _LOCAL_HOSTS:
            self.outside.append(request.url)

    def _note_failed(self, request: Request) -> None:
        if request.failure != _ENDED_BY_PAGE:
            self.complaints.append(f"request failed: {request.url}: {request.failure}")
