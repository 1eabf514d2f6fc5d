"""``POST /api/control``: end, pause and continue the run that writes some results, of any process."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pathlab.runner.campaign.waiting import PauseRequest, StopRequest
from pathlab.serve.answers import RequestRefused, answer_json, read_json
from pathlab.serve.service import find_service
from pathlab.store.location import locate_database
from pathlab.store.lock import find_writer
from pathlab.study.exploration.source_reading import name_source

ACTIONS = ("stop", "pause", "resume")


def list_control_routes() -> list[Route]:
    """The routes of this module."""
    return [Route("/api/control", control_run, methods=["POST"])]


async def control_run(request: Request) -> Response:
    """Carry out ``{"action": "stop"}``; ``source`` names the results where several are open, else the first
    that a run writes is meant.
    """
    asked: Any = await read_json(request)
    action = asked.get("action") if isinstance(asked, dict) else None
    if action not in ACTIONS:
        raise RequestRefused(400, f"'action' is one of {', '.join(ACTIONS)}")
    service = find_service(request)
    opened = await asyncio.to_thread(service.library.open_selected, request)
    labels = {name_source(index): path for index, path in enumerate(opened.paths)}
    label = asked.get("source")
    if label is not None and label not in labels:
        raise RequestRefused(400, f"'source' is one of {', '.join(labels)}")
    folders = [locate_database(path).parent for name, path in labels.items() if label in (None, name)]
    text = await asyncio.to_thread(request_action, folders, action)
    return answer_json({"action": action, "text": text})


def request_action(folders: list[Path], action: str) -> str:
    """Ask it of the run that writes one of these folders, and say what will happen.

    Raises RequestRefused where none is written, UsageError where a request cannot be made.
    """
    folder = next((item for item in folders if find_writer(item) is not None), None)
    if folder is None:
        raise RequestRefused(409, "no run writes these results now", hint="pathlab run continues a campaign")
    pause = PauseRequest(folder)
    if action == "stop":
        StopRequest(folder).make()
        return "The run stops after the current trial."
    if action == "pause":
        pause.make()
        return "The run pauses after the current trial."
    if not pause.is_made():
        raise RequestRefused(409, "the run is not paused")
    pause.clear()
    return "The run continues."
