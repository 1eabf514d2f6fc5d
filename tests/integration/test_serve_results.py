"""Results over HTTP: chosen, sent packed, and never others than those that were chosen."""

import dataclasses
import json
import shutil
import sqlite3
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pathlab.store.location import DATABASE_NAME
from pathlab.store.lock import FolderLock
from pathlab.store.results import Results
from tests.builders.results import make_quickstart, write_results
from tests.serving import Answer, ServedExplorer, serving


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of results: two of different days, without series."""
    found = tmp_path_factory.mktemp("untouched")
    for name, day in (("old", 1), ("new", 2)):
        made = make_quickstart(created_utc=f"2026-01-0{day}T00:00:00Z")
        write_results(made.copy(series={}), found / name)
    return found


@pytest.fixture(scope="module")
def shared(untouched: Path) -> Iterator[ServedExplorer]:
    """A server for tests that change no results."""
    with serving(untouched) as server:
        yield server


@pytest.fixture
def folder(untouched: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return shutil.copytree(untouched, tmp_path / "all")


@pytest.fixture
def served(folder: Path) -> Iterator[ServedExplorer]:
    with serving(folder) as server:
        yield server


def read_header(answer: Answer) -> dict[str, Any]:
    """The header of a packed table."""
    assert answer.status == 200, answer.body
    (length,) = struct.unpack_from("<I", answer.body)
    header: dict[str, Any] = json.loads(answer.body[4 : 4 + length])
    return header


def find_ids(served: ServedExplorer) -> dict[str, str]:
    """The ids of results by the names of their folders."""
    entries = served.request("/api/catalogue").json()["entries"]
    return {Path(entry["path"]).name: entry["id"] for entry in entries}


def damage(database: Path) -> None:
    content = database.read_bytes()
    database.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))


def test_a_folder_lists_results_newest_first_and_opens_those_chosen(
    shared: ServedExplorer, untouched: Path
) -> None:
    catalogue = shared.request("/api/catalogue").json()
    assert (catalogue["folder"], catalogue["opened"]) == (str(untouched), [])
    assert [Path(entry["path"]).name for entry in catalogue["entries"]] == ["new", "old"]
    assert {entry["state"] for entry in catalogue["entries"]} == {"complete"}
    assert catalogue["entries"][0]["complete"] == catalogue["entries"][0]["planned"] == 16
    ids = find_ids(shared)
    answer = shared.request(f"/api/results?open={ids['old']},{ids['new']}")
    assert answer.headers["x-pathlab-open"] == f"{ids['old']},{ids['new']}"
    header = read_header(answer)
    assert [source["createdUtc"][:10] for source in header["sources"]] == ["2026-01-01", "2026-01-02"]
    assert header["trials"] == 32
    refused = shared.request("/api/results")
    assert (refused.status, refused.json()["error"]) == (400, "no results are chosen")


def test_compressed_and_plain_tables_are_the_same(shared: ServedExplorer) -> None:
    path = f"/api/results?open={find_ids(shared)['old']}"
    plain = shared.request(path)
    smaller = shared.request(path, headers={**shared.access, "Accept-Encoding": "gzip, br, zstd"})
    assert "content-encoding" not in plain.headers
    assert smaller.headers["content-encoding"] == "zstd"
    assert len(smaller.body) < len(plain.body)
    assert pa.decompress(smaller.body, len(plain.body), codec="zstd", asbytes=True) == plain.body
    assert shared.request(path, "HEAD").headers["content-length"] == str(len(plain.body))


def test_results_of_the_command_line_are_open_in_their_order(untouched: Path) -> None:
    with serving(untouched / "new", untouched / "old" / DATABASE_NAME, untouched) as served:
        catalogue = served.request("/api/catalogue").json()
        answer = served.request("/api/results")
        assert answer.headers["x-pathlab-open"] == ",".join(catalogue["opened"])
        header = read_header(answer)
        assert [source["createdUtc"][:10] for source in header["sources"]] == ["2026-01-02", "2026-01-01"]
        page = served.request("/")
        assert page.status == 200
        assert page.headers["content-type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize(
    "given", ["x", "..%2f..", "%00", "a" * 5000, "0" * 16, ",", "<script>", "a,b,c,d,e,f,g,h,i"]
)
def test_an_unknown_id_opens_nothing(shared: ServedExplorer, given: str) -> None:
    for path in ("/api/results", "/api/views"):
        answer = shared.request(f"{path}?open={given}")
        assert answer.status in (400, 404, 410)
        assert set(answer.json()) == {"error", "hint"}
        assert b"<script" not in answer.body


def test_what_takes_the_place_of_results_is_not_shown_for_them(served: ServedExplorer, folder: Path) -> None:
    before = find_ids(served)["old"]
    assert read_header(served.request(f"/api/results?open={before}"))["trials"] == 16
    shutil.rmtree(folder / "old")
    gone = served.request(f"/api/results?open={before}")
    assert gone.status == 409
    assert "does not exist" in gone.json()["error"]
    write_results(make_quickstart(cycles=1, created_utc="2026-03-01T00:00:00Z"), folder / "old")
    replaced = served.request(f"/api/results?open={before}")
    assert replaced.status == 410
    assert "deleted or replaced" in replaced.json()["error"]
    after = find_ids(served)["old"]
    assert after != before
    assert read_header(served.request(f"/api/results?open={after}"))["trials"] == 8


def test_trials_that_are_added_are_sent_and_removed_ones_are_not(
    served: ServedExplorer, folder: Path
) -> None:
    path = f"/api/results?open={find_ids(served)['new']}"
    assert read_header(served.request(path))["trials"] == 16
    with Results.open(folder / "new", write=True) as results:
        last = results.records()[-1]
        results.add_trial(dataclasses.replace(last, attempt=2), {})
        assert read_header(served.request(path))["trials"] == 17
    with sqlite3.connect(folder / "new" / DATABASE_NAME) as connection:
        connection.execute("DELETE FROM series")
        connection.execute("DELETE FROM trial WHERE trial_id > 3")
    assert read_header(served.request(path))["trials"] == 3


def test_a_damaged_file_is_said_to_be_damaged(served: ServedExplorer, folder: Path) -> None:
    ids = find_ids(served)
    assert served.request(f"/api/results?open={ids['new']}").status == 200
    damage(folder / "new" / DATABASE_NAME)
    answer = served.request(f"/api/results?open={ids['new']}")
    assert answer.status == 409
    assert "is damaged" in answer.json()["error"]
    both = read_header(served.request(f"/api/results?open={ids['old']},{ids['new']}"))
    assert both["trials"] == 16
    assert "is damaged" in str(both["sources"][1]["notes"])
    entry = served.request("/api/catalogue").json()["entries"][0]
    assert "is damaged" in entry["problem"]
    assert entry["state"] == "damaged"


def test_a_run_is_said_to_be_running(served: ServedExplorer, folder: Path) -> None:
    lock = FolderLock(folder / "new")
    try:
        entries = served.request("/api/catalogue").json()["entries"]
        assert [entry["state"] for entry in entries] == ["running", "complete"]
        header = read_header(served.request(f"/api/results?open={find_ids(served)['new']}"))
        assert "being written" in str(header["sources"][0]["notes"])
    finally:
        lock.release()
    with sqlite3.connect(folder / "new" / DATABASE_NAME) as connection:
        connection.execute("DELETE FROM series")
        connection.execute("DELETE FROM trial WHERE trial_id > 3")
    assert served.request("/api/catalogue").json()["entries"][0]["state"] == "stopped"


def test_a_locked_file_is_said_to_be_locked_and_read_later(
    served: ServedExplorer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pathlab.store.database.BUSY_TIMEOUT_S", 0)
    chosen = find_ids(served)["new"]
    other = sqlite3.connect(folder / "new" / DATABASE_NAME, isolation_level=None)
    other.execute("PRAGMA journal_mode = DELETE")
    other.execute("BEGIN EXCLUSIVE")
    answer = served.request(f"/api/results?open={chosen}")
    states = [entry["state"] for entry in served.request("/api/catalogue").json()["entries"]]
    other.close()
    assert answer.status == 409
    assert "is locked by another process" in answer.json()["error"]
    assert sorted(states) == ["complete", "locked"]
    assert read_header(served.request(f"/api/results?open={chosen}"))["trials"] == 16


def test_where_nothing_is_open_the_page_lists_results(shared: ServedExplorer, untouched: Path) -> None:
    listing = shared.request("/")
    assert b"static/catalogue.js" in listing.body
    assert shared.request("/choose").body == listing.body
    page = shared.request(f"/?open={find_ids(shared)['new']}")
    assert b'data-panel="figure"' in page.body
    assert shared.request("/?open=x").status == 410
    assert shared.request("/static/catalogue.js").headers["content-type"].startswith("text/javascript")
    with serving(untouched / "new") as other:
        assert b'data-panel="figure"' in other.request("/").body
        assert b"static/catalogue.js" in other.request("/choose").body
