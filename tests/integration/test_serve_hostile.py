"""The explorer's server among hostile, broken and slow clients: these are let go, others are served."""

import contextlib
import json
import select
import socket
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from pathlab.report.explorer.page import Asset
from pathlab.serve import answers, connections
from pathlab.serve.connections import BoundedProtocol
from tests.builders.results import make_quickstart, write_results
from tests.patience import PATIENCE_S
from tests.serving import ServedExplorer, serving

JSON = "application/json"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedExplorer]:
    folder = write_results(make_quickstart(), tmp_path_factory.mktemp("hostile") / "quickstart")
    with serving(folder) as server:
        yield server


@pytest.fixture
def served(shared: ServedExplorer, capfd: pytest.CaptureFixture[str]) -> Iterator[ServedExplorer]:
    """The server, which serves others afterwards and has said nothing."""
    yield shared
    assert shared.request("/api/catalogue").status == 200
    assert capfd.readouterr() == ("", "")


def connect(served: ServedExplorer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE_S)


def read_to_end(connection: socket.socket) -> bytes:
    """What comes until the server closes; a reset is an end as well."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(65536):
            found += piece
    return found


def make_head(served: ServedExplorer, line: str, *headers: str) -> bytes:
    named = (f"Host: 127.0.0.1:{served.port}", f"Authorization: Bearer {served.keys.key}", *headers)
    return "\r\n".join((line, *named, "", "")).encode("latin-1")


BROKEN = {
    "binary": bytes(range(256)) * 10,
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 500,
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "a control in a header": b"GET / HTTP/1.1\r\nHost: a\r\nX: \x00\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "length and chunks": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: x\r\n\r\n",
    "a huge header": b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
    "a huge path": b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_request_is_refused(served: ServedExplorer, name: str) -> None:
    with connect(served) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(BROKEN[name])
            connection.shutdown(socket.SHUT_WR)
        answer = read_to_end(connection)
    assert answer == b"" or answer.split(b"\r\n", 1)[0].split(b" ")[1] in (b"400", b"421", b"431")
    assert b"pathlab" not in answer.partition(b"\r\n\r\n")[2].lower() or b"no access" not in answer


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/%2e%2e/page.py",
        "/static/%2fetc%2fpasswd",
        "/static/explorer.html",
        "/static/app.js%00.css",
        "/static/",
        "/%2e%2e/",
        "/api/results/../../etc/passwd",
        "/\\..\\",
        "/%zz",
        "http://evil.example/",
        "*",
    ],
)
def test_a_path_that_is_none_of_ours_is_not_found(served: ServedExplorer, path: str) -> None:
    answer = served.send_raw(make_head(served, f"GET {path} HTTP/1.1", "Connection: close"))
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert set(json.loads(answer.partition(b"\r\n\r\n")[2])) == {"error", "hint"}


@pytest.mark.parametrize("method", ["POST", "TRACE", "OPTIONS", "CONNECT", "a"])
@pytest.mark.parametrize("path", ["/", "/static/app.js", "/api/results"])
def test_what_is_read_is_not_written(served: ServedExplorer, method: str, path: str) -> None:
    assert served.request(path, method).status == 403
    answer = served.request(path, method, headers={**served.access, "X-PathLab": "1"})
    assert answer.status == 405
    assert answer.headers["allow"] in ("GET, HEAD", "HEAD, GET")


def test_a_web_socket_is_not_opened(served: ServedExplorer) -> None:
    upgrade = (
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: eA==",
    )
    with connect(served) as connection:
        connection.sendall(make_head(served, "GET /api/catalogue HTTP/1.1", *upgrade))
        assert connection.recv(12) == b"HTTP/1.1 200"
    head = make_head(served, "GET /socket HTTP/1.1", *upgrade)
    with connect(served) as connection:
        connection.sendall(head)
        assert connection.recv(12) == b"HTTP/1.1 404"


BODIES = {
    "no type": (None, b"{}", 415),
    "a form": ("application/x-www-form-urlencoded", b"a=b", 415),
    "no JSON": (JSON, b"{", 400),
    "nothing": (JSON, b"", 400),
    "not a number": (JSON, b'{"name": NaN}', 400),
    "not UTF-8": (JSON, b'{"name": "\xff"}', 400),
    "an array": (JSON, b"[]", 400),
    "other keys": (JSON, b'{"x": 1}', 400),
    "other types": (JSON, b'{"name": 1, "view": []}', 400),
    "deep": (JSON, b"[" * 60_000, 400),
    "huge": (JSON, b" " * 70_000, 413),
}


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
@pytest.mark.parametrize("name", BODIES)
def test_a_change_that_is_none_is_refused(served: ServedExplorer, method: str, name: str) -> None:
    kind, body, status = BODIES[name]
    headers = {**served.access, "X-PathLab": "1", **({} if kind is None else {"Content-Type": kind})}
    answer = served.request("/api/views", method, headers=headers, body=body)
    assert answer.status == status, answer.body
    assert set(answer.json()) == {"error", "hint"}
    assert served.request("/api/views").json() == []


def test_a_body_in_chunks_has_the_same_limit(served: ServedExplorer) -> None:
    kind = ("X-PathLab: 1", f"Content-Type: {JSON}", "Transfer-Encoding: chunked")
    with connect(served) as connection:
        connection.sendall(make_head(served, "PUT /api/views HTTP/1.1", *kind))
        with contextlib.suppress(ConnectionError):
            for _ in range(70):
                connection.sendall(b"400\r\n" + b" " * 1024 + b"\r\n")
        assert connection.recv(12) == b"HTTP/1.1 413"


def test_a_body_that_does_not_come_is_not_waited_for(
    served: ServedExplorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "BODY_TIMEOUT_S", 0.01)
    kind = ("X-PathLab: 1", f"Content-Type: {JSON}", "Content-Length: 100")
    with connect(served) as connection:
        connection.sendall(make_head(served, "PUT /api/views HTTP/1.1", *kind) + b"{")
        assert connection.recv(12) == b"HTTP/1.1 408"


@pytest.mark.parametrize("sent", [b"", b"G", b"GET / HTTP/1.1\r\nHost: a\r\nX: "])
def test_a_client_that_sends_no_request_is_let_go(
    served: ServedExplorer, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "IDLE_S", 0.05)
    with connect(served) as connection:
        connection.sendall(sent)
        assert read_to_end(connection) == b""


def test_a_client_that_sends_no_further_request_is_let_go(
    served: ServedExplorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect(served) as connection:
        connection.sendall(make_head(served, "GET /nothing HTTP/1.1") + b"GET /")
        assert connection.recv(12) == b"HTTP/1.1 404"
        monkeypatch.setattr(connections, "IDLE_S", 0.05)  # it looks sooner whether they are idle
        served.visit_connections(BoundedProtocol._watch_idleness)
        assert b"HTTP/1.1 " not in read_to_end(connection)


def test_a_client_that_reads_nothing_is_let_go(
    served: ServedExplorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "STALLED_S", 0.05)
    big = Asset(name="big.js", content=b" " * 2**24, content_type="text/javascript")  # no buffer holds it
    monkeypatch.setattr("pathlab.serve.app.read_assets", lambda: {"big.js": big})
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(PATIENCE_S)
        connection.connect(("127.0.0.1", served.port))
        connection.sendall(make_head(served, "GET /static/big.js HTTP/1.1"))
        poll = select.poll()
        poll.register(connection, 0)  # errors and the end of the connection alone
        assert poll.poll(PATIENCE_S * 1000)
        assert len(read_to_end(connection)) < len(big.content)


def test_idle_connections_keep_nobody_out(served: ServedExplorer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "CONNECTIONS_MAX", 5)
    with contextlib.ExitStack() as opened:
        idle = [opened.enter_context(connect(served)) for _ in range(20)]
        assert served.request("/api/catalogue").status == 200
        assert read_to_end(idle[0]) == b""  # who waited longest had to go
        idle[-1].sendall(make_head(served, "GET /nothing HTTP/1.1"))
        assert idle[-1].recv(12) == b"HTTP/1.1 404"


def test_requests_in_one_piece_are_answered_in_turn(served: ServedExplorer) -> None:
    first = make_head(served, "GET /nothing HTTP/1.1")
    last = make_head(served, "GET /static/nothing HTTP/1.1", "Connection: close")
    answer = served.send_raw(first * 50 + last)
    assert answer.count(b"HTTP/1.1 404") == 51


ENDLESS = "9" * 400
QUERIES = {
    "/api/trial/A:-1": 404,
    "/api/trial/A:1e9": 404,
    f"/api/trial/A:{ENDLESS}": 404,
    "/api/trial/A:%C2%B2": 404,  # a digit that is no number
    "/api/trial/%00": 404,
    "/api/trial/A:1/2": 404,
    "/api/trial/..%2f..%2fetc%2fpasswd": 404,
    "/api/course/A:99?series=interval.bytes": 404,
    "/api/course/A:1?series=nothing.at.all": 400,
    "/api/course/A:1?series=%00.%00": 400,
    "/api/course/A:1?series=interval.bytes&pixels=0": 400,
    f"/api/course/A:1?series=interval.bytes&pixels={ENDLESS}": 400,
    "/api/course/A:1?series=interval.bytes&end=nan": 400,
    "/api/course/A:1?series=interval.bytes&start=inf": 400,
    "/api/verdicts?view=%00": 400,
    "/api/verdicts?view=where.streams%3D9%26": 400,
    f"/api/verdicts?view={'a' * 20_000}": 400,
    "/api/verdicts?view=where.streams%3D%2525%25zz": 400,
}


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path[:60])
def test_a_question_that_is_none_is_refused_in_one_line(served: ServedExplorer, path: str) -> None:
    answer = served.request(path)
    assert answer.status == QUERIES[path], answer.body
    said = answer.json()
    assert set(said) == {"error", "hint"}
    assert "\n" not in said["error"]


@pytest.mark.parametrize("edge", ["-1e308", "1e308", "-9999999999999999999", "0.000001", "-0"])
def test_a_span_without_data_is_empty(served: ServedExplorer, edge: str) -> None:
    kinds = served.request("/api/trial/A:1").json()["courses"]
    series = kinds[0]["series"] if isinstance(kinds[0], dict) else kinds[0]
    for query in (f"start={edge}", f"end={edge}"):
        answer = served.request(f"/api/course/A:1?series={series}&{query}")
        assert answer.status == 200, answer.body
        assert json.dumps(answer.json(), allow_nan=False)


@pytest.mark.parametrize("given", ["x", "-1.0", "1", "1.2.3", "0.0,0.0", f"{ENDLESS}.0", "0.0\t;", ","])
def test_a_place_among_the_events_that_is_none_is_refused(served: ServedExplorer, given: str) -> None:
    """By the header of a browser that comes back, and by the address of our page."""
    by_header = served.request("/events", headers={**served.access, "Last-Event-ID": given})
    by_address = served.request(f"/events?after={quote(given)}")
    for answer in (by_header, by_address):
        assert answer.status == 400
        assert "JOURNAL.TRIAL" in answer.json()["error"]


@pytest.mark.parametrize(
    "body", [b"[]", b'{"action": 1}', b'{"action": "kill"}', b'{"action": "stop", "source": "Z"}']
)
def test_an_action_that_is_none_is_refused(served: ServedExplorer, body: bytes) -> None:
    headers = {**served.access, "X-PathLab": "1", "Content-Type": JSON}
    answer = served.request("/api/control", "POST", headers=headers, body=body)
    assert answer.status == 400, answer.body
    nothing = served.request("/api/control", "POST", headers=headers, body=b'{"action": "stop"}')
    assert (nothing.status, nothing.json()["error"]) == (409, "no run writes these results now")
