"""What the page asks besides the table of trials: one trial, its series, verdicts, published tables."""

from __future__ import annotations

import math

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pathlab.errors import UsageError
from pathlab.report.explorer.course_document import read_course
from pathlab.report.explorer.published_document import list_published
from pathlab.report.explorer.trial_document import read_details
from pathlab.report.explorer.verdict_document import read_verdicts
from pathlab.serve.answers import RequestRefused, answer_json, read_count, read_number
from pathlab.serve.open_results import OpenResults
from pathlab.serve.service import find_service
from pathlab.study.exploration.view_text import parse_view

#: Widths that a series is reduced to: as of a phone's half, and of a wall of screens.
PIXELS_MIN, PIXELS_MAX, PIXELS = 50, 8000, 800


def list_trial_routes() -> list[Route]:
    """The endpoints of this module."""
    return [
        Route("/api/trial/{name}", send_trial),
        Route("/api/course/{name}", send_course),
        Route("/api/verdicts", send_verdicts),
        Route("/api/published", send_published),
    ]


def send_trial(request: Request) -> Response:
    """The details of one trial."""
    opened, row = _find_trial(request)
    with opened.lock:
        return answer_json(read_details(opened.results, row))


def send_course(request: Request) -> Response:
    """A series of one trial, ``series=KIND.COLUMN``, from ``start`` to ``end`` (s) for so many ``pixels``."""
    series = request.query_params.get("series")
    if not series:
        raise RequestRefused(400, "'series' is missing in the address", hint="name one: series=KIND.COLUMN")
    pixels = read_count(request, "pixels", low=PIXELS_MIN, high=PIXELS_MAX, default=PIXELS)
    start_s, end_s = (
        read_number(request, name, low=-math.inf, high=math.inf, default=edge)
        for name, edge in (("start", -math.inf), ("end", math.inf))
    )
    if not start_s < end_s:
        raise RequestRefused(400, "'start' is before 'end'")
    opened, row = _find_trial(request)
    cache = find_service(request).courses
    with opened.lock:
        course = read_course(
            opened.results, row, series, start_s=start_s, end_s=end_s, pixels=pixels, cache=cache
        )
    return answer_json(course)


def send_verdicts(request: Request) -> Response:
    """The verdicts of `pathlab compare` for ``view``, a view's text."""
    opened = find_service(request).library.open_selected(request)
    with opened.lock:
        view = parse_view(request.query_params.get("view", ""), opened.results)
        return answer_json(read_verdicts(opened.results, view))


def send_published(_request: Request) -> Response:
    """The published tables."""
    return answer_json(list_published())


def _find_trial(request: Request) -> tuple[OpenResults, int]:
    """The results that a request names, and the row of its trial. Raises RequestRefused: no such trial."""
    opened = find_service(request).library.open_selected(request)
    try:
        return opened, opened.find_row(request.path_params["name"])
    except UsageError as error:
        raise RequestRefused(404, str(error), hint=error.hint) from None
