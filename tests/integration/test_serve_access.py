"""Who gets into the explorer's server over real connections, and what every answer bears."""

from collections.abc import Iterator

import pytest

from tests.builders.results import make_quickstart, write_results
from tests.serving import ServedExplorer, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedExplorer]:
    folder = write_results(make_quickstart(), tmp_path_factory.mktemp("served") / "quickstart")
    with serving(folder) as server:
        yield server


def log_in(served: ServedExplorer) -> dict[str, str]:
    """The header of a browser that used the URL that is valid now."""
    answer = served.request(f"/?token={served.keys.token}", headers={})
    assert answer.status == 303
    cookie, *attributes = answer.headers["set-cookie"].split("; ")
    assert {"HttpOnly", "Path=/", "SameSite=strict"} == set(attributes)
    return {"Cookie": cookie}


def test_without_access_nothing_is_sent(served: ServedExplorer) -> None:
    for path in ("/", "/api/catalogue", "/static/app.js", "/events", "/nothing"):
        answer = served.request(path, headers={})
        assert answer.status == 401
        assert answer.body.startswith(b"no access: open the address that `pathlab serve` printed last")
        assert answer.body.count(b"\n") == 1


@pytest.mark.parametrize(
    "key", ["Bearer x", "Bearer ", "Basic x", "x", "Bearer \xff", f"Bearer {'a' * 9999}"]
)
def test_a_wrong_key_is_no_access(served: ServedExplorer, key: str) -> None:
    assert served.request("/api/catalogue", headers={"Authorization": key}).status == 401


def test_a_one_time_url_opens_a_session_once(served: ServedExplorer) -> None:
    token = served.keys.token
    browser = log_in(served)
    assert served.request("/api/catalogue", headers=browser).status == 200
    assert served.request(f"/?token={token}", headers={}).status == 401
    assert served.fresh_tokens[-1] == served.keys.token != token
    again = served.request(f"/?token={token}", headers=browser)  # of a page that is loaded again
    assert (again.status, again.headers["location"]) == (303, "/")
    other = log_in(served)
    assert other != browser
    assert served.request("/api/catalogue", headers=browser).status == 200


def test_looking_at_a_one_time_url_does_not_use_it(served: ServedExplorer) -> None:
    token = served.keys.token
    assert served.request(f"/?token={token}", "HEAD", headers={}).status == 401
    assert served.request(f"/api/catalogue?token={token}", headers={}).status == 401
    assert served.keys.token == token


def test_a_token_leaves_no_trace(served: ServedExplorer, capfd: pytest.CaptureFixture[str]) -> None:
    token = served.keys.token
    answer = served.request(f"/?token={token}", headers={})
    assert token not in str(answer)
    served.request(f"/?token={token}", headers={})
    served.send_raw(f"GET /?token={token} HTTP/9\r\n\r\n".encode())
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("host", ["evil.example:{port}", "127.0.0.1:1", ""])
def test_another_host_is_misdirected(served: ServedExplorer, host: str) -> None:
    headers = {**served.access, "Host": host.format(port=served.port)}
    answer = served.request("/api/catalogue", headers=headers)
    assert answer.status == 421
    assert str(served.port).encode() in answer.body


def test_a_misdirected_url_keeps_its_token(served: ServedExplorer) -> None:
    token = served.keys.token
    assert served.request(f"/?token={token}", headers={"Host": f"evil.example:{served.port}"}).status == 421
    assert served.keys.token == token


def test_its_own_names_are_taken(served: ServedExplorer) -> None:
    headers = {**served.access, "Host": f"LOCALHOST:{served.port}"}
    assert served.request("/api/catalogue", headers=headers).status == 200


@pytest.mark.parametrize("path", ["/", "/api/catalogue", "/nothing", "/static/../app.py"])
@pytest.mark.parametrize("access", [True, False])
def test_every_answer_bears_the_headers(served: ServedExplorer, path: str, access: bool) -> None:
    headers = served.request(path, headers=None if access else {}).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
    assert headers["cache-control"] == "no-store"
    assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
    assert "server" not in headers
    assert "access-control-allow-origin" not in headers


def test_pages_of_other_sites_may_link_and_load_nothing(served: ServedExplorer) -> None:
    browser = log_in(served)
    for site in ("cross-site", "same-site"):
        loading = {**browser, "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
        assert served.request("/api/catalogue", headers=loading).status == 403
        assert served.request("/", headers=loading).status == 403
        link = {**browser, "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
        assert served.request("/api/catalogue", headers=link).status == 403
        assert served.request("/", headers=link).status != 403
    own = {**browser, "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}
    assert served.request("/api/catalogue", headers=own).status == 200


def test_a_change_needs_our_origin_and_header(served: ServedExplorer) -> None:
    browser = {**log_in(served), "Content-Type": "application/json"}
    own = f"http://127.0.0.1:{served.port}"
    for changed in (
        {},
        {"X-PathLab": "1"},
        {"Origin": own},
        {"Origin": own, "X-PathLab": "0"},
        {"Origin": "null", "X-PathLab": "1"},
        {"Origin": f"http://localhost:{served.port + 1}", "X-PathLab": "1"},
        {"Origin": "https://evil.example", "X-PathLab": "1"},
    ):
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            answer = served.request("/api/catalogue", method, headers={**browser, **changed}, body=b"{}")
            assert answer.status == 403
    allowed = {**browser, "Origin": own, "X-PathLab": "1"}
    assert served.request("/api/catalogue", "POST", headers=allowed, body=b"{}").status == 405
    assert served.request("/api/catalogue", "POST", headers={**served.access, "X-PathLab": "1"}).status == 405
    evil = {**served.access, "X-PathLab": "1", "Origin": "https://evil.example"}
    assert served.request("/api/catalogue", "POST", headers=evil).status == 403
