"""Saved views over HTTP: two browsers lose nothing, and nothing wrong is stored."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pathlab.store.saved_views import VIEWS_NAME, read_views
from tests.builders.results import SyntheticResults, make_campaign, write_results
from tests.serving import Answer, ServedExplorer, serving

VIEW = "x=streams&y=throughput_bits_per_s"


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    empty = SyntheticResults(make_campaign(), [], [])
    return [write_results(empty, tmp_path / name) for name in ("one", "two")]


@pytest.fixture
def served(folders: list[Path]) -> Iterator[ServedExplorer]:
    with serving(*folders) as server:
        yield server


def send(served: ServedExplorer, method: str, content: Any, query: str = "") -> Answer:
    body = json.dumps(content).encode()
    headers = {**served.access, "X-PathLab": "1", "Content-Type": "application/json"}
    return served.request(f"/api/views{query}", method, headers=headers, body=body)


def list_names(served: ServedExplorer, query: str = "") -> list[tuple[str, str]]:
    return [(one["results"], one["name"]) for one in served.request(f"/api/views{query}").json()]


def test_a_view_is_saved_beside_the_first_results(served: ServedExplorer, folders: list[Path]) -> None:
    assert served.request("/api/views").json() == []
    assert send(served, "PUT", {"name": "knee", "view": VIEW}).status == 200
    assert read_views(folders[0])["knee"].view == VIEW
    assert read_views(folders[1]) == {}
    [found] = served.request("/api/views").json()
    assert (found["results"], found["name"], found["view"]) == ("A", "knee", VIEW)
    assert send(served, "DELETE", {"name": "knee", "view": VIEW, "results": "A"}).status == 200
    assert list_names(served) == []


def test_an_address_chooses_whose_views_are_meant(served: ServedExplorer, folders: list[Path]) -> None:
    second = served.request("/api/catalogue").json()["opened"][1]
    assert send(served, "PUT", {"name": "b", "view": VIEW}, f"?open={second}").status == 200
    assert list(read_views(folders[1])) == ["b"]
    assert list_names(served, f"?open={second}") == [("A", "b")]
    assert list_names(served) == [("B", "b")]
    assert served.request("/api/views?open=0123456789abcdef").status == 404


def test_what_another_browser_saved_is_not_replaced_unseen(served: ServedExplorer) -> None:
    assert send(served, "PUT", {"name": "one", "view": "x=a"}).status == 200
    assert send(served, "PUT", {"name": "one", "view": "x=b"}).status == 409
    assert send(served, "PUT", {"name": "one", "view": "x=b", "replaces": "x=a"}).status == 200
    assert send(served, "DELETE", {"name": "one", "view": "x=a", "results": "A"}).status == 409
    assert served.request("/api/views").json()[0]["view"] == "x=b"


def test_two_browsers_at_once_lose_no_view(served: ServedExplorer) -> None:
    statuses: list[int] = []

    def save(browser: int) -> None:
        views = [{"name": f"{browser} {number}", "view": VIEW} for number in range(5)]
        statuses.extend(send(served, "PUT", view).status for view in views)

    threads = [threading.Thread(target=save, args=(browser,)) for browser in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 20
    assert len(list_names(served)) == 20


def test_nothing_wrong_is_stored(served: ServedExplorer, folders: list[Path]) -> None:
    for wrong in ({"replaces": 1}, {"name": ""}, {"name": "../../x="}, {"view": "x" * 9000}):
        refused = send(served, "PUT", {"name": "a", "view": "", **wrong})
        assert (refused.status, set(refused.json())) == (400, {"error", "hint"}), wrong
    assert send(served, "DELETE", {"name": "a", "view": VIEW, "results": "C"}).status == 404
    assert not (folders[0] / VIEWS_NAME).exists()


def test_a_damaged_file_is_named(served: ServedExplorer, folders: list[Path]) -> None:
    (folders[0] / VIEWS_NAME).write_bytes(b"{")
    for answer in (served.request("/api/views"), send(served, "PUT", {"name": "a", "view": VIEW})):
        assert answer.status == 409
        assert VIEWS_NAME in answer.json()["error"]
    assert (folders[0] / VIEWS_NAME).read_bytes() == b"{"
