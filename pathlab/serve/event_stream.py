"""``GET /events``: what happens in results, as server-sent events; readable with ``curl -N``.

docs/EVENTS.md describes the events. Those of the results carry an id, by which a reader who comes back gets
what it missed, once and in order. Readings of a run in this process carry none: the latest is enough.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import json
import math
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from pathlab.errors import PathlabError
from pathlab.runner.events import EVENT_FORMAT
from pathlab.serve.answers import RequestRefused
from pathlab.serve.broadcast import Subscription
from pathlab.serve.live_rows import describe_row
from pathlab.serve.open_results import OpenResults
from pathlab.serve.results_feed import ResultsFeed
from pathlab.serve.service import ExplorerService, find_service
from pathlab.store.following import Cursor, StoredEntry
from pathlab.store.records import JournalRecord
from pathlab.study.exploration.source_reading import name_source

#: A reader that hears nothing for three of these should connect anew.
HEARTBEAT_S = 10.0
#: Readings are sent this often at most, progress as well.
READINGS_S = 0.1
#: A reader that keeps the server waiting for longer is sent away; it catches up when it comes back.
SLOW_S = 15.0
#: Of more readers at a time the server asks the next to come later.
READERS_MAX = 64
#: How long a browser waits before it connects again.
RETRY_MS = 1000
#: Sent at a time, about.
PART_BYTES = 64 * 1024
_POSITION = re.compile(r"[0-9]{1,15}\.[0-9]{1,15}")

Described = dict[str, Any]


def list_event_routes() -> list[Route]:
    """The routes of this module."""
    return [Route("/events", send_events)]


async def send_events(request: Request) -> Response:
    """Follow the results that the address names with ``open``, from ``after`` or Last-Event-ID on."""
    service = find_service(request)
    if not service.events.admit(READERS_MAX):  # before any wait, in which others would come in
        raise RequestRefused(503, f"{READERS_MAX} readers follow this server already", hint="close a page")
    try:
        opened = await asyncio.to_thread(service.library.open_selected, request)
        given = request.headers.get("last-event-id") or request.query_params.get("after")
        return EventResponse(service, opened, read_position(given, len(opened.paths)))
    except BaseException:
        service.events.leave()
        raise


def read_position(given: str | None, sources: int) -> list[Cursor] | None:
    """The cursors that an id holds, one for each of the results; None: from now on.

    Raises RequestRefused for anything else.
    """
    if not given:
        return None
    parts = given.strip().split(",")
    if len(parts) != sources or not all(_POSITION.fullmatch(part) for part in parts):
        raise RequestRefused(
            400, "'after' and Last-Event-ID are JOURNAL.TRIAL for each of the results, such as 0.0"
        )
    return [Cursor(*map(int, part.split("."))) for part in parts]


def format_position(cursors: Sequence[Cursor]) -> str:
    """The id of an event: what the reader has, of each of the results."""
    return ",".join(f"{cursor.journal}.{cursor.trial}" for cursor in cursors)


def format_event(described: Described, position: str | None = None) -> bytes:
    """One event as text; its JSON is one line."""
    lines = [f"event: {described['event']}"]
    lines += [] if position is None else [f"id: {position}"]
    try:
        text = json.dumps(described, allow_nan=False)
    except ValueError:  # a damaged file may hold what JSON does not have
        text = json.dumps(_replace_infinite(described), allow_nan=False)
    lines.append(f"data: {text}")
    return ("\n".join(lines) + "\n\n").encode("ascii")


class EventResponse(Response):
    """One reader, who was admitted. It takes as much at a time as it reads; only its place is kept for it."""

    media_type = "text/event-stream"

    def __init__(self, service: ExplorerService, opened: OpenResults, after: list[Cursor] | None) -> None:
        super().__init__(headers={"connection": "close"})  # nothing comes after a stream
        del self.headers["content-length"]
        self._service, self._opened, self._after = service, opened, after
        self._labels = [name_source(place) for place in range(len(opened.paths))]
        self._label = self._labels[0]  # of the results that were read last
        self._woken = asyncio.Event()
        self._versions = [-1] * len(opened.paths)

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._send_all(receive, send)
        finally:
            self._service.events.leave()

    async def _send_all(self, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        gone = asyncio.create_task(_wait_until_gone(receive))
        gone.add_done_callback(lambda _task: self._woken.set())
        ending = asyncio.create_task(self._service.stopping.wait())
        ending.add_done_callback(lambda _task: self._woken.set())
        loop = asyncio.get_running_loop()
        try:
            async with contextlib.aclosing(self._list_events(gone, ending)) as events:
                async for text in events:
                    begun_s = loop.time()
                    await send({"type": "http.response.body", "body": text, "more_body": True})
                    if loop.time() - begun_s > SLOW_S:
                        reason = f"this reader took nothing for {SLOW_S:.0f} s; connect again to catch up"
                        last = format_event(_stamp("dropped", text=reason))
                        await send({"type": "http.response.body", "body": last, "more_body": True})
                        break
            if not gone.done():
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            gone.cancel()
            ending.cancel()

    async def _list_events(self, gone: asyncio.Task[Any], ending: asyncio.Task[Any]) -> AsyncGenerator[bytes]:
        """Every event as text, until the reader is gone, or the results, or the server ends."""
        try:
            async with contextlib.aclosing(self._follow(gone, ending)) as events:
                async for text in events:
                    yield text
        except PathlabError as error:
            yield format_event(_stamp("gone", results=self._label, text=str(error)))

    async def _follow(self, gone: asyncio.Task[Any], ending: asyncio.Task[Any]) -> AsyncGenerator[bytes]:
        """As ``_list_events``. Raises PathlabError where the results of ``_label`` cannot be read."""
        hub = self._service.events
        with contextlib.ExitStack() as stack:
            feeds = stack.enter_context(hub.follow(self._opened.paths, self._woken))
            run = None if hub.run is None else stack.enter_context(hub.run.subscribe(self._woken.set))
            yield f"retry: {RETRY_MS}\n\n".encode("ascii")
            for feed in feeds:
                await feed.wait_ready()
            cursors = [feed.position for feed in feeds]
            if self._after is not None:  # an id of other results, or from before a deletion, may be ahead
                cursors = [_find_earlier(*both) for both in zip(self._after, cursors, strict=True)]
            for text in self._describe_feeds(feeds, whole=True):
                yield text
            loop = asyncio.get_running_loop()
            sent_s = readings_s = loop.time()
            is_over = False
            while not is_over:
                self._woken.clear()
                if run is not None and run.was_stored():
                    for feed in feeds:
                        feed.nudge()
                if ending.done():  # what the run of this process said last is stored by now
                    await asyncio.gather(*(feed.look() for feed in feeds))
                texts = [text async for text in self._read_stored(feeds, cursors)]
                is_behind = bool(texts) and ending.done()
                is_over = gone.done() or any(feed.fault is not None for feed in feeds)
                is_over |= ending.done() and not is_behind
                due = is_over or loop.time() >= readings_s + READINGS_S
                if due:
                    readings_s = loop.time()
                    texts += self._describe_feeds(feeds, whole=False)
                if run is not None:
                    texts += self._list_run_events(run, feeds, readings=due)
                if loop.time() >= sent_s + HEARTBEAT_S and not texts:
                    texts.append(format_event(_stamp("heartbeat")))
                for part in _join(texts):
                    yield part
                    sent_s = loop.time()
                if is_over or is_behind:
                    continue
                wait_s = HEARTBEAT_S if due else readings_s + READINGS_S - loop.time()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._woken.wait(), max(0.0, wait_s))

    async def _read_stored(self, feeds: Sequence[ResultsFeed], cursors: list[Cursor]) -> AsyncIterator[bytes]:
        """Some of what was stored since; ``cursors`` move on. Raises PathlabError."""
        for index, feed in enumerate(feeds):
            self._label = self._labels[index]
            entries = await feed.read_after(cursors[index])
            if len(entries) > 1:
                self._woken.set()  # there may be more
            for entry in entries:
                cursors[index] = entry.cursor
                described = await asyncio.to_thread(self._describe_stored, self._label, entry)
                yield format_event(described, format_position(cursors))

    def _describe_stored(self, label: str, entry: StoredEntry) -> Described:
        record = entry.record
        if isinstance(record, JournalRecord):
            number = entry.cursor.journal
            return _stamp("journal", results=label, journal=number, **dataclasses.asdict(record))
        name = f"{label}:{entry.cursor.trial}"
        with self._opened.lock:
            row = describe_row(self._opened.results, self._opened.find_row(name))
        record_json = dataclasses.asdict(record)
        return _stamp("trial-ended", results=label, trial=entry.cursor.trial, record=record_json, row=row)

    def _describe_feeds(self, feeds: Sequence[ResultsFeed], *, whole: bool) -> list[bytes]:
        """State and progress of the results where they changed. Raises StoreError."""
        texts = []
        for index, feed in enumerate(feeds):
            if not whole and feed.version == self._versions[index]:
                continue
            self._versions[index], self._label = feed.version, self._labels[index]
            if feed.fault is not None:
                texts.append(format_event(_stamp("gone", results=self._label, text=str(feed.fault))))
            else:
                described = feed.describe(whole=whole)
                name = "run" if whole else "progress"
                texts.append(format_event(_stamp(name, results=self._label, **described)))
        return texts

    def _list_run_events(
        self, run: Subscription, feeds: Sequence[ResultsFeed], *, readings: bool
    ) -> list[bytes]:
        """What the run of this process reported since, where it writes one of the results."""
        taken, left_out = run.take(readings=readings)
        folder = self._service.events.run.folder if self._service.events.run is not None else None
        labels = [label for label, feed in zip(self._labels, feeds, strict=True) if feed.is_of(folder)]
        if not labels:
            return []
        texts = [format_event({**described, "results": labels[0]}) for described in taken]
        if left_out:
            texts.append(format_event(_stamp("skipped", events=left_out)))
        return texts


def _find_earlier(cursor: Cursor, other: Cursor) -> Cursor:
    return Cursor(min(cursor.journal, other.journal), min(cursor.trial, other.trial))


def _stamp(event: str, **fields: Any) -> Described:
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    return {"format": EVENT_FORMAT, "event": event, "time_utc": now, **fields}


def _join(texts: Sequence[bytes]) -> Iterator[bytes]:
    """The texts in parts that are soon sent: a server keeps a part of its own for each slow reader."""
    part = bytearray()
    for text in texts:
        part += text
        if len(part) >= PART_BYTES:
            yield bytes(part)
            part.clear()
    if part:
        yield bytes(part)


def _replace_infinite(value: Any) -> Any:
    """The same with None for numbers that are none."""
    if isinstance(value, dict):
        return {key: _replace_infinite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_replace_infinite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


async def _wait_until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
