"""What SQLite keeps beside a results file while it is open: nothing of it remains when a command ends."""

import dataclasses
import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import pathlab
from pathlab.store.results import Results
from tests.builders.series import make_probes
from tests.builders.stored import COMPLETE, fill_results, make_results
from tests.command_line import call
from tests.require import require

COMMANDS = (
    ["results", "list", "."],
    ["results", "show", "stored"],
    ["results", "check", "stored"],
    ["results", "prune", "stored", "--failed", "--dry-run"],
    ["report", "stored", "--figure", "list"],
    ["report", "stored", "--format", "json", "--out", "out/report.json"],
    ["analyze", "stored", "--only", "limits"],
    ["compare", "other", "other"],
    ["export", "stored", "--format", "csv", "--out", "out/csv"],
    ["results", "prune", "stored", "--failed"],
    ["results", "merge", "stored", "other", "--out", "out/merged"],
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two results folders, which is the working folder."""
    fill_results(tmp_path / "stored")
    with make_results(tmp_path / "other") as other:
        other.add_trial(dataclasses.replace(COMPLETE, flags=("lab",)), {"loaded_probes": make_probes()})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def list_side_files(folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*.db?*"))


def test_no_side_file_remains(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert list_side_files(folder) == []
    for arguments in COMMANDS:
        assert call(arguments, capsys).status == 0
        assert list_side_files(folder) == [], arguments


def test_no_side_file_remains_after_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Results.open(folder / "stored", write=True) as results, results.writing("damage") as connection:
        connection.exec_driver_sql("UPDATE series SET blob = zeroblob(9) WHERE trial_id = 1")
    result = call(["export", "stored", "--format", "parquet"], capsys)
    assert (result.status, "is damaged" in result.err) == (5, True)
    assert list_side_files(folder) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_no_side_file_remains_after_a_signal(
    number: signal.Signals, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        os.kill(os.getpid(), number)
        signal.pause()

    monkeypatch.setattr("pathlab.store.export_tables.decode_series", interrupt)
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as in a terminal, also under nohup
    gc.disable()
    try:
        assert call(["export", "stored", "--format", "csv"], capsys).status == 130
        assert list_side_files(folder) == []
    finally:
        gc.enable()
        signal.signal(signal.SIGHUP, before)


def test_closing_ends_a_stream_that_nobody_read_to_its_end(folder: Path) -> None:
    with Results.open(folder / "stored") as results:
        stream = results.stream_series("loaded_probes")
        assert next(stream)
        assert list_side_files(folder) != []
    assert list_side_files(folder) == []


def test_a_reader_leaves_a_writer_its_files(tmp_path: Path) -> None:
    with make_results(tmp_path) as results:
        with results.writing("what is not yet there for readers") as connection:
            connection.exec_driver_sql("UPDATE campaign SET title = 'changed'")
            with Results.open(tmp_path) as reader:
                assert reader.campaign.title == "Two rows"
            assert list_side_files(tmp_path) == ["results.db-shm", "results.db-wal"]
        assert list_side_files(tmp_path) == []
        with Results.open(tmp_path) as reader:
            assert reader.campaign.title == "changed"


_WRITER = """
import dataclasses, sys
from pathlib import Path
from pathlab.store.results import Results
from tests.builders.series import make_probes
from tests.builders.stored import COMPLETE
with Results.open(Path(sys.argv[1]), write=True) as results:
    print("open", flush=True)
    for attempt in range(1, 31):
        results.add_trial(dataclasses.replace(COMPLETE, attempt=attempt), {"loaded_probes": make_probes()})
"""


def test_readers_beside_a_writer_see_whole_trials(tmp_path: Path) -> None:
    make_results(tmp_path).close()
    with subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(pathlab.__file__).parents[1],
    ) as writer:
        assert writer.stdout.readline() == "open\n"
        seen = 0
        while writer.poll() is None:
            with Results.open(tmp_path) as results:
                count = len(results.records())
                assert count >= seen
                seen = count
                for _, blob in results.stream_series("loaded_probes"):
                    assert blob
        assert writer.wait() == 0
    with Results.open(tmp_path) as results:
        assert len(results.records()) == 30
    assert list_side_files(tmp_path) == []


def test_what_a_killed_writer_stored_is_taken_in(tmp_path: Path) -> None:
    writer = (
        "import os, sys, dataclasses; from pathlib import Path\n"
        "from pathlab.store.results import Results\n"
        "from tests.builders.stored import COMPLETE\n"
        "with Results.open(Path(sys.argv[1]), write=True) as results:\n"
        "    held = results._engine.connect()\n"  # so that closing does not settle the log
        "    results.add_trial(COMPLETE, {})\n"
        "    os._exit(0)\n"
    )
    make_results(tmp_path).close()
    subprocess.run(
        [sys.executable, "-c", writer, str(tmp_path)], check=True, cwd=Path(pathlab.__file__).parents[1]
    )
    assert list_side_files(tmp_path) == ["results.db-shm", "results.db-wal"]
    with Results.open(tmp_path) as results:
        assert results.records() == [COMPLETE]
    assert list_side_files(tmp_path) == []


def test_a_folder_that_cannot_be_written_is_read_and_stays_as_it_is(folder: Path) -> None:
    """Mounted read-only, as a medium would be."""
    entered = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    tried = subprocess.run([*entered, "true"], check=False, capture_output=True)
    require(tried.returncode == 0, "mount namespaces (unshare --mount)")
    program = f"{sys.executable} -m pathlab"
    script = (
        f"mount --bind stored stored && mount -o remount,ro,bind stored && {program} results check stored "
        f"&& {program} export stored --format csv --out taken"
    )
    ended = subprocess.run([*entered, "sh", "-c", script], check=False, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "stored: no errors found (3 trials" in ended.stdout
    assert (folder / "taken" / "trials.csv").is_file()
    assert list_side_files(folder) == []


def test_a_read_only_file_beside_a_writer_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with make_results(tmp_path) as results:
        results.add_trial(COMPLETE, {"loaded_probes": make_probes()})
        with monkeypatch.context() as patch:
            patch.setattr(os, "access", lambda *_: False)
            with Results.open(tmp_path) as reader:
                assert reader.records() == [COMPLETE]
        with results.writing("the writer's next transaction, which settles the log"):
            pass
    assert list_side_files(tmp_path) == []
