"""Answers of the explorer's server, refusals, and what endpoints read from a request."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from pathlab.errors import PathlabError, UsageError

#: A view by name, a wish to stop: a change needs no more than this.
BODY_BYTES_MAX = 64 * 1024
BODY_TIMEOUT_S = 10.0
_JSON = "application/json"


class RequestRefused(Exception):  # noqa: N818 -- an answer, not a fault
    """An endpoint's refusal: the HTTP status, one line, and what to do instead."""

    def __init__(self, status: int, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.hint = hint


def answer_json(value: Any, status: int = 200) -> Response:
    """An answer of JSON. Raises ValueError for NaN and infinity, which JSON does not have."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return Response(text.encode("utf-8", "backslashreplace"), status, media_type=_JSON)


def answer_refusal(refused: RequestRefused) -> Response:
    """A refusal as JSON, ``error`` and ``hint``, which the page shows as it is."""
    return answer_json({"error": refused.message, "hint": refused.hint}, refused.status)


def describe_refusal(error: PathlabError) -> RequestRefused:
    """What an error of the layers below is over HTTP: 400 for a wrong request, 409 for results that fail."""
    return RequestRefused(400 if isinstance(error, UsageError) else 409, str(error), hint=error.hint)


async def read_json(request: Request) -> Any:
    """The JSON of a request. Raises RequestRefused: of another type, too long, too slow, not JSON."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
        raise RequestRefused(415, f"a change is sent as {_JSON}")
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            body = await _read_body(request)
    except TimeoutError:
        raise RequestRefused(408, f"the request took longer than {BODY_TIMEOUT_S:.0f} s") from None
    except ClientDisconnect:
        raise RequestRefused(400, "the request ended early") from None
    try:
        return json.loads(body, parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        raise RequestRefused(400, "the request is not JSON") from None


async def _read_body(request: Request) -> bytes:
    declared = request.headers.get("content-length", "0")
    body = bytearray()
    if not declared.isdecimal() or int(declared) <= BODY_BYTES_MAX:
        async for piece in request.stream():
            body += piece
            if len(body) > BODY_BYTES_MAX:
                break
        else:
            return bytes(body)
    raise RequestRefused(413, f"a request has {BODY_BYTES_MAX // 1024} KiB at most")


def _reject_constant(name: str) -> None:
    raise ValueError(name)


def read_number(
    request: Request, name: str, *, low: float, high: float, default: float | None = None
) -> float:
    """A number of the address. Raises RequestRefused: missing without a default, no number, out of range."""
    given = request.query_params.get(name)
    if given is None or given == "":
        if default is not None:
            return default
        raise RequestRefused(400, f"'{name}' is missing in the address")
    try:
        number = float(given)
    except ValueError:
        number = math.nan
    if not low <= number <= high:
        raise RequestRefused(400, f"'{name}' is a number from {low:g} to {high:g}")
    return number


def read_count(request: Request, name: str, *, low: int, high: int, default: int | None = None) -> int:
    """A whole number of the address. Raises as ``read_number``."""
    number = read_number(request, name, low=low, high=high, default=default)
    if number != int(number):
        raise RequestRefused(400, f"'{name}' is a whole number from {low} to {high}")
    return int(number)
