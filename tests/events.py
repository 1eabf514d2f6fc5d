"""A reader of server-sent events, over HTTP/1.1 as a program reads them."""

import contextlib
import http.client
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.patience import PATIENCE_S
from tests.serving import ServedExplorer


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEvent:
    """One event: its name, its id where it has one, its JSON."""

    name: str
    position: str | None
    data: dict[str, Any]


class EventReader:
    """Reads an open stream."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[ServerEvent]:
        """Every event until the server ends the stream."""
        fields: dict[str, str] = {}
        for line in iter(self._answer.readline, b""):
            text = line.decode("utf-8").rstrip("\n")
            if text:
                name, _, value = text.partition(": ")
                fields[name] = value
            elif fields.keys() >= {"event", "data"}:
                found = json.loads(fields["data"])
                yield ServerEvent(name=fields["event"], position=fields.get("id"), data=found)
                fields = {}
            else:
                fields = {}

    def read_until(self, is_last: Callable[[ServerEvent], bool]) -> list[ServerEvent]:
        """The events up to the first that ``is_last`` accepts, which there must be in time."""
        found: list[ServerEvent] = []
        deadline_s = time.monotonic() + PATIENCE_S
        for event in self:  # a heartbeat, at the least
            assert time.monotonic() < deadline_s, f"not among {[event.name for event in found]}"
            found.append(event)
            if is_last(event):
                return found
        raise AssertionError(f"the stream ended after {[event.name for event in found]}")


@contextlib.contextmanager
def following(
    served: ServedExplorer, address: str = "/events", headers: Mapping[str, str] | None = None
) -> Iterator[EventReader]:
    """Follow a server's events in the block."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE_S)
    with contextlib.closing(connection):
        connection.request("GET", address, headers={**served.access, **(headers or {})})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield EventReader(answer)


def is_state(*states: str) -> Callable[[ServerEvent], bool]:
    """Accepts an event by which the run of results is in one of these states."""
    return lambda event: event.name in ("run", "progress") and event.data["state"] in states


def list_stored(events: list[ServerEvent]) -> list[tuple[str, int]]:
    """The events that are stored: ``journal`` and ``trial-ended`` with their numbers, in order."""
    keys = {"journal": "journal", "trial-ended": "trial"}
    return [(event.name, event.data[keys[event.name]]) for event in events if event.name in keys]
