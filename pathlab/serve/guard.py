"""What every request passes before an endpoint sees it, and the headers that every answer bears."""

from __future__ import annotations

import sys
import traceback
from dataclasses import dataclass
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pathlab.serve.access import AccessKeys

READING = frozenset({"GET", "HEAD"})
#: A header that no page of another site can send without asking first, which is never granted.
WRITE_HEADER, WRITE_VALUE = "x-pathlab", "1"
#: plotly.js adds its rules to a style sheet of ours, and makes images of figures as data and blob URLs.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
POLICY_HEADER = "content-security-policy"
SECURITY_HEADERS = {
    POLICY_HEADER: POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
NO_ACCESS = (
    "no access: open the address that `pathlab serve` printed last (it works once), or send the header of "
    "its key file"
)
_HTTP_PORT = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """Where a server listens, and under which names it may be addressed besides its numeric address."""

    names: frozenset[str]  # lower case, without port; an IPv6 address in brackets
    port: int

    def is_addressed_by(self, host: str, local: str) -> bool:
        """Whether a Host header names this server; ``local``: the address that the connection was made to."""
        numeric = f"[{local}]" if ":" in local else local
        names = {*self.names, numeric}
        allowed = {f"{name}:{self.port}" for name in names}
        return host.lower() in (allowed | names if self.port == _HTTP_PORT else allowed)

    @property
    def cookie(self) -> str:
        """The name of its cookie; browsers send the cookies of every port of a host."""
        return f"pathlab-{self.port}"


class AccessGuard:
    """Refuses requests for other hosts, without access, or sent by pages of other sites; adds headers.

    A page of another name that resolves to this address (DNS rebinding) fails at the Host header. A page of
    another port of this host, which gets the cookie, fails at ``Sec-Fetch-Site`` and, to write, at the
    origin.
    """

    def __init__(
        self, app: ASGIApp, keys: AccessKeys, address: ServerAddress, *, debug: bool = False
    ) -> None:
        self._app = app
        self._keys = keys
        self._address = address
        self._debug = debug

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        is_begun = False

        async def send_with_headers(message: Message) -> None:
            nonlocal is_begun
            if message["type"] == "http.response.start":
                is_begun = True
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                policy = headers.get(POLICY_HEADER, POLICY)  # a report has its own
                headers.update({**SECURITY_HEADERS, POLICY_HEADER: policy})
            await send(message)

        answer = self._check(scope)
        if answer is not None:
            await answer(scope, receive, send_with_headers)
            return
        try:
            await self._app(scope, receive, send_with_headers)
        except Exception as error:  # noqa: BLE001 -- a fault of PathLab: the server goes on
            self._show_fault(scope, error)
            if is_begun:
                raise ConnectionAbortedError from None  # the answer stays incomplete, which a browser sees
            text = "an internal error of PathLab; see the terminal\n"
            await PlainTextResponse(text, 500)(scope, receive, send_with_headers)

    def _check(self, scope: Scope) -> Response | None:
        """The answer to a request that goes no further."""
        headers = Headers(scope=scope)
        local = scope["server"][0] if scope.get("server") else ""
        if not self._address.is_addressed_by(headers.get("host", ""), local):
            return _respond_error(
                421, f"this server is another host; use its own name and port {self._address.port}"
            )
        redeemed = self._redeem(scope, headers)
        if redeemed is not None:
            return redeemed
        by_cookie = self._has_session(headers)
        if not by_cookie and not self._has_key(headers):
            return _respond_error(401, NO_ACCESS)
        if scope["method"] in READING:
            return _check_reading(scope, headers)
        return _check_writing(headers, needs_origin=by_cookie)

    def _redeem(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to a one-time URL: a cookie, and the page without the token in its address."""
        if scope["path"] != "/" or scope["method"] != "GET":
            return None
        try:
            given = parse_qs(scope["query_string"].decode("ascii"), max_num_fields=20).get("token")
        except ValueError:
            return _respond_error(400, "the address has no form that a server understands")
        if not given:
            return None
        session = self._keys.redeem(given[0])
        if session is None:
            return (
                RedirectResponse("/", 303) if self._has_session(headers) else _respond_error(401, NO_ACCESS)
            )
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self._address.cookie, session, path="/", httponly=True, samesite="strict")
        return answer

    def _has_session(self, headers: Headers) -> bool:
        cookies = [cookie_parser(line) for line in headers.getlist("cookie")]
        given = [cooky[self._address.cookie] for cooky in cookies if self._address.cookie in cooky]
        return any(self._keys.knows_session(session) for session in given[:2])

    def _has_key(self, headers: Headers) -> bool:
        scheme, _, key = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self._keys.is_key(key.strip())

    def _show_fault(self, scope: Scope, error: Exception) -> None:
        """Print it without the query of the address, which may hold a token."""
        if self._debug:
            traceback.print_exception(error, file=sys.stderr)
        else:
            text = f"pathlab: a fault of PathLab at {scope['method']} {scope['path'][:200]}: {error!r}"
            print(text, file=sys.stderr)  # noqa: T201 -- the stream escapes it


def _check_reading(scope: Scope, headers: Headers) -> Response | None:
    """Pages of other sites may link to the page, and load nothing."""
    is_ours = headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
    is_link = scope["path"] == "/" and headers.get("sec-fetch-mode") == "navigate"
    return (
        None
        if is_ours or is_link
        else _respond_error(403, "pages of other sites get nothing from this server")
    )


def _check_writing(headers: Headers, *, needs_origin: bool) -> Response | None:
    origin = headers.get("origin")
    if (origin is None and needs_origin) or (origin is not None and origin != f"http://{headers['host']}"):
        return _respond_error(403, "pages of other sites change nothing on this server")
    if headers.get(WRITE_HEADER) != WRITE_VALUE:
        return _respond_error(403, f"a change needs the header X-PathLab: {WRITE_VALUE}")
    return None


def _respond_error(status: int, text: str) -> Response:
    headers = {"www-authenticate": 'Bearer realm="pathlab"'} if status == 401 else None
    return PlainTextResponse(f"{text}\n", status, headers)
