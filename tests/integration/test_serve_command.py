"""`pathlab serve` as a process: what it prints, how it ends, and where it cannot listen."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.builders.results import make_quickstart, write_results
from tests.command_line import call
from tests.patience import PATIENCE_S
from tests.serving import Answer, ask


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """A process that serves, the first URL and the notes that it printed, its key file."""

    process: subprocess.Popen[str]
    url: str
    notes: str
    key_file: Path

    @property
    def port(self) -> int:
        port = urlsplit(self.url).port
        assert port is not None
        return port

    def request(self, path: str, header: str | None = None) -> Answer:
        return ask(self.port, path, headers={} if header is None else dict([header.split(": ", 1)]))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(make_quickstart(), tmp_path_factory.mktemp("results") / "quickstart")


#: `pathlab` where results are read for ever, and ends the sooner.
STUCK = """
import sys, threading
from pathlab.serve import open_results, server
server.CLOSING_S = server.OVERDUE_S = 0.2
open_results.ExploredResults.open = lambda *_: threading.Event().wait()
from pathlab.cli.main import main
main(sys.argv[1:])
"""


@contextlib.contextmanager
def run_server(*arguments: str, cwd: Path, program: tuple[str, ...] = ("-m", "pathlab")) -> Iterator[Serving]:
    process = subprocess.Popen(
        [sys.executable, *program, "serve", *arguments],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_RUNTIME_DIR": str(cwd)},
    )
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        url = process.stdout.readline().strip()
        notes = ""
        while "curl" not in notes:
            notes += process.stderr.readline()
        key_file = notes.split("@")[1].split(" ")[0]
        yield Serving(process=process, url=url, notes=notes, key_file=Path(key_file))
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_server_with_status_0(
    number: signal.Signals, results: Path, tmp_path: Path
) -> None:
    with run_server(str(results), cwd=tmp_path) as serving:
        assert stat.S_IMODE(serving.key_file.stat().st_mode) == 0o600
        header = serving.key_file.read_text(encoding="ascii").strip()
        assert serving.request("/api/catalogue", header).status == 200
        idle = socket.create_connection(("127.0.0.1", serving.port))
        serving.process.send_signal(number)
        out, err = serving.process.communicate(timeout=PATIENCE_S)
        idle.close()
        assert (serving.process.returncode, out, err) == (0, "", "")
        assert not serving.key_file.exists()
        assert list(tmp_path.iterdir()) == []


def test_results_that_are_still_read_do_not_hold_up_the_end(results: Path, tmp_path: Path) -> None:
    with (
        run_server(str(results), cwd=tmp_path, program=("-c", STUCK)) as serving,
        socket.create_connection(("127.0.0.1", serving.port)) as waiting,
    ):
        header = serving.key_file.read_text(encoding="ascii").strip()
        waiting.sendall(
            f"GET /api/results HTTP/1.1\r\nHost: 127.0.0.1:{serving.port}\r\n{header}\r\n\r\n".encode()
        )
        serving.request("/api/catalogue", header)  # answered in a thread as well
        serving.process.send_signal(signal.SIGTERM)
        out, err = serving.process.communicate(timeout=PATIENCE_S)
        assert (serving.process.returncode, out, err) == (0, "", "")
        assert not serving.key_file.exists()


def test_each_url_is_followed_by_a_fresh_one(results: Path, tmp_path: Path) -> None:
    with run_server(str(results.parent), cwd=tmp_path) as serving:
        assert serving.url.startswith("http://127.0.0.1:")
        assert serving.request(serving.url.removeprefix(f"http://127.0.0.1:{serving.port}")).status == 303
        assert serving.process.stdout is not None
        fresh = serving.process.stdout.readline().strip()
        assert fresh.startswith(f"http://127.0.0.1:{serving.port}/?token=")
        assert fresh != serving.url


def test_the_server_goes_on_where_nobody_reads_what_it_prints(results: Path, tmp_path: Path) -> None:
    with run_server(str(results), cwd=tmp_path) as serving:
        assert serving.process.stdout is not None
        serving.process.stdout.close()
        serving.process.stdout = None
        assert serving.request(serving.url.removeprefix(f"http://127.0.0.1:{serving.port}")).status == 303
        header = serving.key_file.read_text(encoding="ascii").strip()
        assert serving.request("/api/catalogue", header).status == 200
        serving.process.send_signal(signal.SIGTERM)
        assert serving.process.wait(PATIENCE_S) == 0


def test_a_port_in_use_is_one_clear_line(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        said = call(["serve", str(results), "--port", str(port)], capsys)
    assert (said.status, said.out) == (2, "")
    assert said.err.splitlines() == [
        f"pathlab: port {port} of 127.0.0.1 is in use",
        "  fix: give another --port; without it a free one is taken",
    ]


@pytest.mark.parametrize(
    ("address", "part"),
    [
        ("192.0.2.1", "this machine does not have the address 192.0.2.1"),
        ("nothing.invalid", "'nothing.invalid' is no address"),
        ("", "is no address"),
        ("a b", "'a b' is no address"),
        ("x" * 300, "is no address"),
    ],
)
def test_an_address_that_is_not_there_is_one_clear_line(
    address: str, part: str, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = call(["serve", str(results), "--bind", address], capsys)
    assert (said.status, said.out) == (2, "")
    assert part in said.err
    assert len(said.err.splitlines()) == 2


def test_two_folders_and_too_many_results_are_refused(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = call(["serve", str(results.parent), str(tmp_path)], capsys)
    assert said.status == 2
    assert "are two folders of results" in said.err
    said = call(["serve", *[str(results)] * 9], capsys)
    assert said.status == 2
    assert "9 results do not fit on the same axes, 8 do" in said.err


def test_where_no_results_can_be_read_nothing_is_served(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = (results / "results.db").read_bytes()
    (tmp_path / "results.db").write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))
    said = call(["serve", str(tmp_path)], capsys)
    assert (said.status, said.out) == (5, "")
    assert "is damaged" in said.err


def test_a_key_file_that_cannot_be_written_is_one_clear_line(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(**_: object) -> str:
        raise PermissionError(13, "Permission denied", str(tmp_path))

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    said = call(["serve", str(results)], capsys)
    assert said.status == 2
    assert said.err.startswith("pathlab: the key file cannot be written")
    assert "XDG_RUNTIME_DIR" in said.err


def test_other_machines_are_let_in_only_with_a_warning(results: Path, tmp_path: Path) -> None:
    with run_server(str(results), "--bind", "0.0.0.0", cwd=tmp_path) as serving:
        assert urlsplit(serving.url).hostname == socket.gethostname().lower()
        assert (
            f"warning: http://{socket.gethostname().lower()}:{serving.port}/ is open to other"
            in serving.notes
        )
        header = serving.key_file.read_text(encoding="ascii").strip()
        assert serving.request("/api/catalogue", header).status == 200
        evil = ask(serving.port, "/", headers={"Host": f"evil.example:{serving.port}"})
        assert evil.status == 421
