"""The explorer's server as an ASGI application: its routes, and how refusals are answered."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from pathlab.errors import PathlabError
from pathlab.report.explorer.page import PACKED_TYPE, read_assets, render_catalogue, render_served
from pathlab.serve.access import AccessKeys
from pathlab.serve.answers import RequestRefused, answer_json, answer_refusal, describe_refusal
from pathlab.serve.control import list_control_routes
from pathlab.serve.event_stream import list_event_routes
from pathlab.serve.guard import AccessGuard, ServerAddress
from pathlab.serve.library import SOURCES_MAX
from pathlab.serve.open_results import ZSTD
from pathlab.serve.plan_rows import list_plan_routes
from pathlab.serve.report_answers import list_report_routes
from pathlab.serve.saved_views import list_view_routes
from pathlab.serve.service import ExplorerService, find_service
from pathlab.serve.trial_answers import list_trial_routes


def build_app(
    service: ExplorerService, keys: AccessKeys, address: ServerAddress, *, debug: bool = False
) -> ASGIApp:
    """The application, behind its access guard."""
    app = Starlette(
        routes=[
            Route("/", send_page),
            Route("/choose", send_choice),
            Route("/static/{name}", send_asset),
            Route("/api/catalogue", send_catalogue),
            Route("/api/results", send_results),
            *list_trial_routes(),
            *list_view_routes(),
            *list_event_routes(),
            *list_control_routes(),
            *list_plan_routes(),
            *list_report_routes(),
        ],
        exception_handlers={
            RequestRefused: _answer_refused,
            PathlabError: _answer_error,
            HTTPException: _answer_http,
        },
    )
    app.router.redirect_slashes = False
    app.state.service = service
    return AccessGuard(app, keys, address, debug=debug)


def send_page(request: Request) -> Response:
    """The explorer's page, or the one on which results are chosen where none are."""
    library = find_service(request).library
    if not request.query_params.get("open") and not library.catalogue.given:
        return send_choice(request)
    titles = (entry.summary.title or entry.path.name for entry in library.select(request))
    return HTMLResponse(render_served(" / ".join(dict.fromkeys(titles))))


def send_choice(_request: Request) -> Response:
    """The page on which results are chosen."""
    return HTMLResponse(render_catalogue("Results"))


def send_asset(request: Request) -> Response:
    """A script or a style sheet of the page."""
    asset = read_assets().get(request.path_params["name"])
    if asset is None:
        raise RequestRefused(404, "the page has no such file")
    return Response(asset.content, headers={"content-type": asset.content_type})


def send_catalogue(request: Request) -> Response:
    """Every results file that the server can show, newest first, and which the command line names."""
    library = find_service(request).library
    entries = library.catalogue.list_entries()
    folder = library.catalogue.folder
    return answer_json(
        {
            "folder": None if folder is None else str(folder),
            "openMax": SOURCES_MAX,
            "opened": [entry.results_id for entry in library.list_given()],
            "entries": [entry.describe() for entry in entries],
        }
    )


def send_results(request: Request) -> Response:
    """All trials of the results chosen, packed; ``X-PathLab-Open`` names them for later requests."""
    opened = find_service(request).library.open_selected(request)
    table = opened.pack()
    headers = {"x-pathlab-open": ",".join(opened.ids), "vary": "accept-encoding"}
    if ZSTD not in request.headers.get("accept-encoding", ""):
        return Response(table.unpack(), headers=headers, media_type=PACKED_TYPE)
    headers["content-encoding"] = ZSTD
    return Response(table.compressed, headers=headers, media_type=PACKED_TYPE)


def _answer_refused(_request: Request, refused: Exception) -> Response:
    assert isinstance(refused, RequestRefused)
    return answer_refusal(refused)


def _answer_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, PathlabError)
    return answer_refusal(describe_refusal(error))


def _answer_http(_request: Request, error: Exception) -> Response:
    """A path that there is not (404), a method that a path does not have (405)."""
    assert isinstance(error, HTTPException)
    answer = answer_refusal(RequestRefused(error.status_code, error.detail.lower()))
    answer.headers.update(error.headers or {})
    return answer
