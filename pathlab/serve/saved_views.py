"""Views saved by name next to the results: ``/api/views``.

GET lists those of all open results; PUT saves one in the folder of the first; DELETE removes one. Whoever
replaces or removes a view states its text as last seen: where another browser changed it meanwhile, the
answer is 409 and nothing changes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pathlab.serve.answers import RequestRefused, answer_json, read_json
from pathlab.serve.service import find_service
from pathlab.store.location import DATABASE_NAME
from pathlab.store.saved_views import ViewChanged, read_views, remove_view, save_view
from pathlab.study.exploration.source_reading import name_source


def list_view_routes() -> list[Route]:
    """The endpoints of saved views."""
    return [
        Route("/api/views", send_views, methods=["GET"]),
        Route("/api/views", put_view, methods=["PUT"]),
        Route("/api/views", delete_view, methods=["DELETE"]),
    ]


def send_views(request: Request) -> Response:
    """The saved views of all open results."""
    return answer_json(
        [
            {"results": label, "name": name, "view": saved.view, "savedUtc": saved.saved_utc}
            for label, folder in find_folders(request).items()
            for name, saved in read_views(folder).items()
        ]
    )


async def put_view(request: Request) -> Response:
    """Save a view in the folder of the first results: ``name``, ``view``; ``replaces`` of one replaced."""
    given = await read_json(request)
    name, view = _read_text(given, "name"), _read_text(given, "view")
    replaces = _read_text(given, "replaces") if given.get("replaces") is not None else None

    def save() -> Response:
        folder = next(iter(find_folders(request).values()))
        try:
            saved = save_view(folder, name, view, replaces=replaces)
        except ViewChanged as error:
            raise RequestRefused(409, str(error), hint=error.hint) from error
        return answer_json({"name": name, "view": saved.view, "savedUtc": saved.saved_utc})

    return await run_in_threadpool(save)


async def delete_view(request: Request) -> Response:
    """Remove a view: ``name``, ``view`` as last seen, and ``results``, the label of its results."""
    given = await read_json(request)
    name, view, label = (_read_text(given, key) for key in ("name", "view", "results"))

    def remove() -> Response:
        folder = find_folders(request).get(label)
        if folder is None:
            raise RequestRefused(404, f"no results '{label}' are open")
        try:
            remove_view(folder, name, view=view)
        except ViewChanged as error:
            raise RequestRefused(409, str(error), hint=error.hint) from error
        return answer_json({})

    return await run_in_threadpool(remove)


def find_folders(request: Request) -> dict[str, Path]:
    """The folders of the open results by their label. Raises RequestRefused where one is not there."""
    library = find_service(request).library
    wanted = [item for item in request.query_params.get("open", "").split(",") if item]
    entries = [library.catalogue.find(item) for item in wanted] if wanted else library.list_given()
    if not entries or None in entries:
        raise RequestRefused(404, "these results were deleted", hint="reload the page")
    paths = [entry.path for entry in entries if entry is not None]
    return {
        name_source(at): path.parent if path.name == DATABASE_NAME or path.is_file() else path
        for at, path in enumerate(paths)
    }


def _read_text(given: Any, key: str) -> str:
    result = given.get(key) if isinstance(given, dict) else None
    if not isinstance(result, str):
        raise RequestRefused(400, f"'{key}' is missing, or no text")
    return result
