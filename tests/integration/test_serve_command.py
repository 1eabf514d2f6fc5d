"""`pathlab serve` in short: what it prints, how it ends, and where it cannot listen."""

import signal
from pathlib import Path

import pytest

from tests.builders.results import make_quickstart, write_results
from tests.command_line import call
from tests.integration.serving_process import run_server
from tests.patience import PATIENCE_S


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(make_quickstart(), tmp_path_factory.mktemp("results") / "quickstart")


def test_a_process_serves_until_a_signal_ends_it(results: Path, tmp_path: Path) -> None:
    with run_server(str(results.parent), cwd=tmp_path) as serving:
        assert serving.url.startswith("http://127.0.0.1:")
        assert serving.request(serving.url.removeprefix(f"http://127.0.0.1:{serving.port}")).status == 303
        fresh = serving.process.stdout.readline().strip()
        assert fresh.startswith(f"http://127.0.0.1:{serving.port}/?token=")
        assert fresh != serving.url  # each URL opens the page once
        header = serving.key_file.read_text(encoding="ascii").strip()
        assert serving.request("/api/catalogue", header).status == 200
        serving.process.send_signal(signal.SIGTERM)
        assert serving.process.communicate(timeout=PATIENCE_S) == ("", "")
        assert serving.process.returncode == 0
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("address", ["192.0.2.1", "nothing.invalid", "", "x" * 300])
def test_an_address_that_is_not_there_is_one_clear_line(
    address: str, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = call(["serve", str(results), "--bind", address], capsys)
    assert (said.status, said.out) == (2, "")
    error, fix = said.err.splitlines()
    assert "address" in error
    assert address in error
    assert fix.startswith("  fix: ")


def test_two_folders_and_too_many_results_are_refused(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for places in ([results.parent, tmp_path], [results] * 9):
        said = call(["serve", *map(str, places)], capsys)
        assert (said.status, said.out) == (2, "")


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
    assert "key file" in said.err
    assert "XDG_RUNTIME_DIR" in said.err
