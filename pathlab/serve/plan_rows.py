"""``GET /api/plan``: rows of the plan of some results, a page at a time."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pathlab.serve.answers import RequestRefused, answer_json, read_count
from pathlab.serve.level_text import format_settings
from pathlab.serve.service import find_service
from pathlab.store.records import PlanRecord
from pathlab.store.results import Results
from pathlab.study.exploration.source_reading import name_source

ROWS_MAX = 500
_PLACE_MAX = 2**53


def list_plan_routes() -> list[Route]:
    """The routes of this module."""
    return [Route("/api/plan", send_plan)]


def send_plan(request: Request) -> Response:
    """``count`` rows from ``first`` on of the plan of ``results``, and how many rows there are."""
    opened = find_service(request).library.open_selected(request)
    labels = {name_source(index): path for index, path in enumerate(opened.paths)}
    label = request.query_params.get("results", "A")
    if label not in labels:
        raise RequestRefused(400, f"'results' is one of {', '.join(labels)}")
    first = read_count(request, "first", low=0, high=_PLACE_MAX, default=0)
    count = read_count(request, "count", low=1, high=ROWS_MAX, default=ROWS_MAX)
    with Results.open(labels[label]) as results:
        plan = results.plan()
    rows = [_describe(row) for row in plan[first : first + count]]
    return answer_json({"planned": len(plan), "first": first, "rows": rows})


def _describe(row: PlanRecord) -> dict[str, Any]:
    return {
        "row": row.row,
        "cycle": row.cycle,
        "path": f"{row.path_source} → {row.path_destination}",
        "settings": format_settings(row.settings),
    }
