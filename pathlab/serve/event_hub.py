"""What the streams of one server share: a reader for each of the results, and the events of its own run."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from pathlab.serve.broadcast import Broadcaster
from pathlab.serve.results_feed import ResultsFeed

#: Feeds that nobody follows are kept, up to so many: the next page need not read their results anew.
IDLE_FEEDS_MAX = 8


class EventHub:
    """The feeds of a server, one for each results folder that somebody follows, and its own run's events."""

    def __init__(self, run: Broadcaster | None = None) -> None:
        self.run = run
        self.readers = 0
        self._feeds: dict[Path, ResultsFeed] = {}

    def admit(self, readers_max: int) -> bool:
        """Count one more reader, unless there are so many already; ``leave`` takes it away again."""
        if self.readers >= readers_max:
            return False
        self.readers += 1
        return True

    def leave(self) -> None:
        """One reader less."""
        self.readers -= 1

    @contextlib.contextmanager
    def follow(self, paths: Sequence[Path], woken: asyncio.Event) -> Iterator[list[ResultsFeed]]:
        """The feeds of these results; they set ``woken`` after every change while the block runs."""
        feeds = [self._find_feed(path) for path in paths]
        try:
            with contextlib.ExitStack() as stack:
                for feed in feeds:
                    stack.enter_context(feed.listen(woken.set))
                yield feeds
        finally:
            idle = [path for path, feed in self._feeds.items() if not feed.is_followed]
            for path in idle[: max(0, len(idle) - IDLE_FEEDS_MAX)]:
                del self._feeds[path]

    def _find_feed(self, path: Path) -> ResultsFeed:
        feed = self._feeds.get(path)
        if feed is None or (not feed.is_followed and feed.is_over()):
            feed = self._feeds[path] = ResultsFeed(path)
        return feed
