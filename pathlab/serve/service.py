"""What the endpoints of one server share."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field

from starlette.requests import Request

from pathlab.serve.event_hub import EventHub
from pathlab.serve.library import ResultsLibrary
from pathlab.study.exploration.courses import CourseCache


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplorerService:
    """The results of a server, the series looked at last, and the events of runs.

    ``stopping`` is set when it ends, so that streams end with it. ``analysing`` is held while results are
    analysed, one after the other.
    """

    library: ResultsLibrary
    courses: CourseCache = field(default_factory=CourseCache)
    events: EventHub = field(default_factory=EventHub)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    analysing: threading.Lock = field(default_factory=threading.Lock)


def find_service(request: Request) -> ExplorerService:
    """The service that an endpoint answers for."""
    service: ExplorerService = request.app.state.service
    return service
