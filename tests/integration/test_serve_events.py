"""Server-sent events of stored results: nothing lost, nothing twice, whoever is slow or comes too late."""

import contextlib
import dataclasses
import re
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from pathlab.errors import StoreError
from pathlab.runner.journal import Journal
from pathlab.serve import event_stream
from pathlab.serve.connections import BoundedProtocol
from pathlab.store.results import Results
from tests.builders.stored import COMPLETE, make_results
from tests.events import following, list_stored
from tests.patience import PATIENCE_S
from tests.require import require
from tests.serving import serving

pytestmark = pytest.mark.engine
ENTRIES = 250  # more than are read at a time, and more than the buffers of a connection take


def test_a_reader_that_reads_nothing_is_sent_away_and_catches_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    with make_results(folder) as results:
        journal = Journal(results, lambda _event: None)
        for _ in range(ENTRIES):
            journal.add("slot", "x" * 64 * 1024)
    blocked, pause = threading.Event(), BoundedProtocol.pause_writing

    def pause_writing(protocol: BoundedProtocol) -> None:
        pause(protocol)
        blocked.set()

    monkeypatch.setattr(BoundedProtocol, "pause_writing", pause_writing)
    with serving(folder) as served:
        with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE_S) as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**16)
            head = f"GET /events?after=0.0 HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
            slow.sendall(f"{head}Authorization: {served.access['Authorization']}\r\n\r\n".encode())
            assert blocked.wait(PATIENCE_S)
            with monkeypatch.context() as patched:
                patched.setattr(event_stream, "SLOW_S", 0.0)  # it has taken nothing for longer than that
                said = b"".join(iter(lambda: slow.recv(65536), b""))
        assert b"event: dropped" in said
        numbers = [int(one) for one in re.findall(rb"id: ([0-9]+)\.0", said)]
        assert numbers == [*range(1, len(numbers) + 1)]
        with following(served, f"/events?after={numbers[-1]}.0") as stream:
            rest = stream.read_until(lambda event: event.data.get("journal") == ENTRIES)
    assert [number for _, number in list_stored(rest)] == [*range(numbers[-1] + 1, ENTRIES + 1)]


def test_results_that_are_replaced_end_the_stream(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    make_results(folder).close()
    with serving(folder) as served, following(served) as stream:
        stream.read_until(lambda event: event.name == "run")
        folder.rename(tmp_path / "elsewhere")  # at once: the server may be reading it
        assert "gone" in stream.read_until(lambda event: event.name == "gone")[-1].data["text"]


def test_results_that_cannot_be_read_any_more_end_the_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    with make_results(folder) as results:
        results.add_trial(COMPLETE, {})

    def refuse(*_: object) -> None:
        raise StoreError("others took their place")

    monkeypatch.setattr(event_stream, "describe_row", refuse)
    with serving(folder) as served, following(served, "/events?after=0.0") as stream:
        last = stream.read_until(lambda event: event.name == "gone")[-1]
        assert (last.data["results"], last.data["text"]) == ("A", "others took their place")
        assert list(stream) == []  # it ends as a whole, so that a browser does not complain
    assert capfd.readouterr() == ("", "")


def test_a_reader_with_an_id_ahead_gets_what_is_stored_from_now_on(tmp_path: Path) -> None:
    """As one of other results can be."""
    folder = tmp_path / "out"
    make_results(folder).close()
    heads = {"Last-Event-ID": "999999.999999"}
    with serving(folder) as served, following(served, "/events", heads) as stream:
        events = stream.read_until(lambda event: event.name == "run")
        with Results.open(folder, write=True) as results:
            results.add_trial(COMPLETE, {})
        events += stream.read_until(lambda event: event.name == "trial-ended")
    assert list_stored(events) == [("trial-ended", 1)]


def test_curl_reads_the_events(tmp_path: Path) -> None:
    require(shutil.which("curl"), "curl (apt-get install curl)")
    folder = tmp_path / "out"
    with make_results(folder) as results:
        results.add_trial(COMPLETE, {})
    heads = tmp_path / "access"
    with serving(folder) as served:
        heads.write_text(f"Authorization: {served.access['Authorization']}\n")
        address = f"http://127.0.0.1:{served.port}/events?after=0.0"
        command = ["curl", "-sN", "-H", f"@{heads}", address]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as curl:
            lines = []
            for line in curl.stdout:
                lines.append(line.rstrip())
                if line.startswith("data:") and '"trial": 1' in line:
                    break
            curl.terminate()
    assert lines[0] == "retry: 1000"
    assert [line for line in lines if line.startswith(("event:", "id:"))] == [
        "event: run",
        "event: trial-ended",
        "id: 0.1",
    ]


def test_a_writer_is_not_kept_waiting(tmp_path: Path) -> None:
    """Readers look at the file."""
    folder = tmp_path / "out"
    with make_results(folder) as results, serving(folder) as served, contextlib.ExitStack() as stack:
        streams = [stack.enter_context(following(served, "/events?after=0.0")) for _ in range(4)]
        for stream in streams:
            stream.read_until(lambda event: event.name == "run")
        for attempt in range(1, 11):
            results.add_trial(dataclasses.replace(COMPLETE, attempt=attempt), {})
        for stream in streams:
            events = stream.read_until(lambda event: event.data.get("trial") == 10)
            assert [number for _, number in list_stored(events)] == [*range(1, 11)]


def test_of_many_readers_at_once_no_more_than_the_limit_come_in(tmp_path: Path) -> None:
    """200 ask while the first are still being served: each opens the results before it follows them."""
    folder, asked = tmp_path / "out", 200
    make_results(folder).close()
    with serving(folder) as served, contextlib.ExitStack() as opened:
        head = f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
        head += f"Authorization: {served.access['Authorization']}\r\n\r\n"
        readers = []
        for _ in range(asked):
            reader = socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE_S)
            readers.append(opened.enter_context(reader))
        for reader in readers:
            reader.sendall(head.encode())
        answers = [reader.recv(12) for reader in readers]
        assert answers.count(b"HTTP/1.1 200") == event_stream.READERS_MAX
        assert answers.count(b"HTTP/1.1 503") == asked - event_stream.READERS_MAX
        opened.close()
        deadline_s = time.monotonic() + PATIENCE_S
        answer = b""
        while answer != b"HTTP/1.1 200" and time.monotonic() < deadline_s:  # until the server sees the ends
            with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE_S) as reader:
                reader.sendall(head.encode())
                answer = reader.recv(12)
        assert answer == b"HTTP/1.1 200", "their places are free again"
