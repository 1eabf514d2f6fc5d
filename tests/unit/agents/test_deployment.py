"""Where the agent zip is put and where the engine is found: a refusal names the thing and the next step."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pathlab.errors import HostError
from pathlab.remote.deploy import build_agent_zip, content_hash, ensure_agent
from pathlab.remote.engine import engine_version


def test_the_zip_lands_in_the_users_cache_privately_and_once(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path / "home")}
    path = ensure_agent(environment=environment)
    assert path.parent == tmp_path / "cache" / "pathlab"
    assert path.read_bytes() == build_agent_zip()
    assert content_hash(build_agent_zip())[:32] in path.name
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    number = path.stat().st_ino
    assert ensure_agent(environment=environment) == path
    assert path.stat().st_ino == number  # not written again
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("damage", [b"", b"PK broken"])
def test_a_damaged_zip_is_replaced(tmp_path: Path, damage: bytes) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    path = ensure_agent(environment=environment)
    path.write_bytes(damage)
    assert ensure_agent(environment=environment) == path
    assert path.read_bytes() == build_agent_zip()


def test_a_link_in_its_place_is_replaced_not_followed(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    path = ensure_agent(environment=environment)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(build_agent_zip())
    path.unlink()
    path.symlink_to(elsewhere)
    ensure_agent(environment=environment)
    assert not path.is_symlink()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"HOME": "{tmp}/home"}, "{tmp}/home/.cache/pathlab"),
        ({"HOME": "{tmp}/home", "XDG_CACHE_HOME": "relative"}, "{tmp}/home/.cache/pathlab"),
        ({}, "{tmp}/temp/pathlab-{uid}"),
        ({"XDG_CACHE_HOME": "{tmp}/file/below", "HOME": "{tmp}/home"}, "{tmp}/temp/pathlab-{uid}"),
    ],
)
def test_the_order_of_cache_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: str
) -> None:
    (tmp_path / "temp").mkdir()
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temp"))
    given = {name: value.format(tmp=tmp_path) for name, value in environment.items()}
    assert str(ensure_agent(environment=given).parent) == expected.format(tmp=tmp_path, uid=os.getuid())


@pytest.mark.parametrize("trap", ["link", "open", "file"])
def test_a_folder_that_another_user_could_have_made_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trap: str
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = tmp_path / f"pathlab-{os.getuid()}"
    if trap == "link":
        (tmp_path / "target").mkdir()
        folder.symlink_to(tmp_path / "target")
    elif trap == "open":
        folder.mkdir()
        folder.chmod(0o777)
    else:
        folder.write_text("no folder")
    with pytest.raises(HostError, match=str(folder)) as caught:
        ensure_agent(environment={})
    assert caught.value.stage == "deploy"
    assert caught.value.hint is not None


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_full_or_read_only_disk_is_one_line_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(_descriptor: int, _data: bytes) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temp"))
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", refuse)
        with pytest.raises(HostError) as caught:
            ensure_agent(host="alpha", environment={"HOME": str(tmp_path / "home")})
    assert (caught.value.host, caught.value.stage) == ("alpha", "deploy")
    assert os.strerror(number) in str(caught.value)
    assert str(tmp_path / "home/.cache/pathlab") in str(caught.value)
    assert str(tmp_path / "temp") in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "XDG_CACHE_HOME" in str(caught.value.hint)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_write_cut_short_by_the_kernel_leaves_nothing(tmp_path: Path) -> None:
    """A true limit on file size, in a process of its own: a write that ends half-way, then EFBIG."""
    program = (
        "import resource, sys\n"
        "from pathlab.remote.deploy import ensure_agent\n"
        "from pathlab.errors import HostError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try:\n    ensure_agent()\n"
        "except HostError as error:\n    sys.stdout.write(f'{error.stage}: {error}')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            "TMPDIR": str(tmp_path),
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("deploy: host 'local', deploy: cannot store agent-")
    assert "File too large" in done.stdout
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def make_program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_the_engines_version_is_what_it_states(tmp_path: Path) -> None:
    engine = make_program(tmp_path / "engine", "#!/bin/sh\necho pathlab-engine 4.5.6 protocol 1 record 1\n")
    assert engine_version(engine) == "4.5.6"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("#!/bin/sh\necho wrong machine >&2\nexit 126\n", "wrong machine"),
        ("#!/bin/sh\necho GNU tar 1.34\n", "no version"),
        ("#!/bin/sh\nexit 1\n", "status 1"),
        ("no program at all", "does not run"),
    ],
)
def test_an_engine_that_does_not_run_says_why(tmp_path: Path, text: str, words: str) -> None:
    engine = make_program(tmp_path / "engine", text)
    with pytest.raises(HostError, match=words) as caught:
        engine_version(engine)
    assert caught.value.stage == "engine"
