"""The host's lock between runs of anybody, and what strangers may have put in its place."""

import contextlib
import errno
import fcntl
import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pathlab.agents import host_lock
from pathlab.agents.host_lock import HostLock, take_host_lock
from tests.require import require

OWNER = {"run": "1", "campaign": "first", "user": "ann", "controller": "desk"}
OTHER = {"run": "2", "campaign": "second", "user": "bob", "controller": "rack"}
HELD = {"held": True, "owner": None, "reason": None}

HOLDER = """
import json, os, sys
from pathlab.agents.host_lock import take_host_lock
os.setuid(int(sys.argv[3]))
print(json.dumps(take_host_lock(json.loads(sys.argv[2]), sys.argv[1]).answer), flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_lock, "PAUSE_S", 0.0)


@contextlib.contextmanager
def hold(folder: Path, owner: dict[str, str], uid: int | None = None) -> Iterator[tuple[Any, Any]]:
    """Another process that requests the lock, and the answer to it."""
    words = [str(folder), json.dumps(owner), str(os.getuid() if uid is None else uid)]
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


def lock_path(folder: Path) -> Path:
    return folder / f"pathlab-host-{Path('/proc/self/ns/net').stat().st_ino}.lock"


def test_another_run_learns_whose_the_host_is(tmp_path: Path) -> None:
    lock = take_host_lock(OWNER, str(tmp_path))
    assert lock.answer == HELD
    assert stat.S_IMODE(lock_path(tmp_path).stat().st_mode) == 0o666
    with hold(tmp_path, OTHER) as (_, reported):
        assert reported["held"] is False
        assert reported["reason"] is None
        since = reported["owner"].pop("since_utc")
        assert reported["owner"] == OWNER
        assert len(since) == len("2026-11-21T12:00:00Z")
    lock.release()
    lock.release()
    assert not lock_path(tmp_path).exists()
    assert take_host_lock(OTHER, str(tmp_path)).answer == HELD


def test_agents_of_one_run_hold_it_together_until_the_last_ends(tmp_path: Path) -> None:
    first, second = (take_host_lock(OWNER, str(tmp_path)) for _ in range(2))
    assert first.answer == second.answer == HELD
    first.release()
    assert lock_path(tmp_path).exists()
    refused = take_host_lock(OTHER, str(tmp_path)).answer
    assert (refused["held"], refused["owner"]["user"]) == (False, "ann")
    second.release()
    assert take_host_lock(OTHER, str(tmp_path)).answer == HELD


def test_the_kernel_lets_go_when_the_holder_is_killed(tmp_path: Path) -> None:
    with hold(tmp_path, OWNER) as (process, reported):
        assert reported == HELD
        assert take_host_lock(OTHER, str(tmp_path)).answer["owner"]["campaign"] == "first"
        process.kill()
        process.wait()
        left = take_host_lock(OTHER, str(tmp_path))
        assert left.answer == HELD
        assert json.loads(lock_path(tmp_path).read_text())["campaign"] == "second"


def test_a_holder_that_is_writing_its_name_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = os.open(lock_path(tmp_path), os.O_RDWR | os.O_CREAT)
    fcntl.flock(writer, fcntl.LOCK_EX)
    pauses: list[float] = []

    def let_go(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            os.close(writer)

    monkeypatch.setattr("pathlab.agents.host_lock.time.sleep", let_go)
    assert take_host_lock(OTHER, str(tmp_path)).answer == HELD
    assert len(pauses) == 2


def plant_link(path: Path) -> None:
    path.symlink_to("nowhere")


def plant_second_name(path: Path) -> None:
    (path.parent / "victim").write_text("precious")
    os.link(path.parent / "victim", path)


@pytest.mark.parametrize("plant", [plant_link, plant_second_name, os.mkfifo, Path.mkdir])
def test_what_was_planted_is_neither_followed_nor_changed(tmp_path: Path, plant: Any) -> None:
    path = lock_path(tmp_path)
    plant(path)
    lock = take_host_lock(OWNER, str(tmp_path))
    assert (lock.answer["held"], lock.answer["owner"]) == (False, None)
    assert lock.answer["reason"].startswith(f"{path}: ")
    lock.release()
    assert path.is_symlink() or path.exists()
    assert not (tmp_path / "nowhere").exists()
    if (tmp_path / "victim").exists():
        assert (tmp_path / "victim").read_text() == "precious"


def test_another_users_file_serves_unless_it_is_closed_to_us() -> None:
    require(os.getuid() == 0, "root, to become somebody else")
    with tempfile.TemporaryDirectory(prefix="pathlab-lock-") as name:  # where strangers get to
        folder = Path(name)
        folder.chmod(0o1777)
        path = lock_path(folder)
        path.write_text("{}")
        path.chmod(0o666)
        with hold(folder, OWNER, uid=65534) as (_, reported):
            assert reported == HELD
            assert take_host_lock(OTHER, name).answer["owner"]["user"] == "ann"
        path.chmod(0o600)
        with hold(folder, OWNER, uid=65534) as (_, reported):
            assert (reported["held"], reported["owner"]) == (False, None)
            assert os.strerror(errno.EACCES) in reported["reason"]


def test_a_full_disk_costs_the_name_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_descriptor: int, _data: bytes, _at: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pathlab.agents.host_lock.os.pwrite", refuse)
    first = take_host_lock(OWNER, str(tmp_path))
    assert (first.answer["held"], first.answer["owner"]) == (True, None)
    assert first.answer["reason"].startswith(f"{lock_path(tmp_path)}: No space left on device")
    monkeypatch.undo()
    assert take_host_lock(OTHER, str(tmp_path)).answer == {"held": False, "owner": {}, "reason": None}


@pytest.mark.parametrize(
    ("text", "owner"),
    [
        ("", {}),
        ("[1]", {}),
        ("\x00\xff{", {}),
        ('{"run": 1, "user": ["x"]}', {}),
        ("[" * 4000, {}),
        ('{"campaign": "a\\u001b[31m\\nb", "user": "é"}', {"campaign": "a[31mb", "user": "é"}),
        (json.dumps({"campaign": "x" * 3000}), {"campaign": "x" * 200}),
    ],
)
def test_what_stands_in_the_file_is_not_believed(tmp_path: Path, text: str, owner: dict[str, str]) -> None:
    lock: HostLock = take_host_lock(OWNER, str(tmp_path))
    lock_path(tmp_path).write_bytes(text.encode("latin-1" if "\xff" in text else "utf-8"))
    assert take_host_lock(OTHER, str(tmp_path)).answer == {"held": False, "owner": owner, "reason": None}
    lock.release()


def test_a_folder_that_is_not_there_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = take_host_lock(OWNER, str(tmp_path / "none")).answer
    assert answer["reason"].endswith("No such file or directory")
    monkeypatch.delenv(host_lock.FOLDER_VARIABLE, raising=False)
    tmp_path.chmod(0o755)
    monkeypatch.setattr(host_lock, "FOLDERS", (str(tmp_path), str(tmp_path / "none")))
    answer = take_host_lock(OWNER).answer
    assert (answer["held"], answer["owner"]) == (False, None)
    assert answer["reason"].endswith(f"{tmp_path}, {tmp_path / 'none'}")
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    monkeypatch.setattr(host_lock, "FOLDERS", (str(tmp_path), str(shared)))
    assert take_host_lock(OWNER).answer == HELD
    assert lock_path(shared).exists()


@pytest.mark.parametrize("field", host_lock.OWNER_FIELDS)
def test_an_owner_without_a_name_is_refused(tmp_path: Path, field: str) -> None:
    with pytest.raises(ValueError, match=f"no text '{field}'"):
        take_host_lock({**OWNER, field: 7}, str(tmp_path))
